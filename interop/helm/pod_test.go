package helm_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
)

// secretText is the content of every secret, by the key in a secret or the name of its file.
var secretText = map[string]string{
	"tokens":           "ci 0123456789abcdef0123456789abcdef\n",
	"list":             "ci 0123456789abcdef0123456789abcdef\n",
	"ANALYTICS_TOKEN":  "the-token-of-analytics",
	"password":         enginePassword,
	"valkey-password":  enginePassword,
	"slipway-password": enginePassword,
	"keys":             stateKey,
	"current":          stateKey,
}

const (
	token          = "0123456789abcdef0123456789abcdef"
	enginePassword = "pw-0123456789"
	ip             = "127.0.0.1"
)

// stateKey must be random.
var stateKey = rand.Text() + rand.Text() + "\n"

// imageEnv are the variables of the image, see examples/deploy/Containerfile.
var imageEnv = map[string]string{
	"HOME":                  "/tmp",
	"MCP_SERVER_ADDR":       "0.0.0.0:8080",
	"MCP_SERVER_LOG_LEVEL":  "info",
	"MCP_SERVER_LOG_FORMAT": "json",
}

// pod is a process that does what the container of a Deployment would: the same arguments,
// variables and files, with other paths and ports.
type pod struct {
	root   string // contains the mounted volumes
	args   []string
	env    []string
	ports  map[string]int // on this machine, by name
	cmd    *exec.Cmd
	log    output
	waited chan struct{} // closed when the process has ended
}

// output is what a process has written.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// newPod prepares a pod of the deployment. Texts in its files and arguments are replaced, so that they
// name what runs on this machine.
func newPod(t *testing.T, manifests string, spec *core.PodSpec, replace ...string) *pod {
	t.Helper()
	p := &pod{root: t.TempDir(), ports: map[string]int{}, waited: make(chan struct{})}
	c := spec.Containers[0]
	for _, port := range c.Ports {
		p.ports[port.Name] = freePort(t)
	}
	config := configOf(t, manifests)
	for _, m := range c.VolumeMounts {
		at := slices.IndexFunc(spec.Volumes, func(v core.Volume) bool { return v.Name == m.Name })
		if at < 0 {
			t.Fatalf("there is no volume %s", m.Name)
		}
		dir := filepath.Join(p.root, m.MountPath)
		mount(t, dir, contents(t, &spec.Volumes[at], &config))
		if m.MountPath != "/tmp" { // which may occur in other paths
			replace = append(replace, m.MountPath, dir)
		}
	}
	p.env = p.variables(t, &c, replace)
	for name, from := range map[string]string{"http": "listen: :8080", "admin": "admin: :9090"} {
		key, _, _ := strings.Cut(from, ":")
		replace = append(replace, from, fmt.Sprintf("%s: %s:%d", key, ip, p.ports[name]))
	}
	replace = append(replace, "[$(POD_IP)]:8081", fmt.Sprintf("[%s]:%d", ip, p.ports["replica"]))
	local := strings.NewReplacer(replace...)
	for _, arg := range c.Args {
		p.args = append(p.args, local.Replace(arg))
	}
	path, err := filepath.EvalSymlinks(filepath.Join(p.root, "/etc/slipway/slipway.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, local.Replace(string(read(t, path))))
	return p
}

// mount writes the files of a volume as a kubelet does: links to links to a folder that it can replace
// at once.
func mount(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	const version = "..2026_11_28_08_30_00.123456789"
	if err := os.MkdirAll(filepath.Join(dir, version), 0o755); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"..data": version}
	for name, text := range files {
		write(t, filepath.Join(dir, version, name), text)
		links[name] = filepath.Join("..data", name)
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// contents returns the files of a volume, by name.
func contents(t *testing.T, v *core.Volume, config *core.ConfigMap) map[string]string {
	t.Helper()
	files := map[string]string{}
	switch {
	case v.ConfigMap != nil && v.ConfigMap.Name == config.Name:
		return config.Data
	case v.ConfigMap != nil: // certificates, which are only listed
		files["company.pem"] = ""
	case v.Secret != nil && v.Secret.Items == nil:
		files["ANALYTICS_TOKEN"] = secretText["ANALYTICS_TOKEN"]
	case v.Secret != nil:
		for _, item := range v.Secret.Items {
			files[item.Path] = secretText[item.Key]
		}
	case v.EmptyDir == nil:
		t.Fatalf("the volume %s has an unknown kind", v.Name)
	}
	return files
}

// variables returns the environment of the container.
func (p *pod) variables(t *testing.T, c *core.Container, replace []string) (env []string) {
	t.Helper()
	all := maps.Clone(imageEnv)
	all["HOME"] = filepath.Join(p.root, "/tmp")
	for _, e := range c.Env {
		switch from := e.ValueFrom; {
		case from == nil:
			all[e.Name] = strings.NewReplacer(replace...).Replace(e.Value)
		case from.FieldRef != nil && from.FieldRef.FieldPath == "status.podIP":
			all[e.Name] = ip
		case from.SecretKeyRef != nil:
			all[e.Name] = secretText[from.SecretKeyRef.Key]
		default:
			t.Fatalf("the variable %s has an unknown source", e.Name)
		}
	}
	for name, value := range all {
		env = append(env, name+"="+value)
	}
	return env
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

// command returns slipway with the pod's files and variables.
func (p *pod) command(args ...string) *exec.Cmd {
	cmd := exec.Command(slipway, args...)
	cmd.Dir = filepath.Join(p.root, "/tmp")
	cmd.Env = p.env
	return cmd
}

// start starts the container, with access to the servers of the test.
func (p *pod) start(t *testing.T) {
	t.Helper()
	p.cmd = p.command(append(slices.Clone(p.args), "--allow-network=loopback")...)
	p.cmd.Stdout = &p.log
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.waited)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.waited
	})
}

// signal sends a signal to the process.
func (p *pod) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// await requests the path of a probe until the answer has the status.
func (p *pod) await(t *testing.T, probe *core.Probe, status int) {
	t.Helper()
	address := fmt.Sprintf("http://%s:%d%s", ip, p.ports[probe.HTTPGet.Port.String()], probe.HTTPGet.Path)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	for last := ""; ; {
		got, body, err := get(ctx, address, "")
		if err == nil && got == status {
			return
		}
		last = fmt.Sprint(got, " ", body, err)
		select {
		case <-time.After(50 * time.Millisecond):
		case <-p.waited:
			t.Fatalf("slipway %q ended: %v\n%s", p.args, p.cmd.ProcessState, &p.log)
		case <-ctx.Done():
			t.Fatalf("%s: %s, want %d\n%s", address, last, status, &p.log)
		}
	}
}

// get requests an address, with a name of its host unless that is empty.
func get(ctx context.Context, address, host string) (status int, body string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, "", err
	}
	r.Host = cmp.Or(host, r.Host)
	return answer(r)
}

func answer(r *http.Request) (status int, body string, err error) {
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	return a.StatusCode, string(text), err
}

func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}
