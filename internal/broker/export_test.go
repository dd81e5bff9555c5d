package broker

import (
	"context"
	"time"

	"github.com/slipway-mcp/slipway/identity"
)

// SetClock replaces the clock of a broker.
func SetClock(b *Broker, now func() time.Time) { b.now = now }

// SetDocuments replaces how the documents of clients are fetched.
func SetDocuments(b *Broker, fetch func(ctx context.Context, id string) (*identity.ClientDocument, error)) {
	b.documents.fetch = fetch
}

// MaxSessionsPerCaller and MaxPending are limits.
const (
	MaxSessionsPerCaller = maxSessionsPerCaller
	MaxPending           = maxPending
)

// Pending returns the number of logins that wait for the provider.
func Pending(b *Broker) int {
	b.pending.mu.Lock()
	defer b.pending.mu.Unlock()
	return len(b.pending.items)
}
