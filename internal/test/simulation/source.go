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
}

// Catalog implements [mcp.Source].
func (a *app) Catalog(context.Context) (*mcp.Catalog, error) {
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
		Resources: []mcp.Resource{{
			URI:  resource,
			Name: "counter",
		}},
		Subscribe: true,
		Logging:   true,
		Stateless: true,
	}, nil
}

var errKilled = errors.New("the machine was killed")

// CallTool implements [mcp.Source].
func (a *app) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	var args arguments
	if err := json.Unmarshal(p.Arguments, &args); err != nil {
		return nil, err
	}
	if !a.host.alive(ctx) {
		return nil, errKilled // it does nothing any more
	}
	a.journal.ran(args.ID, a.host.name)
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
	result := answer{
		ID: args.ID,
		By: a.host.name,

		Alone: len(a.replica.Peers()) == 0,
	}
	if s := mcp.RequestFrom(ctx).Session(); s != nil {
		result.Level = s.LogLevel().String()
	}
	head, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	text := string(head) + "\n" + strings.Repeat("x", args.Size)
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
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

	mu   sync.Mutex
	runs map[string]int // by the id of the call
}

func (j *journal) ran(id, machine string) {
	j.trace.add("%s runs %s", machine, id)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.runs[id]++
}
