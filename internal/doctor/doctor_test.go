package doctor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/doctor"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

func TestMain(m *testing.M) {
	// Addresses of this machine never use the proxy, which nothing listens at.
	for name, value := range map[string]string{"HTTP_PROXY": "http://127.0.0.1:1", "NO_PROXY": ".invalid"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	ruletest.Main(m, doctor.Rules())
}

// options returns options with an empty home, and a PATH of these folders.
func options(t *testing.T, path ...string) *doctor.Options {
	t.Helper()
	home := t.TempDir()
	variables := map[string]string{"PATH": strings.Join(path, string(filepath.ListSeparator))}
	return &doctor.Options{
		Place: clients.Place{
			OS:        "linux",
			Home:      home,
			Dir:       t.TempDir(),
			LookupEnv: func(name string) (string, bool) { value, ok := variables[name]; return value, ok },
		},
		Definitions: filepath.Join(home, ".config", "slipway", "servers.yaml"),
		StateDir:    filepath.Join(home, "state"),
		Open:        openURL,
		Timeout:     10 * time.Second,
	}
}

// openURL opens the URL of a server, but no site.
func openURL(ctx context.Context, source string, opts *client.Options) (mcp.Source, error) {
	address, ok := strings.CutPrefix(source, "live:")
	if !ok {
		return nil, errors.New("not a server")
	}
	return client.Open(ctx, &client.Endpoint{URL: address}, opts)
}

// write writes a file and its folders.
func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantRules compares the rules of the findings with those wanted, and requires a hint.
func wantRules(t *testing.T, d *doctor.Doctor, want ...string) {
	t.Helper()
	got := []string{}
	for _, f := range ruletest.Findings(d.Report()) {
		got = append(got, strings.TrimPrefix(f.Rule.ID, "doctor/"))
		if f.Hint == "" {
			t.Errorf("%v: no hint", f)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(slices.Compact(got), want) {
		t.Errorf("findings %q, want %q", got, want)
		for _, c := range d.Checks() {
			t.Logf("%s %s: %s %v", c.Status, c.Name, c.Detail, c.Findings)
		}
	}
}

func skipWithoutShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
}

func TestInstallation(t *testing.T) {
	skipWithoutShell(t)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	tests := map[string]struct {
		change func(t *testing.T, o *doctor.Options)
		want   []string
	}{
		"empty": {func(*testing.T, *doctor.Options) {}, []string{"no-clients"}},
		"busy port": {func(_ *testing.T, o *doctor.Options) { o.Addr = busy.Addr().String() },
			[]string{"no-clients", "port-busy"}},
		"another program first": {func(t *testing.T, o *doctor.Options) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "slipway"), "#!/bin/sh\n", 0o700)
			o.Place.LookupEnv = func(name string) (string, bool) { return dir, name == "PATH" }
			o.Program = write(t, filepath.Join(t.TempDir(), "slipway"), "#!/bin/sh\n", 0o700)
		}, []string{"no-clients", "path-shadowed"}},
		"not on the PATH": {func(t *testing.T, o *doctor.Options) {
			o.Program = write(t, filepath.Join(t.TempDir(), "slipway"), "#!/bin/sh\n", 0o700)
		}, []string{"no-clients", "path-missing"}},
		"privileged port": {func(_ *testing.T, o *doctor.Options) {
			o.Addr = "127.0.0.1:443"
			o.Listen = func(_, addr string) (net.Listener, error) {
				if addr == o.Addr {
					return nil, &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EACCES)}
				}
				return net.Listen("tcp", "127.0.0.1:0")
			}
		}, []string{"no-clients", "port-privileged"}},
		"foreign address": {func(_ *testing.T, o *doctor.Options) { o.Addr = "192.0.2.1:8080" },
			[]string{"address", "no-clients"}},
		"no config folder": {func(_ *testing.T, o *doctor.Options) { o.Definitions = "" },
			[]string{"config-folder", "no-clients"}},
		"a file as config folder": {func(t *testing.T, o *doctor.Options) {
			write(t, filepath.Dir(o.Definitions), "", 0o600)
		}, []string{"config-folder", "no-clients"}},
		"unreadable definitions": {func(t *testing.T, o *doctor.Options) {
			if err := os.MkdirAll(o.Definitions, 0o700); err != nil {
				t.Fatal(err)
			}
		}, []string{"definitions", "no-clients"}},
		"malformed state": {func(t *testing.T, o *doctor.Options) {
			write(t, filepath.Join(o.StateDir, "clients.json"), "{", 0o600)
		}, []string{"no-clients", "state"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			test.change(t, o)
			d := doctor.New(o)
			d.Installation(t.Context())
			wantRules(t, d, test.want...)
		})
	}
}

func TestClient(t *testing.T) {
	skipWithoutShell(t)
	programs := t.TempDir()
	for name, text := range map[string]string{"node": "echo v16.1.0", "npx": "exit 1", "true": "exit 0"} {
		write(t, filepath.Join(programs, name), "#!/bin/sh\n"+text+"\n", 0o700)
	}
	plain := write(t, filepath.Join(programs, "plain"), "", 0o600)
	slipway := write(t, filepath.Join(programs, "slipway"), "#!/bin/sh\n", 0o700)
	nowhere := filepath.Join(programs, "servers.yaml")
	defined := write(t, filepath.Join(programs, "empty.yaml"), "servers: {}\n", 0o600)
	tests := map[string]struct {
		client        string
		user, project string
		want          []string
	}{
		"no file":    {"cursor", "", "", []string{"client-absent"}},
		"malformed":  {"cursor", "{", "", []string{"client-file"}},
		"fine":       {"claude-code", `{"mcpServers": {"a": {"command": "true"}}}`, "", nil},
		"desktop":    {"cursor", `{"mcpServers": {"a": {"command": "true"}}}`, "", []string{"desktop-path"}},
		"own PATH":   {"cursor", `{"mcpServers": {"a": {"command": "true", "env": {"PATH": "` + programs + `"}}}}`, "", nil},
		"whole path": {"cursor", `{"mcpServers": {"a": {"command": "` + programs + `/true"}}}`, "", nil},
		"whole path of npx": {"cursor", `{"mcpServers": {"a": {"command": "` + programs + `/npx"}}}`, "",
			[]string{"desktop-path", "node-version"}},
		"old node":     {"claude-code", `{"mcpServers": {"a": {"command": "npx"}}}`, "", []string{"node-version"}},
		"missing":      {"claude-code", `{"mcpServers": {"a": {"command": "gone"}}}`, "", []string{"program-missing"}},
		"command line": {"claude-code", `{"mcpServers": {"a": {"command": "true x"}}}`, "", []string{"command-line"}},
		"mode": {"claude-code", `{"mcpServers": {"a": {"command": "` + plain + `"}}}`, "",
			[]string{"not-executable"}},
		"neither": {"claude-code", `{"mcpServers": {"a": {"x": 1}}}`, "", []string{"entry"}},
		"variable": {"claude-code", `{"mcpServers": {"a": {"command": "true", "env": {"K": "${SOME_KEY}"}}}}`, "",
			[]string{"variable-missing"}},
		"disabled": {"cursor", `{"mcpServers": {"a": {"command": "gone", "disabled": true}}}`, "", nil},
		"shadowed": {"claude-code", `{"mcpServers": {"a": {"url": "http://127.0.0.1/a"}}}`,
			`{"mcpServers": {"a": {"url": "http://127.0.0.1/b"}}}`, []string{"entry-shadowed"}},
		"the same twice": {"claude-code", `{"mcpServers": {"a": {"url": "http://127.0.0.1/a"}}}`,
			`{"mcpServers": {"a": {"url": "http://127.0.0.1/a"}}}`, nil},
		"launcher": {"claude-code",
			`{"mcpServers": {"a": {"command": "` + slipway + `", "args": ["config", "run", "` + defined + `", "a"]}}}`, "",
			[]string{"launcher"}},
		"launcher, no definitions": {"claude-code",
			`{"mcpServers": {"a": {"command": "` + slipway + `", "args": ["config", "run", "` + nowhere + `", "a"]}}}`, "",
			[]string{"launcher"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := options(t, programs)
			c, _ := clients.ByID(test.client)
			for scope, text := range map[clients.Scope]string{clients.User: test.user, clients.Project: test.project} {
				path, _, err := o.Place.Path(c, scope)
				if err != nil {
					t.Fatal(err)
				}
				if text != "" {
					write(t, path, text, 0o600)
				}
			}
			d := doctor.New(o)
			d.Client(t.Context(), c)
			wantRules(t, d, test.want...)
		})
	}
}

func TestDefinitions(t *testing.T) {
	skipWithoutShell(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "leaves"), "#!/bin/sh\necho 'hello'\nexit 3\n", 0o700)
	write(t, filepath.Join(dir, "waits"), "#!/bin/sh\nexec sleep 60\n", 0o700)
	write(t, filepath.Join(dir, "foreign"), "no first line", 0o700)
	const result = `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"a","version":"1"}}`
	answers := write(t, filepath.Join(dir, "answers"), "#!/bin/sh\nread line\nsleep 0.1\necho "+
		`'{"jsonrpc":"2.0","id":1,"result":`+result+`}'`+
		"\nexec cat >/dev/null\n", 0o700)
	tests := map[string]struct {
		text string
		want []string
	}{
		"secret":       {"servers: {a: {command: leaves, secrets: [K]}}\nsecrets: [K]\n", []string{"secret-missing"}},
		"exits":        {"servers: {a: {command: leaves}}\n", []string{"exits", "junk"}},
		"silent":       {"servers: {a: {command: waits}}\n", []string{"no-answer"}},
		"architecture": {"servers: {a: {command: foreign}}\n", []string{"architecture"}},
		"slow":         {"servers: {a: {command: " + answers + "}}\n", []string{"slow-start"}},
		"private": {"servers: {a: {url: \"http://10.1.2.3/mcp\", transport: http}}\n",
			[]string{"blocked"}},
		"disabled": {"servers: {a: {command: gone, enabled: false}}\n", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := options(t, dir, "/usr/bin", "/bin")
			t.Setenv("PATH", dir+":/usr/bin:/bin")
			o.Start = true
			o.Slow = time.Millisecond
			if o.Timeout = 10 * time.Second; name == "silent" {
				o.Timeout = 100 * time.Millisecond
			}
			file := write(t, filepath.Join(o.Place.Dir, "servers.yaml"), test.text, 0o600)
			d := doctor.New(o)
			d.Definitions(t.Context(), "servers.yaml", file)
			wantRules(t, d, test.want...)
		})
	}
}

// TestStartNothing verifies that servers of files are not started without Options.Start.
func TestStartNothing(t *testing.T) {
	skipWithoutShell(t)
	o := options(t, "/usr/bin", "/bin")
	trace := filepath.Join(o.Place.Dir, "started")
	program := write(t, filepath.Join(o.Place.Dir, "node"), "#!/bin/sh\ntouch "+trace+"\n", 0o700)
	write(t, filepath.Join(o.Place.Dir, "npx"), "#!/bin/sh\ntouch "+trace+"\n", 0o700)
	file := write(t, filepath.Join(o.Place.Dir, "servers.yaml"), "servers:\n"+
		"  a: {command: npx, env: {PATH: "+o.Place.Dir+"}}\n  b: {command: "+program+"}\n", 0o600)
	d := doctor.New(o)
	d.Definitions(t.Context(), "servers.yaml", file)
	if _, err := os.Stat(trace); err == nil {
		t.Error("a program of the definitions was started")
	}
	if checks := d.Checks(); len(checks) != 2 {
		t.Errorf("checks %v, want two", checks)
	}
}

func TestURL(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", code) }
	}
	tests := map[string]struct {
		handler http.HandlerFunc
		want    []string
	}{
		"token":  {status(http.StatusUnauthorized), []string{"token"}},
		"status": {status(http.StatusNotFound), []string{"http-status"}},
		"page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<title>x</title>")
		}, []string{"web-page"}},
		"protocol": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"hello": "world"}`)
		}, []string{"protocol"}},
		"clock": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
			http.Error(w, "no", http.StatusTeapot)
		}, []string{"clock", "http-status"}},
		"old":      {oldServer(), []string{"old-sse"}},
		"prompts":  {promptlessServer, []string{"list-missing"}},
		"redirect": {redirects, []string{"redirect"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(test.handler)
			defer web.Close()
			d := doctor.New(options(t))
			d.URL(t.Context(), web.URL+"/mcp", web.URL+"/mcp")
			wantRules(t, d, test.want...)
		})
	}
}

// redirects redirects every request to the metadata service of a cloud.
func redirects(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "http://169.254.169.254/", http.StatusTemporaryRedirect)
}

// promptlessServer is a server whose prompts/list fails.
func promptlessServer(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := `"error":{"code":-32603,"message":"database down"}`
	switch m.Method {
	case "initialize":
		answer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{}},` +
			`"serverInfo":{"name":"s","version":"1"}}`
	case "tools/list":
		answer = `"result":{"tools":[{"name":"good","inputSchema":{"type":"object"}}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
}

// oldServer is a server of 2024-11-05 that answers initialize and ping.
func oldServer() http.HandlerFunc {
	answers := make(chan string, 1)
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: endpoint\ndata: /post\n\n")
			for {
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
					return
				case text := <-answers:
					_, _ = io.WriteString(w, "event: message\ndata: "+text+"\n\n")
				}
			}
		case r.URL.Path != "/post":
			http.Error(w, "", http.StatusMethodNotAllowed)
		default:
			text, _ := io.ReadAll(r.Body) // a short request
			w.WriteHeader(http.StatusAccepted)
			_, rest, _ := strings.Cut(string(text), `"id":`)
			if id, _, ok := strings.Cut(rest, ","); ok && strings.Contains(rest, `"initialize"`) {
				answers <- `{"jsonrpc":"2.0","id":` + id + `,"result":{"protocolVersion":"2024-11-05","capabilities":{},` +
					`"serverInfo":{"name":"old","version":"1"}}}`
			}
		}
	}
}

func TestUnreachableURL(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	expected := map[string][]string{
		closed.URL:                  {"connect"},
		"http://nowhere.invalid/":   {"dns"},
		"http://":                   {"url"},
		"http://mcp.example.com/":   {"connect", "proxy"},
		"ftp://mcp.example.com/mcp": {"url"},
	}
	for address, want := range expected {
		t.Run(address, func(t *testing.T) {
			d := doctor.New(options(t))
			d.URL(t.Context(), address, address)
			wantRules(t, d, want...)
		})
	}
}

func TestTLS(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.StartTLS()
	defer old.Close()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(untrusted.URL, "https://"))
	for address, want := range map[string]string{
		"https://" + strings.TrimPrefix(plain.URL, "http://"): "tls",
		old.URL:                     "tls",
		untrusted.URL:               "tls-authority",
		"https://localhost:" + port: "tls-host",
	} {
		t.Run(want, func(t *testing.T) {
			d := doctor.New(options(t))
			d.URL(t.Context(), address, address)
			wantRules(t, d, want)
		})
	}
}

// TestExpired verifies that the dates of a certificate are compared before its authority.
func TestExpired(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]time.Time{
		"expired":       time.Now().AddDate(0, 0, -9),
		"not valid yet": time.Now().AddDate(0, 0, 2),
	} {
		t.Run(name, func(t *testing.T) {
			template := &x509.Certificate{
				SerialNumber: big.NewInt(1),
				NotBefore:    from,
				NotAfter:     from.AddDate(0, 0, 1),
				IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
			}
			der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
			if err != nil {
				t.Fatal(err)
			}
			web := httptest.NewUnstartedServer(http.NotFoundHandler())
			web.Config.ErrorLog = log.New(io.Discard, "", 0)
			web.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
			web.StartTLS()
			defer web.Close()
			d := doctor.New(options(t))
			d.URL(t.Context(), web.URL, web.URL)
			wantRules(t, d, "tls-expired")
		})
	}
}

// TestServerCertificate verifies each fault of the certificate of a configuration file.
func TestServerCertificate(t *testing.T) {
	dir := t.TempDir()
	doc, _ := stax.Parse("slipway.yaml", []byte("serve: {tls: {cert: c.pem}}\n"), nil)
	now := time.Now()
	pair := func(name string, from time.Time) (cert, key string) {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1),
			NotBefore:    from,
			NotAfter:     from.AddDate(0, 0, 2),
			DNSNames:     []string{"localhost"},
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
		if err != nil {
			t.Fatal(err)
		}
		bytes, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			t.Fatal(err)
		}
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes})
		return write(t, filepath.Join(dir, name+".pem"), string(text), 0o600),
			write(t, filepath.Join(dir, name+".key"), string(secret), 0o600)
	}
	valid, key := pair("valid", now.AddDate(0, 0, -1))
	expired, expiredKey := pair("expired", now.AddDate(0, 0, -9))
	future, futureKey := pair("future", now.AddDate(0, 0, 5))
	tests := map[string]struct {
		cert, key string
		fault     bool
	}{
		"valid":         {valid, key, false},
		"mismatch":      {valid, expiredKey, true},
		"expired":       {expired, expiredKey, true},
		"not valid yet": {future, futureKey, true},
		"missing":       {filepath.Join(dir, "gone.pem"), key, true},
		"a folder":      {dir, key, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := []string{}
			if test.fault {
				want = append(want, "server-certificate")
			}
			d := doctor.New(options(t))
			d.Listen("slipway.yaml", &doctor.Listening{
				Document: doc,
				Addr:     "127.0.0.1:0",
				Cert:     test.cert,
				Key:      test.key,
				AddrAt:   "/serve",
				CertAt:   "/serve/tls/cert",
			})
			wantRules(t, d, want...)
		})
	}
}

func TestSource(t *testing.T) {
	d := doctor.New(nil)
	d.Source("x", "failed", "try another", errors.New("unknown format"))
	wantRules(t, d, "source")
	if c := d.Checks()[0]; c.Status != doctor.Failure || c.Detail != "failed" {
		t.Errorf("check %v", c)
	}
}
