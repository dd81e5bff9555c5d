// Package cluster lets several processes serve as one: it tells each replica which others
// are alive and how to reach them securely, and gives all of them the same key.
//
// [Join] makes the process a replica. What replicas share is stored in an [Engine]: an
// existing database that expires records and can compare and swap them, such as Redis
// (package cluster/redis), or the memory of the process ([NewMemory]) for tests.
//
// An engine holds a few small records and is never asked during a request. If it fails,
// replicas keep the members they last saw, and continue once it is back.
package cluster

import (
	"context"
	"errors"
	"time"
)

// Engine stores records for all replicas. Methods are safe for concurrent use, and linearizable
// as long as the engine does not fail over to a copy that lags behind; the documentation
// of each driver states what it can lose then.
//
// A key is GROUP/NAME. Revisions only grow, over all keys and across deletions: the
// revision at which an owner has created its record is a fencing token.
type Engine interface {
	// Get returns a record, or [ErrNotFound].
	Get(ctx context.Context, key string) (Record, error)
	// Create stores a record that does not exist yet; otherwise it returns [ErrConflict]. The
	// record expires after ttl, unless that is 0.
	Create(ctx context.Context, key string, value []byte, ttl time.Duration) (revision uint64, err error)
	// Update replaces the record with that revision and restarts its expiry. If the record has
	// another revision, or has expired, it returns [ErrConflict].
	Update(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error)
	// Delete deletes the record with that revision, or returns [ErrConflict].
	Delete(ctx context.Context, key string, revision uint64) error
	// List returns the records of a group, in any order.
	List(ctx context.Context, group string) ([]Record, error)
	// Close releases the connections.
	Close() error
}

// Record is a record of an [Engine].
type Record struct {
	// Key is GROUP/NAME.
	Key      string
	Value    []byte
	Revision uint64
}

// ErrNotFound means that a record does not exist or has expired.
var ErrNotFound = errors.New("no such record")

// ErrConflict means that a record is not in the state that the caller expects.
var ErrConflict = errors.New("the record has changed")
