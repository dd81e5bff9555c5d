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
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// faults are the web servers of the script command faulty.
var faults = map[string]func(w http.ResponseWriter, r *http.Request){
	"page": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>Welcome</title>")
	},
	"missing": http.NotFound,
	"down": func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no upstream", http.StatusBadGateway)
	},
	"version": refuseVersion,
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
	case "otherhost":
		certify(ts, web, args[0], now.Add(-day), now.Add(day), "192.0.2.1")
	default:
		if faults[kind] == nil {
			ts.Fatalf("no fault is called %q", kind)
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
		IPAddresses:           []net.IP{net.ParseIP(host)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	ts.Check(err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	ts.Check(os.WriteFile(ts.MkAbs(name+".pem"), text, 0o600))
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
