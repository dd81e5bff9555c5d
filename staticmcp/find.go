package staticmcp

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/site"
)

// plan describes how to find one answer.
type plan struct {
	// offer is the manifest that the plan was made for: another one makes it invalid.
	offer *offer
	// candidates are the paths to try, most likely first.
	candidates []site.Candidate
	// originals are the unencoded texts of the parts of the first candidate.
	originals []string
	values    []value // of a tool
	uri       string  // of a resource

	skip atomic.Pointer[skip]
}

// skip records that the first candidates of a plan do not exist and need not be tried
// until the given time.
type skip struct {
	// count is how many candidates were missing at the last attempt, until a time.
	count int
	until time.Time
}

const (
	// maxPlanKey is the longest question whose plan is cached.
	maxPlanKey = 1 << 10
	planSize   = 512
)

// planned returns the plan cached for a question under an offer, or nil. A plan depends
// only on these two, so it is never out of date.
func (s *Site) planned(key []byte, o *offer) *plan {
	if i := lookup(s.cache, key); i != nil {
		if p := i.value.(*plan); p.offer == o {
			return p
		}
	}
	return nil
}

// keepPlan caches a plan, unless its key is long: then it is unlikely to be used again.
func (s *Site) keepPlan(key []byte, p *plan) {
	if len(key) > maxPlanKey {
		return
	}
	i := &item{
		key:   string(key),
		value: p,
		size:  planSize,
	}
	for _, c := range p.candidates {
		i.size += int64(len(c.Path))
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
	p := &plan{
		offer:      o,
		candidates: site.ResourcePaths(uri, s.opts.Strict),
		originals:  site.SplitSlashes(site.URIRest(uri)),
		uri:        uri,
	}
	s.keepPlan(key, p)
	return p
}

// find returns the first document among the candidates that accept allows. The error is
// errMissing if none does.
func (s *Site) find(
	ctx context.Context,
	p *plan,
	learnt *atomic.Uint32,
	accept func(*document) bool,
) (*document, error) {
	traits := s.store.Traits()
	if !traits.Listed {
		return s.findFetched(ctx, p, learnt, accept)
	}
	first := 0
	if known := p.skip.Load(); known != nil && time.Now().Before(known.until) {
		first = known.count
	}
	d, i, err := s.probe(ctx, p, first, accept)
	if errors.Is(err, site.ErrMissing) && first > 0 {
		d, i, err = s.probe(ctx, p, 0, accept)
	}
	switch {
	case errors.Is(err, site.ErrMissing) && !s.opts.Strict && len(p.candidates) > 0:
		return s.findLong(ctx, p, accept)
	case err == nil && i != first:
		known := &skip{i, time.Now().Add(s.opts.Recheck)}
		if traits.Frozen {
			known.until = site.Far
		}
		p.skip.Store(known)
	}
	return d, err
}

// probe tries the candidates from index first on, and returns the index of the one found.
func (s *Site) probe(ctx context.Context, p *plan, first int, accept func(*document) bool) (*document, int, error) {
	for i := first; i < len(p.candidates); i++ {
		d, err := s.candidate(ctx, p, &p.candidates[i], accept)
		if !errors.Is(err, site.ErrMissing) {
			return d, i, err
		}
	}
	return nil, 0, site.ErrMissing
}

// findFetched is find for a web host, where each attempt is a request: it starts with the
// form that last succeeded, and gives up early.
func (s *Site) findFetched(
	ctx context.Context,
	p *plan,
	learnt *atomic.Uint32,
	accept func(*document) bool,
) (*document, error) {
	tries := len(p.candidates)
	if s.opts.MaxMisses > 0 {
		tries = min(tries, s.opts.MaxMisses)
	}
	known := learnt.Load()
	for pass := range 2 {
		for i := range p.candidates {
			c := &p.candidates[i]
			if familiar := uint32(c.Form)+1 == known; familiar != (pass == 0) {
				continue
			}
			if tries--; tries < 0 {
				return nil, site.ErrMissing
			}
			d, err := s.candidate(ctx, p, c, accept)
			if errors.Is(err, site.ErrMissing) {
				continue
			}
			if err == nil {
				learnt.Store(uint32(c.Form) + 1)
			}
			return d, err
		}
	}
	return nil, site.ErrMissing
}

// candidate returns the document at one path if accept allows it.
func (s *Site) candidate(
	ctx context.Context,
	p *plan,
	c *site.Candidate,
	accept func(*document) bool,
) (*document, error) {
	d, err := s.document(ctx, c.Path)
	if err != nil {
		return nil, err
	}
	if d.others != nil && c.Form == site.FormEncoded {
		other, err := s.follow(ctx, p, c.Path, d.others)
		if err == nil && accept(other) {
			return other, nil
		}
		if err != nil && !errors.Is(err, site.ErrMissing) {
			return nil, err
		}
	}
	if !accept(d) {
		return nil, site.ErrMissing
	}
	return d, nil
}

// follow returns the document whose name is distinguished from that of the file at path,
// which represents several.
func (s *Site) follow(ctx context.Context, p *plan, path string, places []int) (*document, error) {
	parts := strings.Split(strings.TrimSuffix(path, site.Extension), "/")
	skip := len(parts) - len(p.originals)
	if skip < 1 {
		return nil, site.ErrMissing
	}
	for _, place := range places {
		last := len(p.originals) - 1
		if place == site.WholeURI && last >= 0 {
			parts[skip+last] = site.DistinctURIName(p.originals[last], p.uri)
			continue
		}
		if place == site.LastPlace {
			place = last
		}
		if place >= 0 && place <= last {
			parts[skip+place] = site.DistinctName(p.originals[place])
		}
	}
	return s.document(ctx, strings.Join(parts, "/")+site.Extension)
}
