package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// TestMain lets the test binary act as the server that a command starts.
func TestMain(m *testing.M) {
	if tool := os.Getenv("SLIPWAY_FLEET_TEST_TOOL"); tool != "" {
		os.Exit(serveTool(tool))
	}
	os.Exit(m.Run())
}

// serveTool runs in a child process: a server with one tool, which returns the process id
// and the version. It does not start before the file SLIPWAY_FLEET_TEST_WAITS exists, and
// sends nothing before the file SLIPWAY_FLEET_TEST_SILENT exists.
func serveTool(tool string) int {
	if file := os.Getenv("SLIPWAY_FLEET_TEST_WAITS"); file != "" {
		if _, err := os.Stat(file); err != nil {
			return 1
		}
	}
	for file := os.Getenv("SLIPWAY_FLEET_TEST_SILENT"); file != ""; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			break
		}
	}
	src := &toolServer{tool: tool, resource: "test://" + tool}
	if err := mcpserver.New(src, nil).ServeStdio(context.Background(), untilEOF{}, os.Stdout, nil); err != nil {
		return 1
	}
	return 0
}

// untilEOF is stdin for a server that exits at its end, whatever it is doing.
type untilEOF struct{}

func (untilEOF) Read(p []byte) (int, error) {
	n, err := os.Stdin.Read(p)
	if err != nil {
		os.Exit(0)
	}
	return n, nil
}

type toolServer struct {
	mcp.Unimplemented
	tool, resource string
	renamed        atomic.Pointer[string]
	changed        atomic.Pointer[func(mcp.Change)]
}

func (s *toolServer) name() string {
	if name := s.renamed.Load(); name != nil {
		return *name
	}
	return s.tool
}

func (s *toolServer) tell(c mcp.Change) {
	if changed := s.changed.Load(); changed != nil {
		(*changed)(c)
	}
}

func (s *toolServer) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server:    mcp.Implementation{Name: s.tool, Version: "1"},
		Tools:     []mcp.Tool{{Name: s.name(), Description: "says who it is"}},
		Resources: []mcp.Resource{{Name: s.tool, URI: s.resource}},
		Subscribe: true,
	}, nil
}

// CallTool returns the process id and the version, after the requested number of
// milliseconds.
func (s *toolServer) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if p.Name != s.name() {
		return nil, mcp.UnknownTool(p.Name)
	}
	if ms, err := strconv.Atoi(string(p.Argument("ms"))); err == nil {
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if name, ok := p.StringArgument("rename"); ok { // temporarily, unless for good
		old := s.name()
		s.renamed.Store(&name)
		s.tell(mcp.Change{Tools: true})
		if p.Argument("forGood") == nil {
			time.AfterFunc(100*time.Millisecond, func() {
				s.renamed.Store(&old)
				s.tell(mcp.Change{Tools: true})
			})
		}
	}
	if p.Argument("touch") != nil {
		s.tell(mcp.Change{URI: s.resource})
	}
	if p.Argument("ask") != nil {
		answer, err := mcp.RequestFrom(ctx).Elicit(ctx, &mcp.ElicitParams{
			Key:             "word",
			Message:         "sure?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}}}`),
		})
		if err != nil {
			return nil, err
		}
		text := fmt.Sprintf("%d %s %s", os.Getpid(), os.Getenv("SLIPWAY_FLEET_TEST_VERSION"), answer.Action)
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
	}
	text := fmt.Sprintf("%d %s", os.Getpid(), os.Getenv("SLIPWAY_FLEET_TEST_VERSION"))
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
}

func (s *toolServer) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	if p.URI != s.resource {
		return nil, mcp.ResourceNotFound(p.URI, "")
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: s.tool}}}, nil
}

func (s *toolServer) Watch(changed func(mcp.Change)) (stop func()) {
	s.changed.Store(&changed)
	return func() { s.changed.Store(nil) }
}

// entry returns the YAML definition of such a server. name also names its tool.
func entry(name, version string, more ...string) string {
	return fmt.Sprintf(
		"  %s:\n    command: %q\n    env: {SLIPWAY_FLEET_TEST_TOOL: %s_tool, SLIPWAY_FLEET_TEST_VERSION: %q, GORACE: "+
			"atexit_sleep_ms=0%s}\n",
		name, os.Args[0], name, version, strings.Join(more, ""))
}

// park is a definitions file that is being served.
type park struct {
	t        *testing.T
	file     string
	src      mcp.Source
	roster   client.Roster
	observe  func(client.Event) // or nil
	log      logText
	troubles logText
}

type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func openPark(t *testing.T, opts *fleet.Options, entries ...string) *park {
	t.Helper()
	p := newPark(t, entries...)
	p.open(opts)
	return p
}

// newPark writes a definitions file.
func newPark(t *testing.T, entries ...string) *park {
	t.Helper()
	p := &park{t: t, file: filepath.Join(t.TempDir(), "servers.yaml")}
	p.write(entries...)
	return p
}

// open serves the file.
func (p *park) open(opts *fleet.Options) {
	t := p.t
	t.Helper()
	opts.Reload.Watch = 5 * time.Millisecond
	opts.Logger = slog.New(slog.NewTextHandler(&p.log, nil))
	opts.Client = &client.Options{Roster: &p.roster, Observe: func(e client.Event) {
		if e.What == client.EventUnavailable {
			fmt.Fprintf(&p.troubles, "%s: %v\n", e.Name, e.Err)
		}
		if p.observe != nil {
			p.observe(e)
		}
	}}
	src, err := fleet.Open(t.Context(), p.file, opts)
	if err != nil {
		t.Fatal(err)
	}
	p.src = src
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log:\n%sunavailable:\n%s", p.log.String(), p.troubles.String())
		}
	})
	t.Cleanup(p.close)
}

func (p *park) close() {
	if err := p.src.(io.Closer).Close(); err != nil {
		p.t.Error(err)
	}
}

// write replaces the file atomically, as editors do.
func (p *park) write(entries ...string) {
	p.t.Helper()
	text := "servers:\n" + strings.Join(entries, "")
	if err := os.WriteFile(p.file+".new", []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(p.file+".new", p.file); err != nil {
		p.t.Fatal(err)
	}
}

// until polls for a condition without a notification.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for late := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%s: not after 20 seconds", what)
		}
	}
}

func (p *park) call(tool, arguments string) (pid int, version string, err error) {
	result, err := p.src.CallTool(p.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return 0, "", err
	}
	return whoAnswers(string(result.Raw.Bytes()))
}

func whoAnswers(text string) (pid int, version string, err error) {
	_, text, _ = strings.Cut(text, `"text":"`)
	text, _, _ = strings.Cut(text, `"`)
	number, version, _ := strings.Cut(text, " ")
	pid, err = strconv.Atoi(number)
	return pid, version, err
}

func (p *park) tools() string {
	cat, err := p.src.Catalog(p.t.Context())
	if err != nil {
		return err.Error()
	}
	var names []string
	for i := range cat.Tools {
		names = append(names, cat.Tools[i].Name)
	}
	return strings.Join(names, " ")
}

func gone(pid int) bool {
	p, err := os.FindProcess(pid)
	return runtime.GOOS == "windows" || err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
