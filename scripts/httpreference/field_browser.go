package main

func corsFields() []field {
	fetch := source{document: "Fetch"}
	return []field{
		{
			name: "Origin", sentIn: inRequest, source: fetch,
			meaning: "The origin that caused the request: scheme, host and port, without a path; `null` if it is opaque.",
			example: "Origin: https://app.example",
			advice:  "Sent with cross-origin requests and with everything that is not GET or HEAD, which makes it a good defence against forged requests. First defined in RFC 6454.",
			related: []string{"Access-Control-Allow-Origin", "Referer", "Sec-Fetch-Site"},
		},
		{
			name: "Access-Control-Allow-Origin", sentIn: inResponse, source: fetch,
			meaning: "The one origin that may read the response, or `*` for all.",
			example: "Access-Control-Allow-Origin: https://app.example\nVary: Origin",
			advice:  "No list is possible: compare Origin with your list, echo it, and send `Vary: Origin`. With credentials `*` does not work. Allowing `null` allows every sandboxed page.",
			related: []string{"Origin", "Access-Control-Allow-Credentials", "Vary"},
		},
		{
			name: "Access-Control-Allow-Credentials", sentIn: inResponse, source: fetch,
			meaning: "`true`: the response may be read though the request carried cookies or other credentials.",
			example: "Access-Control-Allow-Credentials: true",
			related: []string{"Access-Control-Allow-Origin", "Cookie"},
		},
		{
			name: "Access-Control-Allow-Headers", sentIn: inResponse, source: fetch,
			meaning: "Request fields that the real request may use, in the answer to a preflight.",
			example: "Access-Control-Allow-Headers: Content-Type, Authorization",
			advice:  "`*` does not cover Authorization, which has to be named.",
			related: []string{"Access-Control-Request-Headers", "Access-Control-Allow-Methods"},
		},
		{
			name: "Access-Control-Allow-Methods", sentIn: inResponse, source: fetch,
			meaning: "Methods that the real request may use, in the answer to a preflight.",
			example: "Access-Control-Allow-Methods: GET, PUT, DELETE",
			advice:  "GET, HEAD and POST are always allowed. Methods are case-sensitive: `patch` is not `PATCH`.",
			related: []string{"Access-Control-Request-Method", "Allow"},
		},
		{
			name: "Access-Control-Expose-Headers", sentIn: inResponse, source: fetch,
			meaning: "Response fields that scripts may read besides the seven safelisted ones.",
			example: "Access-Control-Expose-Headers: ETag, Link, Retry-After",
			advice:  "Always readable: Cache-Control, Content-Language, Content-Length, Content-Type, Expires, Last-Modified, Pragma.",
			related: []string{"Access-Control-Allow-Origin"},
		},
		{
			name: "Access-Control-Max-Age", sentIn: inResponse, source: fetch,
			meaning: "Seconds for which the answer to a preflight may be reused.",
			example: "Access-Control-Max-Age: 7200",
			advice:  "5 if absent; browsers cap it (Chromium at 7200, Firefox at 86400).",
			related: []string{"Access-Control-Allow-Methods"},
		},
		{
			name: "Access-Control-Request-Headers", sentIn: inRequest, source: fetch,
			meaning: "In a preflight: the fields the real request is going to use that need permission.",
			example: "Access-Control-Request-Headers: authorization,content-type",
			related: []string{"Access-Control-Allow-Headers"},
		},
		{
			name: "Access-Control-Request-Method", sentIn: inRequest, source: fetch,
			meaning: "In a preflight: the method of the real request.",
			example: "Access-Control-Request-Method: DELETE",
			related: []string{"Access-Control-Allow-Methods"},
		},
		{
			name: "Timing-Allow-Origin", sentIn: inResponse, source: source{document: "Resource Timing"},
			note:    "Provisional registration.",
			meaning: "Origins that may see the detailed timing of this response.",
			example: "Timing-Allow-Origin: *",
			related: []string{"Server-Timing"},
		},
	}
}

func securityFields() []field {
	html := source{document: "HTML"}
	metadata := source{document: "Fetch Metadata"}
	csp := source{document: "Content Security Policy 3"}
	return []field{
		{
			name: "Content-Security-Policy", sentIn: inResponse, source: csp,
			meaning: "What a page may load, run and connect to, and who may embed it. The strongest defence against injected scripts.",
			example: "Content-Security-Policy: default-src 'self'; script-src 'nonce-rAnd0m'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
			advice:  "A nonce for each response or hashes, rather than lists of hosts; never `unsafe-inline` for scripts. Several policies all apply.",
			related: []string{"Content-Security-Policy-Report-Only", "X-Frame-Options", "Reporting-Endpoints"},
		},
		{
			name: "Content-Security-Policy-Report-Only", sentIn: inResponse, source: csp,
			meaning: "A policy whose violations are reported but not prevented, to try it out.",
			example: "Content-Security-Policy-Report-Only: default-src 'self'; report-to csp",
			related: []string{"Content-Security-Policy", "Reporting-Endpoints"},
		},
		{
			name: "Strict-Transport-Security", sentIn: inResponse, source: rfc(6797, "6.1"),
			meaning: "HSTS: for so many seconds the browser uses https only for this host, and lets nobody click through certificate errors.",
			example: "Strict-Transport-Security: max-age=63072000; includeSubDomains",
			advice:  "Ignored over plain HTTP. Begin with a short max-age, and think of every subdomain first. `preload` asks browser makers to build the name in, which is hard to undo.",
			related: []string{"Upgrade-Insecure-Requests", "Location"},
		},
		{
			name: "X-Content-Type-Options", sentIn: inResponse, source: source{document: "Fetch"},
			meaning: "`nosniff`: believe the Content-Type; refuse scripts and style sheets of another type.",
			example: "X-Content-Type-Options: nosniff",
			advice:  "Send it always, above all where users upload files.",
			related: []string{"Content-Type"},
		},
		{
			name: "X-Frame-Options", sentIn: inResponse, source: html,
			meaning: "Whether the page may be shown in a frame: `DENY` or `SAMEORIGIN`.",
			example: "X-Frame-Options: DENY",
			advice:  "`frame-ancestors` of Content-Security-Policy is finer and takes precedence. ALLOW-FROM does not work.",
			related: []string{"Content-Security-Policy"},
		},
		{
			name: "Referrer-Policy", sentIn: inResponse, source: source{document: "Referrer Policy"},
			meaning: "How much of the URI later requests reveal in Referer.",
			example: "Referrer-Policy: strict-origin-when-cross-origin",
			advice:  "That value is the default of browsers. `no-referrer` reveals nothing. This field is spelled correctly.",
			related: []string{"Referer"},
		},
		{
			name:       "Permissions-Policy",
			sentIn:     inResponse,
			source:     source{document: "Permissions Policy"},
			structured: "Dictionary",
			note:       "Provisional registration.",
			meaning:    "Which browser features the page and its frames may use.",
			example:    "Permissions-Policy: geolocation=(), camera=(self \"https://meet.example\")",
			related:    []string{"Content-Security-Policy"},
		},
		{
			name: "Cross-Origin-Opener-Policy", sentIn: inResponse, source: html, structured: "Item",
			meaning: "Separates the page from windows of other origins that opened it or that it opens.",
			example: "Cross-Origin-Opener-Policy: same-origin",
			advice:  "With COEP it makes a page cross-origin isolated, which SharedArrayBuffer needs. `same-origin-allow-popups` keeps log-in windows working.",
			related: []string{"Cross-Origin-Embedder-Policy", "Cross-Origin-Resource-Policy"},
		},
		{
			name: "Cross-Origin-Embedder-Policy", sentIn: inResponse, source: html, structured: "Item",
			meaning: "The page loads only what other origins explicitly let it load.",
			example: "Cross-Origin-Embedder-Policy: require-corp",
			related: []string{"Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy"},
		},
		{
			name: "Cross-Origin-Resource-Policy", sentIn: inResponse, source: source{document: "Fetch"},
			meaning: "Who may embed this resource without CORS: `same-origin`, `same-site` or `cross-origin`.",
			example: "Cross-Origin-Resource-Policy: same-site",
			related: []string{"Cross-Origin-Embedder-Policy", "Access-Control-Allow-Origin"},
		},
		{
			name: "Origin-Agent-Cluster", sentIn: inResponse, source: html, structured: "Item",
			meaning: "`?1` asks for a process of its own for the origin instead of one for the site.",
			example: "Origin-Agent-Cluster: ?1",
			related: []string{"Cross-Origin-Opener-Policy"},
		},
		{
			name: "Upgrade-Insecure-Requests", sentIn: inRequest, source: source{document: "Upgrade Insecure Requests"},
			note:    unlisted,
			meaning: "`1`: the browser prefers an encrypted answer and understands the policy of the same name.",
			example: "Upgrade-Insecure-Requests: 1",
			related: []string{"Strict-Transport-Security", "Content-Security-Policy"},
		},
		{
			name: "Reporting-Endpoints", sentIn: inResponse, source: source{document: "Reporting API"}, structured: "Dictionary",
			note:    "Provisional registration.",
			meaning: "Names for URLs that reports of the browser are sent to.",
			example: "Reporting-Endpoints: csp=\"https://example.com/reports\"",
			related: []string{"Content-Security-Policy", "NEL"},
		},
		{
			name: "NEL", sentIn: inResponse, source: source{document: "Network Error Logging"},
			meaning: "Asks the browser to report network errors that it meets with this origin; the value is JSON.",
			example: "NEL: {\"report_to\":\"default\",\"max_age\":2592000}",
			related: []string{"Reporting-Endpoints"},
		},
		{
			name: "Sec-Fetch-Site", sentIn: inRequest, source: metadata, structured: "Item",
			note:    unlisted,
			meaning: "How the initiator relates to the target: `same-origin`, `same-site`, `cross-site`, or `none` for the user's own doing.",
			example: "Sec-Fetch-Site: cross-site",
			advice:  "Scripts cannot set it. Refusing cross-site requests that change something stops most forgery; non-browsers do not send it.",
			related: []string{"Sec-Fetch-Mode", "Sec-Fetch-Dest", "Origin"},
		},
		{
			name: "Sec-Fetch-Mode", sentIn: inRequest, source: metadata, structured: "Item",
			note:    unlisted,
			meaning: "The mode of the request: `navigate`, `cors`, `no-cors`, `same-origin` or `websocket`.",
			example: "Sec-Fetch-Mode: navigate",
			related: []string{"Sec-Fetch-Site", "Sec-Fetch-Dest"},
		},
		{
			name: "Sec-Fetch-Dest", sentIn: inRequest, source: metadata, structured: "Item",
			note:    unlisted,
			meaning: "What the response is for: `document`, `script`, `image`, `iframe`, `empty` for fetch, and so on.",
			example: "Sec-Fetch-Dest: image",
			related: []string{"Sec-Fetch-Site", "Sec-Fetch-Mode"},
		},
		{
			name: "Sec-Fetch-User", sentIn: inRequest, source: metadata, structured: "Item",
			note:    unlisted,
			meaning: "`?1`: a user's action caused this navigation.",
			example: "Sec-Fetch-User: ?1",
			related: []string{"Sec-Fetch-Mode"},
		},
		{
			name: "Sec-GPC", sentIn: inRequest, source: source{document: "Global Privacy Control"},
			note:    "Provisional registration.",
			meaning: "`1`: the user does not want personal data sold or shared. It has legal weight in some places, California among them.",
			example: "Sec-GPC: 1",
			related: []string{"Cookie"},
		},
		{
			name: "Public-Key-Pins", sentIn: inResponse, source: rfc(7469, "2.1"),
			note:    "Removed by browsers, though still registered: a wrong pin locked sites out.",
			meaning: "HPKP: the keys that certificates of this host must contain.",
			example: "Public-Key-Pins: max-age=3000; pin-sha256=\"d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWmM=\"",
			related: []string{"Strict-Transport-Security", "Expect-CT"},
		},
		{
			name: "Expect-CT", sentIn: inResponse, source: rfc(9163, "2.1"),
			note:    "Deprecated: certificate transparency is now required anyway.",
			meaning: "Certificates of this host must be in the transparency logs.",
			example: "Expect-CT: max-age=86400, enforce",
			related: []string{"Strict-Transport-Security"},
		},
	}
}

func cookieFields() []field {
	return []field{
		{
			name: "Set-Cookie", sentIn: inResponse, source: rfc(10025, ""),
			meaning: "Stores one cookie in the user agent: a name, a value, and attributes that say where it is sent back. RFC 10025 replaces RFC 6265.",
			example: "Set-Cookie: __Host-sid=31d4d96e; Path=/; Secure; HttpOnly; SameSite=Lax\nSet-Cookie: lang=de; Max-Age=31536000; Path=/; Secure",
			advice:  "One field for each cookie: they cannot be joined with commas, as Expires contains one. For sessions use the prefix `__Host-`, Secure, HttpOnly and SameSite. Without Domain the cookie stays with the host that set it. Values are ASCII: encode the rest.",
			related: []string{"Cookie", "Clear-Site-Data", "Cache-Control"},
		},
		{
			name: "Cookie", sentIn: inRequest, source: rfc(10025, ""),
			meaning: "The cookies that fit host, path and site of the request, as `name=value` pairs with semicolons between them. RFC 10025 replaces RFC 6265.",
			example: "Cookie: __Host-sid=31d4d96e; lang=de",
			advice:  "No attributes come back, and the order is no promise. Count on about 4 KB for one cookie. A shared cache does not know that a page depends on it: mark such pages private.",
			related: []string{"Set-Cookie", "Authorization"},
		},
	}
}

func contextFields() []field {
	return []field{
		{
			name: "Date", sentIn: inBoth, source: rfc(9110, "6.6.1"),
			meaning: "When the message originated.",
			example: "Date: Tue, 15 Nov 1994 08:12:31 GMT",
			advice:  "Always in GMT, English and this format, whatever the locale (RFC 9110, section 5.6.7).",
			related: []string{"Age", "Expires"},
		},
		{
			name: "From", sentIn: inRequest, source: rfc(9110, "10.1.2"),
			meaning: "An e-mail address of whoever runs the client. Robots should send it.",
			example: "From: crawler-admin@example.org",
			related: []string{"User-Agent"},
		},
		{
			name: "Referer", sentIn: inRequest, source: rfc(9110, "10.1.3"),
			meaning: "The URI of the page from which the request came, without fragment. Misspelled since 1996.",
			example: "Referer: https://www.example.org/start",
			advice:  "Often shortened or absent: do not build a security decision on its presence alone.",
			related: []string{"Referrer-Policy", "Origin"},
		},
		{
			name: "User-Agent", sentIn: inRequest, source: rfc(9110, "10.1.5"),
			meaning: "The software that makes the request, as product/version with comments.",
			example: "User-Agent: example-crawler/2.1 (+https://example.org/bot)",
			advice:  "Set one of your own with a contact; many services refuse library defaults. Do not parse it to detect features.",
			related: []string{"Server", "Sec-CH-UA", "From"},
		},
		{
			name: "Server", sentIn: inResponse, source: rfc(9110, "10.2.4"),
			meaning: "The software of the origin server.",
			example: "Server: nginx",
			advice:  "Without a detailed version it helps attackers less.",
			related: []string{"User-Agent", "Via"},
		},
		{
			name: "Allow", sentIn: inResponse, source: rfc(9110, "10.2.1"),
			meaning: "The methods that the target supports. Mandatory in a 405.",
			example: "Allow: GET, HEAD, PUT",
			related: []string{"Accept-Patch", "Accept-Query", "Access-Control-Allow-Methods"},
		},
		{
			name: "Location", sentIn: inResponse, source: rfc(9110, "10.2.2"),
			meaning: "The URI to go to (3xx), or of what was created (201).",
			example: "Location: /People.html#tim",
			advice:  "May be relative. If it has no fragment, that of the original URI stays. Check it against a list before you redirect to something a user supplied.",
			related: []string{"Content-Location", "Refresh", "Link"},
		},
		{
			name: "Retry-After", sentIn: inResponse, source: rfc(9110, "10.2.3"),
			meaning: "How long to wait before the next request: seconds, or a date.",
			example: "Retry-After: 120\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT",
			advice:  "With 503, 429, 413, and with 3xx before following. Add some jitter, so that not all clients come back in the same second.",
			related: []string{"RateLimit", "Date"},
		},
		{
			name: "RateLimit", sentIn: inResponse, structured: "List",
			source:  source{document: "the Internet-Draft draft-ietf-httpapi-ratelimit-headers"},
			note:    "Work in progress, not registered; X-RateLimit fields of many services say similar things, each in its own way.",
			meaning: "How much of a quota is left and for how long.",
			example: "RateLimit: \"default\";r=50;t=30",
			related: []string{"Retry-After"},
		},
		{
			name: "Idempotency-Key", sentIn: inRequest, structured: "Item",
			source:  source{document: "the Internet-Draft draft-ietf-httpapi-idempotency-key-header"},
			note:    "An expired draft, not registered, but common in payment services.",
			meaning: "A key, new for each intended action, by which the server recognises a repeated POST or PATCH and answers as it did the first time.",
			example: "Idempotency-Key: \"8e03978e-40d5-43e8-bc93-6894a57f9324\"",
			advice:  "Use the same key for every retry of one action and never for another. Servers keep keys for a limited time and differ in details.",
			related: []string{"Retry-After", "If-Match"},
		},
		{
			name: "Deprecation", sentIn: inResponse, source: rfc(9745, "2"), structured: "Item",
			meaning: "The resource is, or will be from this date on, deprecated; it still works.",
			example: "Deprecation: @1688169599\nLink: <https://developer.example.com/deprecation>; rel=\"deprecation\"",
			related: []string{"Sunset", "Link"},
		},
		{
			name: "Sunset", sentIn: inResponse, source: rfc(8594, "3"),
			meaning: "The resource is expected to stop responding at this time.",
			example: "Sunset: Thu, 31 Dec 2026 23:59:59 GMT",
			related: []string{"Deprecation", "Link"},
		},
		{
			name: "Refresh", sentIn: inResponse, source: source{document: "HTML"},
			meaning: "Reload the page, or go to another one, after some seconds.",
			example: "Refresh: 5; url=https://www.example.org/",
			advice:  "Prefer a redirect with a 3xx status: people and caches understand it.",
			related: []string{"Location"},
		},
		{
			name: "Last-Event-ID", sentIn: inRequest, source: source{document: "HTML"},
			meaning: "The id of the last event received, when a client reconnects to a stream of server-sent events.",
			example: "Last-Event-ID: 17",
			related: []string{"Accept"},
		},
		{
			name: "Sec-Purpose", sentIn: inRequest, source: source{document: "Fetch"},
			meaning: "`prefetch`: the resource is fetched for possible later use.",
			example: "Sec-Purpose: prefetch",
			advice:  "A page that counts visits or has side effects on GET (it should not) can tell prefetching from reading.",
			related: []string{"Link"},
		},
		{
			name: "Server-Timing", sentIn: inResponse, source: source{document: "Server Timing"},
			meaning: "How long parts of the work took on the server, for the developer tools of the browser.",
			example: "Server-Timing: db;dur=53.2;desc=\"Datenbank\", app;dur=47.2",
			related: []string{"Timing-Allow-Origin", "Traceparent"},
		},
	}
}
