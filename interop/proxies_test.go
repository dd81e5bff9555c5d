package interop_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The proxies configured in examples/deploy, between a third-party client and slipway.
// Only the addresses and certificates in each file are changed.

const publicName = "mcp.example.com"

// TestProxies calls a tool that asks the client a question during the call. A proxy that
// buffers the response until it is complete would never forward the question, because the
// answer comes after it.
func TestProxies(t *testing.T) {
	for name, front := range map[string]func(t *testing.T, to, listen string, certificate certificate){
		"nginx": nginx,
		"caddy": caddy,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(name); err != nil {
				t.Skip(err)
			}
			tokens := filepath.Join(t.TempDir(), "tokens")
			if err := os.WriteFile(tokens, []byte("interop "+goodToken+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"--public-url", "https://" + publicName, "--auth-token-file", tokens},
				stdioServer(t, "go-sdk").after...)
			endpoint := serve(t, args...).endpoint
			listen, pair := freeAddress(t), certify(t)
			front(t, strings.TrimSuffix(strings.TrimPrefix(endpoint, "http://"), "/mcp"), listen, pair)
			through := &http.Client{Transport: &throughProxy{http.Transport{
				ForceAttemptHTTP2: true,
				TLSClientConfig:   &tls.Config{RootCAs: pair.pool},
				DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, "tcp", listen)
				},
			}}}
			awaitProxy(t, through)
			for _, version := range []string{v1125, v0728} {
				t.Run(version, func(t *testing.T) { askThrough(t, through, version) })
			}
			t.Run("metrics", func(t *testing.T) {
				answer, err := through.Get("https://" + publicName + "/metrics")
				if err != nil || answer.StatusCode < 400 {
					t.Errorf("/metrics from outside: %v, %v", answer, err)
				}
			})
			t.Run("websocket", func(t *testing.T) { upgradeThrough(t, listen, pair) })
		})
	}
}

// throughProxy adds the token to requests.
type throughProxy struct{ http.Transport }

func (p *throughProxy) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+goodToken)
	return p.Transport.RoundTrip(r)
}

func askThrough(t *testing.T, through *http.Client, version string) {
	asked := 0
	c := dialGoSDK(t, &mcp.StreamableClientTransport{Endpoint: "https://" + publicName + "/mcp", HTTPClient: through},
		version, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				asked++
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
			},
		})
	defer c.close()
	got, err := c.call(limited(t), "ask", object{})
	if err != nil || !strings.Contains(fmt.Sprint(got), "accept Ann") || asked != 1 {
		t.Errorf("ask: %v, %v, asked %d times", got, err, asked)
	}
	if got, err := c.call(limited(t), "greet", object{"name": strings.Repeat("x", 100_000)}); err != nil ||
		!strings.Contains(fmt.Sprint(got), "Hello, xxx") {
		t.Errorf("a large call: %v", err)
	}
}

// upgradeThrough opens a WebSocket up to the response to the upgrade.
func upgradeThrough(t *testing.T, listen string, pair certificate) {
	conn, err := tls.Dial("tcp", listen, &tls.Config{RootCAs: pair.pool, ServerName: publicName})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn,
		"GET /ws HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mcp\r\n\r\n",
		publicName, goodToken)
	line := make([]byte, len("HTTP/1.1 101"))
	if _, err := io.ReadFull(conn, line); err != nil || string(line) != "HTTP/1.1 101" {
		t.Errorf("the answer begins with %q, %v", line, err)
	}
}

// awaitProxy waits until the proxy answers.
func awaitProxy(t *testing.T, through *http.Client) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		answer, err := through.Get("https://" + publicName + "/readyz")
		if err == nil && answer.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the proxy does not answer: %v, %v", answer, err)
		}
		time.Sleep(20 * time.Millisecond) // an external process: there is no event to wait for
	}
}

// deployed returns a file of examples/deploy with words replaced, each of which must
// occur.
func deployed(t *testing.T, name string, replace ...string) string {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("..", "examples", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	text := string(file)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			t.Errorf("%s has no %q", name, replace[i])
		}
		text = strings.ReplaceAll(text, replace[i], replace[i+1])
	}
	return text
}

func nginx(t *testing.T, to, listen string, pair certificate) {
	conf := deployed(t, "nginx.conf", "127.0.0.1:8080", to, "listen 443 ssl;", "listen "+listen+" ssl;",
		"/etc/ssl/mcp.example.com/fullchain.pem", pair.chain, "/etc/ssl/mcp.example.com/privkey.pem", pair.key)
	dir := t.TempDir()
	whole := "daemon off; pid nginx.pid; error_log error.log;\nevents {}\nhttp {\naccess_log off;\n"
	if os.Geteuid() == 0 {
		whole = "user root;\n" + whole // otherwise its workers cannot access the test folders
	}
	for _, path := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		whole += path + "_temp_path " + path + ";\n"
	}
	file := filepath.Join(dir, "nginx.conf")
	write := func(conf string) {
		if err := os.WriteFile(file, []byte(whole+conf+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(conf)
	args := []string{"-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", file}
	if out, err := exec.Command("nginx", append(args, "-t")...).CombinedOutput(); err != nil &&
		bytes.Contains(out, []byte(`"http2"`)) {
		write(strings.NewReplacer("    http2 on;\n", "", " ssl;", " ssl http2;").Replace(conf)) // before 1.25.1
	} else if err != nil {
		t.Fatalf("nginx -t: %v\n%s", err, out)
	}
	runProgram(t, exec.Command("nginx", args...))
}

func caddy(t *testing.T, to, listen string, pair certificate) {
	conf := "{\n\tadmin off\n\tauto_https off\n}\n" + deployed(t, "Caddyfile", "127.0.0.1:8080", to,
		"\nmcp.example.com {\n", "\nhttps://mcp.example.com:"+listen[strings.LastIndex(listen, ":")+1:]+
			" {\n\tbind 127.0.0.1\n\ttls "+pair.chain+" "+pair.key+"\n")
	file := filepath.Join(t.TempDir(), "Caddyfile")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("caddy", "run", "--config", file, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
	runProgram(t, cmd)
}

// runProgram runs a program until the test ends. Its output is logged if the test fails.
func runProgram(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	log := new(lockedBuffer)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", cmd.Args[0], log)
		}
	})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// certificate is a self-signed certificate for publicName.
type certificate struct {
	chain, key string // files
	pool       *x509.CertPool
}

func certify(t *testing.T) certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		DNSNames:     []string{publicName},
		NotAfter:     time.Now().Add(time.Hour),
	}
	chain, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := certificate{filepath.Join(dir, "chain.pem"), filepath.Join(dir, "key.pem"), x509.NewCertPool()}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain})
	c.pool.AppendCertsFromPEM(text)
	for name, text := range map[string][]byte{
		c.chain: text,
		c.key:   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}
