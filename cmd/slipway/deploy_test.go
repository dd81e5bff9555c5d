package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/slipway-mcp/slipway/internal/test/redistest"
	"github.com/slipway-mcp/slipway/stax"
)

const deploy = "../../examples/deploy"

// serveArgs parses the slipway arguments of a file in examples/deploy with their command,
// and returns its flags, with the settings of the file that --config names: files has its
// text by path.
func serveArgs(t *testing.T, args []string, files map[string]string) *pflag.FlagSet {
	t.Helper()
	cmd, rest, err := newRoot().Find(args)
	if err != nil || cmd.Name() != "serve" {
		t.Fatalf("%q is no slipway serve: %v", args, err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	flags := cmd.Flags()
	if err := cmd.ValidateArgs(flags.Args()); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	path, err := flags.GetString("config")
	if err != nil {
		t.Fatal(err)
	}
	if path == "" {
		return flags
	}
	text, ok := files[path]
	if !ok {
		t.Fatalf("%q: %s does not exist: there are %v", args, path, slices.Sorted(maps.Keys(files)))
	}
	file, report := serveTable().Parse(path, []byte(text))
	checkConflicts(report, file, "")
	if !report.OK(true) {
		t.Fatalf("%s: %v", path, report.Findings())
	}
	config := configFlags{file: file}
	config.note(flags, "flag")
	if err := config.overlay(flags); err != nil {
		t.Fatal(err)
	}
	return flags
}

// draining returns how long a server with these flags may take to exit.
func draining(t *testing.T, flags *pflag.FlagSet) time.Duration {
	t.Helper()
	delay, err := flags.GetDuration("drain-delay")
	if err != nil {
		t.Fatal(err)
	}
	timeout, err := flags.GetDuration("drain-timeout")
	if err != nil {
		t.Fatal(err)
	}
	return delay + timeout
}

func readDeploy(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDeploySystemd(t *testing.T) {
	text := readDeploy(t, "slipway.service")
	unit := map[string][]string{}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			unit[name] = append(unit[name], value)
		}
	}
	const config = "/etc/slipway/slipway.yaml"
	files := map[string]string{config: readDeploy(t, "slipway.yaml")}
	start := strings.Fields(unit["ExecStart"][0])
	flags := serveArgs(t, start[1:], files)
	stop, err := time.ParseDuration(unit["TimeoutStopSec"][0] + "s")
	if err != nil || stop < draining(t, flags)+10*time.Second {
		t.Errorf("TimeoutStopSec is %v, %v; draining alone takes %v", stop, err, draining(t, flags))
	}
	if !slices.Equal(unit["KillMode"], []string{"mixed"}) {
		t.Errorf("KillMode is %q: the programs would be stopped before their requests are answered", unit["KillMode"])
	}
	for _, found := range regexp.MustCompile(`\$\{CREDENTIALS_DIRECTORY\}/(\w+)`).FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(unit["LoadCredential"], func(c string) bool { return strings.HasPrefix(c, found[1]+":") }) {
			t.Errorf("unknown credential %s", found[1])
		}
	}
	for _, s := range definitionsIn(t, config, files[config]).Config.Servers {
		for _, key := range s.Secrets {
			if !slices.ContainsFunc(unit["LoadCredential"], func(c string) bool { return strings.HasPrefix(c, key+":") }) {
				t.Errorf("the secret %s of examples/deploy/slipway.yaml is not a credential", key)
			}
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("the flags are right; systemd-analyze is missing for the rest")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "slipway.service")
	if err := os.WriteFile(name, []byte(strings.ReplaceAll(text, "/usr/local/bin/slipway", self)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", name).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

func definitionsIn(t *testing.T, name, text string) *stax.Document {
	t.Helper()
	document, report := stax.Parse(name, []byte(text), nil)
	if !report.OK(true) {
		t.Fatalf("%s: %v", name, report.Findings())
	}
	return document
}

func TestDeployContainer(t *testing.T) {
	stages := strings.Split(strings.ReplaceAll(readDeploy(t, "Containerfile"), "\\\n", " "), "\nFROM ")
	images := 0
	for _, stage := range stages[1:] {
		instructions := map[string][]string{}
		for line := range strings.SplitSeq(stage, "\n") {
			name, value, _ := strings.Cut(line, " ")
			instructions[name] = append(instructions[name], value)
		}
		if instructions["ENTRYPOINT"] == nil {
			continue
		}
		images++
		var entry, args []string
		if err := json.Unmarshal([]byte(instructions["ENTRYPOINT"][0]),
			&entry); err != nil || path.Base(entry[len(entry)-1]) != "slipway" {
			t.Errorf("ENTRYPOINT %s: %v", instructions["ENTRYPOINT"], err)
		}
		if err := json.Unmarshal([]byte(instructions["CMD"][0]), &args); err != nil {
			t.Errorf("CMD %s: %v", instructions["CMD"], err)
		}
		flags := serveArgs(t, args, map[string]string{"/etc/slipway/slipway.yaml": readDeploy(t, "slipway.yaml")})
		variables := map[string]string{}
		for word := range strings.FieldsSeq(instructions["ENV"][0]) {
			name, value, _ := strings.Cut(word, "=")
			variables[name] = value
		}
		lookup := func(name string) (string, bool) { v, ok := variables[name]; return v, ok }
		if err := fromEnvironment(flags, lookup); err != nil {
			t.Error(err)
		}
		for name := range variables {
			if flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "MCP_SERVER_")), "_",
				"-"); strings.HasPrefix(name, "MCP_SERVER_") && flags.Lookup(flag) == nil {
				t.Errorf("ENV %s is not a flag", name)
			}
		}
		if user := instructions["USER"]; len(user) != 1 || strings.HasPrefix(user[0], "0") || user[0] == "root" {
			t.Errorf("USER is %q", user)
		}
	}
	if images != 2 {
		t.Errorf("%d images, want 2", images)
	}
}

// TestDeployCompose verifies the arguments of the replicas, which web pages must not reach without a token,
// and that each NATS server gets the variables of nats.conf.
func TestDeployCompose(t *testing.T) {
	var compose struct {
		Services map[string]struct {
			Command     []string
			Environment map[string]string
			Volumes     []string
		}
	}
	if err := yaml.Unmarshal([]byte(readDeploy(t, "compose-cluster.yaml")), &compose); err != nil {
		t.Fatal(err)
	}
	flags := serveArgs(t, compose.Services["slipway"].Command, nil)
	hosts, err := flags.GetStringSlice("allow-host")
	if err != nil || !slices.Equal(hosts, []string{"localhost"}) {
		t.Errorf("--allow-host is %q, %v: any name may lead to the replicas", hosts, err)
	}
	urls, err := flags.GetString("cluster")
	if err != nil {
		t.Fatal(err)
	}
	for url := range strings.SplitSeq(urls, ",") {
		name := strings.TrimPrefix(url, "nats://slipway@")
		nats, ok := compose.Services[name]
		if !ok || !slices.Contains(nats.Volumes, "./nats.conf:/etc/nats.conf:ro") {
			t.Errorf("%s is no NATS server with nats.conf: %v", url, nats)
		}
		if nats.Environment["NATS_NAME"] != name {
			t.Errorf("%s has the name %q", name, nats.Environment["NATS_NAME"])
		}
		routes := nats.Environment["NATS_ROUTES"]
		if strings.Count(routes, "nats://route:${NATS_ROUTE_PASSWORD:?}@nats-") != 3 {
			t.Errorf("the routes of %s are %s", name, routes)
		}
		for _, variable := range regexp.MustCompile(`\$(NATS_\w+)`).FindAllStringSubmatch(readDeploy(t, "nats.conf"), -1) {
			if nats.Environment[variable[1]] == "" {
				t.Errorf("%s does not set %s, which nats.conf needs", name, variable[1])
			}
		}
	}
}

func TestDeployReverseProxies(t *testing.T) {
	for name, wanted := range map[string][]string{
		"nginx.conf": {"proxy_buffering off;", "proxy_read_timeout 660s;", "proxy_set_header Host $host;",
			"location = /metrics"},
		"Caddyfile":    {"flush_interval -1", "response_header_timeout 660s", "path /metrics"},
		"traefik.yaml": {"passHostHeader: true", "responseHeaderTimeout: 660s", "!Path(`/metrics`)"},
	} {
		text := readDeploy(t, name)
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
	}
	var traefik any
	if err := yaml.Unmarshal([]byte(readDeploy(t, "traefik.yaml")), &traefik); err != nil {
		t.Error(err)
	}
	patience, err := serveArgs(t, []string{"serve", "x"}, nil).GetDuration("request-timeout")
	if err != nil || patience >= 660*time.Second {
		t.Errorf("a request may take %v, %v: longer than the proxies wait", patience, err)
	}
}

// TestDeployAlerts ensures that a server exports the metrics used in the rules.
func TestDeployAlerts(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal([]byte(readDeploy(t, "alerts.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	expressions := make(map[string]string) // by the name of what uses them
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			expressions[rule.Alert] = rule.Expr
		}
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(readDeploy(t, "grafana-dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for i, target := range panel.Targets {
			expressions[fmt.Sprintf("panel %q, query %d", panel.Title, i)] = target.Expr
		}
	}
	t.Chdir(workplace(t))
	s := newServer(exec.Command("slipway", "serve", "examples/definitions/site.yaml", "--addr", "127.0.0.1:0",
		"--cluster", "redis://"+redistest.Start(t)+"/0", "--max-processes", "5"))
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.cmd.Process.Kill() }()
	said, err := s.await(regexp.MustCompile(`http://127\.0\.0\.1:\d+`))
	if err != nil {
		t.Fatal(err)
	}
	body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_status",` +
		`"arguments":{"code":404}}}`)
	if answer, err := http.Post(said+"/mcp", "application/json", body); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	answer, err := http.Get(said + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(expressions) < 20 {
		t.Errorf("only %d expressions in the rules and the dashboard", len(expressions))
	}
	family := regexp.MustCompile(`\b(?:mcp|process|go|slipway)_\w+`)
	for user, expr := range expressions {
		names := family.FindAllString(expr, -1)
		if len(names) == 0 && user != "SlipwayDown" {
			t.Errorf("%s uses no metric: %s", user, expr)
		}
		for _, name := range names {
			name = regexp.MustCompile(`_(bucket|count)$`).ReplaceAllString(name, "")
			if name != "mcp_method_name" && !regexp.MustCompile(`(?m)^# TYPE `+name+` `).Match(metrics) {
				t.Errorf("%s uses %s, which does not exist:\n%s", user, name, metrics)
			}
		}
	}
}
