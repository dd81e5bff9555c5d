package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// scrape reads /metrics and returns the samples by their names with labels.
func scrape(t *testing.T, h http.Handler, header ...string) map[string]float64 {
	t.Helper()
	w := exchange(h, "GET", "/metrics", "", header...)
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Fatalf("metrics = %d %v %s", w.Code, w.Header(), w.Body)
	}
	samples := make(map[string]float64)
	declared := ""
	for lines := bufio.NewScanner(w.Body); lines.Scan(); {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			declared, _, _ = strings.Cut(rest, " ")
			continue
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[i+1:], 64)
		if _, twice := samples[line[:i]]; err != nil || twice || !strings.HasPrefix(line, declared) {
			t.Errorf("line %q below %s: %v", line, declared, err)
		}
		samples[line[:i]] = value
	}
	return samples
}

func TestMetrics(t *testing.T) {
	src := newSource()
	h := serve.NewHandler(src, nil)
	id := exchange(h, "POST", "/mcp", initialize).Header().Get("Mcp-Session-Id")
	src.release <- struct{}{}
	exchange(h, "POST", "/mcp", call, "Mcp-Session-Id", id)
	exchange(h, "POST", "/mcp", toolCall("no such tool"), "Mcp-Session-Id", id)
	exchange(h, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"made/up"}`, "Mcp-Session-Id", id)
	exchange(h, "POST", "/mcp", list, "Mcp-Session-Id", "unknown")
	exchange(h, "POST", "/mcp", list, "Origin", "https://evil.example.com")
	go exchange(h, "POST", "/mcp", call, "Mcp-Session-Id", id)
	<-src.entered
	<-src.entered
	got := scrape(t, h)
	const operation = `mcp_server_operation_duration_seconds_count{mcp_method_name=`
	const labels = `network_transport="tcp",mcp_protocol_version="2025-06-18"}`
	want := map[string]float64{
		operation + `"initialize",` + labels:                                              1,
		operation + `"tools/call",gen_ai_tool_name="slow",` + labels:                      1,
		operation + `"tools/call",gen_ai_tool_name="other",error_type="-32602",` + labels: 1,
		operation + `"other",error_type="-32601",` + labels:                               1,
		`mcp_server_refused_total{http_response_status_code="404"}`:                       1,
		`mcp_server_refused_total{http_response_status_code="403"}`:                       1,
		`mcp_server_refused_total{http_response_status_code="401"}`:                       0,
		`mcp_server_requests_in_flight`:                                                   1,
		`mcp_server_sessions`:                                                             1,
		`mcp_server_streams`:                                                              0,
	}
	for name, value := range want {
		if v, ok := got[name]; !ok || v != value {
			t.Errorf("%s = %v, %v, want %v", name, v, ok, value)
		}
	}
	src.release <- struct{}{}
	exchange(h, "DELETE", "/mcp", "", "Mcp-Session-Id", id)
	got = scrape(t, h)
	if v := got[`mcp_server_session_duration_seconds_count{`+labels]; v != 1 {
		t.Errorf("%v sessions have ended, want 1", v)
	}
	buckets, last := 0, 0.0
	for _, bound := range []string{
		"0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10", "30", "60", "120",
		"300", "+Inf",
	} {
		v, ok := got[`mcp_server_session_duration_seconds_bucket{`+strings.TrimSuffix(labels, "}")+`,le="`+bound+`"}`]
		if ok && v >= last {
			buckets++
		}
		last = v
	}
	if buckets != 15 || last != 1 {
		t.Errorf("%d buckets that grow up to %v, want 15 up to 1", buckets, last)
	}
}

func TestMetricsStayBounded(t *testing.T) {
	c := &mcp.Catalog{Server: mcp.Implementation{Name: "crowd"}}
	for i := range 700 {
		c.Tools = append(c.Tools, mcp.Tool{Name: fmt.Sprintf("tool_%d", i)})
	}
	h := serve.NewHandler(catalogOf{catalog: c}, nil)
	for i := range 700 {
		exchange(h, "POST", "/mcp", toolCall(fmt.Sprintf("tool_%d", i)))
		exchange(h, "POST", "/mcp", toolCall(fmt.Sprintf("unknown_%d", i)))
		exchange(h, "POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"method_%d"}`, i))
	}
	series, other, unknown := 0, 0.0, 0.0
	for name, value := range scrape(t, h) {
		if !strings.HasPrefix(name, "mcp_server_operation_duration_seconds_count") {
			continue
		}
		series++
		switch {
		case strings.Contains(name, `gen_ai_tool_name="other",error_type`):
			unknown = value
		case strings.Contains(name, `gen_ai_tool_name="other"`):
			other = value
		}
	}
	// 500 tools, the rest of the tools, unknown tools, and unknown methods.
	if series != 503 || other != 200 || unknown != 700 {
		t.Errorf("%d series, %v calls of other tools, %v of unknown ones; want 503, 200, 700", series, other, unknown)
	}
}

// catalogOf is a Source with a given catalog.
type catalogOf struct {
	mcp.Unimplemented
	catalog *mcp.Catalog
}

func (c catalogOf) Catalog(context.Context) (*mcp.Catalog, error) { return c.catalog, nil }

func (catalogOf) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

func TestMetricsCanBeLeftOut(t *testing.T) {
	if w := exchange(serve.NewHandler(newSource(), &serve.Options{Features: serve.Features{NoMetrics: true}}),
		"GET", "/metrics", ""); w.Code != 404 {
		t.Errorf("metrics = %d, want 404", w.Code)
	}
	if w := exchange(serve.NewHandler(newSource(), nil), "POST", "/metrics", ""); w.Code != 405 {
		t.Errorf("POST = %d, want 405", w.Code)
	}
	if w := exchange(serve.NewHandler(newSource(), nil), "GET", "/metrics",
		"", "Origin", "https://evil.example.com"); w.Code != 403 {
		t.Errorf("a foreign page = %d, want 403", w.Code)
	}
}

func logLines(t *testing.T, log *bytes.Buffer) (lines []map[string]any) {
	t.Helper()
	for d := json.NewDecoder(log); d.More(); {
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		delete(line, "time")
		delete(line, "level")
		delete(line, "duration_ms")
		lines = append(lines, line)
	}
	return lines
}

func TestRequestLog(t *testing.T) {
	var log bytes.Buffer
	h := serve.NewHandler(tools{}, &serve.Options{Auth: testAuth(t), Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	bearer := []string{"Authorization", "Bearer " + readerToken}
	exchange(h, "POST", "/mcp",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{"password":"swordfish"},`+
			`"_meta":{"traceparent":"`+
			trace+
			`"}}}`,
		bearer...)
	exchange(h, "POST", "/mcp", toolCall("sink"), append(bearer, "Traceparent", trace)...)
	exchange(h, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"swordfish"}`, bearer...)
	exchange(h, "POST", "/mcp",
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x://swordfish"}}`, bearer...)
	exchange(h, "POST", "/mcp", "{swordfish", bearer...)
	exchange(h, "POST", "/mcp?access_token=swordfish", list)
	exchange(h, "POST", "/mcp", list, "Authorization", "Bearer swordfish")
	text := log.String()
	got := logLines(t, &log)
	sizes := func(line map[string]any) map[string]any {
		for _, name := range []string{"received", "sent"} {
			if n, _ := line[name].(float64); n > 0 {
				line[name] = "some"
			}
		}
		return line
	}
	for _, line := range got {
		sizes(line)
	}
	line := func(pairs ...any) map[string]any {
		m := map[string]any{
			"msg":       "request",
			"transport": "http",
			"version":   "2025-03-26",
			"principal": "reader",
			"remote":    "192.0.2.1:1234",
			"received":  "some",
			"sent":      "some",
		}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	traced := func(m map[string]any) map[string]any {
		m["trace_id"], m["span_id"] = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
		return m
	}
	want := []map[string]any{
		traced(line("method", "tools/call", "tool", "look", "status", 200.0)),
		traced(line("method", "tools/call", "tool", "sink", "status", 403.0, "code", -31006.0)),
		line("method", "other", "status", 200.0, "code", -32601.0),
		line("method", "resources/read", "status", 200.0, "code", -32002.0),
		{"msg": "refused", "transport": "http", "principal": "reader", "remote": "192.0.2.1:1234",
			"status": 400.0, "code": -32700.0, "received": "some", "sent": 0.0},
		{"msg": "refused", "status": 400.0,
			"reason": "send the token in the Authorization header: addresses are logged", "remote": "192.0.2.1:1234"},
		{"msg": "refused", "status": 401.0, "reason": "the token is not valid", "remote": "192.0.2.1:1234"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	for _, secret := range []string{"swordfish", readerToken} {
		if strings.Contains(text, secret) {
			t.Errorf("the log holds %q:\n%s", secret, text)
		}
	}
}

// TestNoSecretIsEverWritten sends secrets in every possible way and searches all output
// of a server for them: its log at the most detailed level, and its metrics.
func TestNoSecretIsEverWritten(t *testing.T) {
	var log bytes.Buffer
	h := serve.NewHandler(tools{}, &serve.Options{
		Auth: testAuth(t), Limits: serve.Limits{Rate: 1e9, ClientInFlight: 100}, PublicURL: "https://mcp.example.com",
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 100})),
	})
	secrets := []string{readerToken, adminToken, powerlessToken, unknownToken, "swordfish"}
	for _, secret := range secrets {
		for _, header := range [][]string{
			{"Authorization", "Bearer " + secret},
			{"Authorization", "Basic " + secret},
			{"Authorization", secret},
			{"Authorization", "Bearer " + secret + " " + secret},
			{"Authorization", "Bearer " + adminToken, "Mcp-Session-Id", secret, "Mcp-Name", secret, "Mcp-Method",
				secret},
			{"Authorization", "Bearer " + adminToken, "Traceparent", secret},
			{"Cookie", secret},
		} {
			for _, body := range []string{
				`{"jsonrpc":"2.0","id":"` + secret + `","method":"tools/call","params":{"name":"look",` +
					`"arguments":{"a":"` +
					secret + `"}}}`,
				toolCall(secret), `{"jsonrpc":"2.0","id":1,"method":"` + secret + `"}`,
				`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"` + secret + `"}}`,
				`{"jsonrpc":"2.0","method":"` + secret + `"}`, secret,
			} {
				exchange(h, "POST", "/mcp", body, header...)
			}
			exchange(h, "GET", "/mcp", "", header...)
			exchange(h, "POST", "/mcp?access_token="+secret, list, header...)
		}
	}
	written := log.String() + exchange(h, "GET", "/metrics", "", "Authorization", "Bearer "+adminToken).Body.String()
	for _, secret := range secrets {
		if i := strings.Index(written, secret); i >= 0 {
			t.Errorf("%q was written: ...%s", secret, written[max(0, i-150):min(len(written), i+50)])
		}
	}
}
