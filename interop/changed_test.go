package interop_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestChangedFolder edits a folder while it is served. The old answer may be returned for
// a moment, but not permanently.
func TestChangedFolder(t *testing.T) {
	for _, transport := range transports() {
		for _, kind := range sdks() {
			t.Run(kind.name+"/"+transport, func(t *testing.T) {
				dir := writeTideSite(t)
				to := target{source: []string{dir}}
				if transport == "http" {
					to = serve(t, dir)
				}
				c := kind.connect(t, transport, to, v1125)
				now := func() string { return tide(t, c) }
				if got := now(); got != "low" {
					t.Fatalf("before the change: %q, want low", got)
				}
				writeObject(t, filepath.Join(dir, "tools", "tide.json"), answer(text("high")))
				eventually(t, "the new answer is given", func() bool { return now() == "high" })
			})
		}
	}
}

// TestChangedList adds a tool to a served folder, and waits until a client has been
// notified and finds it in the list: over stdio, over the stream of a legacy session, and
// over the subscription that replaces it in 2026-07-28.
func TestChangedList(t *testing.T) {
	for _, transport := range transports() {
		for _, version := range []string{v1125, v0728} {
			t.Run(transport+"/"+version, func(t *testing.T) {
				dir := writeTideSite(t)
				changed := make(chan struct{}, 100)
				c := dialWatching(t, transport, dir, version, func() { changed <- struct{}{} })
				writeTideManifest(t, dir, "tide", "wind")
				await(t, changed, "the client was not told that the list of tools changed")
				eventually(t, "the new tool is listed", func() bool {
					tools, _ := listAll(t, c, "tools")
					return len(tools) == 2
				})
			})
		}
	}
}

// dialWatching connects the official SDK's client to slipway serving dir, and calls
// changed on each notification that the list of tools has changed.
func dialWatching(t *testing.T, transport, dir, version string, changed func()) client {
	t.Helper()
	var over mcp.Transport
	if transport == "http" {
		over = &mcp.StreamableClientTransport{Endpoint: serve(t, dir).endpoint}
	} else {
		over = &mcp.CommandTransport{Command: stdioCommand(t, target{source: []string{dir}}.command())}
	}
	c := dialGoSDK(t, over, version, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed() },
	})
	t.Cleanup(func() { _ = c.close() })
	return c
}

func writeTideSite(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeObject(t, filepath.Join(dir, "tools", "tide.json"), answer(text("low")))
	writeTideManifest(t, dir, "tide")
	return dir
}

func writeTideManifest(t *testing.T, dir string, names ...string) {
	t.Helper()
	var tools []object
	for _, name := range names {
		tools = append(tools, tool(name, "Tells the "+name+".", []string{}, object{}))
	}
	writeObject(t, filepath.Join(dir, "mcp.json"), object{
		"protocolVersion": v0618,
		"serverInfo":      object{"name": "tide-site", "version": "1.0.0"},
		"capabilities":    object{"resources": []object{}, "tools": tools},
	})
}

func tide(t *testing.T, c client) string {
	t.Helper()
	got, err := c.call(limited(t), "tide", object{})
	if err != nil {
		t.Fatal(err)
	}
	said, _ := objects(got["content"])[0]["text"].(string)
	return said
}

// eventually polls until yes returns true. Clients are notified of changed lists, but not
// of changed answers.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for until := time.After(patience); !yes(); {
		select {
		case <-again.C:
		case <-until:
			t.Fatalf("after %v it is still not so that %s", patience, what)
		}
	}
}
