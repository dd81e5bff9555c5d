package inspect_test

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/inspect"
)

// TestMain runs a program that uses inspect.Main, if a test wants one.
func TestMain(m *testing.M) {
	if os.Getenv("INSPECT_TEST_MAIN") == "1" {
		inspect.Main(newOffice(), nil)
		return
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "INSPECT_TEST_MAIN=1")
	return cmd
}

// A program shows the page of its own source with -inspect, and serves it otherwise.
func TestMainInspects(t *testing.T) {
	cmd := program(t, "-inspect")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	url, tok, ok := strings.Cut(strings.TrimSpace(line), "/#")
	if !ok || len(tok) != 43 {
		t.Fatalf("it prints %q", line)
	}
	r, _ := http.NewRequestWithContext(t.Context(), "GET", url+"/api/state", nil)
	r.Header.Set("Authorization", "Bearer "+tok)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("state: %d", resp.StatusCode)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	help, err := program(t, "-h").Output()
	text := string(help)
	if err != nil || !strings.Contains(text, "-inspect serves a page") || !strings.Contains(text, "-http") {
		t.Errorf("-h prints %s, %v", help, err)
	}
	other, err := program(t, "-inspect", "-http", "0").CombinedOutput()
	if err == nil || !strings.Contains(string(other), "takes no other arguments") {
		t.Errorf("-inspect with another flag prints %s, %v", other, err)
	}
	version, err := program(t, "-version").Output()
	if err != nil || string(version) != "office 1.0.0\n" {
		t.Errorf("-version prints %q, %v", version, err)
	}
}
