package staticmcp

import (
	"bytes"

	"github.com/slipway-mcp/slipway/internal/canonical"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// compact returns raw without white space between its tokens.
func compact(raw []byte) []byte {
	if jsonscan.IsCompact(raw) {
		return raw
	}
	return jsonscan.AppendCompact(make([]byte, 0, len(raw)), raw)
}

// sameValue reports whether two valid JSON values are equal.
func sameValue(a, b []byte) bool {
	return bytes.Equal(canonical.AppendExact(nil, a), canonical.AppendExact(nil, b))
}
