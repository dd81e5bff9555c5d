package mcpb

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// maxSettings is the maximum size of a settings file.
const maxSettings = 1 << 20

// ParseSettings parses values of options, each as KEY=VALUE. The value is a string, or a
// []string of all values, in order, if the key is repeated. Keys and types are not checked
// against a manifest.
func ParseSettings(pairs []string) (map[string]any, error) {
	values := make(map[string]any)
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q is not a KEY=VALUE", pair)
		}
		switch known := values[key].(type) {
		case nil:
			values[key] = value
		case string:
			values[key] = []string{known, value}
		case []string:
			values[key] = append(known, value)
		}
	}
	return values, nil
}

// ReadSettings reads a JSON file with the values of options, of at most 1 MiB. Errors begin
// with the path.
func ReadSettings(path string) (values map[string]any, err error) {
	text, err := fsutil.ReadText(path, maxSettings)
	if err != nil {
		return nil, err
	}
	if err = json.Unmarshal(text, &values); err == nil {
		return values, nil
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line, column := check.LineColumn(text, int(syntax.Offset)-1)
		path = fmt.Sprintf("%s:%d:%d", path, line, column)
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

// ParseVariable parses the value of an environment variable for the option. For an option
// with several values that is a JSON array of strings, or paths separated as in PATH;
// other text in brackets is a path.
func (o Option) ParseVariable(text string) any {
	if !o.Multiple {
		return text
	}
	var list []string
	if strings.HasPrefix(strings.TrimSpace(text), "[") &&
		json.Unmarshal([]byte(text), &list) == nil {
		return list
	}
	return strings.Split(text, string(os.PathListSeparator))
}

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
