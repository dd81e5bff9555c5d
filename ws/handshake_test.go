package ws_test

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/ws"
)

// headers are those of an upgrade: values replace the usual ones, and an empty value
// removes the header.
type headers map[string]string

// request formats an upgrade request.
func (h headers) request(method, path string) string {
	all := headers{
		"Host": "127.0.0.1", "Connection": "Upgrade", "Upgrade": "websocket",
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	}
	maps.Copy(all, h)
	text := method + " " + path + " HTTP/1.1\r\n"
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for value := range strings.SplitSeq(all[name], "\n") {
			if value != "" {
				text += name + ": " + value + "\r\n"
			}
		}
	}
	return text + "\r\n"
}

// handshake sends an upgrade and returns the response.
func (w *harness) handshake(method string, h headers) (*rawConn, *http.Response) {
	w.tb.Helper()
	conn, err := w.dial()
	if err != nil {
		w.tb.Fatal(err)
	}
	c := unupgraded(w.tb, conn)
	c.send([]byte(h.request(method, "/ws")))
	response, err := http.ReadResponse(c.r, nil)
	if err != nil {
		w.tb.Fatal(err)
	}
	return c, response
}

// W1 and W2: the server selects only a subprotocol that was offered.
func TestSubprotocol(t *testing.T) {
	tests := []struct {
		name   string
		offer  string // each line is a separate header field
		strict bool
		status int
		chosen string
	}{
		{"the seed's", "mcp.v1", false, 101, "mcp.v1"},
		{"the TypeScript SDK's", "mcp", false, 101, "mcp"},
		{"both", "mcp, mcp.v1", false, 101, "mcp.v1"},
		{"both in two headers", "mcp\nmcp.v1", false, 101, "mcp.v1"},
		{"a version", "mcp.version.2025-11-25", false, 101, "mcp.version.2025-11-25"},
		{"the first known version", "mcp.version.1999-01-01, mcp.version.2025-06-18,mcp.version.2026-07-28", false, 101,
			"mcp.version.2025-06-18"},
		{"a version and a name", "mcp.version.2026-07-28, mcp", false, 101, "mcp"},
		{"a token is no subprotocol", "mcp.auth.c2VjcmV0, mcp", false, 101, "mcp"},
		{"a name among others", "graphql-ws,  mcp.v1 ,soap", false, 101, "mcp.v1"},
		{"nothing", "", false, 101, ""},
		{"only others", "graphql-ws", false, 400, ""},
		{"only a token", "mcp.auth.c2VjcmV0", false, 400, ""},
		{"only an unknown version", "mcp.version.1999-01-01", false, 400, ""},
		{"another case", "MCP", false, 400, ""},
		{"a longer name", "mcp.v10", false, 400, ""},
		{"strict and nothing", "", true, 426, "mcp.v1"},
		{"strict and only others", "graphql-ws", true, 400, ""},
		{"strict and well", "mcp", true, 101, "mcp"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := overTCP(t, &ws.Options{RequireSubprotocol: tt.strict})
			_, response := w.handshake("GET", headers{"Sec-WebSocket-Protocol": tt.offer})
			if response.StatusCode != tt.status {
				t.Errorf("status = %d, want %d", response.StatusCode, tt.status)
			}
			if got := strings.Join(response.Header.Values("Sec-WebSocket-Protocol"), "|"); got != tt.chosen {
				t.Errorf("Sec-WebSocket-Protocol = %q, want %q", got, tt.chosen)
			}
			if tt.status == 426 && response.Header.Get("Upgrade") != "websocket" {
				t.Errorf("Upgrade = %q, want websocket", response.Header.Get("Upgrade"))
			}
		})
	}
}

// W4, and requests that are not valid upgrades.
func TestUpgradeRefused(t *testing.T) {
	tests := []struct {
		name, method string
		headers      headers
		status       int
	}{
		{"an ordinary one", "GET", nil, 101},
		{"several words", "GET", headers{"Connection": "keep-alive, Upgrade", "Upgrade": "WebSocket"}, 101},
		{"no Upgrade", "GET", headers{"Upgrade": ""}, 426},
		{"another Upgrade", "GET", headers{"Upgrade": "h2c"}, 426},
		{"no Connection", "GET", headers{"Connection": ""}, 426},
		{"POST", "POST", headers{"Content-Length": "0"}, 426},
		{"an old version", "GET", headers{"Sec-WebSocket-Version": "8"}, 400},
		{"no key", "GET", headers{"Sec-WebSocket-Key": ""}, 400},
		{"a short key", "GET", headers{"Sec-WebSocket-Key": "YQ=="}, 400},
		{"the server's own Origin", "GET", headers{"Origin": "http://127.0.0.1"}, 101},
		{"an Origin on this machine", "GET", headers{"Origin": "http://localhost:3000"}, 101},
		{"a foreign Origin", "GET", headers{"Origin": "https://evil.example.com"}, 403},
		{"an opaque Origin", "GET", headers{"Origin": "null"}, 403},
		{"an allowed Origin", "GET", headers{"Origin": "https://app.example.com"}, 101},
		{"a rebound Host", "GET", headers{"Host": "evil.example.com"}, 403},
		{"an allowed Host", "GET", headers{"Host": "mcp.example.com"}, 101},
	}
	w := overTCP(t, &ws.Options{
		AllowedHosts:   []string{"mcp.example.com"},
		AllowedOrigins: []string{"https://app.example.com"},
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, response := w.handshake(tt.method, tt.headers)
			if response.StatusCode != tt.status {
				t.Errorf("status = %d, want %d", response.StatusCode, tt.status)
			}
			if tt.status == 426 && response.Header.Get("Upgrade") != "websocket" {
				t.Errorf("Upgrade = %q, want websocket", response.Header.Get("Upgrade"))
			}
		})
	}
}

func TestUpgradeWhereConnectionsCannotBeTakenOver(t *testing.T) {
	h := ws.NewHandler(server.New(newSource(), nil), nil)
	r := httptest.NewRequest("GET", "http://127.0.0.1/ws", nil)
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	rec := httptest.NewRecorder() // not a Hijacker
	h.ServeHTTP(rec, r)
	if rec.Code != http.StatusNotImplemented {
		t.Errorf("status = %d, want 501", rec.Code)
	}
	if err := h.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown = %v: the upgrade that failed still counts", err)
	}
}

func TestIsUpgrade(t *testing.T) {
	for _, tt := range []struct {
		method, connection, upgrade string
		want                        bool
	}{
		{"GET", "Upgrade", "websocket", true},
		{"GET", "keep-alive, upgrade", "h2c, WebSocket", true},
		{"POST", "Upgrade", "websocket", false},
		{"GET", "Upgrades", "websocket", false},
		{"GET", "Upgrade", "", false},
		{"GET", "", "websocket", false},
	} {
		r := httptest.NewRequest(tt.method, "/", nil)
		r.Header = http.Header{"Connection": {tt.connection}, "Upgrade": {tt.upgrade}}
		if got := ws.IsUpgrade(r); got != tt.want {
			t.Errorf("IsUpgrade(%+v) = %t, want %t", tt, got, tt.want)
		}
	}
}

// W3: a token from the header, or else from the subprotocols.
func TestTokens(t *testing.T) {
	encoded := base64.RawURLEncoding.EncodeToString([]byte("s3cret-token"))
	tests := []struct {
		name, authorization, offer string
		want                       []string
	}{
		{"none", "", "mcp", nil},
		{"header", "Bearer s3cret", "mcp", []string{"s3cret"}},
		{"scheme in another case", "bearer  s3cret ", "", []string{"s3cret"}},
		{"the header wins", "Bearer s3cret", "mcp.auth.other", []string{"s3cret"}},
		{"another scheme", "Basic dTpw", "mcp.auth.other", nil},
		{"a header without a token", "Bearer", "mcp.auth.other", nil},
		{"two headers", "Bearer a\nBearer b", "", nil},
		{"as it stands", "", "mcp.v1, mcp.auth.with-dots.in.it", []string{"with-dots.in.it"}},
		{"base64url", "", "mcp.auth." + encoded + ", mcp", []string{encoded, "s3cret-token"}},
		{"base64url with padding", "", "mcp.auth.YQ==", []string{"YQ==", "a"}},
		{"base64url of no token", "", "mcp.auth.AAECAw", []string{"AAECAw"}},
		{"an empty one", "", "mcp.auth., mcp", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/ws", nil)
			for value := range strings.SplitSeq(tt.authorization, "\n") {
				if value != "" {
					r.Header.Add("Authorization", value)
				}
			}
			r.Header.Set("Sec-WebSocket-Protocol", tt.offer)
			if diff := cmp.Diff(tt.want, ws.Tokens(r)); diff != "" {
				t.Errorf("Tokens (-want +got):\n%s", diff)
			}
		})
	}
}

// bearer admits clients with the token.
func bearer(w http.ResponseWriter, r *http.Request) context.Context {
	tokens := ws.Tokens(r)
	if slices.Contains(tokens, "s3cret") {
		return mcp.WithPrincipal(r.Context(), &mcp.Principal{Name: "alice"})
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	w.WriteHeader(http.StatusUnauthorized)
	return nil
}

func TestAuthenticate(t *testing.T) {
	tests := []struct {
		name    string
		headers headers
		status  int
	}{
		{"no token", nil, 401},
		{"a wrong one", headers{"Authorization": "Bearer wrong"}, 401},
		{"a wrong one as subprotocol", headers{"Sec-WebSocket-Protocol": "mcp, mcp.auth.wrong"}, 401},
		{"the right one", headers{"Authorization": "Bearer s3cret"}, 101},
		{"the right one as subprotocol", headers{"Sec-WebSocket-Protocol": "mcp, mcp.auth.s3cret"}, 101},
		{"the right one encoded", headers{"Sec-WebSocket-Protocol": "mcp, mcp.auth.czNjcmV0"}, 101},
		{"asked before the subprotocol", headers{"Sec-WebSocket-Protocol": "soap"}, 401},
		{"asked behind the Origin", headers{"Origin": "https://evil.example.com"}, 403},
		{"not asked about what is no upgrade", headers{"Upgrade": ""}, 426},
	}
	w := overTCP(t, &ws.Options{Authenticate: bearer})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, response := w.handshake("GET", tt.headers)
			if response.StatusCode != tt.status {
				t.Errorf("status = %d, want %d", response.StatusCode, tt.status)
			}
			if got := response.Header.Get("Sec-WebSocket-Protocol"); strings.Contains(got, "auth") {
				t.Errorf("Sec-WebSocket-Protocol = %q repeats the token", got)
			}
			if response.StatusCode == 101 {
				c.say(modern(1, "tools/call", `"name":"who"`))
				c.wantMessage(`"alice"`)
			}
		})
	}
}

// An outer handler may have authenticated the client already.
func TestPrincipalOfTheUpgrade(t *testing.T) {
	w := overTCP(t, nil)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.handler.ServeHTTP(rw, r.WithContext(mcp.WithPrincipal(r.Context(), &mcp.Principal{Name: "bob"})))
	}))
	t.Cleanup(front.Close)
	c := dialRaw(t, front.Listener.Addr().String())
	c.say(modern(1, "tools/call", `"name":"who"`))
	c.wantMessage(`"bob"`)
}

// W8: compression is off, whatever the client offers, unless enabled.
func TestCompression(t *testing.T) {
	for _, tt := range []struct {
		name     string
		compress bool
		want     string
	}{
		{"off by default", false, ""},
		{"on", true, "permessage-deflate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := overTCP(t, &ws.Options{Compress: tt.compress})
			_, response := w.handshake("GET", headers{"Sec-WebSocket-Extensions": "permessage-deflate"})
			got, _, _ := strings.Cut(response.Header.Get("Sec-WebSocket-Extensions"), ";")
			if got != tt.want {
				t.Errorf("Sec-WebSocket-Extensions = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMaxConns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := overMemory(t, &ws.Options{MaxConns: 2})
		first := w.legacy()
		w.legacy()
		if _, response := w.handshake("GET", nil); response.StatusCode != 503 {
			t.Errorf("status of the third = %d, want 503", response.StatusCode)
		}
		first.Close()
		synctest.Wait()
		if _, response := w.handshake("GET", nil); response.StatusCode != 101 {
			t.Errorf("status after one has left = %d, want 101", response.StatusCode)
		}
	})
}
