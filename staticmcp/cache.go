package staticmcp

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/site"
)

// cache is an LRU cache of parsed files, limited in bytes. It is safe for concurrent use.
type cache struct {
	// limit and used are in bytes.
	limit int64

	mu    sync.Mutex
	items map[string]*item
	used  int64
	ring  item // its next is the most recently used item, its prev the least recently used
}

// item is a cached value. Only its links and times change.
type item struct {
	key   string
	size  int64
	value any // a *document, a *plan, a *listing, or an error

	stamp site.Stamp
	// freshUntil and staleUntil are as in file, in Unix nanoseconds.
	freshUntil, staleUntil atomic.Int64

	next, prev *item
}

// itemOverhead is the approximate cost of an item beyond its content.
const itemOverhead = 512

// newCache returns an empty cache, whose ring links to itself.
func newCache(limit int64) *cache {
	c := &cache{
		limit: limit,
		items: make(map[string]*item),
	}
	c.ring.next = &c.ring
	c.ring.prev = &c.ring
	return c
}

// fresh reports whether the item may be used without revalidation.
func (i *item) fresh(now time.Time) bool {
	return now.UnixNano() < i.freshUntil.Load()
}

// extend copies to the item the times of a file that turned out to be unchanged.
func (i *item) extend(f *site.File) {
	i.freshUntil.Store(f.FreshUntil.UnixNano())
	i.staleUntil.Store(f.StaleUntil.UnixNano())
}

// lookup returns the item cached under key, or nil.
func lookup[K string | []byte](c *cache, key K) *item {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.items[string(key)]
	if i != nil && c.ring.next != i {
		i.unlink()
		c.link(i)
	}
	return i
}

// put stores i, replacing any item with its key.
func (c *cache) put(i *item) {
	i.size += int64(len(i.key)) + itemOverhead
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(i.key)
	if i.size > c.limit/4*3 {
		return // it would evict nearly everything else
	}
	c.items[i.key] = i
	c.link(i)
	c.used += i.size
	for c.used > c.limit {
		c.drop(c.ring.prev.key)
	}
}

// remove drops the item cached under key.
func (c *cache) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(key)
}

// recent returns at most n keys with that prefix, most recently used first.
func (c *cache) recent(prefix string, n int) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []string
	for i := c.ring.next; i != &c.ring && len(keys) < n; i = i.next {
		if strings.HasPrefix(i.key, prefix) {
			keys = append(keys, i.key)
		}
	}
	return keys
}

func (c *cache) drop(key string) {
	if i := c.items[key]; i != nil {
		i.unlink()
		delete(c.items, key)
		c.used -= i.size
	}
}

func (c *cache) link(i *item) {
	i.prev = &c.ring
	i.next = c.ring.next
	i.prev.next, i.next.prev = i, i
}

func (i *item) unlink() {
	i.prev.next, i.next.prev = i.next, i.prev
	i.next = nil
	i.prev = nil
}

// flights runs work once for concurrent callers with the same key.
type flights struct {
	mu sync.Mutex
	// open has the loads in progress by key, so that a popular file is loaded once for all
	// who wait for it.
	open map[string]*flight
}

type flight struct {
	// done is closed when item or err is set.
	done chan struct{}
	item *item
	err  error
}

// do runs work under a key, or waits for the caller that is already running it. If that
// caller gives up, another takes over.
func (f *flights) do(ctx context.Context, key string, work func() (*item, error)) (*item, error) {
	for {
		f.mu.Lock()
		other := f.open[key]
		if other == nil {
			break
		}
		f.mu.Unlock()
		select {
		case <-other.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !errors.Is(other.err, context.Canceled) &&
			!errors.Is(other.err, context.DeadlineExceeded) {
			return other.item, other.err
		}
	}
	mine := &flight{
		done: make(chan struct{}),
		err:  context.Canceled,
	}
	if f.open == nil {
		f.open = make(map[string]*flight)
	}
	f.open[key] = mine
	f.mu.Unlock()
	defer func() { // also when work panics
		f.mu.Lock()
		delete(f.open, key)
		f.mu.Unlock()
		close(mine.done)
	}()
	mine.item, mine.err = work()
	return mine.item, mine.err
}
