package cluster

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is an [Engine] in the memory of the process, for tests.
type Memory struct {
	mu       sync.Mutex
	revision uint64
	records  map[string]memoryRecord
	// subscriptions are the open ones.
	subscriptions map[*memorySubscription]struct{}
}

type memoryRecord struct {
	Record
	expires time.Time // zero: never
}

var _ Engine = (*Memory)(nil)

// NewMemory returns an empty engine.
func NewMemory() *Memory {
	return &Memory{
		records:       make(map[string]memoryRecord),
		subscriptions: make(map[*memorySubscription]struct{}),
	}
}

// at returns the record with that key, if it has not expired. m.mu is held.
func (m *Memory) at(key string) (r memoryRecord, ok bool) {
	r, ok = m.records[key]
	if ok && !r.expires.IsZero() && !time.Now().Before(r.expires) {
		delete(m.records, key)
		return memoryRecord{}, false
	}
	return r, ok
}

// put stores a record under the next revision. m.mu is held.
func (m *Memory) put(key string, value []byte, ttl time.Duration) uint64 {
	m.revision++
	r := memoryRecord{Record: Record{
		Key:      key,
		Value:    bytes.Clone(value),
		Revision: m.revision,
	}}
	if ttl > 0 {
		r.expires = time.Now().Add(ttl)
	}
	if was, ok := m.records[key]; !ok || !bytes.Equal(was.Value, value) {
		m.send(Event{Topic: groupOf(key), Key: key})
	}
	m.records[key] = r
	return m.revision
}

// groupOf returns the group of a key.
func groupOf(key string) string {
	group, _, _ := strings.Cut(key, "/")
	return group
}

// Get implements [Engine].
func (m *Memory) Get(_ context.Context, key string) (Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.at(key)
	if !ok {
		return Record{}, ErrNotFound
	}
	return r.copied(), nil
}

func (r *memoryRecord) copied() Record {
	c := r.Record
	c.Value = bytes.Clone(c.Value)
	return c
}

// Create implements [Engine].
func (m *Memory) Create(_ context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.at(key); ok {
		return 0, ErrConflict
	}
	return m.put(key, value, ttl), nil
}

// Update implements [Engine].
func (m *Memory) Update(
	_ context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.at(key); !ok || r.Revision != revision {
		return 0, ErrConflict
	}
	return m.put(key, value, ttl), nil
}

// Delete implements [Engine].
func (m *Memory) Delete(_ context.Context, key string, revision uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.at(key); !ok || r.Revision != revision {
		return ErrConflict
	}
	delete(m.records, key)
	m.send(Event{Topic: groupOf(key), Key: key})
	return nil
}

// List implements [Engine].
func (m *Memory) List(_ context.Context, group string) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Record
	for key := range m.records {
		if !strings.HasPrefix(key, group+"/") {
			continue
		}
		if r, ok := m.at(key); ok {
			all = append(all, r.copied())
		}
	}
	return all, nil
}

// Publish implements [Engine].
func (m *Memory) Publish(_ context.Context, topic string, message []byte) error {
	if len(message) > MaxMessage {
		return ErrTooLarge
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.send(Event{Topic: topic, Message: bytes.Clone(message)})
	return nil
}

// maxEvents is how many events wait for a subscriber; then its subscription ends.
const maxEvents = 1024

// memorySubscription implements [Subscription].
type memorySubscription struct {
	engine *Memory
	topics []string
	events chan Event // closed, with engine.mu held, at the end
}

// send passes an event to its subscribers. m.mu is held.
func (m *Memory) send(e Event) {
	for s := range m.subscriptions {
		if !slices.Contains(s.topics, e.Topic) {
			continue
		}
		select {
		case s.events <- e:
		default:
			m.end(s)
		}
	}
}

// end ends a subscription. m.mu is held.
func (m *Memory) end(s *memorySubscription) {
	if _, ok := m.subscriptions[s]; ok {
		delete(m.subscriptions, s)
		close(s.events)
	}
}

// Subscribe implements [Engine].
func (m *Memory) Subscribe(_ context.Context, topics ...string) (Subscription, error) {
	s := &memorySubscription{
		engine: m,
		topics: slices.Clone(topics),
		events: make(chan Event, maxEvents),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subscriptions[s] = struct{}{}
	return s, nil
}

var errSubscriptionEnded = errors.New("the subscription was closed, or received events too slowly")

// Next implements [Subscription].
func (s *memorySubscription) Next(ctx context.Context) (Event, error) {
	select {
	case e, ok := <-s.events:
		if !ok {
			return Event{}, errSubscriptionEnded
		}
		return e, nil
	case <-ctx.Done():
		return Event{}, ctx.Err()
	}
}

// Close implements [Subscription].
func (s *memorySubscription) Close() error {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	s.engine.end(s)
	return nil
}

// Lose deletes all records and ends all subscriptions, as an engine that restarts without its
// data.
func (m *Memory) Lose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.records)
	for s := range m.subscriptions {
		m.end(s)
	}
}

// Close implements [Engine]. The records stay.
func (m *Memory) Close() error { return nil }
