//go:build unix

package serve_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// costChild makes the test binary a server in a separate process, so that its usage can
// be distinguished from that of its clients.
const costChild = "SERVE_TEST_COST"

func TestMain(m *testing.M) {
	if os.Getenv(costChild) != "" {
		serveChild(os.Getenv(costChild))
		return
	}
	_ = flag.Set("test.parallel", "8") // the tests wait more than they compute
	os.Exit(m.Run())
}

// variant is a way to serve whose cost is measured.
type variant struct {
	name   string
	allocs float64 // more than plain, at most
	opts   func(testing.TB, *issuer) *serve.Options
}

func variants() []variant {
	limits := serve.Limits{Rate: 1e9, ClientInFlight: 1000, InFlight: 1000}
	return []variant{
		{"plain", 0, func(testing.TB, *issuer) *serve.Options {
			return &serve.Options{Features: serve.Features{NoMetrics: true}}
		}},
		{"metrics", 0, func(testing.TB, *issuer) *serve.Options { return &serve.Options{} }},
		{"limits", 1, func(testing.TB, *issuer) *serve.Options {
			return &serve.Options{Features: serve.Features{NoMetrics: true}, Limits: limits}
		}},
		{"tokens", 2, func(tb testing.TB, _ *issuer) *serve.Options {
			return &serve.Options{Features: serve.Features{NoMetrics: true}, Auth: costAuth(tb, nil)}
		}},
		{"jwt", 2, func(tb testing.TB, i *issuer) *serve.Options {
			return &serve.Options{Features: serve.Features{NoMetrics: true}, Auth: costAuth(tb, i)}
		}},
		{"policy", 2, func(tb testing.TB, _ *issuer) *serve.Options {
			o := &serve.Options{Features: serve.Features{NoMetrics: true}, Auth: costAuth(tb, nil)}
			set, err := policy.Parse("policy.cedar", []byte(`
				permit (principal in Scope::"read", action == Action::"call", resource) when { context.hour < 24 };
				forbid (principal, action == Action::"call", resource)
				when { context.arguments has path && context.arguments.path like "/etc/*" };`))
			if err != nil {
				panic(err)
			}
			o.Policy = serve.NewPolicy(set, nil)
			return o
		}},
		{"all", 2, func(tb testing.TB, _ *issuer) *serve.Options {
			return &serve.Options{Auth: costAuth(tb, nil), Limits: limits}
		}},
		{"audit", 0, func(tb testing.TB, _ *issuer) *serve.Options {
			audit, err := serve.NewAudit(io.Discard, nil)
			if err != nil {
				panic(err)
			}
			if tb != nil {
				tb.Cleanup(func() { _ = audit.Close() })
			}
			return &serve.Options{Features: serve.Features{NoMetrics: true}, Reporting: serve.Reporting{Audit: audit}}
		}},
		{"log", 1, func(testing.TB, *issuer) *serve.Options {
			return &serve.Options{Features: serve.Features{NoMetrics: true},
				Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
		}},
	}
}

// costAuth accepts readerToken, or the tokens of an issuer.
func costAuth(tb testing.TB, i *issuer) *serve.Auth {
	a := &serve.Auth{Scopes: []string{"read"}, ToolScopes: map[string][]string{"look": {"read"}}}
	if i == nil {
		list := []serve.Token{{Name: "reader", Token: readerToken, Scopes: []string{"read"}}}
		for n := range 19 {
			list = append(list, serve.Token{Name: "other", Token: fmt.Sprintf("another-token-%06d", n)})
		}
		tokens, err := serve.NewTokens(list...)
		if err != nil {
			tb.Fatal(err)
		}
		a.Verifiers = []serve.Verifier{tokens}
		return a
	}
	v, err := serve.NewJWT(&serve.JWTOptions{Issuer: issuerURL,
		Audience: []string{audience}, JWKSURL: "https://id.example.com/keys",
		Client: &http.Client{Transport: i}})
	if err != nil {
		tb.Fatal(err)
	}
	a.Verifiers = []serve.Verifier{v}
	return a
}

// sink is a ResponseWriter that discards the response.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }

// again returns a function that repeats the same call.
func again(tb testing.TB, v variant) func() {
	token := readerToken
	var i *issuer
	if v.name == "jwt" {
		t, ok := tb.(*testing.T)
		if !ok {
			t = &testing.T{}
		}
		key := ecKey(t, "key")
		i = newIssuer(key)
		token = signed(t, jose.ES256, key, goodClaims(nil))
	}
	h := serve.NewHandler(tools{}, v.opts(tb, i))
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", nil)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	text := toolCall("look")
	r.ContentLength = int64(len(text))
	reader := strings.NewReader(text)
	r.Body = io.NopCloser(reader)
	w := &sink{header: make(http.Header)}
	return func() {
		_, _ = reader.Seek(0, io.SeekStart)
		h.ServeHTTP(w, r)
		if w.status != 0 {
			tb.Fatalf("%s: status %d", v.name, w.status)
		}
	}
}

func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector drops what is in pools")
	}
	var plain float64
	for _, v := range variants() {
		n := testing.AllocsPerRun(200, again(t, v))
		if v.name == "plain" {
			plain = n
		}
		t.Logf("%s: %v allocations", v.name, n)
		if n > plain+v.allocs {
			t.Errorf("%s: %v allocations, want at most %v more than the %v of plain", v.name, n, v.allocs, plain)
		}
	}
}

// BenchmarkHandler measures the cost in process, without a network.
func BenchmarkHandler(b *testing.B) {
	for _, v := range variants() {
		b.Run(v.name, func(b *testing.B) {
			run := again(b, v)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}

// serveChild serves until its standard input ends.
func serveChild(name string) {
	i := slices.IndexFunc(variants(), func(v variant) bool { return v.name == name })
	h := serve.NewHandler(tools{}, variants()[i].opts(nil, nil))
	hs := &http.Server{ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/cpu" {
				var u syscall.Rusage
				_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
				fmt.Fprint(w, u.Utime.Nano()+u.Stime.Nano())
				return
			}
			h.ServeHTTP(w, r)
		})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(ln.Addr())
	go func() { _ = hs.Serve(ln) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// child is a server in a separate process.
type child struct {
	name, addr string
	times      []float64 // CPU per request in each round, microseconds
}

func startChild(b *testing.B, name string) *child {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), costChild+"="+name)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return &child{name: name, addr: strings.TrimSpace(addr)}
}

func (c *child) cpu(b *testing.B) int64 {
	got, err := http.Get("http://" + c.addr + "/cpu")
	if err != nil {
		b.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		b.Fatal(err)
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// load sends n calls over each of 8 connections.
func (c *child) load(b *testing.B, n int) {
	text := toolCall("look")
	request := fmt.Sprintf(
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json,"+
			" text/event-stream\r\n"+
			"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", readerToken, len(text), text)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			var d net.Dialer
			conn, err := d.DialContext(context.Background(), "tcp", c.addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			r := bufio.NewReader(conn)
			for range n {
				_, _ = io.WriteString(conn, request)
				got, err := http.ReadResponse(r, nil)
				if err != nil || got.StatusCode != 200 {
					b.Errorf("%s: %+v, %v", c.name, got, err)
					return
				}
				_, _ = io.Copy(io.Discard, got.Body)
			}
		})
	}
	all.Wait()
}

// BenchmarkCost measures the CPU time of a server process per request over HTTP. It
// alternates between the variants, so that other load on the machine affects them all:
//
//	go test ./serve -run '^$' -bench Cost -benchtime 15x
func BenchmarkCost(b *testing.B) {
	const calls = 1000
	var children []*child
	for _, v := range variants() {
		if v.name != "jwt" && v.name != "log" { // the issuer runs in this process; the cost of a log is that of its writer
			children = append(children, startChild(b, v.name))
		}
	}
	for _, c := range children {
		c.load(b, calls)
	}
	for b.Loop() {
		for _, c := range children {
			before := c.cpu(b)
			c.load(b, calls)
			c.times = append(c.times, float64(c.cpu(b)-before)/(8*calls)/1000)
		}
	}
	plain := children[0]
	for _, c := range children {
		ratios := make([]float64, len(c.times))
		for i := range c.times {
			ratios[i] = c.times[i] / plain.times[i]
		}
		b.ReportMetric(median(c.times), c.name+"-µs/req")
		b.ReportMetric(median(ratios), c.name+"-ratio")
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

var _ mcp.Source = tools{}
