package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	shell "github.com/slipway-mcp/slipway/internal/process"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// faults are the web servers of the script command faulty.
var faults = map[string]func(w http.ResponseWriter, r *http.Request){
	"page": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>Welcome</title>")
	},
	"missing": http.NotFound,
	"moved":   onlyAtAPI,
	"down": func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no upstream", http.StatusBadGateway)
	},
	"version": refuseVersion,
}

// onlyAtAPI is a server at /api/mcp, with a web page everywhere else.
func onlyAtAPI(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/mcp" {
		mcpserver.New(newUpstreamSource("up"), nil).HTTPHandler(nil).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, "<!doctype html><title>Welcome</title>")
}

// refuseVersion rejects every version of the protocol.
func refuseVersion(w http.ResponseWriter, r *http.Request) {
	var request struct {
		ID json.RawMessage `json:"id"`
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&request) != nil {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"Unsupported protocol version"}}`,
		request.ID)
}

// hostFaulty implements faulty NAME KIND: a web server with a fault at $NAME.
func hostFaulty(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "faulty NAME KIND")
	source := newUpstreamSource("up")
	working := mcpserver.New(source, nil).HTTPHandler(nil)
	web := httptest.NewUnstartedServer(working)
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	day := 24 * time.Hour
	now := time.Now()
	switch kind := args[1]; kind {
	case "clock":
		web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", now.Add(-time.Hour).UTC().Format(http.TimeFormat))
			working.ServeHTTP(w, r)
		})
		web.Start()
	case "selfsigned", "trusted":
		certify(ts, web, args[0], now.Add(-day), now.Add(day), "127.0.0.1")
	case "expired":
		certify(ts, web, args[0], now.Add(-9*day), now.Add(-2*day), "127.0.0.1")
	case "future":
		certify(ts, web, args[0], now.Add(2*day), now.Add(9*day), "127.0.0.1")
	case "named":
		certify(ts, web, args[0], now.Add(-day), now.Add(day), "localhost")
	case "otherhost":
		certify(ts, web, args[0], now.Add(-day), now.Add(day), "192.0.2.1")
	default:
		if faults[kind] == nil {
			ts.Fatalf("unknown fault %q", kind)
		}
		web.Config.Handler = http.HandlerFunc(faults[kind])
		web.Start()
	}
	ts.Defer(web.Close)
	ts.Setenv(args[0], web.URL)
}

// certify starts a server with a self-signed certificate, which is written to NAME.pem.
func certify(ts *testscript.TestScript, web *httptest.Server, name string, from, until time.Time, host string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test"},
		NotBefore:             from,
		NotAfter:              until,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	ts.Check(err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	ts.Check(os.WriteFile(ts.MkAbs(name+".pem"), text, 0o600))
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	text = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	ts.Check(os.WriteFile(ts.MkAbs(name+".key"), text, 0o600))
	web.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	web.StartTLS()
}

// occupyPort implements occupy NAME: a listener on a port of 127.0.0.1, at $NAME.
func occupyPort(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "occupy NAME")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

// runCure implements cure RULE ARG...: doctor with the arguments reports the rule, and no
// longer does after its hint was executed as a command of the same shell. $VALUE and $SOURCE
// replace these words of the hint.
func runCure(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: cure RULE ARG...")
	}
	diagnosis := "slipway doctor --json"
	for _, arg := range args[1:] {
		diagnosis += " " + shell.ShellWord(arg)
	}
	hint, found := hintFor(ts, diagnosis, args[0])
	if !found {
		ts.Fatalf("no finding of the rule doctor/%s", args[0])
	}
	hint = strings.NewReplacer("VALUE", ts.Getenv("VALUE"), "SOURCE", ts.Getenv("SOURCE")).Replace(hint)
	ts.Logf("[hint] %s", hint)
	again := hint + "\n" + diagnosis
	switch {
	case strings.HasPrefix(hint, "slipway doctor "):
		again = hint + " --json"
	case strings.HasPrefix(hint, "slipway add "):
		again = strings.Replace(hint, "slipway add", "slipway add --yes", 1) + " >/dev/null\n" + diagnosis
	case strings.HasPrefix(hint, "slipway config remove "):
		again = hint + " >/dev/null\n" + diagnosis
	}
	if hint, found = hintFor(ts, again, args[0]); found {
		ts.Fatalf("doctor/%s is reported again, with the hint %s", args[0], hint)
	}
}

// hintFor runs a script that prints checks as JSON, and returns the hint of a rule.
func hintFor(ts *testscript.TestScript, script, rule string) (hint string, found bool) {
	_ = ts.Exec("sh", "-c", script) // the exit code is 1 for errors
	var out struct {
		Checks []struct {
			Findings []struct{ Rule, Hint string }
		}
	}
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &out); err != nil || len(out.Checks) == 0 {
		ts.Fatalf("%s: %v: %s%s", script, err, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
	for _, c := range out.Checks {
		for _, f := range c.Findings {
			if strings.TrimPrefix(f.Rule, "doctor/") == rule {
				return f.Hint, true
			}
		}
	}
	return "", false
}
