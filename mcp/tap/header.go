package tap

import (
	"net/http"
	"slices"
	"strings"
)

// RedactHeader returns a copy of h in which [redacted] replaces the values of all headers,
// except those that HTTP and MCP define for other purposes than credentials: an unknown
// header may carry a key. Those called secret are replaced in any case. The values that
// stay may contain secrets, such as a token in a parameter of a tool.
func RedactHeader(h http.Header, secret ...string) http.Header {
	shown := h.Clone()
	for name := range shown {
		isSecret := slices.ContainsFunc(secret, func(s string) bool { return strings.EqualFold(s, name) })
		if isSecret || !isPublicHeader(http.CanonicalHeaderKey(name)) {
			shown[name] = []string{"[redacted]"}
		}
	}
	return shown
}

// isPublicHeader reports whether a header, by its canonical name, is defined for another
// purpose than credentials. Cookies, Location, Referer and the protocols of a WebSocket may
// contain them.
func isPublicHeader(name string) bool {
	for _, prefix := range [...]string{
		"Accept-", "Access-Control-", "Content-", "Mcp-", "Ratelimit-", "Sec-Fetch-", "X-Ratelimit-",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "Accept", "Age", "Allow", "Alt-Svc", "Cache-Control", "Connection", "Date", "Etag", "Expect", "Expires",
		"Host", "If-Modified-Since", "If-None-Match", "Keep-Alive", "Last-Event-Id", "Last-Modified", "Origin", "Pragma",
		"Priority", "Range", "Ratelimit", "Retry-After", "Sec-Websocket-Extensions", "Sec-Websocket-Version", "Server",
		"Server-Timing", "Strict-Transport-Security", "Te", "Traceparent", "Trailer", "Transfer-Encoding", "Upgrade",
		"User-Agent", "Vary", "Via", "Www-Authenticate", "X-Accel-Buffering", "X-Content-Type-Options",
		"X-Frame-Options", "X-Powered-By", "X-Request-Id":
		return true
	}
	return false
}
