// Package cutengine cuts a replica off from the engine of its cluster, for tests.
package cutengine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// Engine is an engine that a replica cannot reach while Cut is set.
type Engine struct {
	cluster.Engine

	// Cut makes all methods except Publish and Subscribe fail with [ErrCut].
	Cut atomic.Bool
}

// ErrCut is the error of requests while an engine is cut off.
var ErrCut = errors.New("unreachable")

// Get implements [cluster.Engine].
func (c *Engine) Get(ctx context.Context, key string) (cluster.Record, error) {
	if c.Cut.Load() {
		return cluster.Record{}, ErrCut
	}
	return c.Engine.Get(ctx, key)
}

// Create implements [cluster.Engine].
func (c *Engine) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	if c.Cut.Load() {
		return 0, ErrCut
	}
	return c.Engine.Create(ctx, key, value, ttl)
}

// Update implements [cluster.Engine].
func (c *Engine) Update(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	if c.Cut.Load() {
		return 0, ErrCut
	}
	return c.Engine.Update(ctx, key, value, revision, ttl)
}

// Delete implements [cluster.Engine].
func (c *Engine) Delete(ctx context.Context, key string, revision uint64) error {
	if c.Cut.Load() {
		return ErrCut
	}
	return c.Engine.Delete(ctx, key, revision)
}

// List implements [cluster.Engine].
func (c *Engine) List(ctx context.Context, group string) ([]cluster.Record, error) {
	if c.Cut.Load() {
		return nil, ErrCut
	}
	return c.Engine.List(ctx, group)
}
