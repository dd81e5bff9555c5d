package clients

import (
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
)

// target returns the location of the entries in the client's file.
func (c *Client) target() edit.Target {
	t := edit.Target{
		Format: c.Format,
		Root:   c.Root,
		List:   c.List,
	}
	if len(c.Preamble) > 0 {
		t.Preamble = object(c.Preamble).Members
	}
	return t
}

// Render returns a whole file for a client with all servers it can have, and a report of
// what is lost. Without servers, the file is valid and empty.
func Render(c *Client, m *stax.Merged, opts *Options) ([]byte, *check.Report, error) {
	entries, report := Translate(c, m, opts)
	var text []byte
	for _, e := range entries {
		if e.LeftOut != "" {
			continue
		}
		var err error
		if text, err = edit.Set(text, c.target(), e.Name, e.Value); err != nil {
			return nil, report, err
		}
	}
	if text == nil {
		text = c.empty()
	}
	return text, report, nil
}

// empty returns a file without servers.
func (c *Client) empty() []byte {
	switch {
	case c.Format == tree.TOML:
		return []byte("# no servers\n")
	case c.Format == tree.YAML && c.List:
		return []byte(c.Root + ": []\n")
	case c.Format == tree.YAML:
		return []byte(c.Root + ": {}\n")
	}
	return []byte("{\n  \"" + c.Root + "\": {}\n}\n")
}
