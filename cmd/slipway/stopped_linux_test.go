package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/serve"
)

// slowServer answers everything immediately except calls of the tool slow, which it never
// answers; for each it appends a line to the file in its first argument.
const slowServer = `while read -r line; do
  id=${line##*'"id":'}; id=${id%%[!0-9]*}
  case $line in
  *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"slow",` +
	`"version":"1"}}' ;;
  *'"tools/list"'*) r='{"tools":[{"name":"slow","inputSchema":{"type":"object"}},{"name":"fast",` +
	`"inputSchema":{"type":"object"}}]}' ;;
  *'"slow"'*) echo called >>"$1"; continue ;;
  *'"fast"'*) r='{"content":[{"type":"text","text":"done"}]}' ;;
  *'"notifications/'*) continue ;;
  *) r='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`

// stoppable is slipway serve with two servers that each have a child.
type stoppable struct {
	t        *testing.T
	dir, url string
}

func serveStoppable(t *testing.T) *stoppable {
	dir := t.TempDir()
	s := &stoppable{t: t, dir: dir}
	script := filepath.Join(dir, "slow.sh")
	definitions := fmt.Sprintf(`servers:
  direct: {command: sh, args: [%[1]s, %[2]s/direct]}
  launched: {command: sh, args: [-c, "sh %[1]s %[2]s/launched; sleep 1000"]}
`, script, dir)
	for file, text := range map[string]string{script: slowServer, filepath.Join(dir, "servers.yaml"): definitions} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := newServer(exec.Command("slipway", "serve", "--addr", "127.0.0.1:0", "--prefix", "always",
		filepath.Join(dir, "servers.yaml")))
	p.cmd.Env = append(os.Environ(), "GORACE="+raceOptions, "SLIPWAY_STATE_DIR="+dir)
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() }) // stuck, not slow
	t.Cleanup(func() {
		limit.Stop()
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		<-p.done
	})
	var err error
	if s.url, err = p.await(regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)); err != nil {
		t.Fatal(err)
	}
	return s
}

// call returns the response to a tool call.
func (s *stoppable) call(tool string) string {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, tool)
	req, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return fmt.Sprint(string(text), err)
}

// listed returns the state of a server in slipway ps.
func (s *stoppable) listed(name string) serve.Upstream {
	s.t.Helper()
	ps := exec.Command("slipway", "ps", "--json")
	ps.Env = append(os.Environ(), "GORACE="+raceOptions, "SLIPWAY_STATE_DIR="+s.dir)
	text, err := ps.Output()
	if err != nil {
		s.t.Fatal(err)
	}
	var all struct{ Processes []serve.Process }
	if err := json.Unmarshal(text, &all); err != nil {
		s.t.Fatal(err)
	}
	for _, p := range all.Processes {
		for _, u := range p.Servers {
			if u.Name == name {
				return u
			}
		}
	}
	s.t.Fatalf("slipway ps lists no server %q: %s", name, text)
	return serve.Upstream{}
}

// processState returns the state letter of a process, or "".
func processState(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

// onlyChild returns the only child of a process.
func onlyChild(t *testing.T, pid int) (child int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Skip(err)
	}
	if _, err := fmt.Sscan(string(text), &child); err != nil {
		t.Fatalf("process %d has no child: %q", pid, text)
	}
	return child
}

// TestStoppedServer stops a server, or the process started by its launcher, with a
// signal: calls in flight of several clients fail with the reason, slipway ps does not
// list it as ready, the next call works, and the other server is not affected.
func TestStoppedServer(t *testing.T) {
	race.SkipSlow(t)
	for _, name := range []string{"direct", "launched"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveStoppable(t)
			if answer := s.call(name + "_fast"); !strings.Contains(answer, "done") {
				t.Fatalf("fast = %s", answer)
			}
			first := s.listed(name).PID
			pid := first
			if name == "launched" {
				pid = onlyChild(t, first)
			}
			answers := make(chan string, 2)
			for range cap(answers) {
				go func() { answers <- s.call(name + "_slow") }()
			}
			eventually(t, "the server reads both calls", func() bool {
				text, _ := os.ReadFile(filepath.Join(s.dir, name))
				return strings.Count(string(text), "called") == cap(answers)
			})
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if t.Failed() { // otherwise it has exited, and its id may be reused
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			})
			eventually(t, "the process is stopped", func() bool { return processState(pid) != "S" && processState(pid) != "R" })
			sawUnresponsive := false
			eventually(t, "the server is replaced", func() bool {
				u := s.listed(name)
				sawUnresponsive = sawUnresponsive || u.Phase == "unresponsive"
				if u.PID == first && u.Phase == "ready" {
					t.Errorf("slipway ps lists a stopped process as ready: %+v", u)
				}
				return u.PID != 0 && u.PID != first && u.Phase == "ready"
			})
			if !sawUnresponsive {
				t.Log("the process was replaced before slipway ps ran") // on a busy machine
			}
			for range cap(answers) {
				want := fmt.Sprintf("the server hangs: its process %d is stopped by a signal", pid)
				if answer := <-answers; !strings.Contains(answer, want) {
					t.Errorf("a call in flight = %s, want %q", answer, want)
				}
			}
			for _, tool := range []string{"direct_fast", "launched_fast"} {
				if answer := s.call(tool); !strings.Contains(answer, "done") {
					t.Errorf("%s = %s", tool, answer)
				}
			}
		})
	}
}
