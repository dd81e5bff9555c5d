package kube_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// planeVariable names the program that scripts/kubernetes builds.
const planeVariable = "SLIPWAY_KUBE"

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: here, cluster: {server: "%s", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: "%s"}}]
contexts: [{name: here, context: {cluster: here, user: admin}}]
current-context: here
`

// plane is a running control plane.
type plane struct {
	client  *kubernetes.Clientset
	program string
	dir     string // with kubeconfig
}

// startPlane starts a control plane without nodes. It stops with the test.
func startPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{program: os.Getenv(planeVariable), dir: t.TempDir()}
	if p.program == "" {
		t.Skip(planeVariable + " is not set: run scripts/kubernetes")
	}
	store, peer, port := freePort(t), freePort(t), freePort(t)
	etcd := fmt.Sprintf("http://127.0.0.1:%d", store)
	peers := fmt.Sprintf("http://127.0.0.1:%d", peer)
	start(t, "etcd", p.program, "etcd", "--data-dir="+filepath.Join(p.dir, "etcd"), "--log-level=error",
		"--listen-client-urls="+etcd, "--advertise-client-urls="+etcd, "--listen-peer-urls="+peers,
		"--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers)
	key := p.write(t, "service-accounts.pem", privateKey(t))
	token := rand.Text()
	server := fmt.Sprintf("https://127.0.0.1:%d", port)
	start(t, "apiserver", p.program, "apiserver", "--etcd-servers="+etcd, "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port), "--cert-dir="+filepath.Join(p.dir, "certificates"),
		"--token-auth-file="+p.write(t, "tokens.csv", token+",admin,admin,system:masters\n"),
		"--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+key,
		"--service-account-signing-key-file="+key)
	config := p.write(t, "kubeconfig", fmt.Sprintf(kubeconfig, server, token))
	var err error
	p.client, err = kubernetes.NewForConfig(&rest.Config{
		Host:            server,
		BearerToken:     token,
		QPS:             200,
		Burst:           200,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, 2*time.Minute, "the API server is ready", func() error {
		return p.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error()
	})
	start(t, "controllers", p.program, "controllers", "--kubeconfig="+config, "--leader-elect=false",
		"--service-account-private-key-file="+key, "--secure-port=0")
	start(t, "scheduler", p.program, "scheduler", "--kubeconfig="+config, "--leader-elect=false", "--secure-port=0")
	return p
}

// write writes a file that only we can read, and returns its path.
func (p *plane) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs helm or kubectl, and returns what it prints.
func (p *plane) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(p.dir, "kubeconfig"), "HOME="+p.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func privateKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{
		Type:  "RSA PRIVATE KEY",
		Bytes: x509.MarshalPKCS1PrivateKey(key),
	}))
}

// start starts a program that stops with the test, which prints the end of its log if it failed.
func start(t *testing.T, name, program string, args ...string) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout = &log
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", name, log.Bytes()[max(0, log.Len()-4000):])
		}
	})
}

// await waits until the condition holds.
func await(t *testing.T, most time.Duration, what string, condition func() error) {
	t.Helper()
	for end := time.Now().Add(most); ; time.Sleep(50 * time.Millisecond) {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s: %v", most, what, err)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}
