package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// source is the definition of a fact: a document and a place in it.
type source struct {
	document string // "RFC 9110", or a name listed in documents
	section  string // "15.5.5", or "" for the whole document
}

func rfc(number int, section string) source {
	return source{fmt.Sprintf("RFC %d", number), section}
}

// documents lists the sources that are not RFCs.
var documents = map[string]string{
	"Clear Site Data":           "https://www.w3.org/TR/clear-site-data/",
	"Content Security Policy 3": "https://www.w3.org/TR/CSP3/",
	"Fetch Metadata":            "https://www.w3.org/TR/fetch-metadata/",
	"Fetch":                     "https://fetch.spec.whatwg.org/",
	"Global Privacy Control":    "https://w3c.github.io/gpc/",
	"HTML":                      "https://html.spec.whatwg.org/",
	"Linked Data Platform 1.0":  "https://www.w3.org/TR/ldp/",
	"Network Error Logging":     "https://www.w3.org/TR/network-error-logging/",
	"Permissions Policy":        "https://www.w3.org/TR/permissions-policy-1/",
	"Referrer Policy":           "https://www.w3.org/TR/referrer-policy/",
	"Reporting API":             "https://www.w3.org/TR/reporting-1/",
	"Resource Timing":           "https://www.w3.org/TR/resource-timing/",
	"Server Timing":             "https://www.w3.org/TR/server-timing/",
	"Trace Context":             "https://www.w3.org/TR/trace-context/",
	"Upgrade Insecure Requests": "https://www.w3.org/TR/upgrade-insecure-requests/",
	"User-Agent Client Hints":   "https://wicg.github.io/ua-client-hints/",
	"the Internet-Draft draft-ietf-httpapi-idempotency-key-header": "https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/",
	"the Internet-Draft draft-ietf-httpapi-ratelimit-headers":      "https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/",
	"the Internet-Draft draft-ietf-httpbis-resumable-upload":       "https://datatracker.ietf.org/doc/draft-ietf-httpbis-resumable-upload/",
	"the nginx documentation":                                      "https://nginx.org/en/docs/",
	"the Cloudflare documentation":                                 "https://developers.cloudflare.com/support/troubleshooting/http-status-codes/",
	"common practice of proxies":                                   "",
}

func (s source) String() string {
	if s.section == "" {
		return s.document
	}
	if unicode.IsLetter(rune(s.section[0])) {
		return s.document + ", appendix " + s.section
	}
	return s.document + ", section " + s.section
}

func (s source) link() string {
	number, ok := strings.CutPrefix(s.document, "RFC ")
	if !ok {
		return documents[s.document]
	}
	link := "https://www.rfc-editor.org/rfc/rfc" + number
	switch {
	case s.section == "":
		return link
	case unicode.IsLetter(rune(s.section[0])):
		return link + "#appendix-" + s.section
	}
	return link + "#section-" + s.section
}

func writeLink(b *strings.Builder, s source) {
	if link := s.link(); link != "" {
		fmt.Fprintf(b, "\nSource: <%s>\n", link)
	}
}

func writeExample(b *strings.Builder, example string) {
	if example != "" {
		fmt.Fprintf(b, "\n```http\n%s\n```\n", strings.Trim(example, "\n"))
	}
}

// firstSentence returns the text up to the first full stop that ends a sentence. Those in
// "e.g. x" and "HTTP/1.1" do not.
func firstSentence(s string) string {
	for i := 0; i+2 < len(s); i++ {
		next, _ := utf8.DecodeRuneInString(s[i+2:])
		if s[i] == '.' && s[i+1] == ' ' && !unicode.IsLower(next) {
			return s[:i+1]
		}
	}
	return s
}

// inShort returns the beginning of a note, without its reasons.
func inShort(note string) string {
	if end := strings.IndexAny(note, ":,;."); end >= 0 {
		note = note[:end]
	}
	r, size := utf8.DecodeRuneInString(note)
	return string(unicode.ToLower(r)) + note[size:]
}
