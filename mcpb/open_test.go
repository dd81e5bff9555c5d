package mcpb_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/mcpb"
)

// playVariable makes the test binary act as the server of a bundle.
const playVariable = "SLIPWAY_MCPB_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(playVariable) != "" {
		fmt.Fprintln(os.Stderr, "the key is "+os.Getenv("API_KEY"))
		_ = mcpserver.New(bundled{}, nil).ServeStdio(context.Background(), os.Stdin, os.Stdout, nil)
		os.Exit(0)
	}
	ruletest.Main(m, mcpb.Rules())
}

// bundled reports how it was started.
type bundled struct{ mcp.Unimplemented }

func (bundled) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "bundled", Version: "1.0.0"},
		Tools: []mcp.Tool{
			{Name: "started", Description: "How it was started"},
			{Name: "extra", Description: "Not in any manifest"},
		},
	}, nil
}

func (bundled) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	text := strings.Join(os.Args[1:], " ") + " key=" + os.Getenv("API_KEY")
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
}

// bundle writes the manifest of a bundle, with additional members, into a new folder. Its
// server is the test binary.
func bundle(t *testing.T, more string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command, _ := json.Marshal(self)
	manifest := fmt.Sprintf(`{
  "manifest_version": "0.3", "name": "played", "version": "1.0.0", "description": "A test", "author": {"name": "A"},
  "server": {"type": "binary", "entry_point": "run", "mcp_config": {"command": %s, "args": ["${user_config.words}"],
    "env": {"API_KEY": "${user_config.key}", %q: "1", "GORACE": "atexit_sleep_ms=0"}}},
  "user_config": {
    "key": {"type": "string", "title": "Key", "description": "The key", "required": true, "sensitive": true},
    "words": {"type": "string", "title": "Words", "description": "Words", "default": "none"}
  }%s
}`, command, playVariable, more)
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(manifest), 0o644),
		os.WriteFile(filepath.Join(dir, "run"), []byte("#!/bin/sh\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// started opens a bundle and returns how it was started.
func started(t *testing.T, name string, opts *mcpb.OpenOptions) (string, *mcpb.Source) {
	t.Helper()
	src, err := mcpb.Open(t.Context(), name, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	result, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "started"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), src
}

// lines is a log that can be read while a child writes to it.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestOpen(t *testing.T) {
	dir := bundle(t, "")
	nowhere := func(mcpb.Option) (any, bool) { return nil, false }
	tests := map[string]struct {
		opts mcpb.OpenOptions
		want string
	}{
		"values": {mcpb.OpenOptions{Values: map[string]any{"key": "sesame-1", "words": "a b"}}, "a b key=sesame-1"},
		"looked up": {mcpb.OpenOptions{Lookup: func(o mcpb.Option) (any, bool) { return "found-" + o.Key, true },
			Values: map[string]any{"words": "given"}}, "given key=found-key"},
		"asked": {mcpb.OpenOptions{Lookup: nowhere,
			Ask: func(_ context.Context, missing []mcpb.Option) (map[string]any, error) {
				if len(missing) != 1 || missing[0].Key != "key" || !missing[0].Sensitive {
					return nil, fmt.Errorf("asked for %v", missing)
				}
				return map[string]any{"key": "typed"}, nil
			}}, "none key=typed"},
		"by its manifest": {mcpb.OpenOptions{Values: map[string]any{"key": "k"}}, "none key=k"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			from := dir
			if name == "by its manifest" {
				from = filepath.Join(dir, mcpb.ManifestName)
			}
			if got, _ := started(t, from, &test.opts); !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestOpenHidesSecrets(t *testing.T) {
	log := &lines{}
	_, src := started(t, bundle(t, ""), &mcpb.OpenOptions{
		Stderr: log,
		Values: map[string]any{"key": "sesame-open", "words": "x"},
	})
	if err := src.Close(); err != nil { // then the log is complete
		t.Fatal(err)
	}
	said := log.String() + src.Launch().String() + src.State().Server
	if strings.Contains(said, "sesame") || !strings.Contains(log.String(), "the key is "+mcpb.Redacted) {
		t.Errorf("a secret, or no log: %s", said)
	}
}

func TestOpenRefuses(t *testing.T) {
	empty := t.TempDir()
	var missing *mcpb.ExpandError
	var absent *mcpb.RuntimeError
	var broken *mcpb.ArchiveError
	junk := filepath.Join(empty, "junk.mcpb")
	if err := os.WriteFile(junk, []byte("no zip"), 0o644); err != nil {
		t.Fatal(err)
	}
	deno := bundle(t, "")
	manifest, _ := os.ReadFile(filepath.Join(deno, "manifest.json"))
	self, _ := os.Executable()
	manifest = bytes.Replace(manifest, []byte(self), []byte("no-such-program"), 1)
	if err := os.WriteFile(filepath.Join(deno, "manifest.json"), manifest, 0o644); err != nil {
		t.Fatal(err)
	}
	given := &mcpb.OpenOptions{Values: map[string]any{"key": "k"}, CacheDir: cacheFolder(t)}
	tests := map[string]struct {
		name string
		opts *mcpb.OpenOptions
		want any
	}{
		"missing value":   {bundle(t, ""), nil, &missing},
		"missing program": {deno, given, &absent},
		"no archive":      {junk, given, &broken},
		"no manifest":     {empty, given, new(*os.PathError)},
		"nothing":         {filepath.Join(empty, "none"), given, new(*os.PathError)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			src, err := mcpb.Open(t.Context(), test.name, test.opts)
			if err == nil {
				src.Close()
			}
			if !errors.As(err, test.want) {
				t.Errorf("got %v, want a %T", err, test.want)
			}
		})
	}
}

func TestOpenPacked(t *testing.T) {
	manifest, err := os.ReadFile(filepath.Join(bundle(t, ""), "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	w, err := z.Create("manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(manifest); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "played.mcpb")
	if err := os.WriteFile(name, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	opts := &mcpb.OpenOptions{CacheDir: cacheFolder(t), Values: map[string]any{"key": "k"}}
	for range 2 {
		if got, _ := started(t, name, opts); !strings.Contains(got, "key=k") {
			t.Errorf("got %s", got)
		}
		list, err := mcpb.ListCache(t.Context(), opts.CacheDir)
		if err != nil || len(list) != 1 || list[0].Name != "played" || list[0].Files != 1 || !list[0].InUse {
			t.Errorf("the cache holds %+v: %v", list, err)
		}
	}
}

// TestOpenRefusesAnother ensures that a bundle is not started if it no longer has the
// required digest.
func TestOpenRefusesAnother(t *testing.T) {
	name := filepath.Join(t.TempDir(), "played.mcpb")
	pack := func(text string) string {
		var packed bytes.Buffer
		z := zip.NewWriter(&packed)
		w, err := z.Create("manifest.json")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, packed.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%X", sha256.Sum256(packed.Bytes()))
	}
	folder := bundle(t, "")
	manifest, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	opts := &mcpb.OpenOptions{CacheDir: cacheFolder(t), Values: map[string]any{"key": "k"}, SHA256: pack(string(manifest))}
	if got, _ := started(t, name, opts); !strings.Contains(got, "key=k") {
		t.Errorf("got %s", got)
	}
	pack(string(manifest) + "\n")
	for _, path := range []string{name, folder, filepath.Join(folder, "manifest.json")} {
		_, err := mcpb.Open(t.Context(), path, opts)
		var another *mcpb.DigestError
		if !errors.As(err, &another) ||
			another.Want != strings.ToLower(opts.SHA256) ||
			(another.Got == "") == (path == name) {
			t.Errorf("Open(%q) = %v, want a DigestError", path, err)
		}
	}
}

func TestOpenRefusesTampered(t *testing.T) {
	name := filepath.Join(t.TempDir(), "played.mcpb")
	if _, err := mcpb.Pack(t.Context(), bundle(t, ""), name, nil); err != nil {
		t.Fatal(err)
	}
	id, _, err := mcpb.SelfSignedIdentity(t.TempDir(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mcpb.Sign(t.Context(), name, id, nil); err != nil {
		t.Fatal(err)
	}
	opts := &mcpb.OpenOptions{CacheDir: cacheFolder(t), Values: map[string]any{"key": "k"}}
	if got, _ := started(t, name, opts); !strings.Contains(got, "key=k") {
		t.Errorf("signed: got %s", got)
	}
	packed, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	packed[len(packed)-100] ^= 1 // in the signature
	if err := os.WriteFile(name, packed, 0o644); err != nil {
		t.Fatal(err)
	}
	src, err := mcpb.Open(t.Context(), name, opts)
	if err == nil {
		src.Close()
	}
	var refused *mcpb.ArchiveError
	if !errors.As(err, &refused) || !refused.Unsafe {
		t.Errorf("got %v, want it refused", err)
	}
	_, r, err := mcpb.CheckPath(name, nil)
	if err != nil || r.OK(false) || !strings.Contains(text(r), "mcpb/signature") {
		t.Errorf("checked: %v\n%s", err, text(r))
	}
}

const windows = `, "_meta": {"com.microsoft.windows": {"static_responses": {
  "initialize": {"serverInfo": {"name": "known", "version": "1"}, "instructions": "Ask.",
"capabilities": {"tools": {}}},
  "tools/list": {"tools": [{"name": "started", "inputSchema": {"type": "object"}, "x-unknown": 1}]}}}}`

func TestStaticCatalog(t *testing.T) {
	src, err := mcpb.Open(t.Context(), bundle(t, windows), &mcpb.OpenOptions{Values: map[string]any{"key": "k"}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	cat, err := src.Catalog(t.Context())
	if err != nil ||
		cat.Server.Name != "known" ||
		len(cat.Tools) != 1 ||
		string(cat.Tools[0].Raw) != `{"name":"started","inputSchema":{"type":"object"},"x-unknown":1}` {
		t.Fatalf("catalog %+v: %v", cat, err)
	}
	if state := src.State(); state.Starts != 0 || state.Phase != client.Stopped {
		t.Errorf("the server runs although it is not needed: %+v", state)
	}
	changes := make(chan mcp.Change, 1)
	defer src.Watch(func(c mcp.Change) {
		select {
		case changes <- c:
		default:
		}
	})()
	if _, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "started"}); err != nil {
		t.Fatal(err)
	}
	if c := <-changes; !c.Tools {
		t.Errorf("change %+v, want one of tools", c)
	}
	if cat, _ := src.Catalog(t.Context()); len(cat.Tools) != 2 {
		t.Errorf("%d tools, want the 2 that the server has", len(cat.Tools))
	}
}

func TestStaticCatalogIsWhole(t *testing.T) {
	for name, more := range map[string]string{
		"generated":  `, "tools_generated": true` + windows,
		"paged":      strings.Replace(windows, `"tools": [`, `"nextCursor": "2", "tools": [`, 1),
		"resources":  strings.Replace(windows, `{"tools": {}}`, `{"tools": {}, "resources": {}}`, 1),
		"no list":    strings.Replace(windows, `"tools/list"`, `"tools/none"`, 1),
		"no windows": ``,
	} {
		t.Run(name, func(t *testing.T) {
			m, err := mcpb.ReadManifest(os.DirFS(bundle(t, more)))
			if err != nil {
				t.Fatal(err)
			}
			if cat := m.StaticCatalog(); cat != nil {
				t.Errorf("a catalog that is not whole: %+v", cat)
			}
		})
	}
}
