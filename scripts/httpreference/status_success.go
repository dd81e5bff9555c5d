package main

func informational() []status {
	return []status{
		{
			code: 100, phrase: "Continue", source: rfc(9110, "15.2.1"), caching: interimResponse,
			meaning: "The request header is acceptable so far; send the content. It answers `Expect: 100-continue`, with which a client asks before it uploads.",
			cause:   "An upload with `Expect: 100-continue`, which some clients add by themselves above a certain size.",
			retry:   "Send the content now. A client that hears nothing need not wait for ever: it may send the content after a short while.",
			server:  "Send it before reading the content, or send the final status (401, 413, 417) at once and save the upload.",
			related: []int{417, 413, 401}, fields: []string{"Expect"},
			example: `
PUT /videos/7 HTTP/1.1
Host: example.com
Content-Length: 104857600
Expect: 100-continue

HTTP/1.1 100 Continue

(content follows, then the final response)
HTTP/1.1 201 Created
Location: /videos/7`,
		},
		{
			code: 101, phrase: "Switching Protocols", source: rfc(9110, "15.2.2"), caching: interimResponse,
			meaning: "The server changes the protocol of this connection to the one named in its Upgrade field, directly after this response.",
			cause:   "A WebSocket handshake over HTTP/1.1.",
			retry:   "Speak the new protocol on the same connection. If another status comes instead, the upgrade was refused and HTTP goes on.",
			server:  "Include `Upgrade` and `Connection: Upgrade`. HTTP/2 and HTTP/3 have no 101: WebSocket uses extended CONNECT there (RFC 8441, RFC 9220).",
			related: []int{426, 200}, fields: []string{"Upgrade", "Connection", "Sec-WebSocket-Accept"},
			example: `
GET /chat HTTP/1.1
Host: example.com
Connection: Upgrade
Upgrade: websocket
Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==
Sec-WebSocket-Version: 13

HTTP/1.1 101 Switching Protocols
Connection: Upgrade
Upgrade: websocket
Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=`,
		},
		{
			code: 102, phrase: "Processing", source: rfc(2518, "10.1"), caching: interimResponse,
			note:    "Dropped by RFC 4918, which replaces RFC 2518, though still registered. New software does not send it.",
			meaning: "The server has accepted a long WebDAV request and is still working on it.",
			cause:   "An old WebDAV server copying or deleting a large tree.",
			retry:   "Keep waiting for the final response. Ignore it otherwise, like every interim response one does not know.",
			server:  "For work that takes long, answer 202 and offer a place to ask for progress.",
			related: []int{202, 207},
		},
		{
			code: 103, phrase: "Early Hints", source: rfc(8297, "2"), caching: interimResponse,
			meaning: "These fields are likely to be in the final response. A browser can start to load or connect while the server still computes the page.",
			cause:   "A server or CDN that knows which style sheets and scripts a page needs before the page is ready.",
			retry:   "Nothing to repeat: act on the `Link` fields if useful, then take the final response as the truth.",
			server:  "Send only `Link` with preload or preconnect, and prefer HTTP/2 or later: some HTTP/1.1 clients mishandle interim responses they did not ask for.",
			related: []int{200, 100}, fields: []string{"Link"},
			example: `
HTTP/2 103
link: </style.css>; rel=preload; as=style

HTTP/2 200
content-type: text/html; charset=utf-8
link: </style.css>; rel=preload; as=style`,
		},
		{
			code: 104, phrase: "Upload Resumption Supported", caching: interimResponse,
			source:  source{document: "the Internet-Draft draft-ietf-httpbis-resumable-upload"},
			note:    "Temporary registration for work in progress: made in November 2024, extended in September 2025 to November 2026. Look it up in the registry before relying on it.",
			meaning: "The server can resume this upload if it breaks off; the Location field names the upload resource to ask and to continue at.",
			cause:   "An upload with `Upload-Complete` to a server that implements resumable uploads.",
			retry:   "Remember the Location. After a broken connection, ask it with HEAD for `Upload-Offset`, then send the rest with PATCH.",
			related: []int{100, 201, 308}, fields: []string{"Location"},
		},
	}
}

func successful() []status {
	return []status{
		{
			code: 200, phrase: "OK", source: rfc(9110, "15.3.1"), caching: cachedByDefault,
			meaning: "The request succeeded. What the content is depends on the method: the representation for GET, the outcome of the action for POST, nothing for HEAD.",
			cause:   "Everything went well.",
			retry:   "None needed.",
			server:  "Do not report a failure with 200 and an error in the content: caches, monitors and retry logic look at the status. Send ETag or Last-Modified with a GET.",
			related: []int{201, 202, 204, 206}, fields: []string{"Content-Type", "ETag", "Cache-Control"},
			example: `
GET /books/42 HTTP/1.1
Host: api.example.com
Accept: application/json

HTTP/1.1 200 OK
Content-Type: application/json
ETag: "v7"
Cache-Control: max-age=60

{"id":42,"title":"Die Verwandlung"}`,
		},
		{
			code: 201, phrase: "Created", source: rfc(9110, "15.3.2"), caching: cachedIfTold,
			meaning: "The request has created one or more resources. The main one is named by Location, or is the target itself if there is no Location.",
			cause:   "POST to a collection, or PUT to a URI that did not exist.",
			retry:   "None needed. Keep the Location: it is the identity of what was created.",
			server:  "Create before answering; if creation happens later, answer 202. For PUT, 201 means created and 200 or 204 means replaced.",
			related: []int{200, 202, 204, 303, 409}, fields: []string{"Location", "ETag", "Content-Location"},
			example: `
POST /books HTTP/1.1
Host: api.example.com
Content-Type: application/json

{"title":"Ο ξένος"}

HTTP/1.1 201 Created
Location: /books/43
ETag: "v1"`,
		},
		{
			code: 202, phrase: "Accepted", source: rfc(9110, "15.3.3"), caching: cachedIfTold,
			meaning: "The request is accepted but not finished, and it may still fail. HTTP has no way to report the outcome later on its own.",
			cause:   "Batch work, queues, e-mail, anything that outlives the request.",
			retry:   "Do not repeat the request; ask the status monitor that the response points to, as often as Retry-After allows.",
			server:  "Describe the current state and point to a monitor, usually with Location or Link.",
			related: []int{200, 201, 303}, fields: []string{"Location", "Retry-After", "Prefer"},
			example: `
POST /exports HTTP/1.1
Host: api.example.com
Prefer: respond-async

HTTP/1.1 202 Accepted
Location: /jobs/981
Retry-After: 10`,
		},
		{
			code: 203, phrase: "Non-Authoritative Information", source: rfc(9110, "15.3.4"), caching: cachedByDefault,
			meaning: "The request succeeded, but a transforming proxy has changed the origin's 200 response on the way.",
			cause:   "A proxy that recompresses images, translates or annotates pages.",
			retry:   "None needed. To have it untouched, send `Cache-Control: no-transform`.",
			related: []int{200}, fields: []string{"Via", "Cache-Control"},
		},
		{
			code: 204, phrase: "No Content", source: rfc(9110, "15.3.5"), caching: cachedByDefault,
			meaning: "The request succeeded and there is nothing more to say. A browser stays on the page it shows.",
			cause:   "DELETE, a PUT or PATCH that saves, a beacon.",
			retry:   "None needed.",
			server:  "Send neither content nor Content-Length nor Transfer-Encoding. An ETag in the response to a PUT tells the client the version it has just stored.",
			related: []int{200, 205, 304}, fields: []string{"ETag"},
			example: `
DELETE /books/42 HTTP/1.1
Host: api.example.com

HTTP/1.1 204 No Content`,
		},
		{
			code: 205, phrase: "Reset Content", source: rfc(9110, "15.3.6"), caching: cachedIfTold,
			meaning: "The request succeeded; the user agent should reset the view that caused it, for example clear the form for the next entry.",
			cause:   "Data entry forms. Rare: browsers do little with it.",
			retry:   "None needed.",
			server:  "It has no content: end it with `Content-Length: 0` or an empty chunked body.",
			related: []int{204},
		},
		{
			code: 206, phrase: "Partial Content", source: rfc(9110, "15.3.7"), caching: cachedByDefault,
			meaning: "The response carries one or more ranges of the representation, as the Range field asked.",
			cause:   "Seeking in a video, resuming a download, reading the end of an archive.",
			retry:   "None needed. Check Content-Range: the server may have sent less, or another range, than asked. Join parts only if their strong validators are the same.",
			server:  "Send Content-Range (or `multipart/byteranges` for several ranges) and the same validators as with a 200. A cache that cannot handle ranges must not store it.",
			related: []int{200, 416, 304}, fields: []string{"Range", "Content-Range", "If-Range", "Accept-Ranges"},
			example: `
GET /film.mp4 HTTP/1.1
Host: example.com
Range: bytes=1000-1999
If-Range: "v7"

HTTP/1.1 206 Partial Content
Content-Range: bytes 1000-1999/146515
Content-Length: 1000
ETag: "v7"`,
		},
		{
			code: 207, phrase: "Multi-Status", source: rfc(4918, "11.1"), caching: cachedIfTold,
			meaning: "The content holds a separate status for each of several resources. The 207 itself says nothing about success.",
			cause:   "WebDAV PROPFIND, PROPPATCH, or a COPY, MOVE or DELETE of a tree that partly failed.",
			retry:   "Read the multistatus document and treat each member by its own status.",
			server:  "Outside WebDAV too, some batch APIs use it; then document the format, since the XML of WebDAV is what generic clients expect.",
			related: []int{208, 423, 424, 507}, fields: []string{"Depth", "DAV"},
		},
		{
			code: 208, phrase: "Already Reported", source: rfc(5842, "7.1"), caching: cachedIfTold,
			meaning: "Inside a multistatus document: the members of this binding have already been listed in the same answer.",
			cause:   "WebDAV collections with several bindings to one resource, or loops.",
			retry:   "None needed: use what was listed before.",
			related: []int{207, 508},
		},
		{
			code: 226, phrase: "IM Used", source: rfc(3229, "10.4.1"), caching: cachedIfTold,
			meaning: "The content is the result of one or more instance manipulations, such as a delta against the version the client already has.",
			cause:   "A feed reader that sent `A-IM: feed` with If-None-Match and gets only the new entries.",
			retry:   "Apply the delta to the stored version. A cache may use it only if it understands the manipulation.",
			related: []int{200, 206, 304}, fields: []string{"If-None-Match", "ETag"},
		},
	}
}

func redirections() []status {
	return []status{
		{
			code: 300, phrase: "Multiple Choices", source: rfc(9110, "15.4.1"), caching: cachedByDefault,
			meaning: "There are several representations, each with a URI of its own; the user or user agent is to choose.",
			cause:   "Reactive negotiation. Rare: most servers choose by Accept fields instead.",
			retry:   "Choose from the content or from Link fields with `rel=alternate`; Location names the server's favourite, if it has one.",
			related: []int{406, 303}, fields: []string{"Location", "Link", "Accept"},
		},
		{
			code: 301, phrase: "Moved Permanently", source: rfc(9110, "15.4.2"), caching: cachedByDefault,
			meaning: "The resource has a new permanent URI, given in Location; links should be updated.",
			cause:   "A site that changed its address, http to https, a missing trailing slash.",
			retry:   "Follow Location and remember it. Many clients change POST to GET when they follow, which the standard allows.",
			server:  "If the method has to stay, send 308. Browsers keep a 301 for long: try with 302 first.",
			related: []int{308, 302, 410}, fields: []string{"Location", "Cache-Control"},
			example: `
GET /old HTTP/1.1
Host: example.com

HTTP/1.1 301 Moved Permanently
Location: https://www.example.com/new`,
		},
		{
			code: 302, phrase: "Found", source: rfc(9110, "15.4.3"), caching: cachedIfTold,
			meaning: "The resource is for now at another URI; keep using the original one in future.",
			cause:   "Log-in pages, temporary moves, and by habit the redirect after a POST.",
			retry:   "Follow Location this time only. Many clients change POST to GET.",
			server:  "Say what you mean: 303 for \"look there with GET\", 307 for \"the same request there\".",
			related: []int{303, 307, 301}, fields: []string{"Location"},
		},
		{
			code: 303, phrase: "See Other", source: rfc(9110, "15.4.4"), caching: cachedIfTold,
			meaning: "The answer to the request is to be had elsewhere, with GET (or HEAD). The other resource is no substitute for the target.",
			cause:   "The redirect after a form was posted, so that reloading does not post again; the end of a long job.",
			retry:   "Send GET to Location, whatever the first method was, without the content.",
			related: []int{201, 302, 307}, fields: []string{"Location"},
			example: `
POST /orders HTTP/1.1
Host: shop.example
Content-Type: application/x-www-form-urlencoded

item=caf%C3%A9

HTTP/1.1 303 See Other
Location: /orders/77`,
		},
		{
			code: 304, phrase: "Not Modified", source: rfc(9110, "15.4.5"),
			caching: "Refreshes a stored response: the cache takes over the new fields and serves its copy (RFC 9111, section 4.3.4).",
			meaning: "The condition of a GET or HEAD was false: the client's copy is still good, and no content is sent.",
			cause:   "If-None-Match with the current entity tag, or If-Modified-Since with a date not before the last change.",
			retry:   "Use the stored copy. A client that has none must repeat without the condition.",
			server:  "Send the fields a 200 would have had of these: Content-Location, Date, ETag, Vary, Cache-Control, Expires. No content. For other methods a false condition gives 412.",
			related: []int{200, 412}, fields: []string{"If-None-Match", "If-Modified-Since", "ETag", "Cache-Control"},
			example: `
GET /books/42 HTTP/1.1
Host: api.example.com
If-None-Match: "v7"

HTTP/1.1 304 Not Modified
ETag: "v7"
Cache-Control: max-age=60`,
		},
		{
			code: 305, phrase: "Use Proxy", source: rfc(9110, "15.4.6"), caching: cachedIfTold,
			note:    "Deprecated. Configuring a proxy from inside a response was unsafe.",
			meaning: "The resource was to be reached through the proxy named in Location.",
			cause:   "Nothing current sends it.",
			retry:   "Do not follow it; report an error.",
			related: []int{306, 407},
		},
		{
			code: 306, phrase: "(Unused)", source: rfc(9110, "15.4.7"), caching: unknownCaching,
			note:    "Unused and reserved: it had a meaning in a draft that was given up.",
			meaning: "No meaning is defined.",
			cause:   "A mistake, or a server that uses it privately.",
			retry:   "Treat it like 300.",
			related: []int{305, 300},
		},
		{
			code: 307, phrase: "Temporary Redirect", source: rfc(9110, "15.4.8"), caching: cachedIfTold,
			meaning: "The resource is for now at another URI, and the request has to be repeated there with the same method and content.",
			cause:   "Moving load or maintenance; a browser's internal upgrade to https under HSTS is shown as 307 too.",
			retry:   "Repeat the same request at Location. Ask the user first if it is not a safe method and goes to another place.",
			related: []int{308, 302, 303}, fields: []string{"Location", "Strict-Transport-Security"},
			example: `
POST /v1/orders HTTP/1.1
Host: api.example.com
Content-Type: application/json

{"item":1}

HTTP/1.1 307 Temporary Redirect
Location: https://eu.api.example.com/v1/orders`,
		},
		{
			code: 308, phrase: "Permanent Redirect", source: rfc(9110, "15.4.9"), caching: cachedByDefault,
			meaning: "The resource has a new permanent URI, and the request has to be repeated there with the same method and content.",
			cause:   "An API that moved for good.",
			retry:   "Repeat the same request at Location and update what you stored.",
			server:  "Younger than 301 (2014), yet known to every current client. Some upload services use 308 without Location in a sense of their own, as \"continue\".",
			related: []int{301, 307}, fields: []string{"Location"},
		},
	}
}
