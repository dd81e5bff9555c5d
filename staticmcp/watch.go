package staticmcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/barrier"
	"github.com/slipway-mcp/slipway/mcp"
)

// Watch implements [mcp.Watcher]. changed must not call stop. The Site of a zip
// file never changes.
func (s *Site) Watch(changed func(mcp.Change)) (stop func()) {
	return s.watchers.Watch(changed)
}

// Changes reports whether the site is watched at all: it is false for a zip file and for
// a negative Poll.
func (s *Site) Changes() bool { return s.watched }

// tell notifies watchers if the contents of a resource have changed.
func (s *Site) tell(old, now *item) {
	if old == nil {
		return
	}
	before, ok := old.value.(*document)
	if !ok || before.uri == "" {
		return
	}
	after, ok := now.value.(*document)
	if ok && after.uri == before.uri && bytes.Equal(before.contents(), after.contents()) {
		return
	}
	s.watchers.Tell(mcp.Change{URI: before.uri})
}

func (d *document) contents() []byte {
	if d.resource != nil {
		return d.resource.Raw.Bytes()
	}
	return d.body
}

// maxRechecked is how many of the most recently read resources are checked in each round
// of watching.
const maxRechecked = 256

// seen is the watcher's state of the manifest.
type seen struct {
	// stamp, exists and visits are what the site looked like at the last check.
	stamp      site.Stamp
	exists     bool
	freshUntil time.Time // if its host declares it
	visits     []visit
	// failed is the last error, so that it is logged once.
	failed string
}

// watch polls for changes until ctx ends.
func (s *Site) watch(ctx context.Context, manifest *seen) {
	defer s.polling.Done()
	timer := time.NewTimer(s.pause(manifest))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		s.poll(ctx, manifest)
		if s.store.Traits().Listed && s.watchers.Any() {
			for _, path := range s.cache.recent(site.ResourcesDir+"/", maxRechecked) {
				// Errors are reported to the clients that read the document.
				_ = barrier.Run("read "+path, func() error {
					_, err := s.document(ctx, path)
					return err
				})
			}
		}
		timer.Reset(s.pause(manifest))
	}
}

// maxPause bounds how long a host can delay checks of its manifest.
const maxPause = time.Hour

// pause returns the time until the manifest is checked again.
func (s *Site) pause(manifest *seen) time.Duration {
	if s.store.Traits().Listed {
		return s.opts.Poll
	}
	return max(s.opts.Poll, min(time.Until(manifest.freshUntil), maxPause))
}

// poll adopts a manifest that has changed. An unusable one is ignored until it is fixed:
// a site keeps its offer while its files are being written.
func (s *Site) poll(ctx context.Context, manifest *seen) {
	before := s.offer.Load()
	var after *offer
	err := barrier.Run("read "+site.ManifestName, func() (err error) {
		after, err = s.readOffer(ctx, manifest, before)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		if text := err.Error(); text != manifest.failed {
			manifest.failed = text
			s.opts.Logger.Warn("the manifest cannot be used, keeping the previous one", "error", err)
		}
		return
	}
	manifest.failed = ""
	if after == before || bytes.Equal(after.source, before.source) {
		return
	}
	s.offer.Store(after)
	s.logWarnings(after)
	if c := Difference(before.catalog, after.catalog); c != (mcp.Change{}) {
		s.watchers.Tell(c)
	}
}

// readOffer reads the manifest. It returns current if nothing changed.
func (s *Site) readOffer(ctx context.Context, manifest *seen, current *offer) (*offer, error) {
	var since *site.Stamp
	if current != nil && manifest.exists && !s.foldersChanged(manifest.visits) {
		since = &manifest.stamp
	}
	loaded, err := s.store.Load(ctx, site.ManifestName, since, s.opts.MaxManifestBytes)
	if errors.Is(err, site.ErrMissing) {
		return s.withoutManifest(ctx, manifest, current)
	}
	if err != nil {
		return nil, err
	}
	manifest.freshUntil = time.Time{}
	if loaded.Declared {
		manifest.freshUntil = loaded.FreshUntil
	}
	if loaded.Unchanged && since != nil {
		return current, nil
	}
	m, err := readManifest(loaded.Data, s.store.Traits().Title, s.opts)
	if err != nil {
		return nil, err
	}
	if err := s.inferMore(ctx, m); err != nil {
		return nil, err
	}
	manifest.stamp = loaded.Stamp
	manifest.exists = true
	manifest.visits = m.visits
	s.store.SetTable(m.offer.packs)
	return m.finish(), nil
}

// withoutManifest builds an offer from the files of a site that can be listed. A site
// that once had a manifest keeps its offer.
func (s *Site) withoutManifest(ctx context.Context, manifest *seen, current *offer) (*offer, error) {
	switch {
	case !s.store.Traits().Listed || s.opts.Strict || current != nil && manifest.exists:
		return nil, site.SubjectError("there is no " + site.ManifestName)
	case current != nil && !s.foldersChanged(manifest.visits):
		return current, nil
	}
	m, err := s.infer(ctx)
	if err != nil {
		return nil, err
	}
	manifest.visits = m.visits
	return m.finish(), nil
}

func (s *Site) logWarnings(o *offer) {
	for _, w := range o.warnings {
		s.opts.Logger.Warn("the site deviates from the standard", "warning", w)
	}
}

// Difference reports which lists of two catalogs of sites differ. Definitions are equal if
// they are byte for byte.
func Difference(a, b *mcp.Catalog) mcp.Change {
	return mcp.Change{
		Tools: !sameList(a.Tools, b.Tools, func(t *mcp.Tool) json.RawMessage {
			return t.Raw
		}),
		Resources: !sameList(a.Resources, b.Resources, func(r *mcp.Resource) json.RawMessage {
			return r.Raw
		}) ||
			!sameList(a.Templates, b.Templates, func(t *mcp.ResourceTemplate) json.RawMessage {
				return t.Raw
			}),
		Prompts: !sameList(a.Prompts, b.Prompts, func(p *mcp.Prompt) json.RawMessage {
			return p.Raw
		}),
	}
}

// sameList reports whether two lists have the same definitions, byte for byte.
func sameList[T any](a, b []T, raw func(*T) json.RawMessage) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(raw(&a[i]), raw(&b[i])) {
			return false
		}
	}
	return true
}
