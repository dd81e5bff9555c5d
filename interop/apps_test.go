package interop_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestApps opens the user interfaces of two servers in Chromium, in a host page around
// the official app-bridge: a fixture that uses every feature, and the example that users
// start from, each directly and through slipway serve. The host declares either the
// extension or, like the extension's basic-host, nothing.
func TestApps(t *testing.T) {
	tools := nodeTools(t)
	chromium := findChromium(t)
	slipway := build(t, "./cmd/slipway")
	for _, served := range []struct {
		show, program string
		args, stdio   []string
	}{
		{"fixture", "./internal/test/conformance/apps", nil, []string{"-stdio"}},
		{"weather", "./examples/weather", []string{"-http=127.0.0.1:0"}, []string{"-stdio"}},
	} {
		program := build(t, served.program)
		for _, way := range []struct {
			name    string
			proxied bool
			declare bool
		}{
			{"declaring host", false, true},
			{"basic host", false, false},
			{"declaring host, proxied", true, true},
			{"basic host, proxied", true, false},
		} {
			t.Run(served.show+"/"+way.name, func(t *testing.T) {
				var endpoint string
				if way.proxied {
					endpoint = start(t, slipway, append([]string{"serve", "--addr", "127.0.0.1:0", "--start-wait", "30s",
						"--", program}, served.stdio...)...)
				} else {
					endpoint = start(t, program, served.args...)
				}
				tools.run(t, "apps.mjs", object{
					"show": served.show, "endpoint": endpoint, "chromium": chromium, "profile": t.TempDir(),
					"declare": way.declare, "proxied": way.proxied,
				})
			})
		}
	}
}

// TestAppListing reads the metadata of the fixture, and presses a button through the
// official bridge in a host that declares nothing. It needs no browser.
func TestAppListing(t *testing.T) {
	tools := nodeTools(t)
	program, slipway := build(t, "./internal/test/conformance/apps"), build(t, "./cmd/slipway")
	for name, command := range map[string][]string{
		"direct":  {program},
		"proxied": {slipway, "serve", "--addr", "127.0.0.1:0", "--start-wait", "30s", "--", program, "-stdio"},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := start(t, command[0], command[1:]...)
			tools.run(t, "apps.mjs",
				object{"show": "listing", "endpoint": endpoint, "declare": false, "proxied": name == "proxied"})
		})
	}
}

// TestOfficialApp opens an app server by the specification's authors through slipway
// serve, following the steps of their basic-host, which declares no capabilities.
func TestOfficialApp(t *testing.T) {
	tools := nodeTools(t)
	program := tools.module("@modelcontextprotocol/server-budget-allocator/dist/index.js")
	to := serve(t, "--", tools.node(), program, "--stdio")
	tools.run(t, "apps.mjs", object{
		"show": "official", "endpoint": to.endpoint, "page": "ui://budget-allocator/mcp-app.html", "proxied": true,
	})
}

// findChromium skips the test if Chromium is not installed.
func findChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("SLIPWAY_INTEROP_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("needs Chromium: run scripts/interop, which installs Debian's where it may")
	return ""
}

// build builds a program of the repository and returns the path of its binary.
func build(t *testing.T, program string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), filepath.Base(program))
	cmd := exec.Command("go", "build", "-trimpath", "-o", binary, program)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", program, err, out)
	}
	return binary
}

// TestAppInfo compares what the MCP Inspector reports about a server with user
// interfaces, as a client that can show them and as one that cannot.
func TestAppInfo(t *testing.T) {
	tools := nodeTools(t)
	endpoint := start(t, build(t, "./internal/test/conformance/apps"))
	page := object{
		"hasApp": true, "resourceUri": "ui://fixture/page", "visibility": []any{"model", "app"},
		"resourceMimeType": "text/html;profile=mcp-app", "domain": "a904794854a047f6.example.com", "prefersBorder": false,
		"csp": object{
			"connectDomains": []any{"https://api.example.com"}, "resourceDomains": []any{"https://*.example.com"},
			"frameDomains": []any{"https://video.example.com"}, "baseUriDomains": []any{"https://example.com"},
		},
		"permissions": object{
			"camera":         object{},
			"microphone":     object{},
			"geolocation":    object{},
			"clipboardWrite": object{},
		},
	}
	named := func(name string, info object) object {
		info = maps.Clone(info)
		info["toolName"] = name
		return info
	}
	bare := object{"hasApp": false}
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era+"/with apps", func(t *testing.T) {
			same(t, "app info", tools.appInfo(t, endpoint, era, "--advertise-apps"),
				[]object{named("show", page), named("echo", bare), named("think", bare), named("old", page)})
		})
		t.Run(era+"/without", func(t *testing.T) {
			same(t, "app info", tools.appInfo(t, endpoint, era),
				[]object{named("show", page), named("echo", bare), named("think", bare), named("old", page)})
		})
	}
}

// appInfo returns the Inspector's report on each tool of a server.
func (n npmTools) appInfo(t *testing.T, endpoint, era string, more ...string) []object {
	t.Helper()
	line := append([]string{n.module("@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
		"--cli", "--format", "json", "--quiet", "--protocol-era", era, "--transport", "http", "--server-url", endpoint,
		"--method", "tools/list", "--app-info"}, more...)
	cmd := exec.CommandContext(limited(t), n.node(), line...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("inspector %q: %v; stdout:\n%s", line[1:], err, out)
	}
	var all []object
	for lines := json.NewDecoder(bytes.NewReader(out)); ; {
		var info object
		if err := lines.Decode(&info); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatalf("inspector %q printed %s: %v", line[1:], out, err)
		}
		all = append(all, info)
	}
}
