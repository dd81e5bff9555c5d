package router

import (
	"encoding/json"
	"fmt"

	"github.com/slipway-mcp/slipway/mcp"
)

// Options are settings of a whole [Router]: a [Feature] that [New] takes at most
// once. The zero value is the default.
type Options struct {
	// Title, Description, WebsiteURL and Icons are shown to people.
	Title, Description, WebsiteURL string
	Icons                          []mcp.Icon
	// Instructions tell a model how to use the server.
	Instructions string

	// Lenient ignores unknown arguments of every tool and prompt, as the option
	// [Lenient] does of one.
	Lenient bool
	// RequireCompletion makes an argument of a prompt that cannot be completed a
	// mistake.
	RequireCompletion bool
	// AllowEmpty allows a router without any item, to which [Router.Add] adds.
	AllowEmpty bool
	// HideAppTools hides tools that only apps may call ([VisibleTo]) from clients
	// that do not declare the MCP Apps extension: they can neither list nor call
	// them. By default every client can, and its host keeps them from the model.
	HideAppTools bool
	// LegacyUIKey writes the link of a tool to its app a second time, for hosts
	// from before 2026.
	LegacyUIKey bool

	// Tasks says that tools may answer with a task ([mcp.Request.Task]).
	Tasks bool
	// NoLogging takes back the declaration that tools may send log lines
	// ([mcp.Request.Log]).
	NoLogging bool
	// Extensions are further capabilities.extensions, a JSON object or nil.
	Extensions json.RawMessage

	// PageSize is how many entries one answer to a list request holds; 0 stands
	// for [mcp.DefaultPageSize].
	PageSize int
	// Cache tells 2026-07-28 clients how long they may keep the lists. With a
	// [Filter] they are never shared between callers.
	Cache mcp.CacheHint
	// MaxReadBytes is how much is read from an [io.Reader] or a file at most; 0
	// stands for [DefaultMaxReadBytes].
	MaxReadBytes int64
	// MaxViews is how many different catalogs are kept ready when there is a
	// [Filter]; 0 stands for 64. A view beyond it is built again when needed.
	MaxViews int

	// Middleware wraps whatever the router runs: a source that does something
	// before, after or instead of next. Embed next and write the methods that
	// differ. Nil is none. The catalog stays the router's own.
	Middleware func(next mcp.Source) mcp.Source
	// Observer is told of each call that the router runs, before and after.
	// Nil is none. An [mcp.Server] can be observed as a whole instead.
	Observer mcp.Observer
}

func (o Options) register(b *builder) {
	switch {
	case !b.mayOptions:
		b.faults = append(b.faults, fmt.Errorf("options: they belong to New"))
	case o.PageSize < 0:
		b.faults = append(b.faults, fmt.Errorf("options: PageSize is %d, and 0 is the default", o.PageSize))
	case o.Extensions != nil && !isObject(o.Extensions):
		b.faults = append(b.faults, fmt.Errorf("options: Extensions is not a JSON object"))
	}
}

// optionsAmong returns the options among features.
func (b *builder) optionsAmong(where place, features []Feature) {
	for _, f := range features {
		if o, ok := f.(Options); ok {
			if b.options != nil {
				b.faults = append(b.faults, &mistake{where, "options: they are given twice"})
			}
			b.options = &o
		}
	}
}

func isObject(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(raw, &members) == nil && members != nil
}
