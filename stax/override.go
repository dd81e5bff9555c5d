package stax

import (
	"slices"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// Override changes how one tool of a server is shown to clients. The format has no member
// for this, so overrides are written next to the servers, as bindings are:
//
//	"tools": {"github": {"get_issue": {"name": "issue", "description": "Reads an issue"}}}
//
// They take effect where Slipway proxies the server. Fields that are not set keep the
// server's values.
type Override struct {
	Server, Tool string // Tool is the server's own name, as in enabledTools

	// Name, Title and Description replace those of the tool; empty or nil keeps them.
	Name               string
	Title, Description *string
}

// overrides reads the member "tools" of a document.
func (d *decoder) overrides(n *tree.Node, at string) {
	if !d.kind(n, at, tree.Object) {
		return
	}
	for _, server := range members(n) {
		at := at + check.Pointer(server.Key)
		if !d.kind(server.Value, at, tree.Object) {
			continue
		}
		for _, tool := range members(server.Value) {
			d.override(&Override{
				Server: server.Key,
				Tool:   tool.Key,
			}, tool.Value, at+check.Pointer(tool.Key))
		}
	}
}

// override decodes what replaces the name and texts of one tool.
func (d *decoder) override(o *Override, n *tree.Node, at string) {
	known := fields{
		"name": func(n *tree.Node, at string) {
			if d.read(n, at, &o.Name) && !compose.ValidToolName(o.Name) {
				d.Add(ruleOverride, at, `1 to 128 letters, digits, and "_", "-", ".", "/"`,
					"invalid tool name %q", o.Name)
			}
		},
		"title":       &o.Title,
		"description": &o.Description,
	}
	if !d.object(n, at, known, new([]Field)) {
		return
	}
	if o.Name == "" && o.Title == nil && o.Description == nil {
		d.Add(ruleOverride.As(check.Warning), at, "it can have name, title and description",
			"the override of tool %q changes nothing", o.Tool)
	}
	d.doc.Config.Overrides = append(d.doc.Config.Overrides, *o)
}

func (o Override) server() string { return o.Server }

// OverridesOf returns the overrides for the tools of a server.
func (c *Config) OverridesOf(server string) []Override {
	return ofServer(c.Overrides, server)
}

// Edits returns the tool lists and overrides of a server.
func (c *Config) Edits(s *Server) *compose.Edits {
	e := &compose.Edits{
		Enabled:  s.EnabledTools,
		Disabled: s.DisabledTools,
	}
	for _, o := range c.OverridesOf(s.Name) {
		if e.Tools == nil {
			e.Tools = make(map[string]compose.ToolEdit)
		}
		e.Tools[o.Tool] = compose.ToolEdit{
			Name:        o.Name,
			Title:       o.Title,
			Description: o.Description,
		}
	}
	return e
}

// checkOverrides reports the problems of overrides that can be found without knowing the
// tools.
func (m *Merged) checkOverrides(report *check.Report) {
	for _, o := range m.Config.Overrides {
		doc := m.lastWith(func(d *Document) bool {
			return slices.ContainsFunc(d.Config.OverridesOf(o.Server), func(other Override) bool {
				return other.Tool == o.Tool
			})
		})
		r := doc.Reporter(report)
		at := check.Pointer("tools", o.Server, o.Tool)
		s := m.Config.Server(o.Server)
		switch {
		case s == nil:
			r.Add(ruleOverride, at, "",
				"no server is named %q, so its override has no effect", o.Server)
			continue
		case slices.Contains(s.DisabledTools, o.Tool) ||
			s.EnabledTools != nil && !slices.Contains(s.EnabledTools, o.Tool):
			r.Add(ruleOverride.As(check.Warning), at, "enabledTools and disabledTools contain the server's own names",
				"tool %q of server %q is not offered, so that its override has no effect", o.Tool, o.Server)
			continue
		}
		if other := m.sameName(s, o); other != "" {
			r.Add(ruleToolCollision, at, "", "tool %q and tool %q of server %q would both be shown as %q",
				other, o.Tool, o.Server, o.shown())
		}
	}
}

// shown returns the name that clients see.
func (o Override) shown() string {
	if o.Name != "" {
		return o.Name
	}
	return o.Tool
}

// sameName returns another tool shown under the same name as o: one with an earlier
// override, or an enabled one without an override.
func (m *Merged) sameName(s *Server, o Override) string {
	overridden := make(map[string]bool)
	for _, other := range m.Config.OverridesOf(s.Name) {
		overridden[other.Tool] = true
	}
	for _, tool := range s.EnabledTools {
		if !overridden[tool] && tool == o.shown() && tool != o.Tool {
			return tool
		}
	}
	for _, other := range m.Config.OverridesOf(s.Name) {
		if other.Tool == o.Tool {
			break
		}
		if other.shown() == o.shown() {
			return other.Tool
		}
	}
	return ""
}

// overrideTable returns overrides in the layout of the format.
func overrideTable(overrides []Override) *object {
	return byServer(overrides, func(tools *object, o Override) {
		tools.add(o.Tool, struct {
			Name        string  `json:"name,omitempty"`
			Title       *string `json:"title,omitempty"`
			Description *string `json:"description,omitempty"`
		}{o.Name, o.Title, o.Description})
	})
}
