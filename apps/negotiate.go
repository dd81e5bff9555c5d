package apps

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Extensions returns extensions, the value of [mcp.Catalog.Extensions] or nil, with a
// declaration of the extension added. An existing declaration is kept. It returns an
// error if extensions is not a JSON object.
func Extensions(extensions json.RawMessage) (json.RawMessage, error) {
	if extensions == nil {
		extensions = json.RawMessage(`{}`)
	}
	declared, err := addMember(extensions, Extension, json.RawMessage(`{"mimeTypes":["`+MIMEType+`"]}`))
	if err != nil {
		return nil, fmt.Errorf("extensions of the catalog: %w", err)
	}
	return declared, nil
}

// Supported reports whether the client being served in ctx can show user interfaces, as
// declared when its session began or, since 2026-07-28, in the request itself. If no
// client is being served, it returns false: then, as for every client without the
// extension, the text is what matters.
func Supported(ctx context.Context) bool {
	return SupportedBy(mcp.RequestFrom(ctx).ClientCapabilities())
}

// SupportedBy reports whether a client with these capabilities, a JSON object or nil, can
// show user interfaces.
func SupportedBy(capabilities json.RawMessage) bool {
	if !bytes.Contains(capabilities, []byte("/ui")) {
		return false // most clients: nothing to decode
	}
	types := jsonscan.Member(jsonscan.Member(jsonscan.Member(capabilities, "extensions"), Extension), "mimeTypes")
	return slices.ContainsFunc(jsonscan.Elements(types), func(element []byte) bool {
		name, ok := jsonscan.Unquote(element)
		return ok && isAppType(name)
	})
}

// isAppType reports whether a MIME type is that of user interfaces, regardless of spacing
// and quoting.
func isAppType(mimeType string) bool {
	if mimeType == MIMEType {
		return true
	}
	media, params, err := mime.ParseMediaType(mimeType)
	return err == nil && media == "text/html" && params["profile"] == "mcp-app"
}
