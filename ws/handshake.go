package ws

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
)

// The subprotocols for MCP, in order of preference.
const (
	ProtocolV1 = "mcp.v1"
	Protocol   = "mcp"
)

// Prefixes of other subprotocols.
const (
	versionPrefix = "mcp.version."
	tokenPrefix   = "mcp.auth."
)

// IsUpgrade reports whether r requests a WebSocket, so that a path can also serve other
// requests.
func IsUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet &&
		hasToken(r.Header["Upgrade"], "websocket") && hasToken(r.Header["Connection"], "upgrade")
}

// hasToken reports whether token is in a header of comma-separated words.
func hasToken(values []string, token string) bool {
	for _, value := range values {
		for word := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.Trim(word, " \t"), token) {
				return true
			}
		}
	}
	return false
}

// offered returns the subprotocols of a request in the client's order.
func offered(r *http.Request) (names []string) {
	for _, value := range r.Header["Sec-Websocket-Protocol"] {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.Trim(name, " \t"); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// choose returns the subprotocol to use, or "".
func choose(offer []string) string {
	version := ""
	v1 := false
	plain := false
	for _, name := range offer {
		v1 = v1 || name == ProtocolV1
		plain = plain || name == Protocol
		x, ok := strings.CutPrefix(name, versionPrefix)
		if ok && version == "" {
			if _, known := mcp.ParseVersion(x); known {
				version = name
			}
		}
	}
	switch {
	case v1:
		return ProtocolV1
	case plain:
		return Protocol
	}
	return version
}

// Tokens returns the candidates for the bearer token of an upgrade, likeliest first. The
// token is taken from the Authorization header or, if that is missing, from the
// subprotocol mcp.auth.TOKEN: first as it is and then, where possible, decoded from
// base64url. The result is empty if there is no token.
func Tokens(r *http.Request) []string {
	if values := r.Header["Authorization"]; len(values) > 0 {
		scheme, token, _ := strings.Cut(values[0], " ")
		token = strings.TrimSpace(token)
		if len(values) > 1 || token == "" || !strings.EqualFold(scheme, "Bearer") {
			return nil
		}
		return []string{token}
	}
	for _, name := range offered(r) {
		token, ok := strings.CutPrefix(name, tokenPrefix)
		if !ok || token == "" {
			continue
		}
		decoded, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(token, "="))
		if err != nil || !isVisible(decoded) {
			return []string{token}
		}
		return []string{token, string(decoded)}
	}
	return nil
}

// isVisible reports whether b could be a token: only visible ASCII, and not empty.
func isVisible(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(b) > 0
}
