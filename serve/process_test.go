package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/serve"
)

// upstreams returns one running server, one that is down, and one that replaces another.
func upstreams() []serve.Upstream {
	since := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	return []serve.Upstream{
		{
			Name:      "down",
			Transport: "http",
			Phase:     "waiting",
			Since:     since,
			Next:      since.Add(time.Minute),
			Failures:  3,
			Target:    "https://example.com/mcp",
			Error:     "swordfish",
		},
		{
			Name:      "up",
			Transport: "stdio",
			Phase:     "ready",
			Since:     since,
			Starts:    2,
			InFlight:  1,
			PID:       4711,
			Target:    "server --key",
			Version:   "2025-11-25",
			Error:     "swordfish",
		},
		{Name: "up", Transport: "stdio", Phase: "starting", Since: since, Starts: 1, Failures: 4},
		{Name: "up", Transport: "stdio", Phase: "ready", Since: since},
	}
}

func TestUpstreamsAreInHealthAndMetrics(t *testing.T) {
	h := serve.NewHandler(newSource(), &serve.Options{Reporting: serve.Reporting{Upstreams: upstreams}})
	text := exchange(h, "GET", "/healthz", "").Body.String()
	var got serve.Health
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := upstreams()
	for i := range want {
		want[i].Target, want[i].PID, want[i].Error = "", 0, ""
	}
	if diff := cmp.Diff(want, got.Servers); diff != "" || got.Status != serve.StatusOK {
		t.Errorf("status %s, servers (-want +got):\n%s", got.Status, diff)
	}
	for _, secret := range []string{"swordfish", "example.com", "--key", "4711"} {
		if strings.Contains(text, secret) {
			t.Errorf("the answer to everyone has %q: %s", secret, text)
		}
	}
	if w := exchange(h, "GET", "/readyz", ""); w.Code != 200 {
		t.Errorf("readyz = %d with one server down, want 200: the others are there", w.Code)
	}
	samples := scrape(t, h)
	for name, value := range map[string]float64{
		`slipway_server_up{server="up"}`: 1, `slipway_server_up{server="down"}`: 0,
		`slipway_server_starts_total{server="up"}`: 3, `slipway_server_starts_total{server="down"}`: 0,
		`slipway_server_failures{server="down"}`: 3, `slipway_server_failures{server="up"}`: 4,
		`slipway_server_requests_in_flight{server="up"}`: 1,
	} {
		if v, ok := samples[name]; !ok || v != value {
			t.Errorf("%s = %v, %v; want %v", name, v, ok, value)
		}
	}
}

// announced serves a source and returns the folder in which it is announced.
func announced(t *testing.T) (dir, url string, stop func()) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serve.Serve(ctx, ln, newSource(), &serve.Options{
			Reporting: serve.Reporting{
				Upstreams: upstreams,
				Announce:  &serve.Announcement{Dir: dir, Command: "serve"},
			},
		})
	}()
	return dir, "http://" + ln.Addr().String() + "/mcp", func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// processes waits until there are n processes.
func processes(t *testing.T, dir string, n int) []serve.Process {
	t.Helper()
	for late := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		all, err := serve.Processes(t.Context(), dir)
		if err != nil && time.Now().After(late) {
			t.Fatal(err)
		}
		if len(all) == n {
			return all
		}
		if time.Now().After(late) {
			t.Fatalf("%d processes, want %d: %+v", len(all), n, all)
		}
	}
}

func TestProcesses(t *testing.T) {
	dir, url, stop := announced(t)
	processes(t, dir, 1)
	resp, err := http.Post(url, "application/json", strings.NewReader(initialize))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	p := processes(t, dir, 1)[0]
	if p.PID != os.Getpid() ||
		p.Command != "serve" ||
		p.Endpoint != url ||
		p.Error != "" ||
		time.Since(p.Started) > time.Hour {
		t.Errorf("process = %+v", p)
	}
	if p.Sessions.Count != 1 ||
		p.Sessions.Max != 100_000 ||
		p.Sessions.TTL != 1800 ||
		time.Since(p.Sessions.Oldest) > time.Minute {
		t.Errorf("sessions = %+v, want one", p.Sessions)
	}
	if diff := cmp.Diff(upstreams(), p.Servers); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if p.Goroutines < 2 || runtime.GOOS == "linux" && (p.Descriptors < 3 || p.Memory < 1<<20) {
		t.Errorf("%d goroutines, %d descriptors, %d bytes", p.Goroutines, p.Descriptors, p.Memory)
	}
	if runtime.GOOS != "windows" {
		for name, perm := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, socketIn(t, dir)): 0o600} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != perm {
				t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, perm)
			}
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func socketIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v; want one socket", entries, err)
	}
	return entries[0].Name()
}

func TestStdioIsAnnounced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	in, feed := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- serve.Stdio(t.Context(), newSource(), in, io.Discard,
			&serve.Options{Reporting: serve.Reporting{Announce: &serve.Announcement{Dir: dir, Command: "config run"}}})
	}()
	if p := processes(t, dir, 1)[0]; p.Endpoint != "stdio" || p.Command != "config run" {
		t.Errorf("process = %+v", p)
	}
	_ = feed.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	processes(t, dir, 0)
}

func TestDeadProcessesAreForgotten(t *testing.T) {
	t.Parallel()
	race.SkipSlow(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	leave := func(name string, age time.Duration) {
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name)})
		if err != nil {
			t.Fatal(err)
		}
		ln.SetUnlinkOnClose(false)
		_ = ln.Close()
		if err := os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	leave("1-a.sock", time.Hour)
	leave("2-b.sock", 0) // may be about to listen
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("unix", filepath.Join(dir, "3-c.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	all := processes(t, dir, 1)
	if all[0].PID != 3 || all[0].Error == "" {
		t.Errorf("process = %+v, want that 3 does not answer", all[0])
	}
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{"2-b.sock", "3-c.sock", "notes.txt"}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// A service has its own user, and its operator is root.
func TestRootAsksInTheFolderOfAnother(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a folder to another")
	}
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o700), os.Chown(dir, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if all, err := serve.Processes(t.Context(), dir); err != nil || len(all) > 0 {
		t.Errorf("Processes = %v, %v, want none and no error", all, err)
	}
	in, feed := io.Pipe()
	_ = feed.Close()
	if err := serve.Stdio(t.Context(), newSource(), in, io.Discard,
		&serve.Options{Reporting: serve.Reporting{Announce: &serve.Announcement{Dir: dir}}}); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("a socket in the folder of another: %v", entries)
	}
}

func TestFolderOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the profile of a user is private there")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if all, err := serve.Processes(t.Context(), dir); err == nil {
		t.Errorf("Processes = %v of a folder that others can read, want an error", all)
	}
	in, feed := io.Pipe()
	_ = feed.Close()
	if err := serve.Stdio(t.Context(), newSource(), in, io.Discard,
		&serve.Options{Reporting: serve.Reporting{Announce: &serve.Announcement{Dir: dir}}}); err != nil {
		t.Errorf("served with an error: %v; it is nothing but ps that is missed", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("a socket where others can look: %v", entries)
	}
}
