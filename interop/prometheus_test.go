package interop_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// prometheus is a running Prometheus, by the base URL of its API.
type prometheus string

// get queries the API into data. It reports whether the answer is a success.
func (p prometheus) get(t *testing.T, path string, query url.Values, data any) error {
	t.Helper()
	res, err := http.Get(string(p) + "/api/v1/" + path + "?" + query.Encode())
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s", answer.Error)
	}
	return nil
}

// count evaluates an expression and returns the number of series in its result.
func (p prometheus) count(t *testing.T, expr string) (int, error) {
	t.Helper()
	var data struct{ Result []any }
	err := p.get(t, "query", url.Values{"query": {expr}}, &data)
	return len(data.Result), err
}

// until repeats a condition, because Prometheus scrapes at its own pace.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	late := time.After(3 * patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("Prometheus does not have %s", what)
		}
	}
}

// TestPrometheus lets a real Prometheus scrape a gateway, evaluate the alerts and the
// expressions of the dashboard in examples/deploy, and keep the exemplars.
func TestPrometheus(t *testing.T) {
	alerts, err := filepath.Abs(filepath.Join("..", "examples", "deploy", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("promtool", "check", "rules", alerts).CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, out)
	}
	_, collector := collect(t)
	admin := freeAddress(t)
	dir := t.TempDir()
	site, err := filepath.Abs(filepath.Join("..", "examples", "http-reference"))
	if err != nil {
		t.Fatal(err)
	}
	definitions := filepath.Join(dir, "mcp.yaml")
	text := fmt.Sprintf("servers:\n  reference:\n    command: %q\n    args: [serve, --stdio, %q]\n", slipway, site)
	if err := os.WriteFile(definitions, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	to := serve(t, "--otlp", collector, "--admin-addr", admin, definitions)
	config := filepath.Join(dir, "prometheus.yml")
	text = fmt.Sprintf("global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}\n"+
		"rule_files: [%q]\nscrape_configs: [{job_name: mcp, static_configs: [{targets: [%q]}]}]\n", alerts, admin)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	runProgram(t, exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+dir,
		"--web.listen-address="+address, "--enable-feature=exemplar-storage"))
	p := prometheus("http://" + address)

	session, err := mcp.NewClient(&mcp.Implementation{Name: "interop"}, nil).
		Connect(limited(t), &mcp.StreamableClientTransport{Endpoint: to.endpoint}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	call := func() {
		for _, code := range []int{404, 999} { // the second is not stored
			_, _ = session.CallTool(limited(t), &mcp.CallToolParams{
				Name: "get_status", Arguments: map[string]any{"code": code},
			})
		}
	}
	until(t, "a rate of calls to the upstream server", func() bool {
		call()
		n, err := p.count(t,
			`rate(mcp_client_operation_duration_seconds_count{job="mcp",mcp_method_name="tools/call"}[10s]) > 0`)
		return err == nil && n > 1 // both outcomes
	})
	p.checkDashboard(t)
	until(t, "evaluated all rules", func() bool { return p.rulesHold(t) })
	until(t, "exemplars", func() bool {
		var series []struct {
			Exemplars []struct{ Labels map[string]string }
		}
		now := fmt.Sprint(time.Now().Unix() + 60)
		err := p.get(t, "query_exemplars", url.Values{
			"query": {`mcp_server_operation_duration_seconds_bucket{mcp_method_name="tools/call"}`},
			"start": {"0"},
			"end":   {now},
		}, &series)
		return err == nil && len(series) > 0 && len(series[0].Exemplars) > 0 &&
			len(series[0].Exemplars[0].Labels["trace_id"]) == 32
	})
}

// checkDashboard evaluates every expression of the dashboard.
func (p prometheus) checkDashboard(t *testing.T) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	text := deployed(t, "grafana-dashboard.json")
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expr := strings.NewReplacer("$job", "mcp", "$__rate_interval", "30s").Replace(target.Expr)
			n, err := p.count(t, expr)
			if err != nil || n == 0 {
				t.Errorf("panel %q: %d series, %v: %s", panel.Title, n, err, expr)
			}
		}
	}
}

// rulesHold reports whether all alerts have been evaluated. A rule that fails is an error
// of the test.
func (p prometheus) rulesHold(t *testing.T) bool {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := p.get(t, "rules", nil, &rules); err != nil || len(rules.Groups) == 0 {
		return false
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if rule.LastError != "" {
				t.Errorf("rule %s: %s", rule.Name, rule.LastError)
			}
			if rule.Health != "ok" {
				return false
			}
		}
	}
	return true
}
