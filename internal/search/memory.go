package search

import (
	"context"
	"sync"
)

// Memory is a [Store] of files in memory. Write all files before reading; after that, it
// is safe for concurrent use.
type Memory struct {
	// files are by name, and names in the order of writing.
	files  map[string][]byte
	names  []string
	parsed sync.Map // by name
}

var (
	_ Store  = (*Memory)(nil)
	_ Cacher = (*Memory)(nil)
	_ Reader = (*Memory)(nil)
)

// Write is a [Write] that keeps the file in memory.
func (m *Memory) Write(name string, data []byte) error {
	if m.files == nil {
		m.files = make(map[string][]byte)
	}
	m.files[name] = data
	m.names = append(m.names, name)
	return nil
}

// Each calls visit for every file, in the order written, until it returns false.
func (m *Memory) Each(visit func(name string, data []byte) bool) {
	for _, name := range m.names {
		if !visit(name, m.files[name]) {
			return
		}
	}
}

// Cached implements [Cacher].
func (m *Memory) Cached(name string) (any, bool) { return m.parsed.Load(name) }

// Load implements [Store].
func (m *Memory) Load(_ context.Context, name string, parse Parse) (any, error) {
	if value, ok := m.parsed.Load(name); ok {
		return value, nil
	}
	data, ok := m.files[name]
	if !ok {
		return nil, ErrNoFile
	}
	value, _, err := parse(data)
	if err == nil {
		m.parsed.Store(name, value)
	}
	return value, err
}

// Read implements [Reader].
func (m *Memory) Read(_ context.Context, name string, _ any) (data []byte, state any, err error) {
	data, ok := m.files[name]
	if !ok {
		return nil, nil, ErrNoFile
	}
	return data, nil, nil
}

// Forget implements [Store].
func (m *Memory) Forget(name string) { m.parsed.Delete(name) }
