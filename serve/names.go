package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// namesPause is the time between two checks of names, however often the catalog changes.
const namesPause = time.Second

// missingNames are the names that were reported because they match nothing. It is safe for concurrent
// use.
type missingNames struct {
	mu       sync.Mutex
	reported map[string]bool
}

// isNew reports whether a name was not reported yet, and notes that it is now.
func (m *missingNames) isNew(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reported[name] {
		return false
	}
	if m.reported == nil {
		m.reported = make(map[string]bool)
	}
	m.reported[name] = true
	return true
}

// followNames calls proveNames again after changes of the policy and of the catalog of src, which also come
// when a server starts late, until stop is called.
func (o *Options) followNames(ctx context.Context, src mcp.Source) (stop func()) {
	if len(o.Endpoints)+len(o.Limits.Quotas) == 0 && o.Policy == nil {
		return func() {}
	}
	changed := make(chan struct{}, 1)
	note := func() {
		select {
		case changed <- struct{}{}:
		default: // a check is due
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	unwatch, forget := func() {}, func() {}
	if w, ok := mcp.AsWatcher(src); ok {
		unwatch = w.Watch(func(c mcp.Change) {
			if c.Tools || c.Resources || c.Prompts {
				note()
			}
		})
	}
	if o.Policy != nil {
		forget = o.Policy.onReload(note)
	}
	if _, opening := src.(Pending); !opening {
		note() // it may have changed before
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			_ = o.proveNames(ctx, src) // what stops a start does not stop a server
			select {
			case <-ctx.Done():
				return
			case <-time.After(namesPause):
			}
		}
	}()
	return func() {
		unwatch()
		forget()
		cancel()
		<-done
	}
}

// proveNames returns an error for an endpoint that names no source of src, which is open, and
// logs patterns of endpoints and quotas, and names in the policy, that match nothing: each once, however
// often it is called.
func (o *Options) proveNames(ctx context.Context, src mcp.Source) error {
	if len(o.Endpoints)+len(o.Limits.Quotas) == 0 && o.Policy == nil {
		return nil
	}
	cat, err := src.Catalog(ctx)
	if err != nil && len(o.Endpoints)+len(o.Limits.Quotas) == 0 {
		return nil // names in the policy only deserve a warning
	}
	if err != nil {
		return fmt.Errorf("endpoints and quotas: %w", err)
	}
	unknown := false // sources of which items may be missing
	for i := range cat.Sources {
		unknown = unknown || cat.Sources[i].Unknown
	}
	if o.quotas != nil && !unknown {
		for _, pattern := range o.quotas.unused(cat) {
			if o.missing.isNew("quota " + pattern) {
				o.Logger.Warn("quota matches no tool", "pattern", pattern)
			}
		}
	}
	o.provePolicy(cat, unknown)
	return o.proveEndpoints(cat, unknown)
}

// maxMissing is how many names of a policy are logged.
const maxMissing = 10

// provePolicy is proveNames for the policy: a rule about a misspelt name protects nothing.
func (o *Options) provePolicy(cat *mcp.Catalog, unknown bool) {
	if o.Policy == nil {
		return
	}
	open := make(map[string]bool) // by source, whether its items are known
	for _, name := range o.SourceNames {
		open[name] = !unknown
	}
	for i := range cat.Sources {
		open[cat.Sources[i].Name] = !cat.Sources[i].Unknown
	}
	if len(open) == 0 {
		return
	}
	set := o.Policy.engine.Set()
	servers, items := set.Named()
	var missing []string
	for _, server := range servers {
		if _, exists := open[server]; !exists && !unknown {
			missing = append(missing, server)
		}
	}
	for _, item := range items {
		server, name, _ := strings.Cut(item, "/")
		if open[server] &&
			!offers(cat, server, name, slices.Contains(o.SourceNames, server)) &&
			!withholds(cat, name) {
			missing = append(missing, item)
		}
	}
	known := func(name string) bool { return !o.missing.isNew("policy " + name) }
	if missing = slices.DeleteFunc(missing, known); len(missing) > 0 {
		o.Logger.Warn("policy has rules about servers, tools or prompts that do not exist",
			"file", set.Name(),
			"count", len(missing),
			"names", strings.Join(missing[:min(len(missing), maxMissing)], ", "),
		)
	}
}
