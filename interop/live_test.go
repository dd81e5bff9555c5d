package interop_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mcpgoproto "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Third-party servers accessed through slipway: over stdio, Streamable HTTP and HTTP+SSE,
// by slipway's own commands and by third-party clients of slipway serve.

// serverVariable makes the test binary run a third-party server on stdin and stdout.
const serverVariable = "SLIPWAY_INTEROP_SERVER"

// runServer is that server.
func runServer(kind string) int {
	var err error
	if kind == "mcp-go" {
		err = mcpgoserver.ServeStdio(mcpGoServer())
	} else {
		err = goSDKServer().Run(context.Background(), &mcp.StdioTransport{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type greetArgs struct {
	Name string `json:"name"`
}

// goSDKServer has a tool that answers, one that asks the client and one that reports
// progress.
func goSDKServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk-server", Version: "1.0.0"}, nil)
	text := func(t string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t}}}
	}
	mcp.AddTool(s, &mcp.Tool{Name: "greet", Description: "greets"},
		func(_ context.Context, _ *mcp.CallToolRequest, a greetArgs) (*mcp.CallToolResult, any, error) {
			return text("Hello, " + a.Name), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "ask", Description: "asks who is there"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			got, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who is there?", RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}})
			if err != nil {
				return nil, nil, err
			}
			return text(fmt.Sprint(got.Action, " ", got.Content["name"])), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "steps", Description: "says how far it is"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			for i := range 3 {
				if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3}); err != nil {
					return nil, nil, err
				}
			}
			return text("done"), nil, nil
		})
	s.AddResource(&mcp.Resource{URI: "note://one", Name: "one"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "note://one", Text: "a note"}}}, nil
		})
	return s
}

func mcpGoServer() *mcpgoserver.MCPServer {
	s := mcpgoserver.NewMCPServer("mcp-go-server", "1.0.0")
	s.AddTool(mcpgoproto.NewTool("greet", mcpgoproto.WithString("name", mcpgoproto.Required())),
		func(_ context.Context, r mcpgoproto.CallToolRequest) (*mcpgoproto.CallToolResult, error) {
			name, err := r.RequireString("name")
			if err != nil {
				return mcpgoproto.NewToolResultError(err.Error()), nil
			}
			return mcpgoproto.NewToolResultText("Hello, " + name), nil
		})
	s.AddResource(mcpgoproto.NewResource("note://one", "one"),
		func(context.Context, mcpgoproto.ReadResourceRequest) ([]mcpgoproto.ResourceContents, error) {
			return []mcpgoproto.ResourceContents{mcpgoproto.TextResourceContents{URI: "note://one", Text: "a note"}}, nil
		})
	return s
}

// behind is a third-party server as arguments for slipway: those before a command's other
// arguments, and those after.
type behind struct{ before, after []string }

func (b behind) args(command string, more ...string) []string {
	return append(append(append([]string{command}, b.before...), more...), b.after...)
}

func atURL(url string) behind { return behind{before: []string{url}} }

// stdioServer runs the test binary as a third-party server.
func stdioServer(t *testing.T, kind string) behind {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return behind{after: []string{"--", "env", serverVariable + "=" + kind, self}}
}

// run runs slipway and returns its stdout.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx := limited(t)
	cmd := exec.CommandContext(ctx, slipway, args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return string(out), err
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(t, args...)
	if err != nil {
		t.Fatalf("slipway %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func TestLiveGoServers(t *testing.T) {
	sdk := func(*http.Request) *mcp.Server { return goSDKServer() }
	for _, tt := range []struct {
		name string
		open func(t *testing.T) behind
	}{
		{"go-sdk/stdio", func(t *testing.T) behind { return stdioServer(t, "go-sdk") }},
		{"go-sdk/sessions", func(t *testing.T) behind { return atURL(hosted(t, mcp.NewStreamableHTTPHandler(sdk, nil))) }},
		{"go-sdk/stateless", func(t *testing.T) behind {
			return atURL(hosted(t, mcp.NewStreamableHTTPHandler(sdk, &mcp.StreamableHTTPOptions{Stateless: true})))
		}},
		{"go-sdk/json", func(t *testing.T) behind {
			return atURL(hosted(t, mcp.NewStreamableHTTPHandler(sdk, &mcp.StreamableHTTPOptions{JSONResponse: true})))
		}},
		{"go-sdk/sse", func(t *testing.T) behind { return atURL(hosted(t, mcp.NewSSEHandler(sdk, nil))) }},
		{"mcp-go/stdio", func(t *testing.T) behind { return stdioServer(t, "mcp-go") }},
		{"mcp-go/http", func(t *testing.T) behind {
			return atURL(hosted(t, mcpgoserver.NewStreamableHTTPServer(mcpGoServer())))
		}},
		{"mcp-go/sse", func(t *testing.T) behind {
			return atURL(strings.TrimSuffix(hosted(t, mcpgoserver.NewSSEServer(mcpGoServer())), "/mcp") + "/sse")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.open(t)
			if got := mustRun(t, b.args("call", "greet", "name=Ann")...); got != "Hello, Ann\n" {
				t.Errorf("greet = %q", got)
			}
			if got := mustRun(t, b.args("read", "note://one")...); got != "a note" && got != "a note\n" {
				t.Errorf("read = %q", got)
			}
			if got := mustRun(t, b.args("ls", "--json")...); !strings.Contains(got, `"greet"`) ||
				!strings.Contains(got, `"note://one"`) {
				t.Errorf("ls = %s", got)
			}
		})
	}
}

// hosted serves a handler until the test ends.
func hosted(t *testing.T, h http.Handler) string {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return web.URL + "/mcp"
}

// TestLiveForeignBothSides: questions and progress pass from a go-sdk server through
// slipway to a go-sdk client, whatever versions the two use, and slipway call answers them.
func TestLiveForeignBothSides(t *testing.T) {
	sdk := func(*http.Request) *mcp.Server { return goSDKServer() }
	servers := map[string]behind{
		"stdio":    stdioServer(t, "go-sdk"),
		"sessions": atURL(hosted(t, mcp.NewStreamableHTTPHandler(sdk, nil))),
		"sse":      atURL(hosted(t, mcp.NewSSEHandler(sdk, nil))),
	}
	for name, b := range servers {
		if got := mustRun(t, b.args("call", "ask", "--answer", "name=Ann")...); got != "accept Ann\n" {
			t.Errorf("%s: slipway call is answered with %q", name, got)
		}
		to := serve(t, append(b.before, b.after...)...)
		for _, version := range []string{v0618, v1125, v0728} {
			t.Run(name+"/"+version, func(t *testing.T) {
				askAndProgress(t, to.endpoint, version, 1)
			})
		}
	}
}

// askAndProgress calls a tool that asks the user, several times in one session, and one that
// reports three steps.
func askAndProgress(t *testing.T, endpoint, version string, times int) {
	t.Helper()
	var steps atomic.Int32
	c := dialGoSDK(t, &mcp.StreamableClientTransport{Endpoint: endpoint}, version, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { steps.Add(1) },
	}).(*goSDK)
	for range times {
		r, err := c.session.CallTool(limited(t), &mcp.CallToolParams{Name: "ask"})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Content[0].(*mcp.TextContent).Text; got != "accept Ann" {
			t.Errorf("ask = %q", got)
		}
	}
	p := &mcp.CallToolParams{Name: "steps"}
	p.SetProgressToken("a token")
	if _, err := c.session.CallTool(limited(t), p); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); steps.Load() < 3 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if steps.Load() != 3 {
		t.Errorf("%d steps, want 3", steps.Load())
	}
	_ = c.session.Close()
}

// TestLiveRestart: the server is replaced by one that does not know the old sessions.
func TestLiveRestart(t *testing.T) {
	fresh := func() http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return goSDKServer() }, nil)
	}
	var current atomic.Pointer[http.Handler]
	h := fresh()
	current.Store(&h)
	url := hosted(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) }))
	to := serve(t, url)
	c := dialGoSDKHTTP(t, to.endpoint, v1125)
	for range 3 {
		if _, err := c.call(limited(t), "greet", object{"name": "Ann"}); err != nil {
			t.Fatal(err)
		}
		h := fresh()
		current.Store(&h)
	}
}

var listening = regexp.MustCompile(`port (\d+)`)

// TestLiveEverything: the reference server of the specification's authors, over
// its three transports.
func TestLiveEverything(t *testing.T) {
	tools := nodeTools(t)
	program := tools.module("@modelcontextprotocol/server-everything/dist/index.js")
	preload, err := filepath.Abs("node/loopback.cjs")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		open func(t *testing.T) behind
	}{
		{"stdio", func(*testing.T) behind { return behind{after: []string{"--", tools.node(), program, "stdio"}} }},
		{"streamableHttp", func(t *testing.T) behind {
			return atURL(startNode(t, tools, preload, program, "streamableHttp") + "/mcp")
		}},
		{"sse", func(t *testing.T) behind { return atURL(startNode(t, tools, preload, program, "sse") + "/sse") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.open(t)
			if got := mustRun(t, b.args("call", "echo", "message=hi")...); got != "Echo: hi\n" {
				t.Errorf("echo = %q", got)
			}
			if got := mustRun(t, b.args("call", "get-sum", "a=2", "b=3")...); !strings.Contains(got, "is 5") {
				t.Errorf("get-sum = %q", got)
			}
			if got := mustRun(t, b.args("prompt", "args-prompt", "city=Oslo")...); !strings.Contains(got, "Oslo") {
				t.Errorf("args-prompt = %q", got)
			}
			got := mustRun(t, b.args("call", "trigger-elicitation-request", "--answer", "name=Ann", "--answer", "age=42")...)
			if !strings.Contains(got, "Ann") || !strings.Contains(got, "42") {
				t.Errorf("trigger-elicitation-request = %q", got)
			}
			if got := mustRun(t, b.args("ls", "--json")...); !strings.Contains(got, `"outputSchema"`) ||
				!strings.Contains(got, `"annotations"`) {
				t.Errorf("ls leaves out fields: %s", got)
			}
			to := serve(t, append(b.before, b.after...)...)
			for _, version := range []string{v1125, v0728} {
				c := dialGoSDK(t, &mcp.StreamableClientTransport{Endpoint: to.endpoint}, version, &mcp.ClientOptions{
					ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
					},
				})
				got, err := c.call(limited(t), "trigger-elicitation-request", object{})
				if err != nil || !strings.Contains(fmt.Sprint(got["content"]), "Ann") {
					t.Errorf("%s: elicitation = %v, %v", version, got, err)
				}
			}
		})
	}
}

// startNode starts a server that prints the port on which it listens on loopback.
func startNode(t *testing.T, tools npmTools, preload, program, mode string) string {
	t.Helper()
	cmd := exec.Command(tools.node(), "-r", preload, program, mode)
	cmd.Env = append(os.Environ(), "PORT=0")
	said := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, m := range listening.FindAllStringSubmatch(said.String(), -1) {
			if m[1] != "0" {
				return "http://127.0.0.1:" + m[1]
			}
		}
	}
	t.Fatalf("%s did not say where it listens: %s", mode, said)
	return ""
}
