package kube_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// balancer sends requests to the ready endpoints of the service in turn, as kube-proxy or a gateway
// would. It repeats nothing.
type balancer struct {
	*httptest.Server
	mu        sync.Mutex
	endpoints []string
	turn      int
}

func startBalancer(t *testing.T, p *plane) *balancer {
	t.Helper()
	b := &balancer{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme = "http"
			r.Out.URL.Host = r.In.Context().Value(endpoint{}).(string)
			r.Out.Host = r.In.Host
		},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			http.Error(w, fmt.Sprintf("balancer: %v: %v", r.Context().Value(endpoint{}), err), http.StatusBadGateway)
		},
	}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, err := b.choose()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), endpoint{}, to)))
	}))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			if found, err := ready(ctx, p); err == nil {
				b.mu.Lock()
				b.endpoints = found
				b.mu.Unlock()
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		b.Close()
	})
	return b
}

type endpoint struct{}

func (b *balancer) choose() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.endpoints) == 0 {
		return "", errors.New("balancer: no endpoint is ready")
	}
	b.turn++
	return b.endpoints[b.turn%len(b.endpoints)], nil
}

// ready returns the addresses of the ready endpoints of the service.
func ready(ctx context.Context, p *plane) (addresses []string, err error) {
	slices, err := p.client.DiscoveryV1().EndpointSlices(namespace).List(ctx, meta.ListOptions{
		LabelSelector: discovery.LabelServiceName + "=" + release,
	})
	if err != nil {
		return nil, err
	}
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready != nil && *e.Conditions.Ready {
				addresses = append(addresses, fmt.Sprintf("%s:%d", local(e.Addresses[0]), *s.Ports[0].Port))
			}
		}
	}
	return addresses, nil
}

// clients call a tool in sessions of 2025-11-25, without a pause, and begin again after 404, as the
// specification says. The source keeps nothing for a session, so none has to.
type clients struct {
	number int64
	target string
	calls  atomic.Int64
	begun  atomic.Int64
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	failed []string
}

func startClients(t *testing.T, b *balancer, n int) *clients {
	t.Helper()
	c := &clients{number: int64(n), target: b.URL + "/mcp"}
	var ctx context.Context
	ctx, c.stop = context.WithCancel(context.Background())
	for range n {
		c.done.Go(func() { c.run(ctx) })
	}
	t.Cleanup(func() {
		c.stop()
		c.done.Wait()
	})
	return c
}

func (c *clients) run(ctx context.Context) {
	session := ""
	for ctx.Err() == nil {
		if session == "" {
			_, header, err := c.post(ctx, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":`+
				`"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
			if err != nil {
				c.fail(ctx, "initialize: "+err.Error())
				continue
			}
			session = header.Get("Mcp-Session-Id")
			c.begun.Add(1)
			if _, _, err := c.post(ctx, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
				c.fail(ctx, "initialized: "+err.Error())
			}
		}
		text, _, err := c.post(ctx, session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_status",`+
			`"arguments":{"code":404}}}`)
		switch {
		case errors.Is(err, errNoSession):
			session = ""
		case err != nil:
			c.fail(ctx, err.Error())
		case !strings.Contains(text, "Not Found"):
			c.fail(ctx, "another answer: "+text)
		default:
			c.calls.Add(1)
		}
	}
}

var errNoSession = errors.New("no such session")

func (c *clients) post(ctx context.Context, session, body string) (string, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.target, strings.NewReader(body))
	if err != nil {
		return "", nil, err
	}
	r.Host = "mcp.example.com"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return "", nil, err
	case answer.StatusCode == http.StatusNotFound && session != "":
		return "", nil, errNoSession
	case answer.StatusCode/100 != 2:
		return "", nil, fmt.Errorf("%s: %s", answer.Status, text)
	}
	return string(text), answer.Header, nil
}

// fail notes a failure, unless the clients have been stopped.
func (c *clients) fail(ctx context.Context, text string) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	c.failed = append(c.failed, time.Now().Format("15:04:05.000 ")+text)
	c.mu.Unlock()
	time.Sleep(10 * time.Millisecond)
}

// finish stops the clients, and fails the test if a call has failed.
func (c *clients) finish(t *testing.T, what string) {
	t.Helper()
	c.stop()
	c.done.Wait()
	t.Logf("%s: %d calls, %d sessions begun, %d failed", what, c.calls.Load(), c.begun.Load(), len(c.failed))
	if c.calls.Load() < 100 {
		t.Errorf("%s: only %d calls", what, c.calls.Load())
	}
	if c.begun.Load() != c.number {
		t.Errorf("%s: %d sessions begun by %d clients", what, c.begun.Load(), c.number)
	}
	for _, text := range c.failed[:min(5, len(c.failed))] {
		t.Errorf("%s: %s", what, text)
	}
}
