package router

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// Options are settings of a whole [Router]: a [Feature] that may be passed to [New] once.
// The zero value is the default.
type Options struct {
	// Title, Description, WebsiteURL and Icons are for display.
	Title, Description, WebsiteURL string
	Icons                          []mcp.Icon
	// Instructions explain to a model how to use the server.
	Instructions string

	// Lenient ignores unknown arguments of every tool and prompt, as the option [Lenient]
	// does for one.
	Lenient bool
	// RequireCompletion makes a prompt argument without completion a mistake.
	RequireCompletion bool
	// AllowEmpty allows a router without any items, to be filled by [Router.Add].
	AllowEmpty bool
	// HideAppTools hides app-only tools ([VisibleTo]) from clients that do not declare the
	// MCP Apps extension: they can neither list nor call them. By default every client can,
	// and its host hides them from the model.
	HideAppTools bool
	// LegacyUIKey also writes the link from a tool to its app under the key that hosts from
	// before 2026 read.
	LegacyUIKey bool

	// CapabilityOptions declare what the server can do.
	CapabilityOptions
	// ListOptions configure the lists.
	ListOptions
	// MaxReadBytes is the most that is read from an [io.Reader] or a file; 0 means
	// [DefaultMaxReadBytes].
	MaxReadBytes int64

	// Middleware wraps the calls of the router in a source that acts before, after or
	// instead of next. Embed next and override the methods that differ. Nil means none. The
	// catalog always comes from the router.
	Middleware func(next mcp.Source) mcp.Source
	// Observer is called before and after each call that the router runs. Nil means none. To
	// observe a whole [server.Server], set its own observer instead.
	Observer server.Observer
}

// CapabilityOptions declare what a server can do besides calling its features. The zero value
// declares logging only.
type CapabilityOptions struct {
	// Tasks declares that tools may answer with a task ([mcp.Request.Task]).
	Tasks bool
	// NoLogging removes the declaration that tools may send log lines ([mcp.Request.Log]).
	NoLogging bool
	// Stateless declares that the router keeps nothing for a session ([mcp.Catalog.Stateless]), so
	// that another replica of a cluster can continue the sessions of this one.
	Stateless bool
	// Extensions are additional capabilities.extensions, a JSON object or nil.
	Extensions json.RawMessage
}

// ListOptions configure the answers to list requests. The zero value means the defaults.
type ListOptions struct {
	// PageSize is the number of entries in one answer to a list request; 0 means
	// [mcp.DefaultPageSize].
	PageSize int
	// Cache sets how long 2026-07-28 clients may cache the lists. With a [Filter], lists are
	// never shared between callers.
	Cache mcp.CacheHint
	// MaxViews is how many different catalogs are cached if there is a [Filter]; 0 means 64.
	// Any other view is rebuilt when needed.
	MaxViews int
}

// register verifies the options. They are not a feature, but New accepts them among
// features.
func (o Options) register(b *builder) {
	switch {
	case !b.mayOptions:
		b.faults = append(b.faults, errors.New("options: they belong to New"))
	case o.PageSize < 0:
		b.faults = append(b.faults, fmt.Errorf("options: PageSize is %d, and 0 is the default", o.PageSize))
	case o.Extensions != nil &&
		(jsonscan.Valid(o.Extensions) != nil || !jsonscan.IsObject(o.Extensions)):
		b.faults = append(b.faults, errors.New("options: Extensions is not a JSON object"))
	}
}

// findOptions stores the options among features, and reports a second one.
func (b *builder) findOptions(at place, features []Feature) {
	for _, f := range features {
		if o, ok := f.(Options); ok {
			if b.options != nil {
				b.faults = append(b.faults, &mistake{at, "options: given twice"})
			}
			b.options = &o
		}
	}
}
