package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// roleVariable makes the test binary act as a server instead of running tests.
const roleVariable = "SLIPWAY_LIVE_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role, os.Args[1:]))
	}
	_ = flag.Set("test.parallel", "8") // the tests wait more than they compute
	os.Exit(m.Run())
}

// play runs the child. Its roles are typical faults of servers.
func play(role string, args []string) int {
	switch role {
	case "server":
		fmt.Fprintln(os.Stderr, "the server is up")
		src := &world{}
		if err := server.New(src, &server.Options{RequestTimeout: -1}).ServeStdio(context.Background(),
			os.Stdin, os.Stdout, nil); err != nil {
			return 1
		}
		return 0
	case "broken":
		fmt.Fprintln(os.Stderr, "cannot find module \"left-pad\"")
		return 3
	case "late": // fails until a file exists
		if _, err := os.Stat(args[0]); err != nil {
			return 1
		}
		return play("server", nil)
	case "holder": // has a child, prints its pid, and waits to be killed
		src, err := client.Open(context.Background(),
			&client.Command{Path: os.Args[0], Env: []string{roleVariable + "=deafserver"}}, nil)
		if err != nil {
			return 1
		}
		fmt.Println(src.State().PID)
		time.Sleep(time.Hour)
	case "deafserver": // a server that does not notice the end of its stdin
		_ = server.New(&world{}, nil).ServeStdio(context.Background(), os.Stdin, os.Stdout, nil)
		time.Sleep(time.Hour)
	case "deaf": // neither reads nor exits
		fmt.Fprintln(os.Stderr, "Ok to proceed? (y)")
		time.Sleep(time.Hour)
	case "stuck": // stops answering once the tool hang is called
		return stuck()
	case "wrapper": // runs another process, like launchers do
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVariable+"=server")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return 1
		}
		return 0
	case "garbler": // some of its answers are unreadable
		return playGarbler()
	case "endless": // has endless lists
		return endless(args[0])
	case "script":
		return script(args)
	case "mean":
		return mean(args[0], args[1:])
	}
	return 2
}

// stuck is a single-threaded server, which the tool hang keeps busy.
func stuck() int {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := `{}`
		switch {
		case m.Method == "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"stuck","version":"1"}}`
		case m.Method == "tools/list":
			result = `{"tools":[{"name":"hang","inputSchema":{"type":"object"}},{"name":"fine",` +
				`"inputSchema":{"type":"object"}}]}`
		case m.Params.Name == "hang":
			time.Sleep(time.Hour)
		case m.Params.Name == "spin": // works without reading
			for began := time.Now(); time.Since(began) < 2500*time.Millisecond; {
			}
			result = `{"content":[{"type":"text","text":"done"}]}`
		case m.Params.Name == "chatter":
			for range 50 {
				time.Sleep(50 * time.Millisecond)
				fmt.Fprintln(os.Stderr, "still at it")
			}
			result = `{"content":[{"type":"text","text":"done"}]}`
		case m.Params.Name == "fine":
			result = `{"content":[{"type":"text","text":"fine"}]}`
		}
		fmt.Printf(`{"result":%s,"jsonrpc":"2.0","id":%s}`+"\n", result, m.ID)
	}
	return 0
}

// script answers according to its arguments: each is a method and the response to a
// request for it, with ID as a placeholder.
func script(lines []string) int {
	answers := make(map[string]string)
	for _, l := range lines {
		method, answer, _ := strings.Cut(l, " ")
		answers[method] = answer
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		if answer, ok := answers[m.Method]; ok {
			fmt.Println(strings.ReplaceAll(strings.ReplaceAll(answer, "ID", string(m.ID)), `\n`, "\n"))
		}
	}
	return 0
}

// world is a source with a tool for each test scenario.
type world struct {
	mcp.Unimplemented
	// blocked, if not nil, receives when the tool block is called.
	blocked chan struct{}
}

func object(text string) json.RawMessage { return json.RawMessage(text) }

var worldCatalog = &mcp.Catalog{
	Server:       mcp.Implementation{Name: "world", Version: "1.2.3"},
	Instructions: "Try everything.",
	Tools: []mcp.Tool{
		{Name: "echo", Description: "says it again",
			InputSchema: object(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
			Raw: object(
				`{"name":"echo","description":"says it ` +
					`again","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]},` +
					`"x-unknown":{"n":12345678901234567890}}`)},
		{Name: "pid", Description: "the process", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		{Name: "exit", Description: "ends the process"},
		{Name: "exit_safely", Description: "ends the process", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		{Name: "block", Description: "waits until it is cancelled"},
		{Name: "env", Description: "a variable"},
		{Name: "junk", Description: "writes what is not a message"},
		{Name: "big", Description: "answers at length"},
		{Name: "progress", Description: "says how far it is"},
		{Name: "ask", Description: "asks the user"},
		{Name: "sample", Description: "asks the model"},
		{Name: "fails", Description: "fails"},
		{
			Name:         "structured",
			Description:  "answers in a structure",
			OutputSchema: object(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
		},
		{Name: "roots", Description: "asks for folders"},
		{Name: "visit", Description: "sends the user to a URL"},
	},
	Resources: []mcp.Resource{{URI: "world://one", Name: "one"}},
	Templates: []mcp.ResourceTemplate{{URITemplate: "world://{n}", Name: "any"}},
	Prompts: []mcp.Prompt{{
		Name:        "greet",
		Description: "greets",
		Arguments:   []mcp.PromptArgument{{Name: "name", Required: true}},
	}},
	Completions: true,
	Logging:     true,
	PageSize:    5,
}

func (w *world) Catalog(context.Context) (*mcp.Catalog, error) { return worldCatalog, nil }

func (w *world) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	text := func(t string) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(t)}}, nil
	}
	req := mcp.RequestFrom(ctx)
	arg, ok := p.StringArgument("text")
	switch p.Name {
	case "echo":
		if !ok {
			return nil, mcp.InvalidArguments("text is required")
		}
		raw, err := mcp.ParseRaw([]byte(`{"content":[{"type":"text","text":` + string(p.Argument("text")) +
			`}],"x-unknown":[1e400]}`))
		return &mcp.CallToolResult{Raw: raw}, err
	case "pid":
		return text(strconv.Itoa(os.Getpid()))
	case "exit", "exit_safely":
		if marker := arg; marker != "" { // only the first time
			f, err := os.OpenFile(marker, os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return text("done")
			}
			_ = f.Close()
		}
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(7)
	case "block":
		if marker := arg; marker != "" {
			if err := os.WriteFile(marker, nil, 0o600); err != nil {
				return nil, err
			}
		}
		select {
		case w.blocked <- struct{}{}:
			<-ctx.Done()
		case <-ctx.Done():
		}
		return nil, ctx.Err()
	case "env":
		return text(os.Getenv(arg))
	case "junk":
		fmt.Printf("listening on port 3000\n\n{\"jsonrpc\":\n[]\nnull\n")
		return text("done")
	case "big":
		n, _ := strconv.Atoi(arg)
		return text(strings.Repeat("x", n))
	case "progress":
		for i := range 3 {
			req.Progress(float64(i+1), 3, "step")
		}
		req.Log(mcp.LogWarning, "world", "careful")
		return text("done")
	case "ask":
		got, err := req.Elicit(ctx, &mcp.ElicitParams{
			Key:             "name",
			Message:         "Who are you?",
			RequestedSchema: object(`{"type":"object","properties":{"name":{"type":"string"}}}`),
		})
		if err != nil {
			return nil, err
		}
		return text(got.Action + " " + string(got.Content))
	case "sample":
		got, err := req.Sample(ctx, &mcp.CreateMessageParams{
			Key:       "model",
			Messages:  []mcp.SamplingMessage{mcp.SamplingText("user", "hi")},
			MaxTokens: 10,
		})
		if err != nil {
			return nil, err
		}
		return text(got.Text())
	case "structured":
		raw, err := mcp.ParseRaw(
			[]byte(`{"content":[{"type":"text","text":"7"}],"structuredContent":{"n":12345678901234567890}}`))
		return &mcp.CallToolResult{Raw: raw}, err
	case "roots":
		got, err := req.Roots(ctx)
		if err != nil {
			return nil, err
		}
		return text(fmt.Sprint(len(got.Roots)))
	case "visit":
		got, err := req.Elicit(ctx, &mcp.ElicitParams{Mode: "url", URL: "https://example.com/x", Message: "go"})
		if err != nil {
			return nil, err
		}
		return text(got.Action)
	case "fails":
		return nil, &mcp.Error{Code: -31042, Message: "it failed", Data: object(`{"why":"because"}`)}
	}
	return nil, mcp.UnknownTool(p.Name)
}

func (w *world) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	n, ok := strings.CutPrefix(p.URI, "world://")
	if !ok {
		return nil, mcp.ResourceNotFound(p.URI, "")
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, MIMEType: "text/plain", Text: n}}}, nil
}

func (w *world) GetPrompt(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	if p.Name != "greet" {
		return nil, mcp.UnknownPrompt(p.Name)
	}
	if p.Arguments["name"] == "" {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "name is required")
	}
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{
		Role:    mcp.RoleUser,
		Content: mcp.Text("Hello, " + p.Arguments["name"]),
	}}}, nil
}

func (w *world) Complete(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{p.Value + "1", p.Value + "2"}}}, nil
}

// command returns a child with a role.
func command(t testing.TB, role string, args ...string) *client.Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &client.Command{Path: self, Args: args, Env: []string{roleVariable + "=" + role, "GORACE=atexit_sleep_ms=0"}}
}

// open opens a source that is closed at the end of the test.
func open(t testing.TB, transport client.Transport, opts *client.Options) *client.Source {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	src, err := client.Open(ctx, transport, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	return src
}

// call calls a tool and returns the text of its result.
func call(t testing.TB, src mcp.Source, tool, arguments string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	p := &mcp.CallToolParams{Name: tool}
	if arguments != "" {
		p.Arguments = json.RawMessage(arguments)
	}
	r, err := src.CallTool(ctx, p)
	if err != nil {
		return "", err
	}
	encoded, err := mcp.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var typed mcp.CallToolResult
	if err := json.Unmarshal(encoded, &typed); err != nil {
		t.Fatal(err)
	}
	if len(typed.Content) != 1 {
		return string(encoded), nil
	}
	if typed.IsError {
		return "", errors.New(typed.Content[0].Text)
	}
	return typed.Content[0].Text, nil
}

// mustCall is call for calls that must succeed.
func mustCall(t testing.TB, src mcp.Source, tool, arguments string) string {
	t.Helper()
	text, err := call(t, src, tool, arguments)
	if err != nil {
		t.Fatalf("call %s: %v", tool, err)
	}
	return text
}

// patience limits the waits of tests. Reaching it means stuck, not slow.
const patience = 20 * time.Second
