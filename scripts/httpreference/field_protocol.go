package main

func cachingFields() []field {
	return []field{
		{
			name: "Cache-Control", sentIn: inBoth, source: rfc(9111, "5.2"),
			meaning: "Directives to every cache on the way.",
			example: "Cache-Control: public, max-age=31536000, immutable\nCache-Control: no-cache\nCache-Control: private, no-store",
			advice:  "Responses: `max-age` seconds of freshness, `s-maxage` for shared caches, `no-cache` store but ask before each use, `no-store` do not store, `private` browser only, `public` even if authenticated, `must-revalidate` never stale, `immutable` (RFC 8246) no reload, `stale-while-revalidate` and `stale-if-error` (RFC 5861). Requests: `no-cache`, `no-store`, `max-age`, `max-stale`, `min-fresh`, `only-if-cached`, `no-transform`.",
			related: []string{"Expires", "Age", "Vary", "CDN-Cache-Control", "ETag"},
		},
		{
			name: "Expires", sentIn: inResponse, source: rfc(9111, "5.3"),
			meaning: "The date after which the response is stale. `max-age` and `s-maxage` take precedence.",
			example: "Expires: Thu, 01 Dec 1994 16:00:00 GMT",
			advice:  "An invalid date, most often `0`, counts as already expired.",
			related: []string{"Cache-Control", "Date"},
		},
		{
			name: "Age", sentIn: inResponse, source: rfc(9111, "5.1"),
			meaning: "Seconds since the response was made or successfully validated at the origin, as a cache estimates it.",
			example: "Age: 24",
			advice:  "Present means: it came from a cache. Subtract it from max-age to see how long the response stays fresh.",
			related: []string{"Cache-Control", "Cache-Status", "Date"},
		},
		{
			name: "Pragma", sentIn: inRequest, source: rfc(9111, "5.4"),
			note:    "Deprecated: use Cache-Control.",
			meaning: "`Pragma: no-cache` in a request was the `Cache-Control: no-cache` of HTTP/1.0.",
			example: "Pragma: no-cache",
			advice:  "In responses it never had a defined meaning.",
			related: []string{"Cache-Control"},
		},
		{
			name: "Warning", sentIn: inResponse, source: rfc(9111, "5.5"),
			note:    "Obsoleted: hardly anybody generated or showed it.",
			meaning: "Additional information about a status or a transformation, such as 110 for a stale response.",
			example: "Warning: 110 - \"Response is Stale\"",
			related: []string{"Age", "Cache-Status"},
		},
		{
			name: "Cache-Status", sentIn: inResponse, source: rfc(9211, "2"), structured: "List",
			meaning: "How each cache on the way handled the request: a hit, or forwarded and why, and what it stored.",
			example: "Cache-Status: OriginCache; hit; ttl=1100, \"CDN Company Here\"; fwd=uri-miss; stored",
			advice:  "The first member is nearest to the origin. It replaces the X-Cache fields of single vendors.",
			related: []string{"Age", "Proxy-Status"},
		},
		{
			name: "CDN-Cache-Control", sentIn: inResponse, source: rfc(9213, "3"), structured: "Dictionary",
			meaning: "Cache directives for content delivery networks only; they use it instead of Cache-Control and Expires.",
			example: "Cache-Control: max-age=60\nCDN-Cache-Control: max-age=600",
			related: []string{"Cache-Control", "CDN-Loop"},
		},
		{
			name: "Cache-Groups", sentIn: inResponse, source: rfc(9875, "2"), structured: "List",
			meaning: "Groups of the same origin to which the response belongs, so that they can be invalidated together.",
			example: "Cache-Groups: \"scripts\", \"news\"",
			related: []string{"Cache-Group-Invalidation", "Cache-Control"},
		},
		{
			name: "Cache-Group-Invalidation", sentIn: inResponse, source: rfc(9875, "3"), structured: "List",
			meaning: "After this request, which was not a safe one, stored responses of these groups are out of date.",
			example: "Cache-Group-Invalidation: \"news\"",
			related: []string{"Cache-Groups"},
		},
		{
			name: "Clear-Site-Data", sentIn: inResponse, source: source{document: "Clear Site Data"},
			meaning: "The browser is to delete what it stored for the origin: `\"cache\"`, `\"cookies\"`, `\"storage\"` or `\"*\"`.",
			example: "Clear-Site-Data: \"cookies\", \"storage\"",
			advice:  "Good at log-out. The values are quoted strings; over plain HTTP it is ignored.",
			related: []string{"Set-Cookie", "Cache-Control"},
		},
	}
}

func authenticationFields() []field {
	return []field{
		{
			name: "Authorization", sentIn: inRequest, source: rfc(9110, "11.6.2"),
			meaning: "Credentials for the origin server: a scheme and what the scheme needs.",
			example: "Authorization: Bearer mF_9.B5f-4.1JqM\nAuthorization: Basic dGVzdDoxMjPCow==",
			advice:  "Over TLS only. A shared cache must not reuse the response unless it is told to (RFC 9111, section 3.5). Clients drop the field when a redirect leads to another origin. The second line is `test:123£` in UTF-8 (RFC 7617).",
			related: []string{"WWW-Authenticate", "Proxy-Authorization", "DPoP"},
		},
		{
			name: "WWW-Authenticate", sentIn: inResponse, source: rfc(9110, "11.6.1"),
			meaning: "Challenges: the schemes by which the client may authenticate. Mandatory in a 401.",
			example: "WWW-Authenticate: Bearer realm=\"api\", error=\"invalid_token\"\nWWW-Authenticate: Basic realm=\"foo\", charset=\"UTF-8\"",
			advice:  "One field may hold several challenges, and commas separate both challenges and parameters: parse with care. MCP and OAuth put `resource_metadata` here (RFC 9728).",
			related: []string{"Authorization", "Authentication-Info", "Proxy-Authenticate"},
		},
		{
			name: "Authentication-Info", sentIn: inResponse, source: rfc(9110, "11.6.3"),
			meaning: "After success, information for the next request, such as the next nonce of Digest.",
			example: "Authentication-Info: nextnonce=\"47364c23432d2e131a5fb210812c\"",
			related: []string{"Authorization", "Proxy-Authentication-Info"},
		},
		{
			name: "Proxy-Authenticate", sentIn: inResponse, source: rfc(9110, "11.7.1"),
			meaning: "Challenges of a proxy, for the next client only. Mandatory in a 407.",
			example: "Proxy-Authenticate: Basic realm=\"proxy\"",
			related: []string{"Proxy-Authorization", "WWW-Authenticate"},
		},
		{
			name: "Proxy-Authorization", sentIn: inRequest, source: rfc(9110, "11.7.2"),
			meaning: "Credentials for a proxy; the proxy that asked for them consumes the field.",
			example: "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
			related: []string{"Proxy-Authenticate", "Authorization"},
		},
		{
			name: "Proxy-Authentication-Info", sentIn: inResponse, source: rfc(9110, "11.7.3"),
			meaning: "Like Authentication-Info, from a proxy.",
			example: "Proxy-Authentication-Info: nextnonce=\"47364c23432d2e131a5fb210812c\"",
			related: []string{"Proxy-Authenticate", "Authentication-Info"},
		},
		{
			name: "DPoP", sentIn: inRequest, source: rfc(9449, "4.1"),
			meaning: "A signed proof that the client holds the key to which its token is bound; one JWT for each request.",
			example: "Authorization: DPoP Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp\nDPoP: eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2In0.e30.c2ln",
			advice:  "The proof names method and URI, so a stolen one is of little use elsewhere.",
			related: []string{"DPoP-Nonce", "Authorization"},
		},
		{
			name: "DPoP-Nonce", sentIn: inResponse, source: rfc(9449, "8"),
			meaning: "A nonce that the client has to put into its next DPoP proof.",
			example: "DPoP-Nonce: eyJ7S_zG.eyJH0-Z.HX4w-7v",
			related: []string{"DPoP"},
		},
		{
			name: "Signature", sentIn: inBoth, source: rfc(9421, "4.2"), structured: "Dictionary",
			meaning: "Signatures over parts of the message; Signature-Input says over which.",
			example: "Signature: sig1=:dMT/A/76ehrdBTD/2Xx8QuKV6FoyzEP/I9hdzKN8LQJLNgzU4W767HK05rx1i8meNQQgQPgQp8wq2ive3tV5Ag==:",
			advice:  "Sign Content-Digest to cover the content too. The field means nothing without Signature-Input with the same label.",
			related: []string{"Signature-Input", "Content-Digest", "Accept-Signature"},
		},
		{
			name: "Signature-Input", sentIn: inBoth, source: rfc(9421, "4.1"), structured: "Dictionary",
			meaning: "For each signature, the components it covers and its parameters: created, expires, keyid, nonce, alg, tag.",
			example: "Signature-Input: sig1=(\"@method\" \"@authority\" \"@path\" \"content-digest\");created=1618884473;keyid=\"key-a\"",
			related: []string{"Signature", "Accept-Signature"},
		},
		{
			name: "Accept-Signature", sentIn: inBoth, source: rfc(9421, "5.1"), structured: "Dictionary",
			meaning: "Asks the other side to sign, and says which components.",
			example: "Accept-Signature: sig1=(\"@method\" \"@target-uri\");keyid=\"test-key\";created;tag=\"app-123\"",
			related: []string{"Signature", "Signature-Input"},
		},
		{
			name: "Client-Cert", sentIn: inRequest, source: rfc(9440, "2.2"), structured: "Item",
			meaning: "The client's TLS certificate, passed on by the proxy that terminated TLS.",
			example: "Client-Cert: :MIIBqDCCAU6gAwIBAgIBBzAKBggqhkjOPQQDAjA6=:",
			advice:  "The proxy must remove the field from what clients send, or anybody can claim any certificate.",
			related: []string{"Client-Cert-Chain", "Forwarded"},
		},
		{
			name: "Client-Cert-Chain", sentIn: inRequest, source: rfc(9440, "2.3"), structured: "List",
			meaning: "The certificates above the client's one, in the order of the TLS handshake.",
			example: "Client-Cert-Chain: :MIIB5jCCAYugAwIBAgIBFjAKBggqhkjOPQQDAjBW:",
			related: []string{"Client-Cert"},
		},
	}
}

func connectionFields() []field {
	return []field{
		{
			name: "Connection", sentIn: inBoth, source: rfc(9110, "7.6.1"),
			meaning: "Options for this connection only, and the names of fields that must not be forwarded.",
			example: "Connection: close\nConnection: Upgrade",
			advice:  "HTTP/1.1 keeps connections open unless told to close. In HTTP/2 and HTTP/3 the field is forbidden; a message with it is malformed.",
			related: []string{"Keep-Alive", "Upgrade", "TE"},
		},
		{
			name: "Keep-Alive", sentIn: inBoth, source: rfc(2068, "19.7.1.1"),
			meaning: "Hints on how long an idle connection stays open and for how many requests.",
			example: "Connection: keep-alive\nKeep-Alive: timeout=5, max=100",
			advice:  "Not for HTTP/2 and later. A client should close before the server's timeout, or retry idempotent requests that meet a closed connection.",
			related: []string{"Connection"},
		},
		{
			name: "Transfer-Encoding", sentIn: inBoth, source: rfc(9112, "6.1"),
			meaning: "Codings applied to the message for its transfer; `chunked`, which is last, delimits content of unknown length.",
			example: "Transfer-Encoding: chunked",
			advice:  "HTTP/1.1 only: later versions frame by themselves and forbid it. With Content-Length beside it a request has to be treated as an attack.",
			related: []string{"Content-Length", "TE", "Trailer", "Content-Encoding"},
		},
		{
			name: "TE", sentIn: inRequest, source: rfc(9110, "10.1.4"),
			meaning: "Transfer codings that the client accepts besides chunked; `trailers` says that it does not discard trailer fields.",
			example: "TE: trailers",
			advice:  "In HTTP/1.1 it must be named in Connection. gRPC relies on `te: trailers`.",
			related: []string{"Trailer", "Transfer-Encoding"},
		},
		{
			name: "Trailer", sentIn: inBoth, source: rfc(9110, "6.6.2"),
			meaning: "Names of fields that are going to be sent after the content.",
			example: "Trailer: Repr-Digest",
			advice:  "Fields needed for framing, routing, authentication or the handling of content cannot be trailers.",
			related: []string{"TE", "Transfer-Encoding"},
		},
		{
			name: "Upgrade", sentIn: inBoth, source: rfc(9110, "7.8"),
			meaning: "Protocols that the sender would like to change to on this connection, by preference.",
			example: "Connection: Upgrade\nUpgrade: websocket",
			advice:  "The server answers 101 or simply goes on. Not for HTTP/2 and HTTP/3.",
			related: []string{"Connection", "Sec-WebSocket-Key"},
		},
		{
			name: "Expect", sentIn: inRequest, source: rfc(9110, "10.1.1"),
			meaning: "`100-continue`: answer before I send the content.",
			example: "Expect: 100-continue",
			related: []string{"Content-Length"},
		},
		{
			name: "Alt-Svc", sentIn: inResponse, source: rfc(7838, "3"),
			meaning: "The same origin can also be reached by another protocol, host or port.",
			example: "Alt-Svc: h3=\":443\"; ma=86400",
			advice:  "The usual way to announce HTTP/3. `clear` takes everything back. The certificate must still be valid for the origin.",
			related: []string{"Alt-Used", "Upgrade"},
		},
		{
			name: "Alt-Used", sentIn: inRequest, source: rfc(7838, "5"),
			meaning: "The alternative service that the client is using.",
			example: "Alt-Used: alternate.example.net",
			related: []string{"Alt-Svc"},
		},
		{
			name: "Early-Data", sentIn: inRequest, source: rfc(8470, "5.1"),
			meaning: "`1`: an intermediary received this request in TLS early data and forwards it before the handshake is complete, so it may be a replay.",
			example: "Early-Data: 1",
			advice:  "A server that cannot accept the risk answers 425.",
			related: []string{"Retry-After"},
		},
		{
			name: "Priority", sentIn: inBoth, source: rfc(9218, "5"), structured: "Dictionary",
			meaning: "How urgent the response is, `u` from 0 to 7 (3 if absent), and whether it is useful piece by piece (`i`).",
			example: "Priority: u=1, i",
			advice:  "For HTTP/2 and HTTP/3. In a response it is the origin's word to the proxies.",
			related: []string{"Link"},
		},
		{
			name: "HTTP2-Settings", sentIn: inRequest, source: rfc(7540, "3.2.1"),
			note:    "Obsoleted: RFC 9113 removed the upgrade from HTTP/1.1 to cleartext HTTP/2.",
			meaning: "The SETTINGS frame of a client that asked for `Upgrade: h2c`.",
			example: "HTTP2-Settings: AAMAAABkAAQAAP__",
			related: []string{"Upgrade"},
		},
	}
}

func routingFields() []field {
	return []field{
		{
			name: "Host", sentIn: inRequest, source: rfc(9110, "7.2"),
			meaning: "Host and port of the target URI. HTTP/2 and HTTP/3 use `:authority` in its place.",
			example: "Host: www.example.org:8080",
			advice:  "Mandatory in HTTP/1.1: none, two, or an invalid one is a 400. Compare it with a list of your names: building links from an unchecked Host poisons caches and password mails, and DNS rebinding needs it unchecked.",
			related: []string{"Forwarded", "X-Forwarded-Host", "Origin"},
		},
		{
			name: "Via", sentIn: inBoth, source: rfc(9110, "7.6.3"),
			meaning: "The proxies and gateways a message has passed, each with the protocol version it received.",
			example: "Via: 1.0 fred, 1.1 p.example.net",
			related: []string{"Forwarded", "Max-Forwards", "CDN-Loop"},
		},
		{
			name: "Forwarded", sentIn: inRequest, source: rfc(7239, "4"),
			meaning: "What proxies would otherwise hide: for (client), by (proxy), host and proto.",
			example: "Forwarded: for=192.0.2.43;proto=https, for=\"[2001:db8:cafe::17]:4711\"",
			advice:  "Believe only the entries that your own proxies added: a client can send the field too.",
			related: []string{"X-Forwarded-For", "X-Forwarded-Proto", "Via"},
		},
		{
			name: "X-Forwarded-For", sentIn: inRequest, source: source{document: "common practice of proxies"},
			note:    "Not registered: the standard form is Forwarded.",
			meaning: "Addresses of the client and of the proxies passed, each proxy appending the one it saw.",
			example: "X-Forwarded-For: 203.0.113.195, 198.51.100.178",
			advice:  "Count from the right, as many as you have trusted proxies; the left end is whatever the client claims.",
			related: []string{"Forwarded", "X-Forwarded-Proto", "X-Forwarded-Host"},
		},
		{
			name: "X-Forwarded-Proto", sentIn: inRequest, source: source{document: "common practice of proxies"},
			note:    "Not registered: the standard form is Forwarded.",
			meaning: "The scheme the client used, http or https, before a proxy terminated TLS.",
			example: "X-Forwarded-Proto: https",
			related: []string{"Forwarded", "X-Forwarded-For"},
		},
		{
			name: "X-Forwarded-Host", sentIn: inRequest, source: source{document: "common practice of proxies"},
			note:    "Not registered: the standard form is Forwarded.",
			meaning: "The Host the client sent, before a proxy replaced it.",
			example: "X-Forwarded-Host: shop.example",
			related: []string{"Forwarded", "Host"},
		},
		{
			name: "Max-Forwards", sentIn: inRequest, source: rfc(9110, "7.6.2"),
			meaning: "How many more times a TRACE or OPTIONS may be forwarded; at 0 the recipient answers itself.",
			example: "Max-Forwards: 10",
			related: []string{"Via"},
		},
		{
			name: "CDN-Loop", sentIn: inRequest, source: rfc(8586, "2"),
			meaning: "The CDNs a request has passed, so that one recognises a request that comes round again.",
			example: "CDN-Loop: foo123.foocdn.example, barcdn.example; trace=\"abcdef\"",
			related: []string{"Via"},
		},
		{
			name: "Proxy-Status", sentIn: inResponse, source: rfc(9209, "2"), structured: "List",
			meaning: "What each proxy met while handling the request: error type, next hop, status received.",
			example: "Proxy-Status: ExampleCDN; error=connection_timeout",
			advice:  "Turns a bare 502 or 504 into a diagnosis. Take care not to reveal the inner network to everybody.",
			related: []string{"Cache-Status", "Via"},
		},
		{
			name: "Traceparent", sentIn: inRequest, source: source{document: "Trace Context"},
			meaning: "Version, trace id, parent span id and flags of a distributed trace.",
			example: "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			related: []string{"Tracestate"},
		},
		{
			name: "Tracestate", sentIn: inRequest, source: source{document: "Trace Context"},
			meaning: "What single tracing systems add to Traceparent.",
			example: "Tracestate: rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
			related: []string{"Traceparent"},
		},
	}
}

func websocketFields() []field {
	return []field{
		{
			name: "Sec-WebSocket-Key", sentIn: inRequest, source: rfc(6455, "11.3.1"),
			meaning: "A random nonce of 16 bytes in base64; it proves that the server speaks WebSocket, nothing more.",
			example: "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
			related: []string{"Sec-WebSocket-Accept", "Upgrade"},
		},
		{
			name: "Sec-WebSocket-Accept", sentIn: inResponse, source: rfc(6455, "11.3.3"),
			meaning: "Base64 of the SHA-1 of the key followed by 258EAFA5-E914-47DA-95CA-C5AB0DC85B11.",
			example: "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
			related: []string{"Sec-WebSocket-Key"},
		},
		{
			name: "Sec-WebSocket-Extensions", sentIn: inBoth, source: rfc(6455, "11.3.2"),
			meaning: "Extensions offered by the client, and those the server accepted.",
			example: "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
			related: []string{"Sec-WebSocket-Protocol"},
		},
		{
			name: "Sec-WebSocket-Protocol", sentIn: inBoth, source: rfc(6455, "11.3.4"),
			meaning: "Subprotocols offered by the client, by preference, and the one the server chose.",
			example: "Sec-WebSocket-Protocol: mqtt, soap",
			advice:  "The answer must be one of those offered, or the browser drops the connection. It is the only handshake field a script in a browser can set.",
			related: []string{"Sec-WebSocket-Extensions"},
		},
		{
			name: "Sec-WebSocket-Version", sentIn: inBoth, source: rfc(6455, "11.3.5"),
			meaning: "The version of the protocol, 13; in an error response, the versions the server supports.",
			example: "Sec-WebSocket-Version: 13",
			related: []string{"Sec-WebSocket-Key", "Upgrade"},
		},
	}
}

func webdavFields() []field {
	return []field{
		{
			name: "DAV", sentIn: inBoth, source: rfc(4918, "10.1"),
			meaning: "The WebDAV compliance classes that the resource supports, in the response to OPTIONS.",
			example: "DAV: 1, 2, calendar-access",
			related: []string{"Allow", "Depth"},
		},
		{
			name: "Depth", sentIn: inRequest, source: rfc(4918, "10.2"),
			meaning: "How far a method reaches into a collection: `0`, `1` or `infinity`.",
			example: "Depth: 1",
			advice:  "Many servers refuse `infinity` for PROPFIND, and it is what an absent field means there.",
			related: []string{"Destination", "DAV"},
		},
		{
			name: "Destination", sentIn: inRequest, source: rfc(4918, "10.3"),
			meaning: "The URI that COPY or MOVE creates.",
			example: "Destination: https://www.example.com/users/f/fielding/index.html",
			related: []string{"Overwrite", "Depth"},
		},
		{
			name: "If", sentIn: inRequest, source: rfc(4918, "10.4"),
			meaning: "Conditions on lock tokens and entity tags of one or several resources.",
			example: "If: (<urn:uuid:181d4fae-7d8c-11d0-a765-00a0c91e6bf2> [\"I am an ETag\"])",
			related: []string{"Lock-Token", "If-Match"},
		},
		{
			name: "Lock-Token", sentIn: inBoth, source: rfc(4918, "10.5"),
			meaning: "The token of a lock: given by LOCK, taken back by UNLOCK.",
			example: "Lock-Token: <urn:uuid:a515cfa4-5da4-22e1-f5b5-00a0451e6bf7>",
			related: []string{"If", "Timeout"},
		},
		{
			name: "Overwrite", sentIn: inRequest, source: rfc(4918, "10.6"),
			meaning: "Whether COPY or MOVE may replace an existing destination: `T`, which is the default, or `F`.",
			example: "Overwrite: F",
			related: []string{"Destination", "If-None-Match"},
		},
		{
			name: "Timeout", sentIn: inBoth, source: rfc(4918, "10.7"),
			meaning: "How long a lock should last. Not a timeout of the request.",
			example: "Timeout: Infinite, Second-4100000000",
			related: []string{"Lock-Token"},
		},
	}
}
