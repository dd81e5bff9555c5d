package interop_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestFilesystemRoots: the official server-filesystem, started by config run without any
// folder, works in the folders that a third-party client names as its roots, and follows
// their changes, just as it does without slipway.
func TestFilesystemRoots(t *testing.T) {
	tools := nodeTools(t)
	program := tools.module("@modelcontextprotocol/server-filesystem/dist/index.js")
	definitions := filepath.Join(t.TempDir(), "servers.yaml")
	text := fmt.Sprintf("servers:\n  files:\n    command: %q\n    args: [%q]\n", tools.node(), program)
	if err := os.WriteFile(definitions, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string][]string{
		"direct":     {tools.node(), program},
		"config run": {slipway, "config", "run", definitions, "files"},
	} {
		for _, version := range []string{v0618, v1125} {
			t.Run(name+"/"+version, func(t *testing.T) { checkRoots(t, command, version) })
		}
	}
}

func checkRoots(t *testing.T, command []string, version string) {
	one, two := folderWith(t, "first"), folderWith(t, "second")
	client := mcp.NewClient(&mcp.Implementation{Name: "interop-roots", Version: "1.0.0"}, nil)
	client.AddRoots(rootOf(one))
	session, err := client.Connect(limited(t), &mcp.CommandTransport{Command: stdioCommand(t, command)},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	read := func(folder string) (string, bool) {
		r, err := session.CallTool(limited(t), &mcp.CallToolParams{
			Name: "read_text_file", Arguments: object{"path": filepath.Join(folder, "note.txt")},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r.Content[0].(*mcp.TextContent).Text, !r.IsError
	}
	until := func(folder, want string) {
		t.Helper()
		got, ok := read(folder)
		for deadline := time.Now().Add(patience); !(ok && got == want) && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond) // the server requests the roots at a time of its choosing
			got, ok = read(folder)
		}
		if !ok || got != want {
			t.Fatalf("%s: %q, want %q", folder, got, want)
		}
	}
	until(one, "first")
	if got, ok := read(two); ok {
		t.Errorf("a folder that is no root is read: %q", got)
	}
	client.AddRoots(rootOf(two))
	until(two, "second")
	client.RemoveRoots(rootOf(one).URI)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		got, ok := read(one)
		if !ok && strings.Contains(got, "denied") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a folder that was a root: %q", got)
		}
	}
}

func folderWith(t *testing.T, text string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func rootOf(dir string) *mcp.Root {
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}
	return &mcp.Root{URI: address.String(), Name: filepath.Base(dir)}
}
