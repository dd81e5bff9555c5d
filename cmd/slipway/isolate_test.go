package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// isolatedServer serves definitions of one isolated server to the tokens of ann and bob.
type isolatedServer struct {
	t        *testing.T
	endpoint string
	stateDir string
}

func startIsolated(t *testing.T, isolate string) *isolatedServer {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string { return writeFile(t, filepath.Join(dir, name), text) }
	site := write("site/mcp.json", `{"protocolVersion":"2025-06-18","serverInfo":{"name":"first","version":"1.0.0"},`+
		`"capabilities":{"tools":[{"name":"greet","description":"Greet",`+
		`"inputSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}]}}`)
	write("site/tools/greet/ann.json", `{"content":[{"type":"text","text":"hello"}]}`)
	program, err := json.Marshal([]string{"serve", "--stdio", filepath.Dir(site)})
	if err != nil {
		t.Fatal(err)
	}
	return startIsolatedCommand(t, "slipway", string(program), isolate)
}

// startIsolatedCommand is startIsolated for a command; args are a JSON array.
func startIsolatedCommand(t *testing.T, command, args, isolate string) *isolatedServer {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string { return writeFile(t, filepath.Join(dir, name), text) }
	tokens := write("tokens", "ann ann-0123456789abcdef\nbob bob-0123456789abcdef\n")
	definitions := write("servers.yaml", fmt.Sprintf(
		"servers:\n  first:\n    command: %s\n    args: %s\n    isolate: %s\n", command, args, isolate))
	s := startEndpoint(t, definitions, "--auth-token-file", tokens)
	return &isolatedServer{t: t, endpoint: s.url + "/mcp", stateDir: s.stateDir}
}

// writeFile writes a file, with its folders, and returns its path.
func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *isolatedServer) post(who, session, body string) (text string, header http.Header) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.endpoint, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+who+"-0123456789abcdef")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(answer), resp.Header
}

// begin starts a session.
func (s *isolatedServer) begin(who string) (session string) {
	s.t.Helper()
	_, header := s.post(who, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	return header.Get("Mcp-Session-Id")
}

// call calls the tool in a session, which it starts if needed.
func (s *isolatedServer) call(who, session string) string {
	s.t.Helper()
	if session == "" {
		session = s.begin(who)
	}
	got, _ := s.post(who, session, `{"jsonrpc":"2.0","id":2,"method":"tools/call",`+
		`"params":{"name":"greet","arguments":{"name":"ann"}}}`)
	if !strings.Contains(got, "hello") {
		s.t.Fatalf("the call of %s: %s", who, got)
	}
	return session
}

// processes returns the names of the isolated processes that slipway ps lists as ready,
// and their process ids.
func (s *isolatedServer) processes() (names, pids []string) {
	s.t.Helper()
	cmd := slipwayCommand(s.t, "ps")
	cmd.Env = append(cmd.Env, "SLIPWAY_STATE_DIR="+s.stateDir)
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^  (first \(.*?\)) +stdio +ready +\S+ +(\d+) `)
	for _, m := range rows.FindAllStringSubmatch(string(out), -1) {
		names, pids = append(names, m[1]), append(pids, m[2])
	}
	return names, pids
}

// TestPsOfIsolatedServers ensures that slipway ps lists each process of an isolated
// server, and that a principal has no more processes than allowed.
func TestPsOfIsolatedServers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, c := range []struct {
		isolate string
		want    []string // after ann's second session, and bob's
	}{
		{"session", []string{"first (session 1)", "first (session 2)", "first (session 3)"}},
		{"{by: session, perPrincipal: 1}", []string{"first (session 1)", "first (session 2)"}},
		{"principal", []string{"first (principal 1)", "first (principal 2)"}},
	} {
		t.Run(c.isolate, func(t *testing.T) {
			s := startIsolated(t, c.isolate)
			one := s.call("ann", "")
			before, pid := s.processes()
			if len(before) != 1 || before[0] != c.want[0] {
				t.Fatalf("after the first session: %q", before)
			}
			s.call("ann", "")
			s.call("bob", "")
			var names, pids []string
			for late := time.Now().Add(20 * time.Second); ; { // it takes a moment for a replaced process to exit
				names, pids = s.processes()
				if slices.Sort(names); slices.Equal(names, c.want) {
					break
				}
				if time.Now().After(late) {
					t.Fatalf("slipway ps lists %q, want %q", names, c.want)
				}
			}
			if keeps := !strings.Contains(c.isolate, "perPrincipal"); slices.Contains(pids, pid[0]) != keeps {
				t.Errorf("the process %s of the first session is in %q: want %v", pid[0], pids, keeps)
			}
			s.call("ann", one) // a session whose process was stopped gets another one
		})
	}
}
