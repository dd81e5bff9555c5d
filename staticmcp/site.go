package staticmcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
)

// Site is a StaticMCP site that has been opened. It is a source of tools,
// resources and prompts whose answers are files.
//
// Answers reach clients as their author wrote them, byte for byte except for
// white space between tokens. They are validated once and kept ready in a cache
// of limited size. A Site holds nothing for a client or a session.
//
// A Site of a folder or of a URL notices changes: of the manifest by itself, of
// an answer when it is read. All methods are safe for concurrent use. Close the
// Site when it is no longer served.
type Site struct {
	opts  *Options
	store store
	offer atomic.Pointer[offer]

	cache   *cache
	flights flights
	// learnt is the form by which a resource was found on a web host, plus one.
	learnt atomic.Uint32
	// untold are the warnings about tools that were given already.
	untold sync.Map

	watchers watchers
	stop     context.CancelFunc
	polling  sync.WaitGroup
	closing  sync.Once
	closed   error
}

var (
	_ mcp.Source  = (*Site)(nil)
	_ mcp.Watcher = (*Site)(nil)
	_ io.Closer   = (*Site)(nil)
)

// Catalog implements [mcp.Source]. The entries are those of the manifest, in its
// order and in its words.
func (s *Site) Catalog(context.Context) (*mcp.Catalog, error) { return s.offer.Load().catalog, nil }

// Warnings returns what is wrong with the manifest in force, one line each. The
// slice must not be changed.
func (s *Site) Warnings() []string { return s.offer.Load().warnings }

// Close stops the watching of the site and releases its files. Requests being
// served may fail. Close can be called more than once.
func (s *Site) Close() error {
	s.closing.Do(func() {
		s.stop()
		s.polling.Wait()
		s.closed = s.store.Close()
	})
	return s.closed
}

// plan is how to find one answer.
type plan struct {
	offer      *offer
	candidates []candidate
	// originals are the texts that the parts of the first candidate encode.
	originals []string
	values    []value // of a tool

	// skip is how many candidates, the first ones, were found not to be there,
	// and need not be looked for before skipUntil, in Unix nanoseconds.
	skip      atomic.Int32
	skipUntil atomic.Int64
}

const (
	// maxPlanKey is the longest question whose plan is kept.
	maxPlanKey = 1 << 10
	planSize   = 512
)

// planned returns the plan kept for a question under an offer, or nil. A plan
// depends on nothing but the two, so it is never out of date.
func (s *Site) planned(key []byte, o *offer) *plan {
	if i := lookup(s.cache, key); i != nil {
		if p := i.value.(*plan); p.offer == o {
			return p
		}
	}
	return nil
}

func (s *Site) keepPlan(key []byte, p *plan) {
	if len(key) > maxPlanKey {
		return
	}
	i := &item{key: string(key), value: p, size: planSize}
	for _, c := range p.candidates {
		i.size += int64(len(c.path))
	}
	s.cache.put(i)
}

// planRead returns where the file of a resource may be.
func (s *Site) planRead(o *offer, uri string) *plan {
	var buffer [256]byte
	key := append(append(buffer[:0], "\x00uri\x00"...), uri...)
	if p := s.planned(key, o); p != nil {
		return p
	}
	p := &plan{offer: o, candidates: resourcePaths(uri, s.opts.Strict), originals: splitSlashes(uriRest(uri))}
	s.keepPlan(key, p)
	return p
}

// find returns the first document among the candidates that accept takes. The
// error is errMissing if there is none.
func (s *Site) find(ctx context.Context, p *plan, learnt *atomic.Uint32, accept func(*document) bool) (*document, error) {
	traits := s.store.traits()
	if !traits.listed {
		return s.findFetched(ctx, p, learnt, accept)
	}
	first := 0
	if n := int(p.skip.Load()); n > 0 && time.Now().UnixNano() < p.skipUntil.Load() {
		first = n
	}
	for i := first; i < len(p.candidates); i++ {
		d, err := s.candidate(ctx, p, &p.candidates[i], accept)
		if errors.Is(err, errMissing) {
			continue
		}
		if i > first {
			until := time.Now().Add(s.opts.Recheck)
			if traits.frozen {
				until = far
			}
			p.skipUntil.Store(until.UnixNano())
			p.skip.Store(int32(i))
		}
		return d, err
	}
	if s.opts.Strict || len(p.candidates) == 0 {
		return nil, errMissing
	}
	return s.findLong(ctx, p, accept)
}

// findFetched is find for a web host, where each attempt is a request: it begins
// with the form that had success before, and gives up early.
func (s *Site) findFetched(ctx context.Context, p *plan, learnt *atomic.Uint32, accept func(*document) bool) (*document, error) {
	tries := len(p.candidates)
	if s.opts.MaxMisses > 0 {
		tries = min(tries, s.opts.MaxMisses)
	}
	known := learnt.Load()
	for pass := range 2 {
		for i := range p.candidates {
			c := &p.candidates[i]
			if familiar := uint32(c.form)+1 == known; familiar != (pass == 0) {
				continue
			}
			if tries--; tries < 0 {
				return nil, errMissing
			}
			d, err := s.candidate(ctx, p, c, accept)
			if errors.Is(err, errMissing) {
				continue
			}
			if err == nil {
				learnt.Store(uint32(c.form) + 1)
			}
			return d, err
		}
	}
	return nil, errMissing
}

// candidate returns the document at one path if accept takes it.
func (s *Site) candidate(ctx context.Context, p *plan, c *candidate, accept func(*document) bool) (*document, error) {
	d, err := s.document(ctx, c.path)
	if err != nil {
		return nil, err
	}
	if d.others != nil && c.form == formEncoded {
		other, err := s.follow(ctx, p, c.path, d.others)
		if err == nil && accept(other) {
			return other, nil
		}
		if err != nil && !errors.Is(err, errMissing) {
			return nil, err
		}
	}
	if !accept(d) {
		return nil, errMissing
	}
	return d, nil
}

// follow returns the document whose name is told apart from that of the file at
// path, which stands for several.
func (s *Site) follow(ctx context.Context, p *plan, path string, places []int) (*document, error) {
	parts := strings.Split(strings.TrimSuffix(path, extension), "/")
	skip := len(parts) - len(p.originals)
	if skip < 1 {
		return nil, errMissing
	}
	for _, place := range places {
		if place == lastPlace {
			place = len(p.originals) - 1
		}
		if place < len(p.originals) {
			parts[skip+place] = distinctName(p.originals[place])
		}
	}
	return s.document(ctx, strings.Join(parts, "/")+extension)
}

// distinctName is the long form of a name, whatever its length: it differs
// where the encoding alone does not.
func distinctName(text string) string {
	var buf [maxName + maxWidth]byte
	return longName(appendSafe(buf[:0], text, widthUTF16), hash64(text))
}

// document returns the file at path, read again if its time is over.
func (s *Site) document(ctx context.Context, path string) (*document, error) {
	i := lookup(s.cache, path)
	if i == nil || !i.fresh(time.Now()) {
		var err error
		if i, err = s.load(ctx, path, path, s.opts.MaxFileBytes, s.asDocument); err != nil {
			return nil, err
		}
	}
	switch v := i.value.(type) {
	case *document:
		return v, nil
	case error:
		return nil, v
	}
	return nil, errMissing
}

// asDocument makes an answer of a file.
func (s *Site) asDocument(path string, loaded *file) (any, int64, error) {
	d, err := readDocument(path, loaded.data, s.opts)
	if err != nil {
		return nil, 0, err
	}
	d.cache = s.hint(loaded)
	if d.resource != nil {
		d.resource.Cache = d.cache
	}
	return d, d.size, nil
}

// making turns a file into what is kept of it, and tells its size.
type making func(path string, loaded *file) (value any, size int64, err error)

// load returns what is kept under key, after asking the store for the file at
// path. Callers who want the same at the same time share one answer.
func (s *Site) load(ctx context.Context, key, path string, limit int64, as making) (*item, error) {
	return s.flights.do(ctx, key, func() (*item, error) {
		old := lookup(s.cache, key)
		if old != nil && old.fresh(time.Now()) {
			return old, nil // somebody else was faster
		}
		return s.refresh(ctx, old, key, path, limit, as)
	})
}

// retryPause is how long a web host that failed is left alone while its older
// answer is given.
const retryPause = 5 * time.Second

// refresh reads the file at path, or learns that what is kept still holds.
func (s *Site) refresh(ctx context.Context, old *item, key, path string, limit int64, as making) (*item, error) {
	var since *stamp
	if old != nil && old.usable() {
		since = &old.stamp
	}
	loaded, err := s.store.load(ctx, path, since, limit)
	switch {
	case errors.Is(err, errMissing):
		return s.absent(key, old), nil
	case err != nil && since != nil && isUnavailable(err) && time.Now().UnixNano() < old.staleUntil.Load():
		s.opts.Logger.Warn("an older answer is given", "path", path, "error", err)
		old.freshUntil.Store(time.Now().Add(retryPause).UnixNano())
		return old, nil
	case err != nil:
		return nil, &fileError{path, err}
	case loaded.unchanged && since != nil:
		old.extend(loaded)
		return old, nil
	}
	i := &item{key: key, stamp: loaded.stamp}
	i.extend(loaded)
	i.value, i.size, err = as(path, loaded)
	switch {
	case errors.Is(err, errMissing):
		return s.absent(key, old), nil
	case err != nil:
		s.opts.Logger.Warn("a file of the site cannot be used", "path", path, "error", err)
		i.value = &fileError{path, err}
	}
	s.tell(old, i)
	if loaded.passing {
		s.cache.remove(key)
	} else {
		s.cache.put(i)
	}
	return i, nil
}

// usable reports whether the item holds what a file was made into, and not why
// that could not be.
func (i *item) usable() bool {
	_, failed := i.value.(error)
	return !failed
}

// absent remembers, for a web host, that there is no such file. To look into a
// folder again is cheaper than the memory.
func (s *Site) absent(key string, old *item) *item {
	i := &item{key: key, value: errMissing}
	s.tell(old, i)
	if s.store.traits().listed || s.opts.MissTTL <= 0 {
		if old != nil {
			s.cache.remove(key)
		}
		return i
	}
	i.freshUntil.Store(time.Now().Add(s.opts.MissTTL).UnixNano())
	s.cache.put(i)
	return i
}

// fileError says which file cannot be used. Its text is for the log.
type fileError struct {
	path  string
	cause error
}

func (e *fileError) Error() string { return e.path + ": " + e.cause.Error() }
func (e *fileError) Unwrap() error { return e.cause }

func isUnavailable(err error) bool {
	var u *unavailable
	return errors.As(err, &u)
}

// wireError words an error for a client. Paths stay in the log. code is the
// range of the error, for those who look for it in data.
func (s *Site) wireError(err error, code mcp.Code) error {
	var u *unavailable
	var large tooLarge
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &u):
		data, _ := mcp.Marshal(map[string]any{"retryable": true, "kind": "unavailable", "code": code})
		return &mcp.Error{Code: mcp.CodeInternalError, Message: u.text, Data: data, Cause: err}
	case errors.As(err, &large):
		return &mcp.Error{Code: mcp.CodeInternalError, Message: large.Error(), Data: json.RawMessage(`{"kind":"too-large"}`), Cause: err}
	}
	return &mcp.Error{
		Code:    mcp.CodeInternalError,
		Message: "the site's answer cannot be used",
		Data:    json.RawMessage(`{"kind":"invalid-file"}`),
		Cause:   err,
	}
}
