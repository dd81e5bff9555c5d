package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/race"
)

const initializeLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func listLine(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id)
}

// definitionsWithHang writes definitions of a server that works (ok), one that starts
// once the file gate exists (late), and one that never responds (hang).
func definitionsWithHang(t *testing.T) (file, gate string) {
	t.Helper()
	dir := t.TempDir()
	gate = filepath.Join(dir, "go")
	example, err := filepath.Abs("../../examples/http-reference")
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "servers.yaml")
	text := fmt.Sprintf(`servers:
  ok:
    command: slipway
    args: [serve, --stdio, %q]
  late:
    command: sh
    args: [-c, 'until test -e %s; do sleep 0.02; done; exec slipway serve --stdio %s']
  hang:
    command: sleep
    args: ["100000"]
`, example, gate, example)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, gate
}

// TestHungServerDelaysNobody ensures that initialize is answered, and that the other
// servers are listed and can be called, while one hangs and one is late; the late one
// joins with list_changed. The settle time is so long that waiting for it would count as
// stuck.
func TestHungServerDelaysNobody(t *testing.T) {
	race.SkipSlow(t)
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	for _, lazy := range []bool{false, true} {
		t.Run(fmt.Sprintf("lazy=%t", lazy), func(t *testing.T) {
			file, gate := definitionsWithHang(t)
			args := []string{"serve", "--stdio", "--prefix", "always", "--settle", "1ms", file}
			if lazy {
				args = append(args, "--lazy")
			}
			c := startTalk(t, args...)
			c.send(initializeLine)
			answer := c.until(`"id":1`)
			if !strings.Contains(answer, `"tools":{"listChanged":true}`) ||
				!strings.Contains(answer, `"prompts":{"listChanged":true}`) {
				t.Errorf("initialize = %s, want all kinds declared", answer)
			}
			c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			listed := func(id int) string {
				c.send(listLine(id))
				return c.until(fmt.Sprintf(`"id":%d,`, id))
			}
			id := 10
			for ; !strings.Contains(listed(id), `"ok_get_status"`); id++ {
				c.until("tools/list_changed")
			}
			c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ok_get_status","arguments":{"code":404}}}`)
			if answer := c.until(`"id":2,`); !strings.Contains(answer, "404") {
				t.Errorf("a call while a server hangs = %s", answer)
			}
			if err := os.WriteFile(gate, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for id++; !strings.Contains(listed(id), `"late_get_status"`); id++ {
				c.until("tools/list_changed")
			}
		})
	}
}

// TestHungSourceDelaysNobody does the same for several sources on the command line.
func TestHungSourceDelaysNobody(t *testing.T) {
	c := startTalk(t, "serve", "--stdio", "--settle", "1ms", `exec:["sleep","100000"]`, "../../examples/http-reference")
	c.send(initializeLine)
	c.until(`"id":1`)
	c.send(listLine(2))
	if answer := c.until(`"id":2,`); !strings.Contains(answer, `"get_status"`) {
		t.Errorf("tools/list = %s", answer)
	}
}

// TestHungServerDelaysNobodyOverHTTP ensures that the endpoint listens while a server
// hangs.
func TestHungServerDelaysNobodyOverHTTP(t *testing.T) {
	file, _ := definitionsWithHang(t)
	if name, _ := startEndpoint(t, "--settle", "1h", "--log-format", "json", file).initialize(); name != "servers" {
		t.Errorf("initialize names the server %q, want servers", name)
	}
}
