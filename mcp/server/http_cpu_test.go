//go:build unix

package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/race"
)

// The server may cost only little more than a handler of net/http that reads the body and
// writes an answer of the same size. Both are measured alternately, in the same process,
// over connections whose client costs almost nothing.
func TestCPURatio(t *testing.T) {
	if race.Short() {
		t.Skip("measures")
	}
	const rounds, requests, bound = 11, 2000, 1.6
	ours := serveHTTP(t, newDemo(), nil)
	for _, w := range workloads() {
		t.Run(w.name, func(t *testing.T) {
			mine := dial(t, ours, w)
			answer := mine.roundTrip(t)
			floor := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				rw.Header()["Content-Type"] = []string{"application/json"}
				_, _ = rw.Write(answer)
			}))
			defer floor.Close()
			bare := dial(t, floor.Listener.Addr().String(), w)
			bare.roundTrip(t)
			var ratios []float64
			for range rounds {
				below := cpu(t, bare, requests)
				ratios = append(ratios, float64(cpu(t, mine, requests))/float64(below))
			}
			slices.Sort(ratios)
			median := ratios[rounds/2]
			t.Logf("%.2f times the CPU of a bare handler (%.2f to %.2f)", median, ratios[0], ratios[rounds-1])
			if median > bound {
				t.Errorf("%.2f times the CPU of a bare handler, want at most %v", median, bound)
			}
		})
	}
}

// cpu returns the CPU time of the process for n requests.
func cpu(t *testing.T, c *bareClient, n int) time.Duration {
	t.Helper()
	start := processTime(t)
	for range n {
		c.again(t)
	}
	return processTime(t) - start
}

func processTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// bareClient sends the same bytes repeatedly over one connection. It knows the length of
// the response.
type bareClient struct {
	conn     net.Conn
	request  []byte
	response []byte
}

func dial(t *testing.T, addr string, w workload) *bareClient {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	request := fmt.Sprintf(
		"POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json,"+
			" text/event-stream\r\nContent-Length: %d\r\n",
		addr, len(w.body))
	for name, values := range w.header {
		request += name + ": " + values[0] + "\r\n"
	}
	return &bareClient{conn: conn, request: []byte(request + "\r\n" + w.body)}
}

// roundTrip sends the request once and returns the body of the answer.
func (c *bareClient) roundTrip(t *testing.T) []byte {
	t.Helper()
	if _, err := c.conn.Write(c.request); err != nil {
		t.Fatal(err)
	}
	var raw strings.Builder
	r := bufio.NewReader(io.TeeReader(c.conn, &raw))
	w, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if w.StatusCode != http.StatusOK || w.Header.Get("Content-Length") != strconv.Itoa(len(body)) {
		t.Fatalf("status %d, length %q of %s", w.StatusCode, w.Header.Get("Content-Length"), body)
	}
	c.response = make([]byte, raw.Len())
	return body
}

func (c *bareClient) again(t *testing.T) {
	if _, err := c.conn.Write(c.request); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c.conn, c.response); err != nil {
		t.Fatal(err)
	}
}
