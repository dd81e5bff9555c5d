package main

func serverErrors() []status {
	return []status{
		{
			code: 500, phrase: "Internal Server Error", source: rfc(9110, "15.6.1"), caching: cachedIfTold,
			meaning: "The server met an unexpected condition and could not fulfil the request.",
			cause:   "An unhandled exception, a bad deployment, a full disk.",
			retry:   "An idempotent request a few times with exponential backoff; others only with a key that makes them safe to repeat, since part of the work may have been done.",
			server:  "Log the details and give the client a reference to them, never a stack trace.",
			related: []int{502, 503, 501}, fields: []string{"Idempotency-Key"},
			example: `
POST /orders HTTP/1.1
Host: api.example.com

HTTP/1.1 500 Internal Server Error
Content-Type: application/problem+json

{"title":"Something broke on our side","instance":"/incidents/7f3a"}`,
		},
		{
			code: 501, phrase: "Not Implemented", source: rfc(9110, "15.6.2"), caching: cachedByDefault,
			meaning: "The server does not support what is needed for the request, typically because it does not know the method at all.",
			cause:   "PROPFIND or QUERY at a plain web server; a transfer coding that the server does not know.",
			retry:   "No, not with this method at this server.",
			related: []int{405, 505}, fields: []string{"Allow", "Transfer-Encoding"},
		},
		{
			code: 502, phrase: "Bad Gateway", source: rfc(9110, "15.6.3"), caching: cachedIfTold,
			meaning: "A gateway or proxy got an invalid response from the server behind it, or none because the connection failed.",
			cause:   "An application that crashed or is just restarting, a wrong port, a response header larger than the proxy's buffer.",
			retry:   "An idempotent request after a second or two, a few times. Whether a POST was performed is unknown.",
			server:  "Look in the gateway's log first: it knows the reason, and Proxy-Status can carry it.",
			related: []int{503, 504, 500}, fields: []string{"Proxy-Status", "Via"},
		},
		{
			code: 503, phrase: "Service Unavailable", source: rfc(9110, "15.6.4"), caching: cachedIfTold,
			meaning: "The server cannot handle the request for now, because of overload or maintenance.",
			cause:   "A deployment, a load balancer without a healthy backend, load shedding.",
			retry:   "Yes, after Retry-After; otherwise with exponential backoff and jitter. The request was most likely not processed.",
			server:  "Send Retry-After if the end is known. Better early and cheap than late: a queue that grows serves nobody.",
			related: []int{429, 502, 504}, fields: []string{"Retry-After"},
			example: `
GET / HTTP/1.1
Host: example.com

HTTP/1.1 503 Service Unavailable
Retry-After: Wed, 21 Oct 2026 07:28:00 GMT`,
		},
		{
			code: 504, phrase: "Gateway Timeout", source: rfc(9110, "15.6.5"), caching: cachedIfTold,
			meaning: "A gateway or proxy did not get a response from the server behind it in time.",
			cause:   "A slow query, a deadlock, a proxy timeout shorter than the work.",
			retry:   "An idempotent request, after a pause. A POST may well have been performed, or still be running: find out before repeating it.",
			server:  "If the work is long by nature, answer 202 instead of raising the timeout.",
			related: []int{408, 502, 503, 202}, fields: []string{"Proxy-Status", "Prefer"},
		},
		{
			code: 505, phrase: "HTTP Version Not Supported", source: rfc(9110, "15.6.6"), caching: cachedIfTold,
			meaning: "The server does not support, or refuses to support, the major version of HTTP in the request.",
			cause:   "A garbled request line, often a space in the target that was not percent-encoded; a gRPC client at an HTTP/1.1 port.",
			retry:   "With another version of the protocol, or with a correct request line.",
			server:  "Say which versions are supported.",
			related: []int{426, 501, 400},
		},
		{
			code: 506, phrase: "Variant Also Negotiates", source: rfc(2295, "8.1"), caching: cachedIfTold,
			meaning: "The server is misconfigured: the variant chosen by transparent negotiation itself negotiates, in a circle.",
			cause:   "A mistake in a type map. Rare, as transparent negotiation is.",
			retry:   "No; the operator has to repair the configuration.",
			related: []int{300, 500},
		},
		{
			code: 507, phrase: "Insufficient Storage", source: rfc(4918, "11.5"), caching: cachedIfTold,
			meaning: "The server cannot store what is needed to complete the request.",
			cause:   "A quota of a WebDAV or cloud drive is used up.",
			retry:   "Not automatically: RFC 4918 wants a user to ask for it, after space has been freed.",
			related: []int{413, 423},
		},
		{
			code: 508, phrase: "Loop Detected", source: rfc(5842, "7.2"), caching: cachedIfTold,
			meaning: "The server ended a WebDAV operation with `Depth: infinity` because it ran into a loop; the whole operation failed.",
			cause:   "Bindings that contain each other. Some CDNs send it for requests that circle between them.",
			retry:   "With a limited depth, or after removing the loop.",
			related: []int{208, 400}, fields: []string{"Depth", "CDN-Loop"},
		},
		{
			code: 510, phrase: "Not Extended", source: rfc(2774, "7"), caching: cachedIfTold,
			note:    "Obsoleted: the HTTP Extension Framework is historic.",
			meaning: "The policy for access was not met; further extensions to the request were needed.",
			cause:   "Nothing current sends it.",
			retry:   "No.",
			related: []int{501, 403},
		},
		{
			code: 511, phrase: "Network Authentication Required", source: rfc(6585, "6"), caching: neverCached,
			meaning: "The client has to log in to the network before it gets through. It comes from the network, not from the origin server.",
			cause:   "The captive portal of a hotel or train.",
			retry:   "After logging in at the page that the content links to. Do not take the content for the origin's.",
			server:  "For portals only; an origin server never sends it.",
			related: []int{401, 407, 403}, fields: []string{"Link"},
		},
	}
}

// unregistered returns codes of single products that are common enough to be looked up.
func unregistered() []status {
	const nginxNote = "Not registered: a code of nginx, seen in its logs more than on the wire."
	const cloudflareNote = "Not registered: sent by Cloudflare, about its connection to the origin server."
	nginx := source{document: "the nginx documentation"}
	cloudflare := source{document: "the Cloudflare documentation"}
	return []status{
		{
			code: 444, phrase: "No Response", note: nginxNote, source: nginx, caching: unknownCaching,
			meaning: "`return 444` makes nginx close the connection without an answer.",
			cause:   "A rule against bots or unknown host names.",
			retry:   "The client never sees the code, only a closed connection.",
			related: []int{421, 403},
		},
		{
			code: 494, phrase: "Request Header Too Large", note: nginxNote, source: nginx, caching: unknownCaching,
			meaning: "The request header exceeds the buffers of nginx; the client gets a 400 unless configured otherwise.",
			cause:   "Large cookies.",
			retry:   "With fewer or smaller fields.",
			related: []int{431, 400}, fields: []string{"Cookie"},
		},
		{
			code: 495, phrase: "SSL Certificate Error", note: nginxNote, source: nginx, caching: unknownCaching,
			meaning: "The client certificate could not be verified; the client gets a 400 unless configured otherwise.",
			cause:   "An expired certificate, or one of an unknown authority.",
			retry:   "With a valid certificate.",
			related: []int{496, 400, 401},
		},
		{
			code: 496, phrase: "SSL Certificate Required", note: nginxNote, source: nginx, caching: unknownCaching,
			meaning: "A client certificate is required and none was presented; the client gets a 400 unless configured otherwise.",
			cause:   "Mutual TLS at a client that is not set up for it.",
			retry:   "With a certificate.",
			related: []int{495, 400},
		},
		{
			code: 497, phrase: "HTTP Request Sent to HTTPS Port", note: nginxNote, source: nginx, caching: unknownCaching,
			meaning: "A plain HTTP request came to a port that expects TLS; the client gets a 400 unless configured otherwise.",
			cause:   "`http://host:443`.",
			retry:   "With https.",
			related: []int{400, 426},
		},
		{
			code: 499, phrase: "Client Closed Request", note: nginxNote, source: nginx, caching: unknownCaching,
			meaning: "The client closed the connection before nginx could answer. It stands in the log, nobody receives it.",
			cause:   "A user who gave up, a client timeout shorter than the work, a load balancer's idle timeout.",
			retry:   "Nothing to retry at the server: look for what is slow, and compare the timeouts of both sides.",
			related: []int{408, 504},
		},
		{
			code:    520,
			phrase:  "Web Server Returned an Unknown Error",
			note:    cloudflareNote,
			source:  cloudflare,
			caching: unknownCaching,
			meaning: "The origin's response was empty, unknown or unexpected.",
			cause:   "A crash, a reset connection, a header beyond the limits.",
			retry:   "Like 502.",
			related: []int{502, 521},
		},
		{
			code: 521, phrase: "Web Server Is Down", note: cloudflareNote, source: cloudflare, caching: unknownCaching,
			meaning: "The origin refused the connection.",
			cause:   "The web server is not running, or a firewall blocks the addresses of Cloudflare.",
			retry:   "Like 503, with backoff.",
			related: []int{503, 522},
		},
		{
			code: 522, phrase: "Connection Timed Out", note: cloudflareNote, source: cloudflare, caching: unknownCaching,
			meaning: "The TCP connection to the origin was not established, or not acknowledged, in time.",
			cause:   "An overloaded origin, a firewall that drops packets.",
			retry:   "Like 504, with backoff.",
			related: []int{504, 524},
		},
		{
			code: 523, phrase: "Origin Is Unreachable", note: cloudflareNote, source: cloudflare, caching: unknownCaching,
			meaning: "There is no route to the origin.",
			cause:   "A DNS record that points to the wrong address.",
			retry:   "Not before the operator has corrected it.",
			related: []int{502, 521},
		},
		{
			code: 524, phrase: "A Timeout Occurred", note: cloudflareNote, source: cloudflare, caching: unknownCaching,
			meaning: "The connection was made, but the origin did not answer within the time limit.",
			cause:   "A long computation on the request path.",
			retry:   "Like 504; a POST may have been performed.",
			server:  "Answer 202 and let the client ask for the result.",
			related: []int{504, 202},
		},
		{
			code: 525, phrase: "SSL Handshake Failed", note: cloudflareNote, source: cloudflare, caching: unknownCaching,
			meaning: "The TLS handshake with the origin failed.",
			cause:   "No shared cipher, no certificate, no TLS at that port.",
			retry:   "Not before the operator has corrected it.",
			related: []int{526, 502},
		},
		{
			code: 526, phrase: "Invalid SSL Certificate", note: cloudflareNote, source: cloudflare, caching: unknownCaching,
			meaning: "The origin's certificate could not be verified.",
			cause:   "An expired or self-signed certificate while strict verification is on.",
			retry:   "Not before the operator has corrected it.",
			related: []int{525, 502},
		},
	}
}
