package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
)

// The ports of a replica.
const (
	clientPort  = 8080
	replicaPort = 8081
)

// machine runs one replica after the other.
type machine struct {
	world *world
	name  string
	addr  netip.Addr

	mu      sync.Mutex
	clock   clock
	current *process // nil while none runs
	out     bool     // the load balancer sends it nothing
}

// process is a replica on a machine.
type process struct {
	machine *machine
	host    *host
	replica *cluster.Replica
	app     *app
	stop    context.CancelFunc
	ended   chan struct{}
}

// clock is what the clocks of a machine show.
type clock struct {
	mu     sync.Mutex
	behind time.Duration // of the running clock
	ahead  time.Duration // of the date
	asleep time.Time     // since when the running clock stands still; zero: it runs
	woke   time.Time     // when it ran again
}

// now returns the time on this machine. The running clock stands still while the machine is
// suspended; the date does not.
func (c *clock) now() cluster.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	running := now
	if !c.asleep.IsZero() {
		running = c.asleep
	}
	return cluster.Instant{
		Running: running.Add(-c.behind),
		Date:    now.Round(0).Add(c.ahead),
	}
}

// set sets the date, and never back in the second after the machine has slept: with a date that hides
// the sleep too, no replica can know that its lease has ended.
func (c *clock) set(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.woke) < time.Second {
		by = by.Abs()
	}
	c.ahead += by
}

// sleep stops the running clock.
func (c *clock) sleep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asleep = time.Now()
}

// wake lets it run again, from where it stopped.
func (c *clock) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind += time.Since(c.asleep)
	c.asleep, c.woke = time.Time{}, time.Now()
}

// start starts a replica, and waits until it serves. It fails if the engine cannot be reached.
func (m *machine) start() error {
	w := m.world
	h := w.network.start(m.name, m.addr)
	link := &engineLink{
		host:   h,
		engine: w.engine,
		trace:  w.trace,
	}
	log := slog.New(&traceHandler{
		trace: w.trace,
		host:  h,
	})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	replica, err := cluster.Join(ctx, link, &cluster.Options{
		Name:   m.name,
		Listen: fmt.Sprintf("%s:%d", m.addr, replicaPort),
		Logger: log,
		System: cluster.System{
			Listen: func(context.Context, string) (net.Listener, error) { return h.listen(replicaPort) },
			Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
				return h.dial(ctx, address, time.Second)
			},
			Now: m.clock.now,
		},
	})
	if err != nil {
		w.network.kill(h, false)
		return err
	}
	p := &process{
		machine: m,
		host:    h,
		replica: replica,
		app: &app{
			host:    h,
			replica: replica,
			journal: w.journal,
		},
		ended: make(chan struct{}),
	}
	if w.opts.Callers {
		if p.app.programs, err = newPrograms(p.app); err != nil {
			return err
		}
	}
	return p.serve(log)
}

// serve serves until stop.
func (p *process) serve(log *slog.Logger) error {
	keys, err := serve.OpenStateKeys("", p.replica.Keys()...)
	if err != nil {
		return err
	}
	p.replica.FollowKeys(func(current [][]byte) { _ = keys.Replace(current...) })
	ln, err := p.host.listen(clientPort)
	if err != nil {
		return err
	}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	w := p.machine.world
	w.mu.Lock()
	w.processes = append(w.processes, p)
	w.mu.Unlock()
	started := make(chan struct{})
	go func() {
		defer close(p.ended)
		opts := &serve.Options{
			Logger:   log,
			Server:   mcpserver.Options{Replica: p.replica.ID()},
			Live:     serve.Live{StateKeys: keys, Cluster: p.replica},
			Observer: serve.Observer{Started: func(*serve.Info) { close(started) }},
		}
		p.app.programs.options(opts)
		err := serve.Serve(ctx, ln, p.app, opts)
		p.app.programs.close()
		if _, dead, _ := p.host.state(); err != nil && !dead {
			w.violate("serve on %s: %v", p.machine.name, err)
		}
		leaving, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = p.replica.Leave(leaving) // the engine may be down
	}()
	<-started
	m := p.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = p
	m.out = false
	return nil
}

// running returns the process of the machine, or nil.
func (m *machine) running() *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

// setOut makes the load balancer send nothing to a machine, or again.
func (m *machine) setOut(out bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.out = out
}

// isOut reports whether the balancer sends no requests to the machine.
func (m *machine) isOut() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.out || m.current == nil
}

// kill ends the process without notice. Its goroutines end too, but have no effect any more.
func (m *machine) kill(silent bool) {
	m.mu.Lock()
	p := m.current
	m.current = nil
	m.mu.Unlock()
	if p == nil {
		return
	}
	m.world.network.kill(p.host, silent)
	p.stop()
}

// shutDown stops the process as SIGTERM does, and waits for its end.
func (m *machine) shutDown() {
	p := m.running()
	if p == nil {
		return
	}
	p.stop()
	time.Sleep(loadBalancerNotices)
	m.setOut(true)
	<-p.ended
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current == p {
		m.current = nil
	}
	m.world.network.kill(p.host, false)
}

// loadBalancerNotices is how long the load balancer sends requests to a replica that drains.
const loadBalancerNotices = 200 * time.Millisecond

// traceHandler writes what a replica logs to the trace.
type traceHandler struct {
	trace *trace
	host  *host
}

// Enabled implements [slog.Handler].
func (*traceHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// Handle implements [slog.Handler].
func (h *traceHandler) Handle(_ context.Context, r slog.Record) error {
	if _, dead, _ := h.host.state(); dead {
		return nil
	}
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	h.trace.add("%s logs %s", h.host.name, text)
	return nil
}

// WithAttrs implements [slog.Handler].
func (h *traceHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements [slog.Handler].
func (h *traceHandler) WithGroup(string) slog.Handler { return h }
