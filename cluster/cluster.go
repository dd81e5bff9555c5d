// Package cluster lets several processes serve as one: it tells each replica which others
// are alive and how to reach them securely, gives all of them the same keys, and carries
// messages between them.
//
// [Join] makes the process a replica. What replicas share is stored in an [Engine]: an
// existing database that expires records and can compare and swap them, NATS or Redis, which
// package cluster/engine opens, or the memory of the process ([NewMemory]) for tests.
//
// An engine holds a few small records and is never asked during a request. If it fails,
// replicas keep the members they last saw, and continue once it is back.
package cluster

import (
	"context"
	"errors"
	"time"
)

// Engine stores records for all replicas and passes messages between them. Methods are safe
// for concurrent use, and linearizable as long as the engine does not fail over to a copy
// that lags behind; the documentation of each driver states what it can lose then.
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
	// Publish sends a message of at most [MaxMessage] bytes to the current subscribers of a
	// topic, each of which receives it at most once.
	Publish(ctx context.Context, topic string, message []byte) error
	// Subscribe subscribes to messages, and to changes of the records in groups that have the
	// names of the topics. It returns once the subscription is in effect, so that a caller
	// that reads the records afterwards misses nothing.
	Subscribe(ctx context.Context, topics ...string) (Subscription, error)
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

// Subscription receives events of an [Engine], in the order of each publisher.
type Subscription interface {
	// Next waits for the next event. After an error, which may mean that events were lost, the
	// subscription has ended; the caller subscribes again and reads the records it follows.
	// One goroutine may call Next at a time.
	Next(ctx context.Context) (Event, error)
	// Close ends the subscription.
	Close() error
}

// Event is a message, or the change of a record.
type Event struct {
	// Topic is the topic of the message, or the group of the record.
	Topic string
	// Key is the key of a record that was created, deleted, or updated with another value; ""
	// for a message. The expiry of a record is not an event.
	Key string
	// Message is the published message.
	Message []byte
}

// MaxMessage limits the bytes of a message.
const MaxMessage = 64 << 10

// ErrNotFound means that a record does not exist or has expired.
var ErrNotFound = errors.New("no such record")

// ErrConflict means that a record is not in the state that the caller expects.
var ErrConflict = errors.New("the record has changed")

// ErrRefused means that an engine refuses the user or the password.
var ErrRefused = errors.New("the engine refuses the user or the password")

// ErrTooLarge means that a message has more than [MaxMessage] bytes.
var ErrTooLarge = errors.New("the message is too large")
