package main

import (
	"fmt"
	"slices"
	"strings"
)

// method is one request method.
type method struct {
	name       string
	source     source
	safe       bool
	idempotent bool
	cacheable  string // whether a response may be stored and reused
	request    string // the meaning of the request content
	response   string // the meaning of the content of a successful response
	form       bool   // whether an HTML form can send it
	simple     bool   // whether a browser may send it cross-origin without a preflight
	meaning    string
	choose     string // completes "Choose X ..."
	avoid      string
	statuses   []int
	example    string
}

func methods() []method {
	return []method{
		{
			name: "GET", source: rfc(9110, "9.3.1"), safe: true, idempotent: true,
			cacheable: "yes", request: "no defined meaning; do not send any", response: "the representation",
			form: true, simple: true,
			meaning:  "Transfers a current representation of the target resource.",
			choose:   "to read something that a URI names",
			avoid:    "Never let it change what the user is responsible for: crawlers, prefetchers and caches send it unasked. Put no secrets into the URI, which ends up in logs and histories.",
			statuses: []int{200, 206, 304, 404},
			example: `
GET /books/42 HTTP/1.1
Host: api.example.com
Accept: application/json

HTTP/1.1 200 OK
Content-Type: application/json
ETag: "v7"

{"id":42,"title":"Die Verwandlung"}`,
		},
		{
			name: "HEAD", source: rfc(9110, "9.3.2"), safe: true, idempotent: true,
			cacheable: "yes", request: "no defined meaning; do not send any", response: "none, whatever the fields say",
			simple:   true,
			meaning:  "The same as GET, but without the content: the fields a GET would have had.",
			choose:   "to see whether something exists, how large it is or whether it has changed, without loading it",
			avoid:    "Fields that only generating the content would reveal may be missing. Some servers do not implement it for dynamic resources.",
			statuses: []int{200, 304, 404},
			example: `
HEAD /film.mp4 HTTP/1.1
Host: example.com

HTTP/1.1 200 OK
Content-Length: 146515
Accept-Ranges: bytes
ETag: "v7"`,
		},
		{
			name: "POST", source: rfc(9110, "9.3.3"),
			cacheable: "rarely: only with explicit freshness and an equal Content-Location, and then for later GET and HEAD",
			request:   "what the target is to process, by its own rules",
			response:  "the outcome of the action, or a description of it",
			form:      true, simple: true,
			meaning:  "Lets the target resource process the content according to its own semantics: create a member, append, send, compute.",
			choose:   "to create something whose URI the server picks, to trigger an action, or when no other method fits",
			avoid:    "A repeated POST may act twice. Give retries an Idempotency-Key or another way to recognise them.",
			statuses: []int{200, 201, 202, 204, 303, 409, 422},
			example: `
POST /books HTTP/1.1
Host: api.example.com
Content-Type: application/json

{"title":"Ο ξένος"}

HTTP/1.1 201 Created
Location: /books/43`,
		},
		{
			name: "PUT", source: rfc(9110, "9.3.4"), idempotent: true,
			cacheable: "no; a success makes stored responses for the URI invalid",
			request:   "the complete new state of the target", response: "a description of the outcome, or none",
			meaning:  "Creates or replaces the state of the target resource with the content.",
			choose:   "to store a complete representation at a URI that you know",
			avoid:    "What is missing in the content is gone: partial updates are PATCH. Without If-Match it overwrites the changes of others.",
			statuses: []int{200, 201, 204, 409, 412, 415},
			example: `
PUT /books/42 HTTP/1.1
Host: api.example.com
Content-Type: application/json
If-Match: "v7"

{"id":42,"title":"The Metamorphosis"}

HTTP/1.1 204 No Content
ETag: "v8"`,
		},
		{
			name: "DELETE", source: rfc(9110, "9.3.5"), idempotent: true,
			cacheable: "no; a success makes stored responses for the URI invalid",
			request:   "no defined meaning; do not send any", response: "a description of the outcome, or none",
			meaning:  "Removes the association between the target URI and its function: afterwards it should not be found.",
			choose:   "to remove what the URI names",
			avoid:    "A second DELETE may get 404, and it is idempotent all the same: the effect is the same, not the response.",
			statuses: []int{200, 202, 204, 404, 409, 412},
			example: `
DELETE /books/42 HTTP/1.1
Host: api.example.com
If-Match: "v8"

HTTP/1.1 204 No Content`,
		},
		{
			name: "CONNECT", source: rfc(9110, "9.3.6"),
			cacheable: "no",
			request:   "none: the message has no content",
			response:  "none: after the header the connection is a tunnel",
			meaning:   "Asks a proxy for a tunnel to the host and port in the target, and then to pass bytes blindly in both directions.",
			choose:    "to reach a TLS server through a proxy; clients do it by themselves",
			avoid:     "A proxy must limit the ports and hosts it connects to. An origin server need not implement it. With `:protocol` it also starts WebSocket over HTTP/2 and HTTP/3 (RFC 8441, RFC 9220).",
			statuses:  []int{200, 407, 502, 504},
			example: `
CONNECT server.example.com:443 HTTP/1.1
Host: server.example.com:443

HTTP/1.1 200 OK

(TLS handshake follows)`,
		},
		{
			name: "OPTIONS", source: rfc(9110, "9.3.7"), safe: true, idempotent: true,
			cacheable: "no",
			request:   "may carry a media type; no use of it is defined",
			response:  "what is supported, mostly in the fields alone",
			meaning:   "Asks what the target supports, or with `*` the server in general. Browsers use it for the CORS preflight.",
			choose:    "to find out which methods and formats are allowed; a browser sends it before a cross-origin request that is not simple",
			avoid:     "Answer the preflight before authentication: it carries no credentials.",
			statuses:  []int{200, 204},
			example: `
OPTIONS /books/42 HTTP/1.1
Host: api.example.com
Origin: https://app.example
Access-Control-Request-Method: PATCH

HTTP/1.1 204 No Content
Allow: GET, HEAD, PATCH, OPTIONS
Accept-Patch: application/merge-patch+json
Access-Control-Allow-Origin: https://app.example
Access-Control-Allow-Methods: PATCH`,
		},
		{
			name: "TRACE", source: rfc(9110, "9.3.8"), safe: true, idempotent: true,
			cacheable: "no",
			request:   "must not have any",
			response:  "the request as the final recipient received it (`message/http`)",
			meaning:   "A loop-back of the request, to see what proxies on the way have made of it.",
			choose:    "to debug a chain of proxies, together with Max-Forwards",
			avoid:     "Most servers switch it off, since it could echo credentials; browsers refuse to send it from scripts.",
			statuses:  []int{200, 405},
			example: `
TRACE / HTTP/1.1
Host: example.com
Max-Forwards: 2

HTTP/1.1 200 OK
Content-Type: message/http

TRACE / HTTP/1.1
Host: example.com
Via: 1.1 proxy.example`,
		},
		{
			name: "PATCH", source: rfc(5789, "2"),
			cacheable: "rarely: only with explicit freshness and an equal Content-Location, and then for later GET and HEAD",
			request:   "instructions how to change the target, in a patch format", response: "the new state or none",
			meaning:  "Applies a partial change to the target resource, as a whole or not at all.",
			choose:   "to change parts of something and leave the rest",
			avoid:    "Name the patch format: `application/merge-patch+json` (RFC 7396) or `application/json-patch+json` (RFC 6902). Not idempotent as such; with If-Match a retry is harmless.",
			statuses: []int{200, 204, 409, 412, 415, 422},
			example: `
PATCH /books/42 HTTP/1.1
Host: api.example.com
Content-Type: application/merge-patch+json
If-Match: "v8"

{"title":"La Métamorphose"}

HTTP/1.1 204 No Content
ETag: "v9"`,
		},
		{
			name: "QUERY", source: rfc(10008, "2"), safe: true, idempotent: true,
			cacheable: "yes, with the content and its metadata as part of the cache key",
			request:   "the query, in a format that Content-Type names",
			response:  "the result of the query",
			meaning:   "Asks the target to process the enclosed content in a safe and idempotent way and to answer with the result: a GET with content. Standard since June 2026.",
			choose:    "for a read whose parameters are too large, too structured or too private for a URI",
			avoid:     "Young: servers, proxies, CDNs and firewalls may not know it, so be ready for 405 and 501 and fall back to POST. The content is no secret just because it is not in the URI.",
			statuses:  []int{200, 303, 400, 415, 422},
			example: `
QUERY /books HTTP/1.1
Host: api.example.com
Content-Type: application/json
Accept: application/json

{"author":"Камю","before":1960}

HTTP/1.1 200 OK
Content-Type: application/json
Content-Location: /books/results/17

[{"id":43,"title":"Посторонний"}]`,
		},
	}
}

func (m method) uri() string { return "http://method/" + m.name }

func (m method) markdown(byCode map[int]status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nDefined in %s.\n\n%s\n\n", m.name, m.source, m.meaning)
	fmt.Fprintf(&b, "Choose %s %s.\n\n%s\n\n", m.name, m.choose, m.avoid)
	for _, p := range properties {
		fmt.Fprintf(&b, "- %s: %s\n", p.title, p.value(m))
	}
	var names []string
	for _, code := range m.statuses {
		names = append(names, byCode[code].name())
	}
	fmt.Fprintf(&b, "- Usual answers: %s\n", strings.Join(names, "; "))
	writeExample(&b, m.example)
	writeLink(&b, m.source)
	return b.String()
}

func (m method) line() string {
	return fmt.Sprintf("- %s: %s", m.name, firstSentence(m.meaning))
}

// properties are the rows of a comparison.
var properties = [...]struct {
	title string
	value func(method) string
}{
	{"Safe (RFC 9110, section 9.2.1)", func(m method) string { return yesNo(m.safe) }},
	{"Idempotent (RFC 9110, section 9.2.2)", func(m method) string { return yesNo(m.idempotent) }},
	{"Response cacheable", func(m method) string { return m.cacheable }},
	{"Content of the request", func(m method) string { return m.request }},
	{"Content of a success", func(m method) string { return m.response }},
	{"Can be retried without asking", func(m method) string {
		if m.idempotent {
			return "yes"
		}
		return "no, unless the client knows that it was not performed or that repeating is harmless"
	}},
	{"From an HTML form", func(m method) string { return yesNo(m.form) }},
	{"Cross-origin from a script", func(m method) string {
		switch {
		case m.simple:
			return "without a preflight, as long as the fields are safelisted"
		case m.name == "CONNECT" || m.name == "TRACE":
			return "forbidden"
		}
		return "after a preflight"
	}},
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// compareMethods returns the answer of compare_methods: a table, the relation of the two
// methods, and which one to choose, from the perspective of the first.
func compareMethods(a, b method) string {
	var s strings.Builder
	if a.name == b.name {
		fmt.Fprintf(&s, "# %s and %s\n\nThis is one and the same method. %s\n\n", a.name, b.name, a.meaning)
		for _, p := range properties {
			fmt.Fprintf(&s, "- %s: %s\n", p.title, p.value(a))
		}
		writeLink(&s, a.source)
		return s.String()
	}
	fmt.Fprintf(&s, "# %s compared with %s\n\n", a.name, b.name)
	fmt.Fprintf(&s, "| | %s | %s |\n| --- | --- | --- |\n", a.name, b.name)
	for _, p := range properties {
		fmt.Fprintf(&s, "| %s | %s | %s |\n", p.title, p.value(a), p.value(b))
	}
	fmt.Fprintf(&s, "\n%s\n\n", pairNote(a.name, b.name))
	fmt.Fprintf(&s, "Choose %s %s. Choose %s %s.\n\n", a.name, a.choose, b.name, b.choose)
	fmt.Fprintf(&s, "Sources: %s for %s, %s for %s.\n", a.source, a.name, b.source, b.name)
	return s.String()
}

// pairNote returns the note for two methods in either order.
func pairNote(a, b string) string {
	names := []string{a, b}
	slices.Sort(names)
	return pairNotes[names[0]+" "+names[1]]
}

// pairNotes describes the relation of two methods, in alphabetical order.
var pairNotes = map[string]string{
	"CONNECT DELETE":  "They share nothing but the request line: CONNECT addresses a proxy and names a host and port, DELETE addresses a resource.",
	"CONNECT GET":     "A client behind a proxy sends plain `http` requests as GET with the whole URI in the target, and opens a tunnel with CONNECT for `https`; inside the tunnel it sends GET as usual, and the proxy sees none of it.",
	"CONNECT HEAD":    "CONNECT tells whether a tunnel can be opened, HEAD whether a resource exists behind it.",
	"CONNECT OPTIONS": "Neither returns a representation. OPTIONS asks what is possible and changes nothing; CONNECT turns the connection into a tunnel.",
	"CONNECT PATCH":   "PATCH changes a resource; CONNECT only opens the way by which such a request may travel.",
	"CONNECT POST":    "POST through an `https` proxy travels inside a tunnel opened by CONNECT. A proxy that allows CONNECT to any port can be abused to send mail and worse, which a POST cannot.",
	"CONNECT PUT":     "PUT stores content at a URI; the content after a CONNECT is no content but whatever the two ends say to each other.",
	"CONNECT QUERY":   "QUERY asks a resource, CONNECT asks a proxy; a query to an `https` origin behind a proxy needs both, one inside the other.",
	"CONNECT TRACE":   "TRACE shows what proxies do with a request, CONNECT takes the proxy out of the conversation: inside a tunnel there is nothing left to trace.",
	"DELETE GET":      "Both name a resource by its URI alone. GET must never do what DELETE does: a link \"/delete?id=7\" is followed by crawlers. After DELETE, a GET gives 404 or 410.",
	"DELETE HEAD":     "HEAD first shows whether there is something to delete and gives the entity tag for `If-Match`, so that DELETE removes what was looked at and not a newer version.",
	"DELETE OPTIONS":  "OPTIONS tells in Allow whether DELETE is supported. A browser sends it as preflight before every cross-origin DELETE.",
	"DELETE PATCH":    "PATCH removes parts (a member set to null in a merge patch), DELETE the whole resource. DELETE is idempotent, PATCH only if its instructions are.",
	"DELETE POST":     "POST is what HTML forms use instead of DELETE, and what removes many things at once (`POST /books/bulk-delete`), since content in a DELETE has no defined meaning. DELETE can be retried blindly, POST cannot.",
	"DELETE PUT":      "Opposites with the same properties: PUT makes the URI have a state, DELETE makes it have none. Both are idempotent, both want `If-Match` against lost updates, and both invalidate caches.",
	"DELETE QUERY":    "QUERY finds, DELETE removes. To delete what a query matches, first QUERY, then DELETE each result, or POST to a resource made for it.",
	"DELETE TRACE":    "TRACE only echoes the request; to see which proxy changes a DELETE, trace the same path, as TRACE itself has no effect on the resource.",
	"GET HEAD":        "HEAD is GET without the content: same fields, same caching, same conditions. A response to HEAD can refresh what a cache stored for GET. Every server that supports GET should support HEAD.",
	"GET OPTIONS":     "GET returns the resource, OPTIONS what can be done with it. GET is cacheable; OPTIONS is not, apart from the browser's own memory of a preflight (`Access-Control-Max-Age`).",
	"GET PATCH":       "The round of an edit: GET with its ETag, change, PATCH with `If-Match`. GET changes nothing, PATCH changes a part.",
	"GET POST":        "GET reads: safe, idempotent, cacheable, bookmarkable, everything in the URI. POST acts: it may change something, is not retried by itself, and carries its data in the content. A read that needs content is a QUERY where that is supported; sending content with GET is not, as it has no meaning and proxies drop it.",
	"GET PUT":         "Mirror images: what PUT stores, a later GET is expected to return, possibly transformed. The ETag of the GET belongs into the `If-Match` of the PUT.",
	"GET QUERY":       "Both are safe, idempotent and cacheable. GET has its parameters in the URI, which can be linked, logged and bookmarked; QUERY has them in the content, without limit of length. A QUERY response may name a URI for the same result, to be had with GET from then on. GET works everywhere today, QUERY does not, and needs a preflight from browsers.",
	"GET TRACE":       "GET asks for the resource, TRACE for the request itself as it arrived. Only GET is cacheable, and only GET is switched on everywhere.",
	"HEAD OPTIONS":    "Both are cheap questions without content in the answer. HEAD asks about the representation (length, type, version), OPTIONS about the abilities of the resource (methods, formats).",
	"HEAD PATCH":      "HEAD gets the entity tag that a PATCH sends in `If-Match`, without loading the representation; a diff against it needs a GET, though.",
	"HEAD POST":       "HEAD looks without touching, POST touches. To learn beforehand whether a large POST would be refused, use `Expect: 100-continue` rather than a HEAD to the same URI, which answers another question.",
	"HEAD PUT":        "HEAD shows whether PUT would create (404) or replace (200), but only `If-None-Match: *` or `If-Match` on the PUT itself makes sure of it.",
	"HEAD QUERY":      "HEAD is the light form of GET; there is none of QUERY. If a QUERY response names an equivalent URI, that one can be asked with HEAD.",
	"HEAD TRACE":      "HEAD shows the fields of the response, TRACE the fields of the request as they arrived.",
	"OPTIONS PATCH":   "OPTIONS shows in Accept-Patch which patch formats are understood. A cross-origin PATCH always waits for a preflight with OPTIONS.",
	"OPTIONS POST":    "OPTIONS shows in Accept-Post what may be posted. A cross-origin POST waits for a preflight unless it looks like a form: `application/json` does not.",
	"OPTIONS PUT":     "OPTIONS tells in Allow whether PUT is supported, and precedes every cross-origin PUT as preflight.",
	"OPTIONS QUERY":   "OPTIONS shows whether QUERY is allowed, and in Accept-Query which formats. A cross-origin QUERY always waits for a preflight with OPTIONS.",
	"OPTIONS TRACE":   "The two diagnostic methods, and the only ones that obey Max-Forwards. OPTIONS asks what a server can do, TRACE what it received.",
	"PATCH POST":      "Both carry instructions and neither is idempotent. PATCH says exactly what it is: a change to this resource in a known patch format, all or nothing. POST can mean anything. Forms and old clients that cannot PATCH use POST.",
	"PATCH PUT":       "PUT sends the complete new state and is idempotent: sent twice, the result is the same. PATCH sends only the change, which is smaller and leaves alone what the client does not know, but is not idempotent as such (\"append\", \"increment\"). Both want `If-Match`.",
	"PATCH QUERY":     "Both carry content in a format that the server announces (Accept-Patch, Accept-Query). PATCH changes the resource, QUERY promises not to.",
	"PATCH TRACE":     "PATCH has content and effect, TRACE may have neither.",
	"POST PUT":        "With PUT the client names the URI and sends the whole state: repeated, it does no harm. With POST the server decides what happens and where: repeated, it may create twice. `POST /books` lets the server choose the id, `PUT /books/42` is for an id you know.",
	"POST QUERY":      "Both carry content. QUERY tells everybody on the way that it only reads: it may be retried, cached and sent again after a broken connection. POST says nothing of the kind, so a search by POST is neither cached nor retried. Until QUERY is supported along the whole path, POST is the fallback.",
	"POST TRACE":      "POST acts on the resource; TRACE must not even have content.",
	"PUT QUERY":       "Both are idempotent, but only QUERY is safe: PUT stores its content, QUERY lets it be processed and forgets it.",
	"PUT TRACE":       "Both are idempotent, but only TRACE is safe: PUT stores its content, TRACE must not have any.",
	"QUERY TRACE":     "Both are safe. QUERY carries content and has its result cached; TRACE carries none and shows the request that arrived.",
}
