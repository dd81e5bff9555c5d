package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/slipway-mcp/slipway/internal/test/authtest"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/internal/test/registrytest"
)

var update = flag.Bool("update", false, "rewrite docs/cli.md and the expectations of scripts")

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // the tests wait more than they compute
	testscript.Main(m, map[string]func(){
		"asking":     askingMain,
		"browser":    browserMain,
		"hostile":    hostileMain,
		"leaky":      leakyMain,
		"restaurant": restaurantMain,
		"sharing":    sharingMain,
		"slipway":    main,
		"upstream":   upstreamMain,
	})
}

// TestScript runs testdata/script/*.txtar, each on the real main. Besides the
// commands of testscript they have:
//
//	exits CODE PROGRAM [ARG...]  run it and want that exit code
//	zip FILE DIR                 pack the files below DIR
//	host NAME DIR                host DIR on the web at $NAME, without listings; a
//	                             path with a part that begins with "hang" comes late
//	registry NAME FILE...        a registry of these server.json at $NAME; answers are
//	                             validated against the schema of the API
//	faulty NAME KIND             a web server with a fault at $NAME: page, missing, down,
//	                             version, clock; or a certificate, also in NAME.pem:
//	                             selfsigned, trusted, expired, future, otherhost
//	occupy NAME                  listen on a port, at the address $NAME
//	redirect NAME URL            a web host at $NAME that sends everybody to URL
//	hangs NAME                   wait until such a file is asked for
//	release NAME                 let it come
//	serve NAME [ARG...]          slipway serve ARG... on a free port, at $NAME and
//	                             $NAME_ADDR and $NAME_PORT; with --stdio on a pipe
//	                             that stays open
//	launch NAME [ARG...]         slipway ARG... without waiting for anything
//	log NAME PATTERN             wait until its stderr matches
//	signal NAME SIGNAL           send it TERM, INT or HUP
//	ended NAME CODE              wait for its end; its output becomes ours
//	http METHOD URL [FILE] [KEY:VALUE...]  print status, header and body of the
//	                             answer to a request with that body and header
//	waits URL FILE STATUS [KEY:VALUE...]  post FILE until the answer has that status
//	waits URL GET TEXT [KEY:VALUE...]  get the URL until the answer has that text
//	inspect NAME [ARG...]        start slipway inspect as NAME, whose URL is $NAME
//	                             and whose Authorization header is $NAME_AUTH
//	sse URL FILE [KEY:VALUE...]  open the event stream at URL, post the lines of FILE
//	                             to the address it names, and print what comes
//	post NAME URL FILE           send FILE without waiting for the answer
//	answer NAME                  wait for that answer and print its body
//	authserver NAME              a server at $NAME that requires OAuth, and its
//	                             authorization server $NAME_ISSUER; the program browser approves
//	auth NAME CHANGE...          change it, or search files for its tokens
func TestScript(t *testing.T) {
	example, err := filepath.Abs("../../examples/http-reference")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLE", example)
			env.Setenv("KEYS", filepath.Join(example, "..", "..", "mcpb", "testdata", "sign"))
			env.Setenv("GORACE", raceOptions)
			env.Setenv("MCP_SERVER_SETTLE", patience.String())     // lists are complete, however slow the machine
			env.Setenv("MCP_SERVER_START_WAIT", patience.String()) // and servers have their own name
			env.Setenv("ACTS", actsOnTerminal)
			env.Setenv("SLIPWAY_STATE_DIR", filepath.Join(env.WorkDir, ".state"))
			env.Values[worldKey{}] = &world{servers: map[string]*server{}, hosts: map[string]*host{},
				posts: map[string]chan string{}, auths: map[string]*authtest.Server{}}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"zip":        zipFolder,
			"fill":       fillBytes,
			"host":       hostFolder,
			"redirect":   redirect,
			"registry":   hostRegistry,
			"hangs":      hangs,
			"release":    release,
			"serve":      startServer,
			"launch":     launch,
			"inspect":    startInspector,
			"log":        awaitLog,
			"signal":     sendSignal,
			"ended":      ended,
			"http":       request,
			"waits":      waits,
			"sse":        talkSSE,
			"post":       post,
			"answer":     answer,
			"asker":      hostAsker,
			"authserver": hostAuth,
			"auth":       changeAuth,
			"faulty":     hostFaulty,
			"occupy":     occupyPort,
			"cure":       runCure,
			"asks":       beginAsk,
			"answers":    endAsk,
		},
	})
}

// actsOnTerminal, for $ACTS, matches characters that control a terminal. It does not
// match a carriage return before a newline, which a terminal adds itself.
const actsOnTerminal = `[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}` +
	`\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]|\r[^\n]`

// scripts returns the scripts to run. With the race detector, which makes a command start
// five times slower, they are those with a program that does several things at once.
func scripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	if !race.Enabled {
		return files
	}
	servers := regexp.MustCompile(`(?m)^(serve|launch|inspect|hangs) `)
	return slices.DeleteFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return !servers.Match(text)
	})
}

// raceOptions keep the race detector from sleeping for a second at the exit of each of
// the many short processes.
const raceOptions = "atexit_sleep_ms=0"

// patience limits every single wait of a script. Reaching it means stuck, not slow.
const patience = 30 * time.Second

type worldKey struct{}

// world is what runs in parallel to a script.
type world struct {
	servers map[string]*server
	hosts   map[string]*host
	posts   map[string]chan string
	auths   map[string]*authtest.Server
}

func of(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

func want(ts *testscript.TestScript, neg bool, args []string, least int, usage string) {
	if neg || len(args) < least {
		ts.Fatalf("usage: %s", usage)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "exits CODE PROGRAM [ARG...]")
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func zipFolder(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "zip FILE DIR")
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	w := zip.NewWriter(f)
	ts.Check(w.AddFS(os.DirFS(ts.MkAbs(args[1]))))
	ts.Check(w.Close())
	ts.Check(f.Close())
}

// repeated matches {{80*100}}: 100 times the byte 0x80, which a script cannot contain.
var repeated = regexp.MustCompile(`\{\{([0-9a-f]{2})\*([0-9]+)\}\}`)

// fillBytes replaces each {{HEX*COUNT}} in a file with that many bytes.
func fillBytes(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "fill FILE")
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	filled := repeated.ReplaceAllFunc(text, func(match []byte) []byte {
		parts := repeated.FindSubmatch(match)
		value, _ := strconv.ParseUint(string(parts[1]), 16, 8) // the pattern admits two digits
		count, err := strconv.Atoi(string(parts[2]))
		ts.Check(err)
		return bytes.Repeat([]byte{byte(value)}, count)
	})
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), filled, 0o600))
}

// host is a static web host whose files can be delayed.
type host struct {
	asked    chan struct{}
	released chan struct{}
}

func hostFolder(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "host NAME DIR")
	h := &host{asked: make(chan struct{}, 8), released: make(chan struct{})}
	root := ts.MkAbs(args[1])
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Join(root, filepath.FromSlash(r.URL.Path))
		if strings.Contains(r.URL.Path, "/hang") {
			h.asked <- struct{}{}
			select {
			case <-h.released:
			case <-r.Context().Done():
				return
			}
		}
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, name)
	}))
	ts.Defer(web.Close)
	of(ts).hosts[args[0]] = h
	ts.Setenv(args[0], web.URL)
}

func hostRegistry(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "registry NAME FILE...")
	r := &registrytest.Registry{Fail: func(err error) { ts.Logf("FAULT OF THE SCRIPT: %v", err) }}
	for _, name := range args[1:] {
		text := []byte(ts.ReadFile(name))
		ts.Check(registrytest.Validate("server", text))
		r.Entries = append(r.Entries, registrytest.Entry{Server: text, Old: strings.HasSuffix(name, ".old.json")})
	}
	web := httptest.NewServer(r)
	ts.Defer(web.Close)
	ts.Setenv(args[0], web.URL)
}

func redirect(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "redirect NAME URL")
	web := httptest.NewServer(http.RedirectHandler(args[1], http.StatusTemporaryRedirect))
	ts.Defer(web.Close)
	ts.Setenv(args[0], web.URL)
}

func hangs(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "hangs NAME")
	select {
	case <-of(ts).hosts[args[0]].asked:
	case <-time.After(patience):
		ts.Fatalf("the file that hangs was not requested")
	}
}

func release(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "release NAME")
	close(of(ts).hosts[args[0]].released)
}

// server is a slipway serve in parallel to the script.
type server struct {
	cmd  *exec.Cmd
	log  record
	done chan error
}

func newServer(cmd *exec.Cmd) *server {
	s := &server{cmd: cmd, log: record{more: make(chan struct{})}, done: make(chan error, 1)}
	cmd.Stderr = &s.log
	return s
}

func (s *server) start() error {
	err := s.cmd.Start()
	if err == nil {
		go func() { s.done <- s.cmd.Wait() }()
	}
	return err
}

// record collects output and signals new output.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text.Write(p)
	close(r.more)
	r.more = make(chan struct{})
	return len(p), nil
}

func (r *record) read() (text string, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String(), r.more
}

// await returns the first match of pattern. It fails if the process exits.
func (s *server) await(pattern *regexp.Regexp) (string, error) {
	late := time.After(patience)
	for {
		text, more := s.log.read()
		if m := pattern.FindString(text); m != "" {
			return m, nil
		}
		select {
		case <-more:
		case err := <-s.done:
			s.done <- err
			if text, _ := s.log.read(); pattern.MatchString(text) {
				return pattern.FindString(text), nil
			}
			return "", fmt.Errorf("ended (%v) without %q; stderr:\n%s", err, pattern, text)
		case <-late:
			return "", fmt.Errorf("no %q in time; stderr:\n%s", pattern, text)
		}
	}
}

func startServer(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "serve NAME [ARG...]")
	line := []string{"serve", "--addr", "127.0.0.1:0"}
	ready := regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)
	if slices.Contains(args, "--stdio") {
		line = line[:1]
		ready = regexp.MustCompile(`"id":"up"`)
	}
	launch(ts, false, slices.Concat(args[:1], line, args[1:]))
	found, err := of(ts).servers[args[0]].await(ready)
	ts.Check(err)
	url := strings.TrimSuffix(found, "/mcp")
	ts.Setenv(args[0], url)
	ts.Setenv(args[0]+"_ADDR", strings.TrimPrefix(url, "http://"))
	ts.Setenv(args[0]+"_PORT", url[strings.LastIndexByte(url, ':')+1:])
}

func startInspector(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "inspect NAME [ARG...]")
	launch(ts, false, slices.Concat(args[:1], []string{"inspect", "--no-open"}, args[1:]))
	found, err := of(ts).servers[args[0]].await(regexp.MustCompile(`http://127\.0\.0\.1:\d+/#\S+`))
	ts.Check(err)
	url, token, _ := strings.Cut(found, "/#")
	ts.Setenv(args[0], url)
	ts.Setenv(args[0]+"_AUTH", "Authorization:Bearer "+token)
}

// launch starts a program whose stdin stays open, with one message on it.
func launch(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "launch NAME [ARG...]")
	s := newServer(exec.Command("slipway", args[1:]...))
	s.cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "XDG_CACHE_HOME", "GORACE", "SLIPWAY_STATE_DIR", "MCP_SERVER_ADDR",
		"MCP_SERVER_ADR", "MCP_SERVER_QUIET", "MCP_SERVER_LOG_LEVEL", "MCP_SERVER_LEGACY_SSE", "MCP_SERVER_TOKEN",
		"MCP_SERVER_TOKEN_FILE",
		"MCP_SERVER_STATE_KEY", "MCP_SERVER_START_WAIT", "MCP_SERVER_SETTLE"} {
		s.cmd.Env = append(s.cmd.Env, name+"="+ts.Getenv(name))
	}
	s.cmd.Stdout = &s.log
	in, err := s.cmd.StdinPipe()
	ts.Check(err)
	ts.Check(s.start())
	go func() { _, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":"up","method":"ping"}`+"\n") }()
	ts.Defer(func() { _ = s.cmd.Process.Kill() })
	of(ts).servers[args[0]] = s
}

func awaitLog(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "log NAME PATTERN")
	_, err := of(ts).servers[args[0]].await(regexp.MustCompile(args[1]))
	ts.Check(err)
}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "signal NAME TERM|INT|HUP")
	sig := map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": os.Interrupt, "HUP": syscall.SIGHUP}[args[1]]
	ts.Check(of(ts).servers[args[0]].cmd.Process.Signal(sig))
}

func ended(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "ended NAME CODE")
	s := of(ts).servers[args[0]]
	select {
	case <-s.done:
	case <-time.After(patience):
		ts.Fatalf("it did not end")
	}
	text, _ := s.log.read()
	fmt.Fprint(ts.Stderr(), text)
	if code := s.cmd.ProcessState.ExitCode(); strconv.Itoa(code) != args[1] {
		ts.Fatalf("exit code %d, want %s", code, args[1])
	}
}

// send makes a request like a plain client.
func send(method, url, body string, header []string) (*http.Response, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range header {
		key, value, _ := strings.Cut(h, ":")
		r.Header.Set(key, value)
	}
	r.Host = r.Header.Get("Host")
	r.Close = true
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return got, string(text), err
}

func request(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "http METHOD URL [FILE] [KEY:VALUE...]")
	body, header := "", args[2:]
	if len(header) > 0 && !strings.Contains(header[0], ":") {
		body, header = ts.ReadFile(header[0]), header[1:]
	}
	got, text, err := send(args[0], args[1], body, header)
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), got.Status)
	ts.Check(got.Header.Write(ts.Stdout()))
	fmt.Fprintf(ts.Stdout(), "\n%s\n", text)
}

// waits repeats a request until the response has the status or the text, for delayed
// effects such as rereading a file.
func waits(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3, "waits URL FILE|GET STATUS|TEXT [KEY:VALUE...]")
	method, body, late := "GET", "", time.After(patience)
	if args[1] != method {
		method, body = "POST", ts.ReadFile(args[1])
	}
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		got, text, err := send(method, args[0], body, args[3:])
		ts.Check(err)
		if strconv.Itoa(got.StatusCode) == args[2] || strings.Contains(text, args[2]) {
			tick.Stop()
			return
		}
		select {
		case <-tick.C:
		case <-late:
			ts.Fatalf("the answer is still %s: %s", got.Status, text)
		}
	}
}

func post(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3, "post NAME URL FILE")
	done := make(chan string, 1)
	of(ts).posts[args[0]] = done
	body := ts.ReadFile(args[2])
	go func() {
		_, text, err := send("POST", args[1], body, nil)
		if err != nil {
			text = "error: " + err.Error()
		}
		done <- text
	}()
}

func answer(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "answer NAME")
	fmt.Fprintln(ts.Stdout(), <-of(ts).posts[args[0]])
}
