package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/mcp"
)

// The tools of the source. Calls of write must not be repeated; the others may be.
const (
	toolWrite = "write"
	toolRead  = "read"
)

// resource is what clients subscribe to.
const resource = "sim://counter"

// app is the source of one replica. What it does is written to the journal, which outlives it.
type app struct {
	mcp.Unimplemented

	host    *host
	replica *cluster.Replica
	journal *journal
	// programs are the processes of callers, or nil.
	programs *programs

	mu       sync.Mutex
	watchers []func(mcp.Change)
}

var _ mcp.Watcher = (*app)(nil)

// arguments are those of both tools.
type arguments struct {
	ID    string `json:"id"`
	Micro int64  `json:"micro"` // how long it takes
	Size  int    `json:"size"`  // of the answer
	// Progress makes the answer an event stream that begins with progress.
	Progress bool `json:"progress,omitempty"`
}

// answer is what both tools return: first its JSON, then a line feed and as many letters as the
// call wants.
type answer struct {
	ID    string `json:"id"`
	By    string `json:"by"`    // the machine
	Level string `json:"level"` // the log level of the session
	// Alone means that the replica knows no other one. Cut off from the engine, it continues to serve,
	// although another one may have joined.
	Alone bool `json:"alone"`
	// Process is the number of the process of the caller, or 0.
	Process int `json:"process,omitempty"`
}

// Catalog implements [mcp.Source].
func (a *app) Catalog(context.Context) (*mcp.Catalog, error) {
	cat := catalogOfTools()
	cat.Resources = []mcp.Resource{{
		URI:  resource,
		Name: "counter",
	}}
	cat.Subscribe = true
	cat.Logging = true
	cat.Stateless = a.programs == nil
	cat.Restartable = a.programs != nil
	return cat, nil
}

// catalogOfTools returns the catalog: a tool that may be called again after a lost answer, and one
// that may not.
func catalogOfTools() *mcp.Catalog {
	return &mcp.Catalog{
		Server: mcp.Implementation{
			Name:    "simulation",
			Version: "1",
		},
		Tools: []mcp.Tool{
			{Name: toolWrite},
			{
				Name:        toolRead,
				Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
			},
		},
	}
}

// errKilled is the outcome of what a machine did when it was killed.
var errKilled = errors.New("the machine was killed")

// CallTool implements [mcp.Source].
func (a *app) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if a.programs != nil {
		return a.programs.call(ctx, p)
	}
	return a.run(ctx, p, 0)
}

// run does what a call asks for, in a process of its caller unless that is 0.
func (a *app) run(
	ctx context.Context,
	p *mcp.CallToolParams,
	process int,
) (*mcp.CallToolResult, error) {
	var args arguments
	if err := json.Unmarshal(p.Arguments, &args); err != nil {
		return nil, err
	}
	if !a.host.alive(ctx) {
		return nil, errKilled // it does nothing any more
	}
	done := a.journal.runs(args.ID, a.host.name, process, a.alone())
	if args.Progress {
		mcp.RequestFrom(ctx).Progress(0, 1, "")
	}
	wait := time.NewTimer(time.Duration(args.Micro) * time.Microsecond)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !a.host.alive(ctx) {
		return nil, errKilled
	}
	done()
	result := answer{
		ID:      args.ID,
		By:      a.host.name,
		Process: process,
	}
	a.describe(ctx, &result)
	return result.result(strings.Repeat("x", args.Size))
}

// describe adds the state of the replica and the session of a call to its answer.
func (a *app) describe(ctx context.Context, to *answer) {
	to.Alone = a.alone()
	if s := mcp.RequestFrom(ctx).Session(); s != nil {
		to.Level = s.LogLevel().String()
	}
}

// alone reports whether the replica sees no other one, which may be wrong while the network is cut.
func (a *app) alone() bool { return len(a.replica.Peers()) == 0 }

// result returns the answer with a body.
func (a *answer) result(body string) (*mcp.CallToolResult, error) {
	head, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(string(head) + "\n" + body)}}, nil
}

// parseAnswer parses the text of an answer, which must be whole.
func parseAnswer(text string, want *arguments) (answer, error) {
	head, body, found := strings.Cut(text, "\n")
	var a answer
	switch {
	case !found || json.Unmarshal([]byte(head), &a) != nil:
		return a, errors.New("not an answer of the source")
	case a.ID != want.ID:
		return a, errors.New("the answer of another call: " + a.ID)
	case len(body) != want.Size || strings.Trim(body, "x") != "":
		return a, errors.New("the answer is not whole")
	}
	return a, nil
}

// Watch implements [mcp.Watcher].
func (a *app) Watch(f func(mcp.Change)) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watchers = append(a.watchers, f)
	return func() {}
}

// change reports that the resource has changed.
func (a *app) change() {
	a.mu.Lock()
	watchers := a.watchers
	a.mu.Unlock()
	for _, f := range watchers {
		f(mcp.Change{URI: resource})
	}
}

// journal is what all sources did.
type journal struct {
	trace *trace

	mu  sync.Mutex
	ran map[string][]string // the machines that ran a call, by its id
	// processes is how many processes of callers have started, and running are those that have not exited, by number.
	processes int
	running   map[int]*host
	works     []*work // of these processes
}

// runs notes that a call begins, in a process of its caller unless that is 0. done is called after its work.
func (j *journal) runs(id, machine string, process int, alone bool) (done func()) {
	j.trace.add("%s runs %s", machine, id)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ran[id] = append(j.ran[id], machine)
	if process == 0 {
		return func() {}
	}
	k := &work{
		id:      id,
		process: process,
		began:   j.trace.now(),
		alone:   alone,
	}
	j.works = append(j.works, k)
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		k.ended = j.trace.now()
	}
}
