package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/ws"
)

// These tests are in the package itself because Main ends the process.

// quay is a Source whose catalog can be set.
type quay struct {
	mcp.Unimplemented
	cat    *mcp.Catalog
	err    error
	closed error
	closes int
}

func (q *quay) Catalog(context.Context) (*mcp.Catalog, error) { return q.cat, q.err }
func (q *quay) Close() error                                  { q.closes++; return q.closed }

func object() json.RawMessage { return json.RawMessage(`{"type":"object"}`) }

func newQuay() *quay {
	return &quay{cat: &mcp.Catalog{
		Server:    mcp.Implementation{Name: "quay", Version: "1.2.3"},
		Tools:     []mcp.Tool{{Name: "moor", Description: "Moor a ship.", InputSchema: object()}},
		Resources: []mcp.Resource{{Name: "ships", URI: "quay://ships"}},
		Templates: []mcp.ResourceTemplate{{Name: "ship", URITemplate: "quay://ships/{name}"}},
		Prompts:   []mcp.Prompt{{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "who"}}}},
	}}
}

// outcome is the outcome of a run of the program.
type outcome struct {
	code           int
	stdout, stderr string
}

// command is a run of the program under the name quay.
type command struct {
	args    []string
	env     map[string]string
	stdin   io.Reader
	started func(*Info)
}

func (c command) run(ctx context.Context, src mcp.Source, err error) outcome {
	var stdout, stderr bytes.Buffer
	if c.stdin == nil {
		c.stdin = strings.NewReader("")
	}
	p := &program{
		name: "quay", args: c.args, stdin: c.stdin, stdout: &stdout, stderr: &stderr, started: c.started,
		getenv: func(key string) string { return c.env[key] },
	}
	code := p.run(ctx, src, err)
	return outcome{code, stdout.String(), stderr.String()}
}

func TestMainAnswersAndExits(t *testing.T) {
	mistakes := errors.New("main.go:7: tool \"a\": no description\nmain.go:9: prompt \"b\": twice")
	lost := newQuay()
	lost.cat, lost.err = nil, errors.New("the register is gone")
	stuck := newQuay()
	stuck.closed = errors.New("the rope is stuck")
	tests := []struct {
		name           string
		args           string
		env            map[string]string
		src            mcp.Source
		err            error
		code           int
		stdout, stderr string // parts
	}{
		{"version", "-version", nil, newQuay(), nil, 0, "quay 1.2.3\n", ""},
		{"help", "-h", nil, newQuay(), nil, 0, "quay [-stdio | -http [ADDR] | -ws [ADDR] |", ""},
		{"help for what cannot be served", "--help", nil, nil, mistakes, 0, "quay is an MCP server", ""},
		{"mistakes, line by line", "-stdio", nil, nil, mistakes, 1, "",
			"quay: main.go:7: tool \"a\": no description\nquay: main.go:9: prompt \"b\": twice\n"},
		{"mistakes, when checking", "-check", nil, nil, mistakes, 1, "", "quay: main.go:9: "},
		{"an unknown flag", "-serve", nil, newQuay(), nil, 2, "",
			"quay: flag provided but not defined: -serve\nhint: quay -h"},
		{"an argument too many", "-stdio x", nil, newQuay(), nil, 2, "", `quay: "x" is not a flag`},
		{"an argument after the address", "-http 9000 x", nil, newQuay(), nil, 2, "", `quay: "x" is not a flag`},
		{"two ways at once", "-stdio -http", nil, newQuay(), nil, 2, "", "exclude each other"},
		{"no address", "-http x:y", nil, newQuay(), nil, 2, "", `-http: "x:y" is not an address`},
		{"no address in the environment", "-http", map[string]string{envAddr: "x:y"}, newQuay(), nil, 2, "",
			`MCP_SERVER_ADDR: "x:y" is not`},
		{"no port", "-http", map[string]string{envPort: "70000"}, newQuay(), nil, 2, "",
			`MCP_SERVER_PORT: "70000" is not a port`},
		{"two ports", "-http", map[string]string{envAddr: "127.0.0.1:1", envPort: "2"}, newQuay(), nil, 2, "",
			"MCP_SERVER_ADDR has port 1"},
		{"no level", "-log-level loud", nil, newQuay(), nil, 2, "", "-log-level"},
		{"no level in the environment", "", map[string]string{envLevel: "loud"}, newQuay(), nil, 2, "",
			`MCP_SERVER_LOG_LEVEL: "loud"`},
		{"a token that is none", "-http 127.0.0.1:0", map[string]string{envToken: "short"}, newQuay(), nil, 2, "",
			"MCP_SERVER_TOKEN: "},
		{"an address that others reach", "-http 0.0.0.0:0", nil, newQuay(), nil, 6, "",
			"hint: listen on 127.0.0.1, or set MCP_SERVER_TOKEN"},
		{"no catalog", "-version", nil, lost, nil, 1, "", "quay: the register is gone"},
		{"no catalog over HTTP", "-http 127.0.0.1:0", nil, lost, nil, 1, "", "quay: the register is gone"},
		{"no catalog to check", "-check", nil, lost, nil, 1, "", "quay: the register is gone"},
		{"a source that does not close", "-version", nil, stuck, nil, 1, "quay 1.2.3",
			"quay: close: the rope is stuck"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := command{args: strings.Fields(tt.args), env: tt.env}.run(t.Context(), tt.src, tt.err)
			if got.code != tt.code {
				t.Errorf("exit code = %d, want %d", got.code, tt.code)
			}
			if !strings.Contains(got.stdout, tt.stdout) || (tt.stdout == "" && got.stdout != "") {
				t.Errorf("stdout = %q, want %q in it", got.stdout, tt.stdout)
			}
			if !strings.Contains(got.stderr, tt.stderr) || (tt.stderr == "" && got.stderr != "") {
				t.Errorf("stderr = %q, want %q in it", got.stderr, tt.stderr)
			}
		})
	}
}

func TestMainClosesItsSource(t *testing.T) {
	q := newQuay()
	command{args: []string{"-version"}}.run(t.Context(), q, nil)
	if q.closes != 1 {
		t.Errorf("closed %d times, want once", q.closes)
	}
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n"

func TestMainChoosesStdioForStreams(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(file, []byte(listTools), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	_, err = io.WriteString(write, listTools)
	if err := errors.Join(err, write.Close()); err != nil {
		t.Fatal(err)
	}
	tests := map[string]command{
		"said so":     {args: []string{"-stdio"}, stdin: strings.NewReader(listTools)},
		"a stream":    {stdin: strings.NewReader(listTools)},
		"a file":      {stdin: opened},
		"a pipe":      {stdin: read},
		"with a port": {stdin: strings.NewReader(listTools), env: map[string]string{envPort: "1"}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			got := c.run(t.Context(), newQuay(), nil)
			if got.code != 0 || !strings.Contains(got.stdout, `"name":"moor"`) || got.stderr != "" {
				t.Errorf("got %+v, want the list of tools and nothing else", got)
			}
		})
	}
}

func TestMainServesHTTPUntilItEnds(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	const token = "a-token-of-24-characters"
	anywhere := map[string]string{envAddr: "127.0.0.1", envPort: "0"}
	tests := []struct {
		name   string
		c      command
		status int // of a request without a token
	}{
		{"no terminal and no client", command{stdin: null, env: anywhere}, 200},
		{"an address of its own", command{args: []string{"-http", "127.0.0.1:0", "-log-level", "error"}}, 200},
		{"an address with =", command{args: []string{"-http=127.0.0.1:0"}}, 200},
		{"by its other name", command{args: []string{"-ws", "127.0.0.1:0"}}, 200},
		{"the address of the environment", command{args: []string{"-http"}, env: anywhere}, 200},
		{
			"the command line first",
			command{args: []string{"-http", "127.0.0.1:0"}, env: map[string]string{envAddr: "0.0.0.0:1"}},
			200,
		},
		{"a token", command{args: []string{"-http", "0.0.0.0:0"}, env: map[string]string{envToken: token}}, 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var without, with int
			var dialed error
			tt.c.started = func(info *Info) {
				without, with = post(t, info.Endpoint, ""), post(t, info.Endpoint, token)
				dialed = dial(t, info.WebSocket, token)
				cancel()
			}
			got := tt.c.run(ctx, newQuay(), nil)
			if without != tt.status || with != 200 {
				t.Errorf("status = %d without a token, %d with; want %d, 200", without, with, tt.status)
			}
			if dialed != nil {
				t.Errorf("WebSocket: %v", dialed)
			}
			if got.code != 0 || got.stdout != "" || !strings.Contains(got.stderr, "serving quay 1.2.3") {
				t.Errorf("got %+v, want a banner on stderr and exit code 0", got)
			}
			if strings.Contains(got.stderr, token) {
				t.Error("the token is on stderr")
			}
		})
	}
}

func post(t *testing.T, url, token string) int {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(listTools))
	if err != nil {
		t.Error(err)
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "tools/list")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer res.Body.Close()
	return res.StatusCode
}

func dial(t *testing.T, url, token string) error {
	c, err := ws.Dial(t.Context(), url, &ws.DialOptions{Token: token})
	if err != nil {
		return err
	}
	return c.Close()
}

func TestMainAddressInUse(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	got := command{args: []string{"-http", ln.Addr().String()}}.run(t.Context(), newQuay(), nil)
	if got.code != 3 || !strings.Contains(got.stderr, "hint: -http 127.0.0.1:0 takes any free port") {
		t.Errorf("got %+v, want exit code 3 and a hint", got)
	}
}

func TestMainAddresses(t *testing.T) {
	tests := []struct{ typed, want string }{
		{"9000", "127.0.0.1:9000"},
		{"localhost", "localhost:8080"},
		{"localhost:9000", "localhost:9000"},
		{":9000", ":9000"},
		{"::1", "[::1]:8080"},
		{"[::1]", "[::1]:8080"},
		{"[::1]:9000", "[::1]:9000"},
	}
	for _, tt := range tests {
		t.Run(tt.typed, func(t *testing.T) {
			p := &program{name: "quay", args: []string{"-http", tt.typed}, getenv: func(string) string { return "" }}
			s, err := p.parse()
			if err != nil || s.addr != tt.want {
				t.Errorf("address = %+v, %v, want %s", s, err, tt.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	tool := func(name, schema string) func(*mcp.Catalog) {
		return func(c *mcp.Catalog) {
			c.Tools = append(c.Tools, mcp.Tool{Name: name, Description: "d", InputSchema: json.RawMessage(schema)})
		}
	}
	const plain = `{"type":"object"}`
	tests := []struct {
		name   string
		change func(*mcp.Catalog)
		want   string // the finding, or only the summary
	}{
		{"all well", func(*mcp.Catalog) {}, "quay 1.2.3: 1 tool, 1 resource, 1 template, 1 prompt; 0 errors," +
			" 0 warnings\n"},
		{"pages", func(c *mcp.Catalog) { c.PageSize = 1; tool("sail", plain)(c) }, "quay 1.2.3: 2 tools"},
		{"no name", func(c *mcp.Catalog) { c.Server.Name = "" }, "error: /server: the server has no name"},
		{"a tool twice", tool("moor", plain), `error: /tools/1: there are two of tool "moor"`},
		{"an invalid name", tool("lay up", plain), `error: /tools/1/name: tool "lay up": a name is`},
		{"no snake case", tool("layUp", plain), `warning: /tools/1/name: tool "layUp": the name is not in snake_case`},
		{"a slash", tool("lay/up", plain), `warning: /tools/1/name: tool "lay/up": the name has a slash`},
		{"a long name", tool(strings.Repeat("a", 65), plain), "the name has 65 characters"},
		{"a schema that is none", tool("sail", `{"type":"objekt"}`), `error: /tools/1/inputSchema/type: the ` +
			`inputSchema of tool "sail" is not a JSON Schema`},
		{
			"arguments that are not object",
			tool("sail", `{"type":"string"}`),
			`the type of the inputSchema of tool "sail" is not "object"`,
		},
		{
			"a pattern",
			tool("sail", `{"type":"object","properties":{"a":{"type":"string","pattern":"(?=x)"}}}`),
			`warning: /tools/1/inputSchema: the inputSchema of tool "sail": /properties/a/pattern: `,
		},
		{"an argument of any type",
			tool("sail", `{"type":"object","properties":{"a":{"description":"d"},"b":{"type":"string"}}}`),
			`warning: tool "sail": inputSchema: "a" may be any value`},
		{"text that is not JSON", tool("sail", `{"type"`), `error: /tools/1: tool "sail" cannot be sent: `},
		{
			"a result's schema",
			func(c *mcp.Catalog) { c.Tools[0].OutputSchema = json.RawMessage(`{"type":1}`) },
			`error: /tools/0/outputSchema/type: the outputSchema of tool "moor" is not a JSON Schema`,
		},
		{"no description", func(c *mcp.Catalog) { c.Tools[0].Description = "" },
			`warning: /tools/0/description: tool "moor" has no description`},
		{"no URI", func(c *mcp.Catalog) { c.Resources[0].URI = "ships" }, `error: /resources/0/uri: resource ` +
			`"ships" is not a URI`},
		{"no resource name", func(c *mcp.Catalog) { c.Resources[0].Name = "" },
			`error: /resources/0/name: the resource has no name`},
		{"no template", func(c *mcp.Catalog) { c.Templates[0].URITemplate = "quay://{" },
			`error: /resourceTemplates/0/uriTemplate: template "quay://{": `},
		{"two templates", func(c *mcp.Catalog) {
			c.Templates = append(c.Templates, mcp.ResourceTemplate{Name: "b", URITemplate: "quay://ships/{b}"})
		}, `warning: template "quay://ships/{b}": `},
		{"an argument twice", func(c *mcp.Catalog) {
			c.Prompts[0].Arguments = append(c.Prompts[0].Arguments, mcp.PromptArgument{Name: "who"})
		}, `error: prompt "greet": duplicate argument "who"`},
		{"an app that is not there", func(c *mcp.Catalog) {
			c.Tools[0].Meta = json.RawMessage(`{"ui":{"resourceUri":"ui://quay/none"}}`)
		}, "ui://quay/none"},
		{
			"what cannot be sent",
			func(c *mcp.Catalog) { c.Resources[0].Meta = json.RawMessage(`{`) },
			`error: resources/list in 2026-07-28: encode resources[0]: `,
		},
		{
			"what lists lack",
			func(c *mcp.Catalog) { c.Resources[0].Meta = json.RawMessage(`{`) },
			"error: resources/list in 2025-06-18: ",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := newQuay()
			tt.change(q.cat)
			got := command{args: []string{"-check"}}.run(t.Context(), q, nil)
			if !strings.Contains(got.stdout, tt.want) || got.stderr != "" {
				t.Errorf("printed %q %q, want %q", got.stdout, got.stderr, tt.want)
			}
			want := 0
			if strings.Contains(got.stdout, "error: ") {
				want = 1
			}
			if got.code != want {
				t.Errorf("exit code = %d, want %d for %q", got.code, want, got.stdout)
			}
		})
	}
}

// readable is a quay whose resources can be read.
type readable struct{ *quay }

func (readable) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{
		URI:      p.URI,
		MIMEType: "text/plain",
		Text:     "three",
	}}}, nil
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "site")
	got := command{args: []string{"-freeze", dir}}.run(context.Background(), readable{newQuay()}, nil)
	if got.code != exitOK ||
		!strings.Contains(got.stdout, "1 answers in 5 files: 5 created") ||
		!strings.Contains(got.stderr, "moor is skipped") {
		t.Errorf("got %+v", got)
	}
	if file, err := os.ReadFile(filepath.Join(dir, "resources",
		"ships.json")); err != nil || !strings.Contains(string(file), `"three"`) {
		t.Errorf("got %s, %v", file, err)
	}
	if got := (command{args: []string{"-freeze", dir, "-check"}}).run(context.Background(),
		newQuay(), nil); got.code != exitUsage {
		t.Errorf("got %+v", got)
	}
}
