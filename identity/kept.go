package identity

import (
	"context"
	"encoding/json"
)

// keptRecord is an entry that another package keeps in a store, see [Store.Update].
type keptRecord struct {
	Kind  string          `json:"kind"`
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// keptName returns the name of an entry of another package. It differs from the names of logins and
// registrations.
func keptName(kind, key string) string { return entryName("kept", kind, key) }

// Read returns the entry of a kind with a key, or nil. The file is decrypted only when it has
// changed, so that Read may be called for each request. The result is read-only.
func (s *Store) Read(kind, key string) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.refreshLocked(); err != nil {
		return nil, err
	}
	if k := s.recent[keptName(kind, key)].Kept; k != nil {
		return k.Value, nil
	}
	return nil, nil
}

// ReadAll returns the entries of a kind by key, as [Store.Read] does.
func (s *Store) ReadAll(kind string) (map[string]json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.refreshLocked(); err != nil {
		return nil, err
	}
	return s.recent.kept(kind), nil
}

// kept returns the values of a kind by key.
func (all contents) kept(kind string) map[string]json.RawMessage {
	values := make(map[string]json.RawMessage)
	for _, e := range all {
		if e.Kept != nil && e.Kept.Kind == kind {
			values[e.Kept.Key] = e.Kept.Value
		}
	}
	return values
}

// Update changes the entries of a kind under the lock of the store. change gets them by key,
// and may change, add and remove entries. The change is on disk when Update returns. An error
// of change is returned, and nothing is changed.
func (s *Store) Update(
	ctx context.Context,
	kind string,
	change func(all map[string]json.RawMessage) error,
) error {
	var failure error
	err := s.update(ctx, func(entries contents) bool {
		all := entries.kept(kind)
		before := len(all)
		if failure = change(all); failure != nil || before+len(all) == 0 {
			return false
		}
		for name, e := range entries {
			if e.Kept != nil && e.Kept.Kind == kind && all[e.Kept.Key] == nil {
				delete(entries, name)
			}
		}
		for key, value := range all {
			entries[keptName(kind, key)] = entry{Kept: &keptRecord{
				Kind:  kind,
				Key:   key,
				Value: value,
			}}
		}
		return true
	})
	if failure != nil {
		return failure
	}
	return err
}

// Lock takes the lock of an entry, for work that must not be done twice at once, also by
// another process. Other entries may share the lock.
func (s *Store) Lock(ctx context.Context, kind, key string) (unlock func(), err error) {
	return s.lockLogin(ctx, keptName(kind, key))
}
