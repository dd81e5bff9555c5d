package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/stax"
)

func TestDefinitionsAreASource(t *testing.T) {
	mcptest.TestSource(t, func(t *testing.T) mcp.Source {
		return openPark(t, &fleet.Options{}, entry("a", "1"), entry("b", "2")).src
	}, &mcptest.Options{
		Calls: []mcptest.Call{
			{Tool: "a_tool", Args: `{}`, Want: ` 1"`},
			{Tool: "b_tool", Want: ` 2"`},
			{Tool: "c_tool", WantError: true},
		},
		Reads: []mcptest.Read{{URI: "test://a_tool", Want: `"text":"a_tool"`}, {URI: "test://c_tool", WantError: true}},
		Change: func(_ testing.TB, src mcp.Source) {
			until(t, "it is called a_tool again", func() bool {
				_, err := src.CallTool(context.Background(), &mcp.CallToolParams{
					Name:      "a_tool",
					Arguments: json.RawMessage(`{"rename":"c"}`),
				})
				return err == nil
			})
		},
	})
}

// TestReloadDropsNothing rewrites the file while clients keep calling over HTTP: one
// server stays, one changes each time, one is added and removed.
func TestReloadDropsNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it looks for processes as Unix does")
	}
	// What the first process, request and signal of a test binary begin stays until its end.
	first := openPark(t, &fleet.Options{}, entry("first", "0"))
	web := httptest.NewServer(mcpserver.New(first.src, nil).HTTPHandler(nil))
	callAllTheTime(t, web.URL, "first_tool").stop()
	web.Close()
	first.close()
	http.DefaultClient.CloseIdleConnections()
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	func() {
		p := openPark(t, &fleet.Options{}, entry("stays", "0"), entry("changes", "0"), entry("comes", "0"))
		server := mcpserver.New(p.src, nil)
		web := httptest.NewServer(server.HTTPHandler(nil))
		var lists atomic.Int64
		stopWatching := p.src.(mcp.Watcher).Watch(func(mcp.Change) { lists.Add(1) })
		callers := callAllTheTime(t, web.URL, "stays_tool", "changes_tool")
		const times = 12
		for n := 1; n <= times; n++ {
			entries := []string{entry("stays", "0"), entry("changes", strconv.Itoa(n))}
			if n%2 == 0 {
				entries = append(entries, entry("comes", "0"))
			}
			p.write(entries...)
			until(t, "the new version is served", func() bool {
				_, version, err := p.call("changes_tool", "{}")
				return err == nil && version == strconv.Itoa(n)
			})
			until(t, "the lists follow", func() bool { return strings.Contains(p.tools(), "comes_tool") == (n%2 == 0) })
		}
		pids := callers.stop()
		if n := len(pids["stays_tool"]); n != 1 {
			t.Errorf("%d processes have served what did not change, want 1", n)
		}
		if n := len(pids["changes_tool"]); n < 2 {
			t.Errorf("%d processes have served what changed", n)
		}
		if n := lists.Load(); n != times {
			t.Errorf("told %d times that the lists changed, want %d", n, times)
		}
		stopWatching()
		web.Close()
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		until(t, "those that were replaced have ended", func() bool { return len(p.roster.States()) == 3 })
		p.close()
		if states := p.roster.States(); len(states) > 0 {
			t.Errorf("after Close there are still %+v", states)
		}
		for tool, set := range pids {
			for pid := range set {
				if !gone(pid) {
					t.Errorf("process %d of %s is still there", pid, tool)
				}
			}
		}
	}()
	http.DefaultClient.CloseIdleConnections()
	until(t, "goroutines and files are as many as before", func() bool {
		return runtime.NumGoroutine() <= goroutines && openFiles(t) <= files
	})
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// callers are clients with sessions that call tools until stopped.
type callers struct {
	t    *testing.T
	end  chan struct{}
	all  sync.WaitGroup
	mu   sync.Mutex
	pids map[string]map[int]bool
	made int
}

func callAllTheTime(t *testing.T, url string, tools ...string) *callers {
	t.Helper()
	c := &callers{t: t, end: make(chan struct{}), pids: make(map[string]map[int]bool)}
	for i := range 4 {
		tool := tools[i%len(tools)]
		header, _, err := send(url, "",
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},`+
				`"clientInfo":{"name":"t","version":"1"}}}`)
		if err != nil {
			t.Fatal(err)
		}
		c.all.Go(func() { c.run(url, header.Get("Mcp-Session-Id"), tool) })
	}
	return c
}

func (c *callers) run(url, session, tool string) {
	for n := 1; ; n++ {
		select {
		case <-c.end:
			return
		default:
		}
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"ms":%d}}}`,
			n, tool, n%3*5)
		_, text, err := send(url, session, call)
		pid := 0
		if err == nil {
			pid, _, err = whoAnswers(text)
		}
		if err != nil {
			c.t.Errorf("call %d of %s: %v: %s", n, tool, err, text)
			return
		}
		c.mu.Lock()
		if c.pids[tool] == nil {
			c.pids[tool] = make(map[int]bool)
		}
		c.pids[tool][pid] = true
		c.made++
		c.mu.Unlock()
	}
}

// stop returns the processes that answered for each tool.
func (c *callers) stop() map[string]map[int]bool {
	close(c.end)
	c.all.Wait()
	c.t.Logf("%d calls", c.made)
	return c.pids
}

func send(url, session, body string) (http.Header, string, error) {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", resp.Status)
	}
	return resp.Header, string(text), err
}

// TestReloadOfAFileThatIsWrong: an invalid file does not affect the running servers.
func TestReloadOfAFileThatIsWrong(t *testing.T) {
	broken := "  broken: {command: x, url: 'http://127.0.0.1:1/', transport: http}\n"
	for _, c := range []struct {
		name       string
		opts       fleet.Options
		write      []string
		log, fault string // expected in the log, or as trouble of a server
		tools      string
	}{
		{name: "malformed", write: []string{"  a: {"}, log: "servers.yaml:2:", tools: "a_tool b_tool"},
		{name: "empty", write: []string{"#"}, log: "servers.yaml:", tools: "a_tool b_tool"},
		{name: "one is wrong", write: []string{entry("a", "1"), broken}, fault: "broken: ", tools: "a_tool"},
		{
			name:  "one is wrong, strictly",
			opts:  fleet.Options{Strict: true},
			write: []string{entry("a", "1"), broken},
			log:   "servers.yaml:5:",
			tools: "a_tool b_tool",
		},
		{
			name:  "one that runs is wrong now",
			write: []string{entry("a", "1"), "  b: {command: [x]}\n"},
			fault: "keeping the previous version",
			tools: "a_tool b_tool",
		},
		{name: "two collide", opts: fleet.Options{Prefix: compose.PrefixNever},
			write: []string{entry("a", "1"), strings.Replace(entry("c", "1"), "c_tool", "a_tool", 1)},
			log:   `of \"a\" and tool \"a_tool\" of \"c\"`, tools: "a_tool b_tool"},
		{
			name:  "a secret is missing",
			write: []string{entry("a", "1"), entry("b", "2") + "    secrets: [NO_SUCH_SECRET]\n"},
			fault: "NO_SUCH_SECRET",
			tools: "a_tool b_tool",
		},
		{
			name:  "one cannot be started",
			write: []string{entry("a", "1"), entry("b", "2", ", SLIPWAY_FLEET_TEST_WAITS: /nowhere")},
			log:   "keeping the old one",
			tools: "a_tool b_tool",
		},
		{
			name:  "too many",
			opts:  fleet.Options{MaxServers: 2},
			write: []string{entry("a", "1"), entry("b", "1"), entry("c", "1")},
			fault: "c: it is skipped: the file has more than 2 servers",
			tools: "a_tool b_tool",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := openPark(t, &c.opts, entry("a", "1"), entry("b", "1"))
			pid, _, err := p.call("a_tool", "{}")
			if err != nil {
				t.Fatal(err)
			}
			p.write(c.write...)
			until(t, "told", func() bool {
				return strings.Contains(p.log.String(), c.log) && strings.Contains(p.troubles.String(), c.fault) &&
					p.log.String()+p.troubles.String() != ""
			})
			until(t, c.tools, func() bool { return p.tools() == c.tools })
			if now, version, err := p.call("a_tool", "{}"); now != pid || version != "1" || err != nil {
				t.Errorf("what did not change is served by %d %s, %v; want %d", now, version, err, pid)
			}
			if strings.Contains(c.tools, "b_tool") {
				if _, version, err := p.call("b_tool", "{}"); err != nil || version != "1" {
					t.Errorf("b = %q, %v; want the old one", version, err)
				}
			}
		})
	}
}

// TestImportChangesWhileRead changes an imported file right after it was read for the first time, before
// the fleet knows that it has to be watched.
func TestImportChangesWhileRead(t *testing.T) {
	imported := filepath.Join(t.TempDir(), "imported.yaml")
	write := func(version string) {
		if err := os.WriteFile(imported, []byte("servers:\n"+entry("a", version)), 0o600); err != nil {
			t.Error(err)
		}
	}
	write("old")
	var change sync.Once
	p := openPark(t, &fleet.Options{Import: func(string) *fleet.Definitions {
		doc, _, err := stax.ReadFile(imported)
		if err != nil {
			t.Error(err)
			return nil
		}
		change.Do(func() { write("new") })
		return &fleet.Definitions{
			Merged:  stax.Merge(doc),
			Imports: []string{imported},
		}
	}})
	until(t, "the change is noticed", func() bool {
		_, version, err := p.call("a_tool", "{}")
		return err == nil && version == "new"
	})
}

// TestReloadWaitsForTheNew: a server is replaced only once the new one has started.
func TestReloadWaitsForTheNew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "there")
	p := openPark(t, &fleet.Options{}, entry("a", "1"))
	p.write(entry("a", "2", ", SLIPWAY_FLEET_TEST_WAITS: "+file), entry("late", "1", ", SLIPWAY_FLEET_TEST_WAITS: "+file))
	until(t, "told", func() bool {
		return strings.Contains(p.troubles.String(), "late: ") && strings.Contains(p.troubles.String(), "a: ")
	})
	if _, version, err := p.call("a_tool", "{}"); version != "1" || err != nil {
		t.Errorf("a = %q, %v; want the old one", version, err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "both are there", func() bool {
		_, version, err := p.call("a_tool", "{}")
		return version == "2" && err == nil && p.tools() == "a_tool late_tool"
	})
	until(t, "the old one has ended", func() bool { return len(p.roster.States()) == 2 })
}

// TestServerThatSaysNothing: a server that exceeds the start time in its definition does
// not delay the others, and joins them once it has started.
func TestServerThatSaysNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "now")
	p := openPark(t, &fleet.Options{Startup: fleet.Startup{Settle: time.Hour}}, entry("a", "1"),
		entry("b", "1", ", SLIPWAY_FLEET_TEST_SILENT: "+strconv.Quote(file))+"    connectTimeoutMs: 300\n")
	if got := p.tools(); got != "a_tool" {
		t.Errorf("tools are %q, want that of a alone", got)
	}
	if got, want := p.troubles.String(), "b: it has not started yet, and is no longer waited for\n"; got != want {
		t.Errorf("told of %q, want %q", got, want)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "it is there", func() bool { return p.tools() == "a_tool b_tool" })
}

// TestProgramThatComesLater: a server whose program was missing is tried once it exists.
func TestProgramThatComesLater(t *testing.T) {
	program := filepath.Join(t.TempDir(), "later"+filepath.Ext(os.Args[0]))
	p := openPark(t, &fleet.Options{}, entry("a", "1"),
		strings.Replace(entry("b", "1"), strconv.Quote(os.Args[0]), strconv.Quote(program), 1))
	if got := p.tools(); got != "a_tool" {
		t.Fatalf("tools are %q, want that of a alone", got)
	}
	pid, _, _ := p.call("a_tool", "{}")
	if err := os.Symlink(os.Args[0], program); err != nil {
		t.Skip(err)
	}
	until(t, "it is there", func() bool { return p.tools() == "a_tool b_tool" })
	if now, _, err := p.call("a_tool", "{}"); now != pid || err != nil {
		t.Errorf("process %d became %d, %v", pid, now, err)
	}
}

// TestCallsReachServersThatWereDownAtTheStart: a call that waits for a server also probes
// it, even if the server could not be started when its definitions were opened. The first
// call after the server can start succeeds, however long the pause before the next retry.
func TestCallsReachServersThatWereDownAtTheStart(t *testing.T) {
	race.SkipSlow(t)
	file := filepath.Join(t.TempDir(), "go")
	for _, version := range []mcp.Version{mcp.Version20251125, mcp.Version20260728} {
		for _, alone := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, alone %t", version, alone), func(t *testing.T) {
				waiting := strings.Replace(entry("b", "1"), "env: {",
					"env: {SLIPWAY_FLEET_TEST_WAITS: "+strconv.Quote(file)+", ", 1)
				entries := []string{entry("a", "1"), waiting}
				if alone {
					entries = entries[1:]
				}
				p := openPark(t, &fleet.Options{Startup: fleet.Startup{Background: true, Settle: 50 * time.Millisecond}},
					entries...)
				c := mcptest.Connect(t, p.src, version, nil)
				down := func() (down client.State) {
					for _, st := range p.roster.States() {
						if st.Name == "b" {
							down = st
						}
					}
					return down
				}
				until(t, "the pause is long", func() bool { return time.Until(down().Next) > 700*time.Millisecond })
				if _, err := c.Try("tools/call", map[string]any{"name": "b_tool"}); err == nil {
					t.Fatal("a call to a server that is down succeeds")
				}
				until(t, "the pause is long again", func() bool { return time.Until(down().Next) > 700*time.Millisecond })
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				defer os.Remove(file)
				next := down().Next
				if _, err := c.Try("tools/call", map[string]any{"name": "b_tool"}); err != nil || time.Now().After(next) {
					t.Errorf("the first call: %v, %v before the next attempt", err, time.Until(next))
				}
			})
		}
	}
}

// TestReloadKeepsSubscriptions: a new server reports changes of the resources that
// clients subscribed to on the old one.
func TestReloadKeepsSubscriptions(t *testing.T) {
	p := openPark(t, &fleet.Options{}, entry("a", "1"))
	news := make(chan mcp.Change, 100)
	defer p.src.(mcp.Watcher).Watch(func(c mcp.Change) { news <- c })()
	if err := p.src.(mcp.Subscriber).Subscribe(t.Context(), "test://a_tool"); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"2", "3"} {
		p.write(entry("a", version))
		until(t, "replaced", func() bool {
			_, now, err := p.call("a_tool", "{}")
			return err == nil && now == version
		})
		if c := next(t, news); c.URI != "test://a_tool" {
			t.Errorf("told %+v, want that the resource may have changed", c)
		}
		if _, _, err := p.call("a_tool", `{"touch":true}`); err != nil {
			t.Fatal(err)
		}
		if c := next(t, news); c.URI != "test://a_tool" {
			t.Errorf("told %+v, want that the resource has changed", c)
		}
	}
}

func next(t *testing.T, news <-chan mcp.Change) mcp.Change {
	t.Helper()
	select {
	case c := <-news:
		return c
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was reported")
		return mcp.Change{}
	}
}

// TestReloadOnDemand: the file and secrets are read again on a signal.
func TestReloadOnDemand(t *testing.T) {
	t.Setenv("FLEET_TEST_SECRET", "one")
	p := openPark(t, &fleet.Options{Reload: fleet.Reload{Signal: syscall.SIGHUP}},
		entry("a", "1")+"    secrets: [FLEET_TEST_SECRET]\n")
	pid, _, err := p.call("a_tool", "{}")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	reload := func() {
		t.Helper()
		before := strings.Count(p.log.String(), "definitions reloaded")
		if err := self.Signal(syscall.SIGHUP); err != nil {
			t.Skip(err) // Windows
		}
		until(t, "read again", func() bool { return strings.Count(p.log.String(), "definitions reloaded") > before })
	}
	reload()
	if now, _, _ := p.call("a_tool", "{}"); now != pid {
		t.Errorf("process %d became %d though nothing changed", pid, now)
	}
	t.Setenv("FLEET_TEST_SECRET", "two")
	reload()
	until(t, "it runs with the new secret", func() bool {
		now, _, err := p.call("a_tool", "{}")
		return err == nil && now != pid
	})
	p.write("  a: {command: x, enabled: false}\n")
	until(t, "nothing is offered", func() bool { return p.tools() == "" })
}

// TestCollisionOfServersThatRun: a server whose changed tools collide with another's is
// set aside as long as they do.
func TestCollisionOfServersThatRun(t *testing.T) {
	p := openPark(t, &fleet.Options{Prefix: compose.PrefixNever}, entry("a", "1"), entry("b", "1"))
	if _, _, err := p.call("a_tool", `{"rename":"b_tool"}`); err != nil {
		t.Fatal(err)
	}
	until(t, "a is set aside", func() bool { return p.tools() == "b_tool" })
	if _, version, err := p.call("b_tool", "{}"); version != "1" || err != nil {
		t.Errorf("b = %q, %v while a is set aside", version, err)
	}
	until(t, "a is back", func() bool { return p.tools() == "a_tool b_tool" })
	if told := p.troubles.String(); strings.Count(told, `a: `) != 1 || !strings.Contains(told, `"b_tool" of "b"`) {
		t.Errorf("told %q, want once that a and b collide", told)
	}
}

// TestCollisionOfAServerThatChangedBefore ensures that the server whose change collides is set aside,
// rather than a later one in the file that changed long before.
func TestCollisionOfAServerThatChangedBefore(t *testing.T) {
	p := openPark(t, &fleet.Options{Prefix: compose.PrefixNever}, entry("a", "1"), entry("b", "2"))
	if _, _, err := p.call("b_tool", `{"rename":"c_tool","forGood":1}`); err != nil {
		t.Fatal(err)
	}
	until(t, "the change of b is shown", func() bool { return p.tools() == "a_tool c_tool" })
	fleet.Attend(p.src)
	if _, _, err := p.call("a_tool", `{"rename":"c_tool","forGood":1}`); err != nil {
		t.Fatal(err)
	}
	until(t, "one of them is set aside", func() bool { return p.tools() == "c_tool" })
	if _, version, err := p.call("c_tool", "{}"); version != "2" || err != nil {
		t.Errorf("c_tool = %q, %v, want that of b", version, err)
	}
}

// TestCollisionsAtTheSameTime ensures that servers whose changes collide at the same time are all set aside,
// so that the others stay available.
func TestCollisionsAtTheSameTime(t *testing.T) {
	var changing sync.WaitGroup // both have a changed catalog
	changing.Add(2)
	p := newPark(t, entry("a", "1"), entry("b", "2"), entry("c", "3"))
	p.observe = func(e client.Event) {
		if e.What == client.EventChanged {
			changing.Done()
			changing.Wait()
		}
	}
	p.open(&fleet.Options{Prefix: compose.PrefixNever})
	var calls sync.WaitGroup
	for _, tool := range []string{"b_tool", "c_tool"} {
		calls.Go(func() {
			if _, _, err := p.call(tool, `{"ms":50,"rename":"a_tool","forGood":1}`); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	until(t, "b and c are set aside", func() bool {
		return p.tools() == "a_tool" && strings.Count(p.troubles.String(), "\n") == 2
	})
	if _, version, err := p.call("a_tool", "{}"); version != "1" || err != nil {
		t.Errorf("a_tool = %q, %v, want that of a", version, err)
	}
}

// TestToolListsOfAServerThatDoesNotStart ensures that the tool lists of a changed definition apply at once, although
// the server keeps running by the previous one.
func TestToolListsOfAServerThatDoesNotStart(t *testing.T) {
	const never = ", SLIPWAY_FLEET_TEST_WAITS: /nowhere/at/all"
	p := openPark(t, &fleet.Options{}, entry("a", "1"), entry("b", "1"))
	pid, _, err := p.call("a_tool", "{}")
	if err != nil {
		t.Fatal(err)
	}
	p.write(entry("a", "2", never), "    disabledTools: [a_tool]\n", entry("b", "1"))
	until(t, "the tool is not offered", func() bool { return p.tools() == "b_tool" })
	if _, _, err := p.call("a_tool", "{}"); err == nil {
		t.Error("a disabled tool can be called")
	}
	p.write(entry("a", "3", never), entry("b", "1"))
	until(t, "it is offered again", func() bool { return p.tools() == "a_tool b_tool" })
	p.write(entry("a", "4", never), "    enabledTools: [other_tool]\n", entry("b", "1"))
	until(t, "only other tools are enabled", func() bool { return p.tools() == "b_tool" })
	p.write(entry("a", "1"), entry("b", "1"))
	until(t, "the previous definition is back", func() bool { return p.tools() == "a_tool b_tool" })
	if now, _, err := p.call("a_tool", "{}"); now != pid || err != nil {
		t.Errorf("a_tool is served by %d, %v, want the process that was kept", now, err)
	}
}

// counted is a secret source that counts lookups. Its secret is "token-" and a number.
type counted struct{ asked, number atomic.Int64 }

func (c *counted) String() string { return "counted" }

func (c *counted) Lookup(context.Context, string) (stax.Secret, bool, error) {
	c.asked.Add(1)
	return stax.NewSecret(fmt.Sprint("token-", c.number.Load())), true, nil
}

// TestSecretsAreAskedForOnce: a secret is looked up once when servers are started, and
// again when a server no longer accepts it.
func TestSecretsAreAskedForOnce(t *testing.T) {
	secrets := &counted{}
	var wants atomic.Value
	wants.Store("Bearer token-0")
	upstream := mcpserver.New(&toolServer{tool: "far_tool"}, nil).HTTPHandler(nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != wants.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		upstream.ServeHTTP(w, r)
	}))
	defer web.Close()
	far := func(name string) string {
		return fmt.Sprintf("  %s: {url: %q, transport: http, secrets: [TOKEN]}\n", name, web.URL)
	}
	p := openPark(t, &fleet.Options{Resolver: &stax.Resolver{Stores: []stax.SecretStore{secrets}}},
		far("one"), far("two"))
	if _, _, err := p.call("one_far_tool", "{}"); err != nil || secrets.asked.Load() != 1 {
		t.Errorf("%v; asked %d times for one secret of two servers, want once", err, secrets.asked.Load())
	}
	secrets.number.Store(1)
	wants.Store("Bearer token-1")
	if _, _, err := p.call("one_far_tool", "{}"); err != nil {
		t.Errorf("with another token: %v", err)
	}
}

// TestReloadWhileAClientIsAsked replaces a server while it waits for a client's answer to
// an input request, which arrives with a retried call.
func TestReloadWhileAClientIsAsked(t *testing.T) {
	p := openPark(t, &fleet.Options{}, entry("a", "1"))
	client := mcptest.Connect(t, p.src, mcp.LatestVersion, &mcptest.ConnectOptions{
		Answer: func(string, json.RawMessage) (any, error) {
			p.write(entry("a", "2"))
			until(t, "replaced", func() bool {
				_, version, err := p.call("a_tool", "{}")
				return err == nil && version == "2"
			})
			return map[string]any{"action": "accept", "content": map[string]string{"word": "yes"}}, nil
		},
	})
	result := client.CallTool("a_tool", map[string]any{"ask": true})
	if len(result.Content) != 1 || !strings.HasSuffix(result.Content[0].Text, " 1 accept") {
		t.Errorf("result = %+v, want the answer of the one that asked", result)
	}
	until(t, "the old one has ended", func() bool { return len(p.roster.States()) == 1 })
}

// TestLazyAndIdle: a server is started once to fetch its catalog, and after that only
// when called; an idle server is stopped.
func TestLazyAndIdle(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "catalogs")
	opts := func() *fleet.Options {
		return &fleet.Options{Idle: fleet.Idle{Lazy: true, CacheDir: cache, Stop: 30 * time.Millisecond}}
	}
	phase := func(p *park) client.State { return p.roster.States()[0] }
	first := openPark(t, opts(), entry("a", "1"))
	if got := first.tools(); got != "a_tool" {
		t.Errorf("the first time it offers %q", got)
	}
	until(t, "it rests", func() bool { return phase(first).Phase == client.Stopped })
	first.close()
	again := openPark(t, opts(), entry("a", "1"))
	if st := phase(again); again.tools() != "a_tool" || st.Starts != 0 || st.Phase != client.Stopped {
		t.Errorf("the second time: %q, %+v; want a tool of a server that was not started", again.tools(), st)
	}
	pid, _, err := again.call("a_tool", "{}")
	if err != nil {
		t.Fatal(err)
	}
	until(t, "it is stopped", func() bool { return gone(pid) && phase(again).Phase == client.Stopped })
	if next, _, err := again.call("a_tool", "{}"); err != nil || next == pid || again.tools() != "a_tool" {
		t.Errorf("the next call: %d, %v; want another process than %d", next, err, pid)
	}
	if info, err := os.Stat(cache); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of catalogs: %v, %v", info, err)
	}
}
