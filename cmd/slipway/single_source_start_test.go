package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/ws"
)

// answersWithin distinguishes an endpoint that waits for its server from a slow one: all
// servers of these tests hang for longer.
const answersWithin = 5 * time.Second

// quickly overrides the start wait that the environment of the tests sets.
const quickly = "--start-wait=300ms"

// hungSources returns ways to name a single source whose server never responds.
func hungSources(t *testing.T) map[string][]string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("it has no sleep")
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the backlog accepts connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	dir := t.TempDir()
	file := filepath.Join(dir, "servers.yaml")
	manifest := filepath.Join(dir, "bundle", "manifest.json")
	if err := os.Mkdir(filepath.Dir(manifest), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		file: "servers:\n  only:\n    command: sleep\n    args: ['100000']\n",
		manifest: `{"manifest_version":"0.3","name":"silent","version":"1.0.0","description":"d","author":{"name":"a"},
			"server":{"type":"binary","entry_point":"run","mcp_config":{"command":"sleep","args":["100000"]}}}`,
		filepath.Join(dir, "bundle", "run"): "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return map[string][]string{
		"command":     {"--", "sleep", "100000"},
		"stopped":     {"--", "sh", "-c", "kill -STOP $$; sleep 100000"},
		"url":         {"http://" + silent.Addr().String() + "/mcp"},
		"live url":    {"live:http://" + silent.Addr().String() + "/mcp"},
		"site url":    {"site:http://" + silent.Addr().String()},
		"websocket":   {"ws://" + silent.Addr().String() + "/mcp"},
		"definitions": {file},
		"bundle":      {filepath.Dir(manifest)},
		"prefixed":    {"--prefix", "always", "--", "sleep", "100000"},
	}
}

// timed logs the time since began, and fails if it includes the hang.
func timed(t *testing.T, what string, began time.Time) {
	t.Helper()
	took := time.Since(began)
	t.Logf("%s: %v", what, took.Round(time.Millisecond))
	if took > answersWithin {
		t.Errorf("%s took %v, as long as the server hangs", what, took)
	}
}

// TestHungSoleSourceOverStdio ensures that initialize is answered while the only server
// hangs.
func TestHungSoleSourceOverStdio(t *testing.T) {
	sources := hungSources(t)
	commands := map[string][]string{
		"config run": {"config", "run", quickly, sources["definitions"][0], "only"},
		"bundle run": {"bundle", "run", quickly, sources["bundle"][0]},
	}
	for name, source := range sources {
		commands["serve "+name] = append([]string{"serve", "--stdio", quickly, "--drain-timeout", "1ms"}, source...)
	}
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			p := startProcess(t, args...)
			p.send(initializeLine)
			answer := p.until(`"id":1`)
			timed(t, "initialize", began)
			for _, kind := range []string{"tools", "prompts"} {
				if !strings.Contains(answer, `"`+kind+`":{"listChanged":true}`) {
					t.Errorf("initialize = %s, want %s declared", answer, kind)
				}
			}
			p.send(listLine(2) + "\n" + `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
			if answer := p.until(`"id":`); !strings.Contains(answer, `"id":3`) {
				t.Errorf("tools/list does not wait for the only server: %s", answer)
			}
			p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
			if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if code := p.ended(); code != 0 {
				t.Errorf("interrupted, it ends with %d: %s", code, p.stderr())
			}
		})
	}
}

// TestHungSoleSourceOverHTTP ensures that the endpoint listens, reports that it is not
// ready, and answers clients of all kinds while the only server hangs.
func TestHungSoleSourceOverHTTP(t *testing.T) {
	for name, source := range hungSources(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			s := startEndpoint(t, append([]string{"--drain-timeout", "1ms", quickly}, source...)...)
			timed(t, "listening", began)
			for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/healthz": 503} {
				if status, text := s.get(path); status != want {
					t.Errorf("GET %s = %d %q, want %d", path, status, text, want)
				}
			}
			if _, text := s.get("/readyz"); text != "starting\n" {
				t.Errorf("/readyz says %q, want starting", text)
			}
			if name, _ := s.initialize(); name == "" {
				t.Error("initialize has no serverInfo")
			}
			discover := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{` +
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
				`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}}}`
			if answer := s.post(discover, "2026-07-28", "server/discover"); !strings.Contains(answer, `"tools":{`) {
				t.Errorf("server/discover = %s", answer)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			conn, err := ws.Dial(ctx, strings.Replace(s.url, "http", "ws", 1)+"/ws", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.WriteMessage([]byte(initializeLine)); err != nil {
				t.Fatal(err)
			}
			if answer, err := conn.ReadMessage(ctx); err != nil || !bytes.Contains(answer, []byte(`"serverInfo"`)) {
				t.Errorf("initialize over WebSocket = %s, %v", answer, err)
			}
			timed(t, "all answers", began)
		})
	}
}

// gated returns a command that runs what once the file gate exists.
func gated(t *testing.T, what string) (command []string, gate string) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	gate = filepath.Join(t.TempDir(), "go")
	return []string{"sh", "-c", fmt.Sprintf("until test -e %s; do sleep 0.02; done; %s", gate, what)}, gate
}

func openGate(t *testing.T, gate string) {
	t.Helper()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func exampleSite(t *testing.T) string {
	t.Helper()
	example, err := filepath.Abs("../../examples/http-reference")
	if err != nil {
		t.Fatal(err)
	}
	return example
}

// TestLateSoleSource ensures that a list and a call wait for the only server, that its
// arrival is announced, and that clients which connect afterwards see its own identity.
func TestLateSoleSource(t *testing.T) {
	command, gate := gated(t, "exec slipway serve --stdio "+exampleSite(t))
	direct := startEndpoint(t, exampleSite(t))
	wantName, wantCapabilities := direct.initialize()

	s := startEndpoint(t, append([]string{quickly, "--"}, command...)...)
	early, _ := s.initialize()
	if early == wantName {
		t.Fatalf("the server is called %q before it has started", early)
	}
	answers := make(chan string, 2)
	for _, body := range []string{listLine(2), callLine} {
		go func() { answers <- s.post(body, "2025-11-25", "") }()
	}
	openGate(t, gate)
	for range cap(answers) {
		if answer := <-answers; !strings.Contains(answer, "get_status") && !strings.Contains(answer, "404") {
			t.Errorf("a request that waited = %s", answer)
		}
	}
	if name, capabilities := s.initialize(); name != wantName || capabilities != wantCapabilities {
		t.Errorf("afterwards it is %q with %s, want %q with %s", name, capabilities, wantName, wantCapabilities)
	}
	if status, text := s.get("/readyz"); status != http.StatusOK {
		t.Errorf("/readyz = %d %q", status, text)
	}
	if _, err := s.server.await(regexp.MustCompile(`has started: [0-9]+ tools`)); err != nil {
		t.Error(err)
	}
}

const callLine = `{"jsonrpc":"2.0","id":3,"method":"tools/call",` +
	`"params":{"name":"get_status","arguments":{"code":404}}}`

// TestLateSoleSourceOverStdio does the same on every command that serves one client.
// There list_changed is sent as well, and an early session may use the declared
// capabilities.
func TestLateSoleSourceOverStdio(t *testing.T) {
	command, gate := gated(t, "exec slipway serve --stdio "+exampleSite(t))
	dir := t.TempDir()
	definitions, err := json.Marshal(map[string]any{"servers": map[string]any{
		"only": map[string]any{"command": command[0], "args": command[1:]},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "servers.json")
	if err := os.WriteFile(file, definitions, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"command":     append([]string{"serve", "--stdio", quickly, "--"}, command...),
		"definitions": {"serve", "--stdio", quickly, file},
		"config run":  {"config", "run", quickly, file, "only"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.Remove(gate); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			p := startProcess(t, args...)
			p.send(initializeLine)
			p.until(`"id":1`)
			p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + listLine(2))
			p.send(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
			p.until(`"id":4`) // the list waits, and the session is initialized
			openGate(t, gate)
			p.untilAll(`"get_status"`, "tools/list_changed", "prompts/list_changed")
			p.send(callLine)
			if answer := p.until(`"id":3`); !strings.Contains(answer, "404") {
				t.Errorf("a call = %s", answer)
			}
			p.send(`{"jsonrpc":"2.0","id":5,"method":"prompts/list"}`)
			if answer := p.until(`"id":5`); !strings.Contains(answer, `"prompts":[`) {
				t.Errorf("prompts/list of an early session = %s", answer)
			}
			_ = p.in.Close()
			if code := p.ended(); code != 0 {
				t.Errorf("it ends with %d: %s", code, p.stderr())
			}
		})
	}
}

// TestServerJoinsAHungSoleOne ensures that requests waiting for the only server of a file
// are answered once the file has another.
func TestServerJoinsAHungSoleOne(t *testing.T) {
	file := hungSources(t)["definitions"][0]
	p := startProcess(t, "serve", "--stdio", quickly, "--drain-timeout", "1ms", file)
	p.send(initializeLine)
	p.until(`"id":1`)
	p.send(listLine(2) + "\n" + `{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	p.until(`"id":4`)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = fmt.Appendf(text, "  ok:\n    command: slipway\n    args: [serve, --stdio, %q]\n", exampleSite(t))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p.untilAll(`"id":2`)
	p.send(callLine)
	if answer := p.until(`"id":3`); !strings.Contains(answer, "404") {
		t.Errorf("a call = %s", answer)
	}
}

// TestSoleSourceThatFails ensures that the command exits with the same code and reason
// whether its server fails before or after the endpoint listens, or hangs until its start
// timeout.
func TestSoleSourceThatFails(t *testing.T) {
	race.SkipSlow(t)
	command, gate := gated(t, "echo no luck >&2; exit 3")
	dir := t.TempDir()
	definition := func(name string, members map[string]any) string {
		text, err := json.Marshal(map[string]any{"servers": map[string]any{"only": members}})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	failing := definition("failing", map[string]any{"command": command[0], "args": command[1:]})
	hung := definition("hung", map[string]any{"command": "sleep", "args": []string{"100000"}, "connectTimeoutMs": 1000})
	serving := func(args ...string) []string { return slices.Concat([]string{"serve"}, args, []string{"--"}, command) }
	for name, tt := range map[string]struct {
		args   []string
		reason string
	}{
		"http":           {serving("--addr", "127.0.0.1:0", "--drain-delay", "1h", quickly), "no luck"},
		"stdio":          {serving("--stdio", quickly), "no luck"},
		"config run":     {[]string{"config", "run", quickly, failing, "only"}, "no luck"},
		"start timeout":  {[]string{"config", "run", quickly, hung, "only"}, "it was not ready after 1s"},
		"before, http":   {serving("--addr", "127.0.0.1:0", "--start-wait=1h"), "no luck"},
		"before, config": {[]string{"config", "run", "--start-wait=1h", failing, "only"}, "no luck"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.Remove(gate); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			p := startProcess(t, tt.args...)
			switch {
			case strings.HasPrefix(name, "before"), name == "start timeout": // either may come first
			case name == "http":
				if _, err := p.server.await(regexp.MustCompile(`MCP endpoint`)); err != nil {
					t.Fatal(err)
				}
			default:
				p.send(initializeLine)
				p.until(`"id":1`)
			}
			openGate(t, gate)
			if code := p.ended(); code != exitRemote {
				t.Errorf("exit code %d, want %d", code, exitRemote)
			}
			if text := p.stderr(); !strings.Contains(text, "\nslipway: ") && !strings.HasPrefix(text, "slipway: ") ||
				!strings.Contains(text, "cannot be started: ") || !strings.Contains(text, tt.reason) {
				t.Errorf("stderr is %q, want the reason %q", text, tt.reason)
			}
		})
	}
}

const tokenOfAnn = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"

// TestToolScopeOfALateSoleSource ensures that a pattern which matches no tool is refused
// once the tools are known, and that a matching one is applied.
func TestToolScopeOfALateSoleSource(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("ann "+tokenOfAnn+" read\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := func(t *testing.T, pattern string) (*endpoint, string) {
		command, gate := gated(t, "exec slipway serve --stdio "+exampleSite(t))
		args := []string{quickly, "--auth-token-file", tokens, "--tool-scope", pattern, "--"}
		return startEndpoint(t, append(args, command...)...), gate
	}
	t.Run("matches nothing", func(t *testing.T) {
		s, gate := serve(t, "get_statsu=admin")
		s.token = tokenOfAnn
		answered := make(chan string, 1)
		go func() { answered <- s.post(callLine, "2025-11-25", "") }()
		openGate(t, gate)
		if answer := <-answered; strings.Contains(answer, `"result"`) {
			t.Errorf("a call before the pattern was checked = %s", answer)
		}
		err := <-s.server.done
		s.server.done <- err
		var exit *exec.ExitError
		if text, _ := s.server.log.read(); !errors.As(err, &exit) || exit.ExitCode() != exitUsage ||
			!strings.Contains(text, `pattern "get_statsu" matches no tool: did you mean "get_status"?`) {
			t.Errorf("it ends with %v: %s", err, text)
		}
	})
	t.Run("matches", func(t *testing.T) {
		s, gate := serve(t, "get_status=admin")
		s.token = tokenOfAnn
		openGate(t, gate)
		if answer := s.post(callLine, "2025-11-25", ""); !strings.Contains(answer, "lacks a scope") {
			t.Errorf("a call without the scope = %s", answer)
		}
		if answer := s.post(listLine(2), "2025-11-25", ""); !strings.Contains(answer, "get_status") {
			t.Errorf("tools/list = %s", answer)
		}
	})
}

// TestLockOfALateSoleSource ensures that only locked items are offered.
func TestLockOfALateSoleSource(t *testing.T) {
	site := filepath.Join(t.TempDir(), "site")
	if err := os.CopyFS(site, os.DirFS(exampleSite(t))); err != nil {
		t.Fatal(err)
	}
	command, gate := gated(t, "exec slipway serve --stdio "+site)
	openGate(t, gate)
	lock := filepath.Join(t.TempDir(), "slipway.lock")
	locking := slipwayCommand(t, append([]string{"lock", "-o", lock, "--"}, command...)...)
	locking.Stderr = nil
	if out, err := locking.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(site, "mcp.json")
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(list, bytes.ReplaceAll(text, []byte("Explains"), []byte("Ignores")), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startEndpoint(t, append([]string{quickly, "--lock", lock, "--"}, command...)...)
	openGate(t, gate)
	if answer := s.post(listLine(2), "2025-11-25", ""); !strings.Contains(answer, `"compare_methods"`) ||
		strings.Contains(answer, `"get_status"`) {
		t.Errorf("tools/list = %s, want it without get_status, which has changed", answer)
	}
	if answer := s.post(callLine, "2025-11-25", ""); !strings.Contains(answer, "slipway lock") {
		t.Errorf("a call of a tool that has changed = %s", answer)
	}
}

// TestFilesOfALateSite serves the files of a site whose host was slow at first.
func TestFilesOfALateSite(t *testing.T) {
	gate := make(chan struct{})
	files := http.FileServer(http.Dir(exampleSite(t)))
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-gate
		files.ServeHTTP(w, r)
	}))
	defer host.Close()
	s := startEndpoint(t, quickly, "site:"+host.URL)
	if status, text := s.get("/mcp.json"); status != http.StatusNotFound {
		t.Errorf("a file of a site that is not open = %d %q", status, text)
	}
	close(gate)
	if answer := s.post(callLine, "2025-11-25", ""); !strings.Contains(answer, "404") {
		t.Errorf("a call = %s", answer)
	}
	if _, err := s.server.await(regexp.MustCompile(`has started: `)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its files are served", func() bool {
		status, _ := s.get("/mcp.json")
		return status == http.StatusOK
	})
}

// TestQuickSoleSourceKeepsItsIdentity ensures that a server which starts in time is
// served under its own identity.
func TestQuickSoleSourceKeepsItsIdentity(t *testing.T) {
	direct := startEndpoint(t, exampleSite(t))
	wantName, wantCapabilities := direct.initialize()
	for name, source := range map[string][]string{
		"command": {"--", "slipway", "serve", "--stdio", exampleSite(t)},
		"url":     {direct.url + "/mcp"},
	} {
		s := startEndpoint(t, append([]string{"--start-wait=30s"}, source...)...)
		if name2, capabilities := s.initialize(); name2 != wantName || capabilities != wantCapabilities {
			t.Errorf("%s: it is %q with %s, want %q with %s", name, name2, capabilities, wantName, wantCapabilities)
		}
	}
}

// process is a slipway process with pipes to stdin, stdout and stderr.
type process struct {
	talk
	cmd    *exec.Cmd
	server *server // its stderr and exit
}

func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	cmd := slipwayCommand(t, args...)
	p := &process{talk: talk{t: t}, cmd: cmd, server: newServer(cmd)}
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	// A separate pipe, because cmd.Wait would close that of StdoutPipe before everything
	// is read.
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = stdout
	if err := p.server.start(); err != nil {
		t.Fatal(err)
	}
	_ = stdout.Close() // the process has its own
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, 8<<20)
	limit := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // stuck, not slow
	t.Cleanup(func() {
		_ = p.in.Close()
		_ = cmd.Process.Kill()
		p.ended()
		limit.Stop()
		_ = out.Close()
	})
	return p
}

// ended waits for the process to exit, and returns the exit code.
func (p *process) ended() int {
	err := <-p.server.done
	p.server.done <- err
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) stderr() string {
	text, _ := p.server.log.read()
	return text
}

// untilAll reads messages until each word has occurred.
func (p *process) untilAll(words ...string) {
	p.t.Helper()
	for len(words) > 0 {
		if !p.out.Scan() {
			p.t.Fatalf("no message with %q; stderr: %s", words, p.stderr())
		}
		words = slices.DeleteFunc(words, func(word string) bool { return strings.Contains(p.out.Text(), word) })
	}
}
