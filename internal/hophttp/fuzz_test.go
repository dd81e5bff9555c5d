package hophttp_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/slipway-mcp/slipway/internal/hophttp"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

// textConn is a connection whose other end sends a text whatever it receives.
type textConn struct {
	net.Conn

	text io.Reader
}

func (c *textConn) Read(b []byte) (int, error)  { return c.text.Read(b) }
func (c *textConn) Write(b []byte) (int, error) { return len(b), nil }
func (c *textConn) Close() error                { return nil }

// FuzzAnswer reads answers, whole and byte by byte, with the same result, and accepts none that net/http reads as
// another one.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: a\r\n\r\n{}",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nT: v\r\n\r\n",
		"HTTP/1.1 200 OK\r\nConnection: close, x\r\nX: y\r\n\r\nrest",
		"HTTP/1.1 204 No Content\r\n\r\n",
	} {
		f.Add(text)
	}
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		answer := func(r io.Reader) (status int, header http.Header, body string, err error) {
			transport := &hophttp.Transport{Dial: func(context.Context) (net.Conn, error) { return &textConn{text: r}, nil }}
			req, _ := http.NewRequest(http.MethodGet, "http://replica/", nil)
			return read(transport, req)
		}
		status, _, body, err := answer(strings.NewReader(text))
		slowStatus, _, slowBody, slowErr := answer(iotest.OneByteReader(strings.NewReader(text)))
		if status != slowStatus || body != slowBody || (err == nil) != (slowErr == nil) {
			t.Fatalf("%d %q %v at once, %d %q %v byte by byte", status, body, err, slowStatus, slowBody, slowErr)
		}
		if err != nil {
			return
		}
		for r := bufio.NewReader(strings.NewReader(text)); ; {
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				return // net/http accepts less in places
			}
			if resp.StatusCode < 200 {
				continue
			}
			want, err := io.ReadAll(resp.Body)
			if err == nil && (resp.StatusCode != status || string(want) != body) {
				t.Fatalf("%d %q, net/http reads %d %q", status, body, resp.StatusCode, want)
			}
			return
		}
	})
}
