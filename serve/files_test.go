package serve_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// openShop returns a site with two tools and a resource.
func openShop(t *testing.T) *staticmcp.Site {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"mcp.json": `{"protocolVersion":"2025-06-18","serverInfo":{"name":"shop","version":"1"},"capabilities":{
			"resources":[{"uri":"shop://prices/today","name":"prices"}],
			"tools":[{"name":"look","description":"Looks","inputSchema":{"type":"object"}},
				{"name":"sell","description":"Sells",
				"inputSchema":{"type":"object","properties":{"what":{"type":"string"}},"required":["what"]}}]}}`,
		"resources/prices/today.json": `{"uri":"shop://prices/today","text":"low"}`,
		"tools/look.json":             `{"content":[{"type":"text","text":"a view"}]}`,
		"tools/sell/boat.json":        `{"content":[{"type":"text","text":"a secret price"}]}`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	site, err := staticmcp.Open(context.Background(), os.DirFS(dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = site.Close() })
	return site
}

// TestFilesAreRecorded reads files of a site, which must be recorded like the requests
// with the same content.
func TestFilesAreRecorded(t *testing.T) {
	var lines, log bytes.Buffer
	audit, err := serve.NewAudit(&lines, &serve.AuditOptions{Required: true})
	if err != nil {
		t.Fatal(err)
	}
	auth := testAuth(t)
	auth.ToolScopes = map[string][]string{"sell": {"sink"}}
	h := serve.NewHandler(openShop(t), &serve.Options{
		Auth:      auth,
		Reporting: serve.Reporting{Audit: audit},
		Logger:    slog.New(slog.NewTextHandler(&log, nil)),
	})
	reader := []string{"Authorization", "Bearer " + readerToken}
	for _, tt := range []struct {
		path   string
		status int
	}{
		{"/tools/look.json", 200}, {"/tools/sell/boat.json", 403},
		{"/tools/sell/none.json", 403}, {"/tools/look/none.json", 404},
		{"/resources/prices/today.json", 200}, {"/mcp.json", 200}, {"/tools/gone.json", 404}, {"/other.json", 404},
	} {
		if w := exchange(h, "GET", tt.path, "", reader...); w.Code != tt.status ||
			strings.Contains(w.Body.String(), "a secret") {
			t.Errorf("GET %s = %d %s, want %d", tt.path, w.Code, w.Body, tt.status)
		}
	}
	if err := audit.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"event":"request","method":"tools/call","name":"look","principal":"reader","transport":"files"`,
		`"event":"request","method":"tools/call","name":"sell","principal":"reader","transport":"files",` +
			`"remote":"192.0.2.1:1234","outcome":"error","code":-31006,"status":403`,
		`"event":"request","method":"resources/read","uri":"shop://prices/today","principal":"reader"`,
	} {
		if !strings.Contains(lines.String(), want) {
			t.Errorf("the audit log has no line with\n%s\nin\n%s", want, &lines)
		}
	}
	if want := `msg=request method=tools/call tool=look transport=files status=200`; !strings.Contains(
		log.String(), want) {
		t.Errorf("the request log has no line with %q:\n%s", want, &log)
	}
	metrics := exchange(h, "GET", "/metrics", "", reader...).Body.String()
	for _, want := range []string{
		`mcp_server_operation_duration_seconds_count{mcp_method_name="tools/call",gen_ai_tool_name="look",` +
			`network_transport="tcp"} 1`,
		`error_type="-31006"`,
		"mcp_server_requests_in_flight 0",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics have no %q:\n%s", want, metrics)
		}
	}
}

// brokenDisk fails every write.
type brokenDisk struct{}

func (brokenDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestFilesNeedTheAuditLog(t *testing.T) {
	audit, err := serve.NewAudit(brokenDisk{}, &serve.AuditOptions{Required: true})
	if err != nil {
		t.Fatal(err)
	}
	h := serve.NewHandler(openShop(t), &serve.Options{Reporting: serve.Reporting{Audit: audit}})
	w := exchange(h, "GET", "/tools/sell/boat.json", "")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("GET = %d %s, want 503 with Retry-After", w.Code, w.Body)
	}
}

// TestFilesPassTheGate uses a custom gate that refuses a call, and with it the file.
func TestFilesPassTheGate(t *testing.T) {
	g := onlyLooking{}
	h := serve.NewHandler(openShop(t), &serve.Options{Server: server.Options{Gate: g}})
	if w := exchange(h, "GET", "/tools/sell/boat.json", ""); w.Code != http.StatusForbidden {
		t.Errorf("GET of what the gate refuses = %d %s", w.Code, w.Body)
	}
	if w := exchange(h, "GET", "/tools/look.json", ""); w.Code != http.StatusOK {
		t.Errorf("GET of what the gate allows = %d %s", w.Code, w.Body)
	}
	none := serve.NewHandler(openShop(t), &serve.Options{Features: serve.Features{NoFiles: true}})
	if w := exchange(none, "GET", "/tools/look.json", ""); w.Code != http.StatusNotFound {
		t.Errorf("GET with NoFiles = %d %s", w.Code, w.Body)
	}
}

type onlyLooking struct{}

func (onlyLooking) Enter(_ context.Context, op server.Operation) error {
	if op.Method == "tools/call" && op.Name != "look" {
		return &mcp.Error{Code: mcp.CodeToolDenied, Message: "only looking", Status: http.StatusForbidden}
	}
	return nil
}

func (onlyLooking) Leave(context.Context, server.Operation) {}
