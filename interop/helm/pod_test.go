package helm_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	core "k8s.io/api/core/v1"

	"github.com/slipway-mcp/slipway/interop/helm/pod"
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

// server is a pod as a process, with its ports on this machine by name.
type server struct {
	*pod.Pod
	ports map[string]int
}

// newServer prepares a pod of the deployment. Texts in its files and arguments are replaced, so that they
// name what runs on this machine.
func newServer(t *testing.T, manifests string, spec *core.PodSpec, replace ...string) *server {
	t.Helper()
	s := &server{ports: map[string]int{}}
	local := map[int32]int{}
	for _, port := range spec.Containers[0].Ports {
		s.ports[port.Name] = freePort(t)
		local[port.ContainerPort] = s.ports[port.Name]
	}
	config := configOf(t, manifests)
	var err error
	s.Pod, err = pod.New(t.TempDir(), spec, &pod.Machine{
		Program:  slipway,
		ImageEnv: imageEnv,
		IP:       ip,
		Ports:    local,
		ConfigMap: func(name string) (map[string]string, error) {
			if name == config.Name {
				return config.Data, nil
			}
			return map[string]string{"company.pem": authority().certificate}, nil
		},
		Secret:    func(string) (map[string]string, error) { return secretText, nil },
		Replace:   replace,
		Arguments: []string{"--allow-network=loopback"}, // where the servers of the test are
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start starts the container.
func (s *server) start(t *testing.T) {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
}

// await requests the path of a probe until the answer has the status.
func (s *server) await(t *testing.T, probe *core.Probe, status int) {
	t.Helper()
	address := fmt.Sprintf("http://%s:%d%s", ip, s.ports[probe.HTTPGet.Port.String()], probe.HTTPGet.Path)
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
		case <-s.Ended:
			t.Fatalf("slipway %q ended\n%s", s.Args, &s.Log)
		case <-ctx.Done():
			t.Fatalf("%s: %s, want %d\n%s", address, last, status, &s.Log)
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

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
