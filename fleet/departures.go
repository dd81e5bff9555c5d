package fleet

import (
	"context"
	"slices"
	"sync"

	"github.com/slipway-mcp/slipway/mcp"
)

// maxDepartures limits the number of retired servers that may still finish their calls;
// beyond that, the oldest is stopped.
const maxDepartures = 100

// departures are retired servers with calls in flight. Only one goroutine adds to them.
type departures struct {
	// all counts the members that are being stopped, and current are those whose time to
	// drain can be cut short.
	all     sync.WaitGroup
	current []*departure
}

type departure struct {
	// cutShort ends the draining of a member's calls.
	cutShort context.CancelFunc
	done     chan struct{}
}

// retire stops a server that is no longer shown once its calls have ended. to is its
// replacement, or nil.
func (f *fleet) retire(m, to *member) {
	if to != nil {
		to.inherited = slices.Concat(m.inherited, m.server.Subscribed())
	}
	ctx, cutShort := context.WithTimeout(f.quit, f.opts.Reload.Drain)
	l := &f.departures
	l.current = slices.DeleteFunc(l.current, func(d *departure) bool {
		select {
		case <-d.done:
			return true
		default:
			return false
		}
	})
	if len(l.current) >= maxDepartures {
		l.current[0].cutShort()
		l.current = l.current[1:]
	}
	d := &departure{
		cutShort: cutShort,
		done:     make(chan struct{}),
	}
	l.current = append(l.current, d)
	l.all.Go(func() {
		defer close(d.done)
		defer cutShort()
		defer m.close()
		f.handOver(ctx, m, to)
		m.finish(ctx)
		f.handOver(ctx, m, to) // subscriptions made in the meantime
	})
}

// handOver subscribes the replacement of a server to the resources that clients had
// subscribed to on the old one.
func (f *fleet) handOver(ctx context.Context, from, to *member) {
	if to == nil {
		return
	}
	known := to.server.Subscribed()
	for _, uri := range slices.Concat(from.inherited, from.server.Subscribed()) {
		if ctx.Err() != nil {
			return
		}
		if _, already := slices.BinarySearch(known, uri); already {
			continue
		}
		if err := to.part.Subscribe(ctx, uri); err == nil {
			f.TellOf(to.name, mcp.Change{URI: uri}) // it may have changed in the meantime
		}
	}
}
