package cluster

import (
	"context"
	"net"
	"time"
)

// System is what a replica uses of its machine. Zero fields mean the machine itself; a simulation
// replaces them. Timers always follow package time.
type System struct {
	// Listen opens the listener for other replicas.
	Listen func(ctx context.Context, address string) (net.Listener, error)
	// Dial connects to another replica. If no connection was made, the error is a
	// [*net.OpError] with the Op "dial".
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Now reads the clocks.
	Now func() Instant
}

// Instant is what the two clocks of a machine show at the same moment.
type Instant struct {
	// Running is the clock that only grows. It may stand still while the machine sleeps.
	Running time.Time
	// Date is the clock that can be set.
	Date time.Time
}

// dialTimeout bounds how long another replica may take to accept a connection.
const dialTimeout = time.Second

// withDefaults returns s with the functions of the machine for those that are nil.
func (s System) withDefaults() System {
	if s.Listen == nil {
		s.Listen = func(ctx context.Context, address string) (net.Listener, error) {
			var config net.ListenConfig
			return config.Listen(ctx, "tcp", address)
		}
	}
	if s.Dial == nil {
		dialer := &net.Dialer{Timeout: dialTimeout}
		s.Dial = dialer.DialContext
	}
	if s.Now == nil {
		s.Now = func() Instant {
			now := time.Now()
			return Instant{
				Running: now,
				Date:    now.Round(0), // without the reading of the other clock
			}
		}
	}
	return s
}

// before reports whether both clocks show a time before that of the other instant.
func (i Instant) before(other Instant) bool {
	return i.Running.Before(other.Running) && i.Date.Before(other.Date)
}

// add returns the instant after d.
func (i Instant) add(d time.Duration) Instant {
	return Instant{
		Running: i.Running.Add(d),
		Date:    i.Date.Add(d),
	}
}

// now reads the clock that only grows.
func (r *Replica) now() time.Time { return r.opts.System.Now().Running }
