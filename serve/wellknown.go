package serve

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// metadataPath is the path of protected resource metadata in RFC 9728; the path of the
// resource is appended.
const metadataPath = "/.well-known/oauth-protected-resource"

// resourceMetadata is the document of RFC 9728.
type resourceMetadata struct {
	// Resource is the URL of the endpoint, which tokens must name as their audience (RFC
	// 9728, section 2).
	Resource             string   `json:"resource"`
	Name                 string   `json:"resource_name,omitempty"`
	AuthorizationServers []string `json:"authorization_servers"`
	Scopes               []string `json:"scopes_supported,omitempty"`
	BearerMethods        []string `json:"bearer_methods_supported"`
}

// publish answers a request for a public document that pages of any origin may read. If
// the client already has the document, it responds with 304.
func publish(w http.ResponseWriter, r *http.Request, contentType string, document []byte) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET")
		// Browsers send MCP-Protocol-Version when they request metadata.
		h.Set("Access-Control-Allow-Headers", "Content-Type, If-None-Match, MCP-Protocol-Version")
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if !isGet(w, r) {
		return
	}
	sum := sha256.Sum256(document)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	h.Set("Access-Control-Expose-Headers", "ETag")
	h.Set("Cache-Control", "public, max-age=3600")
	h.Set("Etag", tag)
	if matches(r.Header["If-None-Match"], tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", contentType)
	_, _ = w.Write(document)
}

// matches reports whether If-None-Match names the tag.
func matches(values []string, tag string) bool {
	return slices.ContainsFunc(values, func(value string) bool {
		for one := range strings.SplitSeq(value, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
		return false
	})
}
