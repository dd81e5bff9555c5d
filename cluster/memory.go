package cluster

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"
)

// Memory is an [Engine] in the memory of the process, for tests.
type Memory struct {
	mu       sync.Mutex
	revision uint64
	records  map[string]memoryRecord
}

type memoryRecord struct {
	Record
	expires time.Time // zero: never
}

var _ Engine = (*Memory)(nil)

// NewMemory returns an empty engine.
func NewMemory() *Memory {
	return &Memory{records: make(map[string]memoryRecord)}
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
	m.records[key] = r
	return m.revision
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

// Close implements [Engine]. The records stay.
func (m *Memory) Close() error { return nil }
