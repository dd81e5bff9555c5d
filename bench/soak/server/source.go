package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/mcp"
)

// source has a tool for every way to keep a server busy, and records which calls it has
// run, to distinguish lost answers from refused requests.
type source struct {
	mcp.Unimplemented
	// catalog is fixed. text is the answer of blob.
	catalog mcp.Catalog
	text    string

	// mu guards ran and watchers.
	mu       sync.Mutex
	ran      []int // the call numbers
	watchers map[*func(mcp.Change)]struct{}
}

var (
	_ mcp.Source  = (*source)(nil)
	_ mcp.Watcher = (*source)(nil)
)

// arguments are the arguments of all tools.
type arguments struct {
	// Call is the number of a tracked call, or 0.
	Call int `json:"call"`
	// Message is what echo returns.
	Message string `json:"message"`
	// Millis is the duration of slow, and of each step of progress.
	Millis int `json:"millis"`
	// Steps is the number of notifications of progress.
	Steps int `json:"steps"`
	// Bytes is the length of the message of a step.
	Bytes int `json:"bytes"`
	// URIs is the number of resources that change reports, in addition to the tool list.
	URIs int `json:"uris"`
}

// newSource returns a source whose tools accept any arguments.
func newSource() *source {
	s := &source{
		text:     fix.Text(),
		watchers: make(map[*func(mcp.Change)]struct{}),
	}
	s.catalog.Server = mcp.Implementation{
		Name:    "soak",
		Version: "1.0.0",
	}
	s.catalog.Resources = []mcp.Resource{{
		Name:     fix.Blob,
		URI:      fix.BlobURI,
		MIMEType: fix.BlobMIME,
	}}
	s.catalog.Subscribe = true
	for _, name := range []string{"echo", "blob", "slow", "progress", "change"} {
		s.catalog.Tools = append(s.catalog.Tools, mcp.Tool{
			Name:        name,
			InputSchema: json.RawMessage(`{"type":"object"}`),
		})
	}
	return s
}

// Catalog implements [mcp.Source].
func (s *source) Catalog(context.Context) (*mcp.Catalog, error) {
	return &s.catalog, nil
}

// CallTool implements [mcp.Source].
func (s *source) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	var a arguments
	if err := json.Unmarshal(p.Arguments, &a); err != nil {
		return nil, mcp.InvalidArguments(err.Error())
	}
	s.note(a.Call)
	switch p.Name {
	case "blob":
		return result(s.text), nil
	case "slow":
		if err := pause(ctx, a.Millis); err != nil {
			return nil, err
		}
	case "progress":
		if err := progress(ctx, a); err != nil {
			return nil, err
		}
	case "change":
		s.change(a.URIs)
	}
	return result(a.Message), nil
}

func result(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}
}

// progress sends notifications of a.Bytes each, with a pause before each one.
func progress(ctx context.Context, a arguments) error {
	message := strings.Repeat("m", a.Bytes)
	for i := range a.Steps {
		if err := pause(ctx, a.Millis); err != nil {
			return err
		}
		mcp.RequestFrom(ctx).Progress(float64(i+1), float64(a.Steps), message)
	}
	return nil
}

// pause simulates work.
func pause(ctx context.Context, millis int) error {
	if millis == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(time.Duration(millis) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// note records that a tracked call has run.
func (s *source) note(call int) {
	if call == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, call)
}

// calls returns the numbers of the calls that have run.
func (s *source) calls() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ran)
}

// Watch implements [mcp.Watcher].
func (s *source) Watch(changed func(mcp.Change)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[&changed] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, &changed)
	}
}

// change notifies all watchers that the tool list and the given number of resources have
// changed. The lock is held so that no watcher is called after stop.
func (s *source) change(uris int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for changed := range s.watchers {
		(*changed)(mcp.Change{Tools: true})
		for i := range uris {
			(*changed)(mcp.Change{URI: fix.LongURI(i)})
		}
	}
}
