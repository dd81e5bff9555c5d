package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/mcp"
)

// namesPause is the time between two checks of names, however often the catalog changes.
const namesPause = time.Second

// missingNames are the names that were reported because they match nothing. A name that matches later is
// forgotten, so that it is reported again if that changes.
type missingNames struct {
	mu sync.Mutex // held during a check of names
	// reported has patterns of endpoints and quotas; rules has names in the policy.
	reported, rules map[string]bool
	// cat and set are those of the last complete check. Another check of them would find the same.
	cat *mcp.Catalog
	set *policy.Set
	// compared is how many names of the catalog and the policy were compared in total, which a test bounds.
	compared int
}

// note reports whether a pattern that matches nothing was not reported yet, and notes that it is now.
func (m *missingNames) note(pattern string, matches bool) (isNew bool) {
	if matches {
		delete(m.reported, pattern)
		return false
	}
	if m.reported == nil {
		m.reported = make(map[string]bool)
	}
	isNew = !m.reported[pattern]
	m.reported[pattern] = true
	return isNew
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
	var set *policy.Set
	if o.Policy != nil {
		set = o.Policy.engine.Set()
	}
	m := o.missing
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cat == cat && m.set == set {
		return nil
	}
	unknown := false // sources of which items may be missing
	for i := range cat.Sources {
		unknown = unknown || cat.Sources[i].Unknown
	}
	if o.quotas != nil && !unknown {
		unused := o.quotas.unused(cat)
		for i := range o.quotas.all {
			pattern := o.quotas.all[i].Pattern
			if m.note("quota "+pattern, !slices.Contains(unused, pattern)) {
				o.Logger.Warn("quota matches no tool", "pattern", pattern)
			}
		}
	}
	if set != nil {
		o.provePolicy(ctx, cat, set, unknown)
	}
	if err := o.proveEndpoints(cat, unknown); err != nil {
		return err
	}
	if ctx.Err() == nil {
		m.cat, m.set = cat, set
	}
	return nil
}

// maxMissing is how many names of a policy are logged at once. The others follow with the next check.
const maxMissing = 10

// provePolicy is proveNames for the policy: a rule about a misspelt name protects nothing.
func (o *Options) provePolicy(ctx context.Context, cat *mcp.Catalog, set *policy.Set, unknown bool) {
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
	var missing []string
	still := make(map[string]bool) // what was reported and does not match yet
	check := func(name string, known, matches bool) {
		switch reported := o.missing.rules[name]; {
		case known && matches:
		case reported:
			still[name] = true
		case known:
			missing = append(missing, name)
		}
	}
	servers, items := set.Named()
	for _, server := range servers {
		_, exists := open[server]
		check(server, exists || !unknown, exists)
	}
	offered := namesIn(cat)
	for _, item := range items {
		if ctx.Err() != nil {
			return
		}
		server, name, _ := strings.Cut(item, "/")
		check(item, open[server], offered.has(item, name, slices.Contains(o.SourceNames, server)))
	}
	o.missing.compared += offered.compared
	if len(missing) > 0 {
		printed := missing[:min(len(missing), maxMissing)]
		o.Logger.Warn("policy has rules about servers, tools or prompts that do not exist",
			"file", set.Name(),
			"count", len(missing),
			"names", strings.Join(printed, ", "),
		)
		for _, name := range printed {
			still[name] = true
		}
	}
	o.missing.rules = still
}

// catalogNames are the names of the tools and prompts of a catalog.
type catalogNames struct {
	items map[string]bool // as SOURCE/NAME
	names map[string]bool // without their sources
	// withheld are the names of those that are not offered, perhaps with a prefix. They are reversed and in
	// order, so that one with an ending is found by binary search.
	withheld []string
	compared int // how many names has has compared
}

// namesIn returns the names in cat.
func namesIn(cat *mcp.Catalog) *catalogNames {
	all := &catalogNames{items: make(map[string]bool), names: make(map[string]bool)}
	add := func(origins []mcp.Origin, shown string) {
		if len(origins) > 0 {
			shown = origins[0].Name
		}
		all.names[shown] = true
		for _, origin := range origins {
			all.items[origin.Source+"/"+shown] = true
		}
	}
	for i := range cat.Tools {
		add(cat.Tools[i].Origins, cat.Tools[i].Name)
	}
	for i := range cat.Prompts {
		add(cat.Prompts[i].Origins, cat.Prompts[i].Name)
	}
	for _, withheld := range []map[string]string{cat.WithheldTools, cat.WithheldPrompts} {
		for shown := range withheld {
			all.withheld = append(all.withheld, reversed(shown))
		}
	}
	slices.Sort(all.withheld)
	return all
}

// has reports whether item, which is SOURCE/name, exists, even if it is not offered. All items are of that source
// if whole is set.
func (c *catalogNames) has(item, name string, whole bool) bool {
	if c.items[item] || whole && c.names[name] {
		return true
	}
	end := reversed(name)
	at, _ := slices.BinarySearchFunc(c.withheld, end, func(name, end string) int {
		c.compared++
		return strings.Compare(name, end)
	})
	return at < len(c.withheld) && strings.HasPrefix(c.withheld[at], end)
}

// reversed returns the bytes of a name from the last one to the first one.
func reversed(name string) string {
	all := []byte(name)
	slices.Reverse(all)
	return string(all)
}
