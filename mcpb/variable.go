package mcpb

import "strings"

// OptionVariable returns the environment variable from which slipway bundle run reads an
// option: MCP_BUNDLE_API_KEY for api_key.
func OptionVariable(key string) string {
	return "MCP_BUNDLE_" + strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, key)
}
