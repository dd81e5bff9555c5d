package staticmcp

import (
	"bytes"
	"strings"
)

// secretForms are how well-known keys and tokens begin, and how many characters
// follow at least.
var secretForms = []struct {
	begin string
	least int
	what  string
}{
	{"-----BEGIN RSA PRIVATE KEY-----", 0, "a private key"},
	{"-----BEGIN PRIVATE KEY-----", 0, "a private key"},
	{"-----BEGIN EC PRIVATE KEY-----", 0, "a private key"},
	{"-----BEGIN OPENSSH PRIVATE KEY-----", 0, "a private key"},
	{"AKIA", 16, "an AWS access key"},
	{"ghp_", 36, "a GitHub token"},
	{"github_pat_", 60, "a GitHub token"},
	{"glpat-", 20, "a GitLab token"},
	{"xoxb-", 24, "a Slack token"},
	{"sk-ant-", 40, "an Anthropic key"},
	{"sk_live_", 24, "a Stripe key"},
	{"AIza", 35, "a Google API key"},
}

// secrets looks for what should not be published.
func (s *sheet) secrets() {
	for _, form := range secretForms {
		if at := findToken(s.text, form.begin, form.least); at >= 0 {
			s.add(ruleSecret, at, "", "this looks like "+form.what,
				"take it out, and make it invalid where it came from: what was published once is known")
		}
	}
}

// findToken returns where a word begins that starts with begin and goes on for at
// least so many characters, or -1.
func findToken(text []byte, begin string, least int) int {
	for at := 0; ; at += len(begin) {
		i := bytes.Index(text[at:], []byte(begin))
		if i < 0 {
			return -1
		}
		at += i
		rest := text[at+len(begin):]
		more := bytes.IndexFunc(rest, func(r rune) bool { return !isTokenRune(r) })
		if more < 0 {
			more = len(rest)
		}
		if more >= least && (at == 0 || !isTokenRune(rune(text[at-1]))) {
			return at
		}
	}
}

func isTokenRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-", r)
}
