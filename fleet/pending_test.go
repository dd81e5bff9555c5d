package fleet_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/mcp"
)

// named is a source with a name only.
type named struct {
	mcp.Unimplemented
	catalog *mcp.Catalog
}

func (n *named) Catalog(context.Context) (*mcp.Catalog, error) { return n.catalog, nil }

func newNamed(name string) *named {
	return &named{catalog: &mcp.Catalog{Server: mcp.Implementation{Name: name, Version: "1"}}}
}

// TestAwait returns a source if it opens in time, and otherwise a Pending with a
// provisional name until it opens or fails.
func TestAwait(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		takes, asks time.Duration
		err         error
		pending     bool
	}{
		"quick":         {takes: 250 * time.Millisecond},
		"quick failure": {takes: 250 * time.Millisecond, err: broken},
		"asks the user": {takes: 250 * time.Millisecond, asks: time.Hour},
		"slow":          {takes: 350 * time.Millisecond, pending: true},
		"asks, slow":    {takes: 350 * time.Millisecond, asks: time.Hour, pending: true},
		"slow failure":  {takes: 350 * time.Millisecond, err: broken, pending: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				own := newNamed("own")
				src, err := fleet.Await(t.Context(), "early", func(ctx context.Context) (mcp.Source, error) {
					if tt.asks > 0 {
						release := fleet.Hold(ctx)
						time.Sleep(tt.asks)
						release()
					}
					time.Sleep(tt.takes)
					return own, tt.err
				}, nil)
				pending, late := src.(*fleet.Pending)
				if late != tt.pending {
					t.Fatalf("Await = %T, %v, want it pending: %t", src, err, tt.pending)
				}
				if !late {
					if !errors.Is(err, tt.err) || err == nil && src != own {
						t.Errorf("Await = %v, %v", src, err)
					}
					return
				}
				defer pending.Close()
				cat, err := pending.Catalog(t.Context())
				if err != nil || cat.Server.Name != "early" || !cat.Growing || !cat.Unknown() {
					t.Errorf("at first Catalog = %+v, %v", cat, err)
				}
				opened, err := pending.Opened(t.Context())
				if !errors.Is(err, tt.err) || err == nil && opened != own {
					t.Errorf("Opened = %v, %v", opened, err)
				}
				cat, catErr := pending.Catalog(t.Context())
				if (catErr == nil) != (tt.err == nil) || catErr == nil && cat.Server.Name != "own" {
					t.Errorf("at last Catalog = %+v, %v", cat, catErr)
				}
			})
		})
	}
}

// TestAwaitIsClosed ends an opening that hangs.
func TestAwaitIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, err := fleet.Await(t.Context(), "early", func(ctx context.Context) (mcp.Source, error) {
			<-ctx.Done()
			return (*named)(nil), ctx.Err()
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := src.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
		if _, err := src.(*fleet.Pending).Opened(t.Context()); !errors.Is(err, context.Canceled) {
			t.Errorf("Opened = %v", err)
		}
	})
}
