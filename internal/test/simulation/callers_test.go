package simulation

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
)

// This file runs a process for each caller, as a definition with "isolate: principal" does, see [Options.Callers].

const (
	// callers is how many callers there are. Each has several clients, with and without sessions.
	callers = 2
	// startOfProgram and exitOfProgram are how long a process takes to start and to exit.
	startOfProgram = 10 * time.Millisecond
	exitOfProgram  = 30 * time.Millisecond
)

// callerOf returns the caller of a client, which is also its token.
func callerOf(client string) string {
	return "caller" + string('0'+client[len(client)-1]%callers)
}

// tokenIsCaller accepts every token, as the name of the caller.
type tokenIsCaller struct{}

// Verify implements [serve.Verifier].
func (tokenIsCaller) Verify(_ context.Context, token string) (*mcp.Principal, error) {
	return &mcp.Principal{Name: token}, nil
}

// programs are the processes of one replica.
type programs struct {
	*client.Isolated

	app     *app
	counted *client.Processes
}

// newPrograms makes an app serve each caller with a process.
func newPrograms(a *app) (*programs, error) {
	p := &programs{
		app:     a,
		counted: &client.Processes{},
	}
	src, err := client.Open(context.Background(), &client.Dialer{
		Name: "program",
		Dial: p.start,
	}, &client.Options{
		Lazy:      true,
		Failover:  client.FailoverRestart,
		Processes: p.counted,
		Previous:  client.Previous{Catalog: catalogOfTools()},
	})
	if err != nil {
		return nil, err
	}
	p.Isolated = client.Isolate(src, &client.IsolateOptions{By: client.ByPrincipal})
	return p, nil
}

// options makes a server authenticate callers, and know their processes. p may be nil.
func (p *programs) options(o *serve.Options) {
	if p == nil {
		return
	}
	o.Auth = &serve.Auth{Verifiers: []serve.Verifier{tokenIsCaller{}}}
	o.Live.Callers = p.counted
	o.Live.Processes = func() serve.ProcessLoad {
		return serve.ProcessLoad{Running: p.counted.Running()}
	}
}

// close stops the processes. p may be nil.
func (p *programs) close() {
	if p != nil {
		_ = p.Isolated.Close()
	}
}

// call calls the process of the caller of ctx. What a process cannot know is added to its answer.
func (p *programs) call(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	result, err := p.Isolated.CallTool(ctx, params)
	if err != nil {
		return nil, err
	}
	text, err := textOf(result)
	if err != nil {
		return result, nil // of a tool that failed
	}
	var a answer
	head, body, _ := strings.Cut(text, "\n")
	if err := json.Unmarshal([]byte(head), &a); err != nil {
		return nil, err
	}
	p.app.describe(ctx, &a)
	return a.result(body)
}

// program is a process of one caller.
type program struct {
	mcp.Unimplemented

	app    *app
	number int
}

// start starts a process.
func (p *programs) start(ctx context.Context) (mcpserver.Conn, error) {
	time.Sleep(startOfProgram)
	if !p.app.host.alive(ctx) {
		return nil, errKilled
	}
	one := &program{
		app:    p.app,
		number: p.app.journal.started(p.app.host),
	}
	ours, theirs := newWire()
	go func() {
		defer close(ours.exited)
		_ = mcpserver.New(one, nil).ServeConn(context.Background(), theirs, nil)
		time.Sleep(exitOfProgram)
		p.app.journal.exited(one.number)
	}()
	return ours, nil
}

// Catalog implements [mcp.Source].
func (*program) Catalog(context.Context) (*mcp.Catalog, error) { return catalogOfTools(), nil }

// CallTool implements [mcp.Source].
func (p *program) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return p.app.run(ctx, params, p.number)
}

// wire is one end of the connection to a process.
type wire struct {
	in, out chan []byte
	closed  chan struct{}
	close   func()
	exited  chan struct{} // closed when the process has exited; nil at its end
}

// newWire returns the two ends of the pipe between a client and a process. Either end closes both.
func newWire() (a, b *wire) {
	one := make(chan []byte)
	two := make(chan []byte)
	closed := make(chan struct{})
	end := sync.OnceFunc(func() { close(closed) })
	return &wire{one, two, closed, end, make(chan struct{})}, &wire{two, one, closed, end, nil}
}

// ReadMessage implements [mcpserver.Conn].
func (w *wire) ReadMessage(ctx context.Context) ([]byte, error) {
	select {
	case msg := <-w.in:
		return msg, nil
	case <-w.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// WriteMessage implements [mcpserver.Conn].
func (w *wire) WriteMessage(msg []byte) error {
	select {
	case w.out <- slices.Clone(msg):
		return nil
	case <-w.closed:
		return io.ErrClosedPipe
	}
}

// Close waits until the process has exited, as that of a command does.
func (w *wire) Close() error {
	w.close()
	if w.exited != nil {
		<-w.exited
	}
	return nil
}

// work is what a process did for a call.
type work struct {
	id           string
	process      int
	began, ended time.Duration // 0 if it has not ended
	alone        bool          // the replica knew no other one, see [answer.Alone]
}

// caller returns the caller of a call.
func (k *work) caller() string {
	client, _, _ := strings.Cut(k.id, ".")
	return callerOf(client)
}

// checkCallers checks I11, that of the processes of a caller one answers, in the whole cluster: once one has begun a
// call, no answer of an older one is of work that ended later. And a process serves one caller alone.
func (w *world) checkCallers() {
	if !w.opts.Callers {
		return
	}
	answered := make(map[string]*call)
	for _, c := range w.history.all() {
		if c.err == "" {
			answered[c.args.ID] = c
		}
	}
	works := w.journal.works
	of := make(map[int]string)
	for _, k := range works {
		if other := of[k.process]; other != "" && other != k.caller() {
			w.violate("I11: process %d ran %s of %s, and is that of %s", k.process, k.id, k.caller(), other)
		}
		of[k.process] = k.caller()
		c := answered[k.id]
		if c == nil || c.answer.Process != k.process || c.answer.Alone {
			continue
		}
		for _, newer := range works {
			if newer.process > k.process &&
				newer.caller() == k.caller() &&
				newer.began < k.ended &&
				!newer.alone {
				w.violate("I11: process %d answered %s, and process %d of %s had begun %s before",
					k.process, k.id, newer.process, k.caller(), newer.id)
				break
			}
		}
	}
}

// checkProcesses checks that each caller has one process once all faults are over: others have been stopped.
func (w *world) checkProcesses() {
	of := make(map[int]string)
	w.journal.mu.Lock()
	for _, k := range w.journal.works {
		of[k.process] = k.caller()
	}
	left := make(map[string]int)
	for number, h := range w.journal.running {
		if caller := of[number]; caller != "" && !h.isDead() {
			left[caller]++
		}
	}
	w.journal.mu.Unlock()
	for i := range callers {
		name := callerOf(string(rune('0' + i)))
		if n := left[name]; n > 1 {
			w.violate("I11: %s has %d processes after all faults", name, n)
		}
	}
}

// isDead reports whether the host was killed.
func (h *host) isDead() bool {
	_, dead, _ := h.state()
	return dead
}

// started counts a process that has started, and returns its number.
func (j *journal) started(h *host) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.running == nil {
		j.running = make(map[int]*host)
	}
	j.processes++
	j.running[j.processes] = h
	j.trace.add("%s starts process %d", h.name, j.processes)
	return j.processes
}

// exited records that a process no longer runs.
func (j *journal) exited(process int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.trace.add("process %d exits", process)
	delete(j.running, process)
}
