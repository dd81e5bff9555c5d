package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// rawRequest is an HTTP request as text, for requests that net/http's client refuses to
// send: a foreign Host, repeated fields, wrong lengths.
type rawRequest struct {
	line   string   // such as "POST /mcp HTTP/1.1"
	fields []string // such as "Accept: */*"
	body   string
}

// post returns a request as sent by a well-behaved client of the body's version. Each
// field replaces those of the same name; a name without a value removes them, and a
// leading plus sign adds the field to them.
func post(body string, fields ...string) rawRequest {
	r := rawRequest{line: "POST /mcp HTTP/1.1", body: body}
	for name, values := range clientHeader(body) {
		r.fields = append(r.fields, name+": "+values[0])
	}
	r.fields = append(r.fields, "Host: localhost", "Content-Length: "+strconv.Itoa(len(body)), "Connection: close")
	return r.with(fields...)
}

// request returns a request with another method, without a body.
func request(method string, fields ...string) rawRequest {
	return rawRequest{
		line:   method + " /mcp HTTP/1.1",
		fields: []string{"Host: localhost", "Connection: close"},
	}.with(fields...)
}

func (r rawRequest) with(fields ...string) rawRequest {
	for _, field := range fields {
		added, add := strings.CutPrefix(field, "+")
		name, _, hasValue := strings.Cut(field, ":")
		if add {
			r.fields = append(r.fields, added)
			continue
		}
		var kept []string
		for _, f := range r.fields {
			if n, _, _ := strings.Cut(f, ":"); !strings.EqualFold(n, name) {
				kept = append(kept, f)
			}
		}
		if r.fields = kept; hasValue {
			r.fields = append(r.fields, field)
		}
	}
	return r
}

// response is an HTTP response with the decoded message.
type response struct {
	status  int
	header  http.Header
	body    string
	id      string // raw; empty if the message has none
	code    mcp.Code
	message string
	data    string
	result  string
}

// do sends the request over a new connection.
func (r rawRequest) do(t *testing.T, addr string) *response {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, r.line+"\r\n"+strings.Join(r.fields, "\r\n")+"\r\n\r\n"+r.body); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(r.line, " ")
	w, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return takeApart(t, w.StatusCode, w.Header, body)
}

func takeApart(t *testing.T, status int, header http.Header, body []byte) *response {
	t.Helper()
	r := &response{status: status, header: header, body: string(body)}
	if header.Get("Content-Type") == "text/event-stream" {
		if i := bytes.LastIndex(body, []byte("data: ")); i >= 0 {
			body = body[i+len("data: "):]
		}
	}
	var w struct {
		ID     json.RawMessage
		Result json.RawMessage
		Error  *struct {
			Code    mcp.Code
			Message string
			Data    json.RawMessage
		}
	}
	if len(body) == 0 || body[0] != '{' {
		return r
	}
	if err := json.Unmarshal(body, &w); err != nil {
		t.Fatalf("body %s: %v", body, err)
	}
	r.id, r.result = string(w.ID), string(w.Result)
	if w.Error != nil {
		r.code, r.message, r.data = w.Error.Code, w.Error.Message, string(w.Error.Data)
	}
	return r
}

// serveHTTP starts a server on a loopback port and returns its address.
func serveHTTP(t *testing.T, source mcp.Source, opts *mcpserver.HTTPOptions) (addr string) {
	t.Helper()
	server := httptest.NewServer(mcpserver.New(source, nil).HTTPHandler(opts))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}
