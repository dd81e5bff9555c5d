package helm_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
)

// slipway is the path of the program, which TestMain builds.
var slipway string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "slipway-helm-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		slipway = filepath.Join(dir, "slipway")
		build := exec.Command("go", "build", "-trimpath", "-o", slipway, "./cmd/slipway")
		build.Dir = repository
		if out, err := build.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("build slipway: %v\n%s", err, out))
		}
		return m.Run()
	}())
}

// The addresses in the cases that the tests provide. Anything else in a file stays as it is.
const upstreamURL = "https://mcp.example.com/analytics"

var engineURL = regexp.MustCompile(`(nats|tls|redis)://([\w-]+@)?([\w.-]+:\d+)`)

// TestServe starts the real program with the arguments, variables and files of each case, and asks the
// paths of the probes. Nothing in the file may be unknown to it, and the file decides: no variable of the
// image overrides it.
func TestServe(t *testing.T) {
	upstream := startUpstream(t)
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			manifests := mustRender(t, name)
			d := one[apps.Deployment](t, manifests, "Deployment")
			spec := &d.Spec.Template.Spec
			replace := []string{upstreamURL, upstream}
			engines := engineURL.FindAllStringSubmatch(configOf(t, manifests).Data["slipway.yaml"], -1)
			if len(engines) > 0 {
				local := startEngine(t, engines[0][1], engines[0][2] != "")
				for _, e := range engines {
					replace = append(replace, e[3], local)
				}
			}
			pods := []*server{newServer(t, manifests, spec, replace...)}
			if len(engines) > 0 {
				pods = append(pods, newServer(t, manifests, spec, replace...))
			}
			checkConfig(t, pods[0])
			c := spec.Containers[0]
			for _, p := range pods {
				p.start(t)
				p.await(t, c.StartupProbe, http.StatusOK)
				p.await(t, c.LivenessProbe, http.StatusOK)
				p.await(t, c.ReadinessProbe, http.StatusOK)
			}
			if len(pods) > 1 {
				awaitReplicas(t, pods[0], len(pods))
			}
			initialize(t, pods[0], name)
			scrape(t, pods[0])
			pods[0].Signal(syscall.SIGTERM)
			pods[0].await(t, c.ReadinessProbe, http.StatusServiceUnavailable)
			initialize(t, pods[0], name) // until the load balancers have noticed
			grace := time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second
			if most := draining(t, pods[0]) + 10*time.Second; grace < most {
				t.Errorf("the grace period is %v, draining takes up to %v", grace, most)
			}
		})
	}
}

// checkConfig runs slipway config check on the file, and reads the settings with their origin.
func checkConfig(t *testing.T, p *server) {
	t.Helper()
	file := filepath.Join(p.Root, "/etc/slipway/slipway.yaml")
	if out, err := p.Command("config", "check", "--strict", file).CombinedOutput(); err != nil {
		t.Errorf("slipway config check: %v\n%s\n%s", err, out, read(t, file))
	}
	for line := range strings.Lines(printed(t, p)) {
		if strings.Contains(line, "# MCP_SERVER_") {
			t.Errorf("a variable of the image overrides the file: %s", line)
		}
	}
}

// printed returns the settings of the pod.
func printed(t *testing.T, p *server) string {
	t.Helper()
	out, err := p.Command(append(p.Args, "--print-config")...).CombinedOutput()
	if err != nil {
		t.Fatalf("slipway %q --print-config: %v\n%s", p.Args, err, out)
	}
	return string(out)
}

// draining returns how long the pod may take to stop.
func draining(t *testing.T, p *server) (sum time.Duration) {
	t.Helper()
	found := regexp.MustCompile(`(?m)^serve\.limits\.drain\w+: (\S+) +# /.*/slipway\.yaml`).
		FindAllStringSubmatch(printed(t, p), -1)
	if len(found) != 2 {
		t.Fatalf("drain settings %q in\n%s", found, printed(t, p))
	}
	for _, f := range found {
		d, err := time.ParseDuration(f[1])
		if err != nil {
			t.Fatal(err)
		}
		sum += d
	}
	return sum
}

// awaitReplicas waits until the pod counts n replicas.
func awaitReplicas(t *testing.T, p *server, n int) {
	t.Helper()
	address := fmt.Sprintf("http://%s:%d/healthz", ip, p.ports["admin"])
	want := fmt.Sprintf(`"cluster":{"replicas":%d,"differing":0,"engine":true}`, n)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, body, err := get(t.Context(), address, "")
		if err == nil && strings.Contains(body, want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %s %v, want %s", address, body, err, want)
		}
	}
}

// initialize begins a session at the port for clients, by the name of the service if the file has a list
// of names. Without one, a server accepts all names, except at a loopback address as in this test.
func initialize(t *testing.T, p *server, name string) {
	t.Helper()
	host := fmt.Sprintf("%s:%d", ip, p.ports["http"])
	hosts := regexp.MustCompile(`allowedHosts:\n +- (\S+)`).FindStringSubmatch(
		string(read(t, filepath.Join(p.Root, "/etc/slipway/slipway.yaml"))))
	if hosts != nil {
		host = hosts[1] + "." + namespace + ".svc"
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	address := fmt.Sprintf("http://%s:%d/mcp", ip, p.ports["http"])
	post := func(host, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+token)
		status, text, err := answer(r)
		if err != nil {
			t.Fatalf("%v\n%s", err, &p.Log)
		}
		return status, text
	}
	if status, text := post(host, token); status != http.StatusOK || !strings.Contains(text, "2025-11-25") {
		t.Errorf("initialize at %s: %d %s\n%s", host, status, text, &p.Log)
	}
	if status, _ := post(host, "another"); (status == http.StatusUnauthorized) != (name != "single") {
		t.Errorf("initialize with a wrong token: %d", status)
	}
	if status, _ := post("evil.example.net", token); status != http.StatusForbidden {
		t.Errorf("initialize at another host: %d", status)
	}
}

// scrape ensures that operators find what the chart refers to: the metric of the autoscaler, and no
// metrics at the port for clients.
func scrape(t *testing.T, p *server) {
	t.Helper()
	hpa := mustRender(t, "full")
	name := regexp.MustCompile(`metric:\n +name: (\w+)`).FindStringSubmatch(hpa)
	if name == nil {
		t.Fatal("the autoscaler has no metric of pods")
	}
	_, body, err := get(t.Context(), fmt.Sprintf("http://%s:%d/metrics", ip, p.ports["admin"]), "")
	if err != nil || !regexp.MustCompile(`(?m)^# TYPE `+name[1]+` gauge$`).MatchString(body) {
		t.Errorf("%s is not a metric: %v\n%.500s", name[1], err, body)
	}
	status, body, _ := get(t.Context(), fmt.Sprintf("http://%s:%d/metrics", ip, p.ports["http"]), "127.0.0.1")
	if status == http.StatusOK && strings.Contains(body, "# TYPE") {
		t.Error("the port for clients has metrics")
	}
}

// startUpstream starts the server that the cases forward to, and returns its endpoint.
func startUpstream(t *testing.T) string {
	t.Helper()
	address := fmt.Sprintf("%s:%d", ip, freePort(t))
	run(t, slipway, "serve", filepath.Join(repository, "examples/http-reference"), "--addr", address)
	awaitPort(t, address)
	return "http://" + address + "/mcp"
}

// startEngine starts the NATS server of module interop or the redis-server of this machine, and returns
// its address.
func startEngine(t *testing.T, kind string, password bool) string {
	t.Helper()
	port := fmt.Sprint(freePort(t))
	address := net.JoinHostPort(ip, port)
	switch kind {
	case "nats", "tls":
		out, err := exec.Command("go", "-C", repository+"/interop", "tool", "-n", "nats-server").Output()
		if err != nil {
			t.Fatalf("build nats-server: %v", err)
		}
		args := []string{"--jetstream", "--store_dir", t.TempDir(), "--addr", ip, "--port", port}
		if password {
			args = append(args, "--user", "slipway", "--pass", enginePassword)
		}
		if kind == "tls" {
			cert, key := authority().issue(t)
			args = append(args, "--tls", "--tlscert", cert, "--tlskey", key)
		}
		run(t, strings.TrimSpace(string(out)), args...)
	case "redis":
		args := []string{"--port", port, "--bind", ip, "--save", "", "--dir", t.TempDir()}
		if password {
			args = append(args, "--user", "slipway", "on", ">"+enginePassword, "~*", "&*", "+@all", "--user", "default", "off")
		}
		run(t, "redis-server", args...)
	}
	awaitPort(t, address)
	return address
}

func run(t *testing.T, program string, args ...string) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout = &log
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", filepath.Base(program), log.Bytes())
		}
	})
}

func awaitPort(t *testing.T, address string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nothing listens at %s", address)
		}
	}
}
