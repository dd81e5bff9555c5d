package serve

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// CutEngine is an engine that a replica cannot reach once Cut is set.
type CutEngine struct {
	cluster.Engine

	Cut atomic.Bool
}

var ErrCut = errors.New("unreachable")

func (c *CutEngine) Get(ctx context.Context, key string) (cluster.Record, error) {
	if c.Cut.Load() {
		return cluster.Record{}, ErrCut
	}
	return c.Engine.Get(ctx, key)
}

func (c *CutEngine) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error) {
	if c.Cut.Load() {
		return 0, ErrCut
	}
	return c.Engine.Create(ctx, key, value, ttl)
}

func (c *CutEngine) Update(
	ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration,
) (uint64, error) {
	if c.Cut.Load() {
		return 0, ErrCut
	}
	return c.Engine.Update(ctx, key, value, revision, ttl)
}

func (c *CutEngine) Delete(ctx context.Context, key string, revision uint64) error {
	if c.Cut.Load() {
		return ErrCut
	}
	return c.Engine.Delete(ctx, key, revision)
}

func (c *CutEngine) List(ctx context.Context, group string) ([]cluster.Record, error) {
	if c.Cut.Load() {
		return nil, ErrCut
	}
	return c.Engine.List(ctx, group)
}
