package freeze

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// FallbackOptions configure what happens to answers that a site does not have. A nil
// *FallbackOptions and the zero value mean the defaults.
type FallbackOptions struct {
	// Dir is the folder of the site, where answers of the source are stored. They must be
	// stable, so the answers of a tool are stored only if it is marked readOnlyHint or named
	// in Tools. Answers that appear to contain a secret or personal data are not stored.
	// Default: nothing is stored.
	Dir string
	// Await is called before the source is asked for an answer that the site does not have. It may
	// wait until a source that is starting has started, or until ctx ends. Nil does not wait.
	Await func(ctx context.Context)
	// Tools are the names of additional tools whose answers are stored.
	Tools []string
	// Environ is as in [Options].
	Environ []string
	// Logger receives warnings about answers that could not be stored. Nil discards them.
	Logger *slog.Logger
}

// Fallback is a source that answers from a site, and calls another source if the site has
// no answer. Definitions of the site come first, followed by those that only the source
// has. While the source is unreachable, only the site is served. All methods are safe for
// concurrent use.
type Fallback struct {
	// site is asked first, src what the site has no answer for.
	site *staticmcp.Site
	src  mcp.Source
	// opts are the options with their defaults.
	opts FallbackOptions

	secrets *secrets.Scanner // nil if nothing is stored

	// mu guards merged, which is kept until one of the two catalogs changes.
	mu     sync.Mutex
	merged merged

	// reading starts reading the index of the site, and knownMu guards known.
	reading sync.Once
	knownMu sync.RWMutex
	// known are the calls that have answers according to the index, or nil without an index.
	known map[string]bool

	keep chan *sitewriter.Answer // nil if nothing is stored
	// added are the tool definitions that the manifest lacks, by name.
	added sync.Map // of *mcp.Tool
	// reported are the tools for which a warning was logged.
	reported sync.Map
	// keeper waits for the goroutine that stores answers, which close ends.
	keeper sync.WaitGroup
	close  sync.Once
}

// merged is the union of two catalogs, with its inputs.
type merged struct{ site, src, both *mcp.Catalog }

var (
	_ mcp.Source  = (*Fallback)(nil)
	_ mcp.Watcher = (*Fallback)(nil)
	_ io.Closer   = (*Fallback)(nil)
)

// maxKept is how many answers can be queued for storing; more are dropped.
const maxKept = 256

// NewFallback returns a source over site and src, which the caller still owns. With
// [FallbackOptions.Dir], it must be closed before they are.
func NewFallback(site *staticmcp.Site, src mcp.Source, opts *FallbackOptions) *Fallback {
	f := &Fallback{
		site: site,
		src:  src,
	}
	if opts != nil {
		f.opts = *opts
	}
	if f.opts.Await == nil {
		f.opts.Await = func(context.Context) {}
	}
	if f.opts.Logger == nil {
		f.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if f.opts.Dir != "" {
		if f.opts.Environ == nil {
			f.opts.Environ = os.Environ()
		}
		f.secrets = secrets.New(f.opts.Environ)
		f.keep = make(chan *sitewriter.Answer, maxKept)
		f.keeper.Go(f.store)
	}
	return f
}

// Close stores the queued answers in the site and returns nil. It does not close the site
// or the source. No other method may be running or be called afterwards.
func (f *Fallback) Close() error {
	f.close.Do(func() {
		if f.keep != nil {
			close(f.keep)
		}
		f.keeper.Wait()
	})
	return nil
}

// store writes answers into the site, batching those that are queued.
func (f *Fallback) store() {
	for first := range f.keep {
		list := []*sitewriter.Answer{first}
		for more := true; more && len(list) < maxKept; {
			select {
			case a, open := <-f.keep:
				if more = open; open {
					list = append(list, a)
				}
			default:
				more = false
			}
		}
		if err := f.put(list); err != nil {
			f.opts.Logger.Warn("answers could not be stored", "answers", len(list), "error", err)
		}
	}
}

// put stores answers in the site, with the definitions of new tools. Existing files are
// never replaced.
func (f *Fallback) put(list []*sitewriter.Answer) error {
	ctx := context.Background()
	catalog, err := f.withTools(ctx, list)
	if err != nil {
		return err
	}
	stored, err := sitewriter.Add(ctx, f.opts.Dir, catalog, list, nil)
	missing := len(list) - len(stored)
	if missing > 0 && err == nil {
		f.opts.Logger.Info("answers not stored: their files exist, or have no valid name", "answers", missing)
	}
	f.knownMu.Lock()
	defer f.knownMu.Unlock()
	for _, a := range stored {
		if f.known != nil {
			f.known[f.callKey(catalog, a.Tool, a.Arguments)] = true
		}
	}
	return err
}

// withTools returns the catalog of the site, extended by the tools of the source that the
// answers need.
func (f *Fallback) withTools(ctx context.Context, list []*sitewriter.Answer) (*mcp.Catalog, error) {
	site, err := f.site.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	var added []mcp.Tool
	for _, a := range list {
		if t, ok := f.added.Load(a.Tool); ok {
			added = append(added, *t.(*mcp.Tool))
		}
	}
	tools := extended(site.Tools, added, func(t *mcp.Tool) string {
		return t.Name
	})
	return &mcp.Catalog{
		Server:  site.Server,
		Tools:   tools,
		Prompts: site.Prompts,
	}, nil
}

// callKey returns a key that identifies a call.
func (f *Fallback) callKey(c *mcp.Catalog, tool string, arguments json.RawMessage) string {
	t := c.Tool(tool)
	if t == nil {
		return ""
	}
	ordered, err := staticmcp.NewToolLayout(tool, t.InputSchema).Ordered(arguments)
	if err != nil {
		return ""
	}
	return tool + "\x00" + string(ordered)
}

// stored reports whether the site may have the answer to a call. Two calls can have the
// same file name; the index, if there is one, shows which of them is stored.
func (f *Fallback) stored(ctx context.Context, c *mcp.Catalog, p *mcp.CallToolParams) bool {
	f.reading.Do(func() {
		entries, err := f.site.Index(ctx)
		if err != nil || entries == nil {
			return
		}
		f.knownMu.Lock()
		defer f.knownMu.Unlock()
		f.known = make(map[string]bool)
		for i := range entries {
			if e := &entries[i]; e.Tool != "" {
				f.known[e.Tool+"\x00"+string(e.Arguments)] = true
			}
		}
	})
	f.knownMu.RLock()
	defer f.knownMu.RUnlock()
	return f.known == nil || f.known[f.callKey(c, p.Name, p.Arguments)]
}

// Catalog implements [mcp.Source].
func (f *Fallback) Catalog(ctx context.Context) (*mcp.Catalog, error) {
	site, err := f.site.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	src, err := f.src.Catalog(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return site, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.merged.site != site || f.merged.src != src {
		f.merged = merged{site, src, join(site, src)}
	}
	return f.merged.both, nil
}

// join returns the definitions of a followed by those that only b has.
func join(a, b *mcp.Catalog) *mcp.Catalog {
	return &mcp.Catalog{
		Server:       a.Server,
		Instructions: a.Instructions,
		Extensions:   a.Extensions,
		Cache:        a.Cache,
		Completions:  a.Completions || b.Completions,
		Tools:        joinTools(a, b),
		Sources:      b.Sources,
		Missing:      b.Missing,
		Resources: extended(a.Resources, b.Resources, func(r *mcp.Resource) string {
			return r.URI
		}),
		Templates: extended(a.Templates, b.Templates, func(t *mcp.ResourceTemplate) string {
			return t.URITemplate
		}),
		Prompts: extended(a.Prompts, b.Prompts, func(p *mcp.Prompt) string {
			return p.Name
		}),
	}
}

// joinTools is extended for tools. A tool that both catalogs have gets the origins of
// both, because either may answer a call.
func joinTools(a, b *mcp.Catalog) []mcp.Tool {
	all := extended(a.Tools, b.Tools, func(t *mcp.Tool) string {
		return t.Name
	})
	for i := range a.Tools {
		if other := b.Tool(all[i].Name); other != nil {
			all[i].Origins = slices.Concat(all[i].Origins, other.Origins)
		}
	}
	return all
}

// extended returns the items of a followed by those that only b has, each once.
func extended[T any](a, b []T, key func(*T) string) []T {
	there := make(map[string]bool, len(a))
	for i := range a {
		there[key(&a[i])] = true
	}
	all := slices.Clone(a)
	for i := range b {
		if name := key(&b[i]); !there[name] {
			there[name] = true
			all = append(all, b[i])
		}
	}
	return all
}

// CallTool implements [mcp.Source].
func (f *Fallback) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	site, err := f.site.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	own := site.Tool(p.Name) != nil
	if own && f.stored(ctx, site, p) {
		result, stored, err := f.site.Lookup(ctx, p)
		if stored || err != nil {
			return result, err
		}
	}
	f.opts.Await(ctx)
	src, err := f.src.Catalog(ctx)
	if own && (err != nil || src.Tool(p.Name) == nil) {
		return f.site.CallTool(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	result, err := f.src.CallTool(ctx, p)
	if err == nil && f.keep != nil {
		f.rememberCall(src.Tool(p.Name), p, result)
	}
	return result, err
}

// rememberCall stores the answer to a call if the tool permits it, and the tool's
// definition if the site lacks it.
func (f *Fallback) rememberCall(t *mcp.Tool, p *mcp.CallToolParams, result *mcp.CallToolResult) {
	if t == nil {
		return
	}
	if !f.stable(t) {
		f.warnOnce(t.Name, "answers of a tool are not stored: it is not marked readOnlyHint")
		return
	}
	if _, known := f.added.Load(t.Name); !known {
		definition, err := mcp.Marshal(t)
		if err != nil || len(f.secrets.FindDocument(definition)) > 0 {
			f.warnOnce(t.Name, "answers of a tool are not stored: its definition contains a secret")
			return
		}
		f.added.Store(t.Name, t)
	}
	f.remember(staticmcp.Question{
		Tool:      p.Name,
		Arguments: p.Arguments,
	}, result)
}

// warnOnce logs why answers are not stored, once per name and reason.
func (f *Fallback) warnOnce(name, reason string) {
	if _, told := f.reported.LoadOrStore(name+"\x00"+reason, nil); !told {
		f.opts.Logger.Warn(reason, "name", f.secrets.Redact(name))
	}
}

// stable reports whether the answers of a tool may be stored.
func (f *Fallback) stable(t *mcp.Tool) bool {
	return slices.Contains(f.opts.Tools, t.Name) ||
		t.Annotations != nil && t.Annotations.ReadOnlyHint
}

// ReadResource implements [mcp.Source]. A read that is restricted to one of several sources is not
// answered from the site, which does not know the source of its resources.
func (f *Fallback) ReadResource(ctx context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if p.Sources != nil && f.joinsSeveral(ctx) {
		f.opts.Await(ctx)
		return f.src.ReadResource(ctx, p)
	}
	result, err := f.site.ReadResource(ctx, p)
	if !notFound(err) {
		return result, err
	}
	f.opts.Await(ctx)
	found, otherErr := f.src.ReadResource(ctx, p)
	if otherErr != nil {
		if notFound(otherErr) {
			return nil, err // its message lists the available resources
		}
		return nil, otherErr
	}
	f.remember(staticmcp.Question{URI: p.URI}, found)
	return found, nil
}

// joinsSeveral reports whether the source joins several, or may do so.
func (f *Fallback) joinsSeveral(ctx context.Context) bool {
	src, err := f.src.Catalog(ctx)
	return err != nil || len(src.Sources) > 1
}

// notFound reports whether err means that the requested item does not exist.
func notFound(err error) bool {
	var e *mcp.Error
	return errors.As(err, &e) &&
		(e.Code == mcp.CodeResourceNotFound || e.Code == mcp.CodeInvalidParams)
}

// GetPrompt implements [mcp.Source].
func (f *Fallback) GetPrompt(ctx context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	result, err := f.site.GetPrompt(ctx, p)
	if !notFound(err) {
		return result, err
	}
	f.opts.Await(ctx)
	src, otherErr := f.src.Catalog(ctx)
	if otherErr != nil || src.Prompt(p.Name) == nil {
		return nil, err
	}
	found, otherErr := f.src.GetPrompt(ctx, p)
	if site, err := f.site.Catalog(ctx); otherErr == nil && err == nil && f.keep != nil {
		if site.Prompt(p.Name) == nil {
			f.warnOnce(p.Name, "answers of a prompt are not stored: the site has no such prompt")
			return found, nil
		}
		arguments, err := mcp.Marshal(p.Arguments)
		if err == nil && p.Arguments != nil {
			f.remember(staticmcp.Question{
				Prompt:    p.Name,
				Arguments: arguments,
			}, found)
		}
	}
	return found, otherErr
}

// Complete implements [mcp.Source].
func (f *Fallback) Complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	result, err := f.site.Complete(ctx, p)
	if err == nil {
		values, err := completionOf(result)
		if err != nil || len(values) > 0 {
			return result, err
		}
	}
	found, otherErr := f.src.Complete(ctx, p)
	if otherErr != nil && err == nil {
		return result, nil
	}
	return found, otherErr
}

// remember queues an answer of the source for storing, if it may be stored. It does not
// block.
func (f *Fallback) remember(q staticmcp.Question, result any) {
	if f.keep == nil {
		return
	}
	name := q.Tool + q.URI + q.Prompt
	doc, err := clean(result)
	if err != nil || string(jsonscan.Member(doc, "isError")) == "true" {
		return
	}
	asked, err := mcp.Marshal(q)
	secret := func(s suspicion) bool { return s.kind != "email" }
	if err != nil || len(f.secrets.FindDocument(asked)) > 0 ||
		slices.ContainsFunc(suspicions(f.secrets, doc), secret) {
		f.warnOnce(name, "an answer is not stored: it contains a secret or personal data")
		return
	}
	select {
	case f.keep <- &sitewriter.Answer{
		Tool:      q.Tool,
		URI:       q.URI,
		Prompt:    q.Prompt,
		Arguments: q.Arguments,
		Result:    doc,
	}:
	default: // it will be requested again
		f.warnOnce("", "answers are not stored: too many are waiting")
	}
}

// Watch implements [mcp.Watcher].
func (f *Fallback) Watch(changed func(mcp.Change)) (stop func()) {
	var stops []func()
	for _, src := range []mcp.Source{f.site, f.src} {
		if w, ok := mcp.AsWatcher(src); ok {
			stops = append(stops, w.Watch(changed))
		}
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// Changes reports whether one of the two sources is watched.
func (f *Fallback) Changes() bool {
	_, site := mcp.AsWatcher(f.site)
	_, src := mcp.AsWatcher(f.src)
	return site || src
}
