package main

func clientErrors() []status {
	return []status{
		{
			code: 400, phrase: "Bad Request", source: rfc(9110, "15.5.1"), caching: cachedIfTold,
			meaning: "The server cannot or will not process the request because of something it takes for the client's mistake: malformed syntax, bad framing, deceptive routing.",
			cause:   "JSON that does not parse, a missing parameter, a bad Host field, an oversized cookie at some servers.",
			retry:   "Not unchanged. Read the explanation and correct the request.",
			server:  "Say which part is wrong, for example as `application/problem+json` (RFC 9457). If the syntax is right and only the meaning is not, 422 says so.",
			related: []int{422, 415, 431}, fields: []string{"Content-Type", "Host"},
			example: `
POST /books HTTP/1.1
Host: api.example.com
Content-Type: application/json

{"title":

HTTP/1.1 400 Bad Request
Content-Type: application/problem+json

{"title":"Content is not JSON","detail":"unexpected end at byte 9","status":400}`,
		},
		{
			code: 401, phrase: "Unauthorized", source: rfc(9110, "15.5.2"), caching: cachedIfTold,
			meaning: "The request lacks valid credentials for the target. In spite of its name it is about authentication, not permission.",
			cause:   "No Authorization field, an expired token, a wrong password.",
			retry:   "Obtain or renew credentials for one of the challenges in WWW-Authenticate, then repeat once. If the same challenge comes back with fresh credentials, stop.",
			server:  "WWW-Authenticate with at least one challenge is mandatory. If the credentials are good but not sufficient, send 403.",
			related: []int{403, 407, 511}, fields: []string{"WWW-Authenticate", "Authorization"},
			example: `
GET /me HTTP/1.1
Host: api.example.com

HTTP/1.1 401 Unauthorized
WWW-Authenticate: Bearer realm="api", error="invalid_token"`,
		},
		{
			code: 402, phrase: "Payment Required", source: rfc(9110, "15.5.3"), caching: cachedIfTold,
			note:    "Reserved for future use: the standard gives it a name but no behaviour.",
			meaning: "Meant for payment. Services use it as they please, mostly for an unpaid subscription or an exhausted quota.",
			cause:   "An account without credit; a pay-per-request scheme built on top of HTTP.",
			retry:   "Not before the payment is settled; see the content or the documentation of the service.",
			related: []int{403, 429},
		},
		{
			code: 403, phrase: "Forbidden", source: rfc(9110, "15.5.4"), caching: cachedIfTold,
			meaning: "The server understood the request and refuses it. Credentials, if there were any, were not sufficient.",
			cause:   "Missing permission or scope, a blocked address, a missing CSRF token, a directory that may not be listed.",
			retry:   "Not with the same credentials. Other credentials may help; a refusal for another reason will stay.",
			server:  "To hide that a resource exists, 404 is allowed.",
			related: []int{401, 404, 451}, fields: []string{"Authorization", "Origin"},
		},
		{
			code: 404, phrase: "Not Found", source: rfc(9110, "15.5.5"), caching: cachedByDefault,
			meaning: "The server found no current representation of the target, or will not say that there is one. It does not say whether that will change.",
			cause:   "A wrong path or id, something deleted, a route that was never deployed, a resource hidden from this user.",
			retry:   "Not soon, unless the resource is known to be on its way (a replica that lags, a job that will create it). Check the URI first: slash, case, version prefix.",
			server:  "Send 410 if it is gone for good. An unknown method on a known resource is 405, not 404.",
			related: []int{410, 403, 405}, fields: []string{"Cache-Control"},
			example: `
GET /books/999 HTTP/1.1
Host: api.example.com

HTTP/1.1 404 Not Found
Content-Type: application/problem+json
Cache-Control: max-age=10

{"title":"No such book","status":404}`,
		},
		{
			code: 405, phrase: "Method Not Allowed", source: rfc(9110, "15.5.6"), caching: cachedByDefault,
			meaning: "The server knows the method, but the target does not support it.",
			cause:   "POST to an item instead of its collection, PUT to something read-only, a form aimed at a static file.",
			retry:   "Not with this method. Allow lists those that work.",
			server:  "The Allow field is mandatory. A method that the server knows nowhere is 501.",
			related: []int{501, 404}, fields: []string{"Allow"},
			example: `
DELETE /books HTTP/1.1
Host: api.example.com

HTTP/1.1 405 Method Not Allowed
Allow: GET, HEAD, POST`,
		},
		{
			code: 406, phrase: "Not Acceptable", source: rfc(9110, "15.5.7"), caching: cachedIfTold,
			meaning: "No representation fits the request's Accept fields, and the server will not send another one instead.",
			cause:   "An Accept field that is too narrow, such as `application/xml` at an API that speaks JSON only.",
			retry:   "With a wider Accept field, ending in `*/*;q=0.1` if anything is better than nothing.",
			server:  "Sending a default representation is allowed and usually kinder. List what is available in the content.",
			related: []int{415, 300}, fields: []string{"Accept", "Accept-Language", "Accept-Encoding", "Vary"},
		},
		{
			code: 407, phrase: "Proxy Authentication Required", source: rfc(9110, "15.5.8"), caching: cachedIfTold,
			meaning: "Like 401, but the proxy on the way wants credentials.",
			cause:   "A company proxy; a client that does not pass proxy settings on.",
			retry:   "With Proxy-Authorization for a challenge in Proxy-Authenticate. Never send those credentials to the origin.",
			server:  "A proxy must send Proxy-Authenticate with it.",
			related: []int{401, 511}, fields: []string{"Proxy-Authenticate", "Proxy-Authorization"},
		},
		{
			code: 408, phrase: "Request Timeout", source: rfc(9110, "15.5.9"), caching: cachedIfTold,
			meaning: "The server did not receive the complete request within the time it was prepared to wait.",
			cause:   "A slow upload, a client that declared more content than it sent, or an idle connection that the server closes with a parting 408.",
			retry:   "Yes, on a new connection: the request was not processed. For a method that is not idempotent be sure that this really is the server's 408 and not a gateway's.",
			related: []int{504, 503}, fields: []string{"Connection", "Content-Length"},
		},
		{
			code: 409, phrase: "Conflict", source: rfc(9110, "15.5.10"), caching: cachedIfTold,
			meaning: "The request conflicts with the current state of the target, and the user might be able to resolve it.",
			cause:   "An edit based on an old version, a name already taken, deleting something still in use.",
			retry:   "After fetching the current state and merging. Unchanged only if the conflict passes by itself, such as a lock of another worker.",
			server:  "Tell what the conflict is. If the client had sent If-Match, 412 is the right answer.",
			related: []int{412, 423, 422}, fields: []string{"If-Match", "ETag"},
			example: `
PUT /users/anna HTTP/1.1
Host: api.example.com
Content-Type: application/json

{"email":"anna@example.org"}

HTTP/1.1 409 Conflict
Content-Type: application/problem+json

{"title":"E-mail address belongs to another user","status":409}`,
		},
		{
			code: 410, phrase: "Gone", source: rfc(9110, "15.5.11"), caching: cachedByDefault,
			meaning: "The resource was here, is no longer, and will most likely not come back.",
			cause:   "Offers that ended, deleted accounts, retired versions of an API.",
			retry:   "No. Remove the link.",
			server:  "Optional: 404 is correct as well; 410 makes search engines and clients forget sooner.",
			related: []int{404, 301}, fields: []string{"Sunset"},
		},
		{
			code: 411, phrase: "Length Required", source: rfc(9110, "15.5.12"), caching: cachedIfTold,
			meaning: "The server refuses a request without a Content-Length.",
			cause:   "A chunked upload to a server or object store that wants the size beforehand.",
			retry:   "With Content-Length, after buffering or measuring the content.",
			related: []int{413, 400}, fields: []string{"Content-Length", "Transfer-Encoding"},
		},
		{
			code: 412, phrase: "Precondition Failed", source: rfc(9110, "15.5.13"), caching: cachedIfTold,
			meaning: "A condition in the request header was false, so the method was not performed.",
			cause:   "If-Match with an entity tag that is no longer current: somebody else was faster. Or `If-None-Match: *` for something that exists.",
			retry:   "Fetch the current version, apply the change to it, send again with the new entity tag.",
			server:  "Evaluate conditions only if the request would otherwise have succeeded, and in the order of RFC 9110, section 13.2.2.",
			related: []int{304, 409, 428}, fields: []string{"If-Match", "If-None-Match", "If-Unmodified-Since", "ETag"},
			example: `
PUT /books/42 HTTP/1.1
Host: api.example.com
If-Match: "v6"
Content-Type: application/json

{"title":"Verwandlung"}

HTTP/1.1 412 Precondition Failed
ETag: "v7"`,
		},
		{
			code: 413, phrase: "Content Too Large", source: rfc(9110, "15.5.14"), caching: cachedIfTold,
			meaning: "The request content is larger than the server is willing or able to process. Older texts call it Payload Too Large or Request Entity Too Large.",
			cause:   "A limit of the application, or of a proxy in front of it (`client_max_body_size` of nginx is 1 MB unless changed).",
			retry:   "Not unchanged: make it smaller, split it, compress it, or use another upload route. With Retry-After the limit is temporary.",
			server:  "Say what the limit is. You may close the connection instead of reading on.",
			related: []int{414, 431, 507, 411}, fields: []string{"Content-Length", "Expect", "Retry-After"},
		},
		{
			code: 414, phrase: "URI Too Long", source: rfc(9110, "15.5.15"), caching: cachedByDefault,
			meaning: "The target URI is longer than the server is willing to interpret. RFC 9110 recommends to support at least 8000 octets.",
			cause:   "A form sent with GET instead of POST, a redirect loop that keeps adding to the query, an attack.",
			retry:   "Not unchanged: move the parameters into the content of a POST, or of a QUERY where that is supported.",
			related: []int{413, 431, 400},
		},
		{
			code: 415, phrase: "Unsupported Media Type", source: rfc(9110, "15.5.16"), caching: cachedIfTold,
			meaning: "The content has a format that this method does not support on this target, by its Content-Type, its Content-Encoding, or on inspection.",
			cause:   "A missing `Content-Type: application/json`, or compressed content the server does not decode.",
			retry:   "With another format; Accept-Post, Accept-Patch, Accept-Query or Accept-Encoding in the response may list what is supported.",
			server:  "If the coding was the problem, answer with Accept-Encoding; if the type was, with the Accept field of the method.",
			related: []int{406, 422, 400}, fields: []string{"Content-Type", "Content-Encoding", "Accept-Post", "Accept-Patch"},
			example: `
PATCH /books/42 HTTP/1.1
Host: api.example.com
Content-Type: text/plain

title=x

HTTP/1.1 415 Unsupported Media Type
Accept-Patch: application/merge-patch+json, application/json-patch+json`,
		},
		{
			code: 416, phrase: "Range Not Satisfiable", source: rfc(9110, "15.5.17"), caching: cachedIfTold,
			meaning: "None of the ranges asked for overlaps the representation, or the set of ranges was refused as excessive.",
			cause:   "Resuming a download that is already complete, or whose file became shorter.",
			retry:   "Compare with the length in Content-Range; start again without Range if the file has changed.",
			server:  "For bytes, send `Content-Range: bytes */LENGTH`. Ignoring Range and sending a 200 is allowed too.",
			related: []int{206, 200}, fields: []string{"Range", "Content-Range"},
			example: `
GET /film.mp4 HTTP/1.1
Host: example.com
Range: bytes=200000-

HTTP/1.1 416 Range Not Satisfiable
Content-Range: bytes */146515`,
		},
		{
			code: 417, phrase: "Expectation Failed", source: rfc(9110, "15.5.18"), caching: cachedIfTold,
			meaning: "An expectation in the Expect field cannot be met by one of the servers on the way.",
			cause:   "An old proxy or server that does not know `100-continue`.",
			retry:   "Without the Expect field.",
			related: []int{100}, fields: []string{"Expect"},
		},
		{
			code: 418, phrase: "(Unused)", source: rfc(9110, "15.5.19"), caching: unknownCaching,
			note:    "Unused and reserved, because of its life as a joke: \"I'm a teapot\" in RFC 2324, the coffee pot protocol of 1 April 1998.",
			meaning: "No meaning is defined. Some services send it to requests they take for automated.",
			cause:   "A joke, or a bot filter.",
			retry:   "Treat it like 400: not unchanged.",
			related: []int{400, 403, 429},
		},
		{
			code: 421, phrase: "Misdirected Request", source: rfc(9110, "15.5.20"), caching: cachedIfTold,
			meaning: "The request came to a server that cannot give an authoritative answer for its host.",
			cause:   "A client that reused an HTTP/2 or HTTP/3 connection for another host covered by the same certificate; a Host field that does not match the TLS server name.",
			retry:   "Yes, on a new connection to the right host, whatever the method. A proxy must not generate it.",
			related: []int{404, 400}, fields: []string{"Host", "Alt-Svc"},
		},
		{
			code: 422, phrase: "Unprocessable Content", source: rfc(9110, "15.5.21"), caching: cachedIfTold,
			meaning: "The format is supported and the syntax correct, but the instructions in it cannot be carried out. Formerly Unprocessable Entity, from WebDAV.",
			cause:   "Validation: a date in the past, a missing member, an unknown reference.",
			retry:   "Not unchanged. Correct the members that the response names.",
			server:  "List every mistake at once, each with its place (a JSON pointer), so that the client needs one round only.",
			related: []int{400, 409, 415}, fields: []string{"Content-Type"},
			example: `
POST /orders HTTP/1.1
Host: api.example.com
Content-Type: application/json

{"quantity":-1}

HTTP/1.1 422 Unprocessable Content
Content-Type: application/problem+json

{"title":"Invalid order","errors":[{"pointer":"#/quantity","detail":"must be positive"}]}`,
		},
		{
			code: 423, phrase: "Locked", source: rfc(4918, "11.3"), caching: cachedIfTold,
			meaning: "The source or destination of a WebDAV method is locked.",
			cause:   "Somebody edits the document; a client crashed and left its lock behind.",
			retry:   "When the lock is released or has timed out, or with the lock token in the If field if the lock is yours.",
			related: []int{409, 424, 412}, fields: []string{"Lock-Token", "If", "Timeout"},
		},
		{
			code: 424, phrase: "Failed Dependency", source: rfc(4918, "11.4"), caching: cachedIfTold,
			meaning: "This part was not done because it depended on another part that failed.",
			cause:   "One property of a PROPPATCH could not be set, so none was.",
			retry:   "After curing the other failure, which the multistatus document names.",
			related: []int{207, 423},
		},
		{
			code: 425, phrase: "Too Early", source: rfc(8470, "5.2"), caching: cachedIfTold,
			meaning: "The server will not risk processing a request that came in TLS early data and might be a replay.",
			cause:   "0-RTT resumption with a request that changes something.",
			retry:   "Yes, once the handshake is complete; clients do so by themselves.",
			server:  "Send it only if the request came in early data or carried `Early-Data: 1`.",
			related: []int{503}, fields: []string{"Early-Data"},
		},
		{
			code: 426, phrase: "Upgrade Required", source: rfc(9110, "15.5.22"), caching: cachedIfTold,
			meaning: "The server refuses to do this with the current protocol but may after an upgrade.",
			cause:   "Plain HTTP where a WebSocket handshake is expected, or a WebSocket version that is not supported.",
			retry:   "With one of the protocols in the Upgrade field.",
			server:  "The Upgrade field is mandatory.",
			related: []int{101, 400, 505}, fields: []string{"Upgrade", "Sec-WebSocket-Version"},
		},
		{
			code: 428, phrase: "Precondition Required", source: rfc(6585, "3"), caching: neverCached,
			meaning: "The server insists on a conditional request, so that no update is lost.",
			cause:   "PUT or PATCH without If-Match at an API that demands it.",
			retry:   "Fetch the resource, then repeat with If-Match and its entity tag.",
			server:  "Explain how to send the request so that it succeeds.",
			related: []int{412, 409}, fields: []string{"If-Match", "If-Unmodified-Since", "ETag"},
		},
		{
			code: 429, phrase: "Too Many Requests", source: rfc(6585, "4"), caching: neverCached,
			meaning: "The client has sent too many requests in some span of time. How the server counts is up to it.",
			cause:   "A rate limit by key, user or address; several workers that share one quota.",
			retry:   "Yes, after Retry-After; without it back off exponentially with jitter, and lower the rate for all requests to that service.",
			server:  "Send Retry-After, and say which limit was hit.",
			related: []int{503, 403}, fields: []string{"Retry-After", "RateLimit"},
			example: `
GET /search?q=%E6%9D%B1%E4%BA%AC HTTP/1.1
Host: api.example.com

HTTP/1.1 429 Too Many Requests
Retry-After: 30
Content-Type: application/problem+json

{"title":"60 requests a minute, please","status":429}`,
		},
		{
			code: 431, phrase: "Request Header Fields Too Large", source: rfc(6585, "5"), caching: neverCached,
			meaning: "The header fields are too large, one of them or all together.",
			cause:   "Cookies that have piled up, a token with too many claims, a long Referer.",
			retry:   "With smaller fields: drop cookies that are not needed.",
			server:  "If a single field is to blame, name it.",
			related: []int{400, 413, 414}, fields: []string{"Cookie", "Authorization", "Referer"},
		},
		{
			code: 451, phrase: "Unavailable For Legal Reasons", source: rfc(7725, "3"),
			caching: "Cacheable by default (RFC 7725, section 3).",
			meaning: "Access is denied because of a legal demand: censorship, copyright, privacy law.",
			cause:   "A court order, a block by country.",
			retry:   "No. From another place the answer may differ.",
			server:  "Say who demanded what, and name the blocking party with `Link: <URI>; rel=\"blocked-by\"`.",
			related: []int{403, 404, 410}, fields: []string{"Link"},
			example: `
GET /pamphlet HTTP/1.1
Host: example.net

HTTP/1.1 451 Unavailable For Legal Reasons
Link: <https://example.net/legal>; rel="blocked-by"`,
		},
	}
}
