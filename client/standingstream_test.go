package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
)

// streamServer is a server of 2025-11-25 without a network. Its standing streams are scripted.
type streamServer struct {
	// streams are the responses to GET; after the last one, the stream stays open.
	streams []scriptedStream

	mu  sync.Mutex
	ids []string    // Last-Event-ID of each GET
	at  []time.Time // when it came
}

type scriptedStream struct {
	status int // 0 is 200
	events string
}

func (s *streamServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return s.post(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.ids)
	s.ids = append(s.ids, r.Header.Get("Last-Event-Id"))
	s.at = append(s.at, time.Now())
	if n >= len(s.streams) {
		return answer(r, http.StatusOK, "text/event-stream", openBody{r.Context()}), nil
	}
	stream := s.streams[n]
	if stream.status != 0 {
		return answer(r, stream.status, "text/plain", io.NopCloser(strings.NewReader("not now"))), nil
	}
	return answer(r, http.StatusOK, "text/event-stream", io.NopCloser(strings.NewReader(stream.events))), nil
}

func (s *streamServer) post(r *http.Request) (*http.Response, error) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			return nil, err
		}
	}
	result := `{"tools":[]}`
	switch {
	case m.ID == nil:
		return answer(r, http.StatusAccepted, "", http.NoBody), nil
	case m.Method == "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},` +
			`"serverInfo":{"name":"streams","version":"1"}}`
	}
	text := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`
	return answer(r, http.StatusOK, "application/json", io.NopCloser(strings.NewReader(text))), nil
}

func answer(r *http.Request, status int, contentType string, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode:    status,
		Header:        http.Header{"Content-Type": {contentType}, "Mcp-Session-Id": {"s"}},
		Body:          body,
		ContentLength: -1,
		Request:       r,
	}
}

// openBody is the body of a stream that stays open without events.
type openBody struct{ ctx context.Context }

func (b openBody) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (openBody) Close() error { return nil }

// gets connects to the server, waits, and returns the Last-Event-ID of each GET, and the pauses between them.
func (s *streamServer) gets(t *testing.T, wait time.Duration) (ids []string, pauses []time.Duration) {
	t.Helper()
	src, err := client.Open(t.Context(), &client.Endpoint{URL: "http://streams.example", Transport: s},
		&client.Options{Version: mcp.Version20251125})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(wait)
	s.mu.Lock()
	defer func() {
		s.mu.Unlock()
		_ = src.Close() // never fails
	}()
	for i := 1; i < len(s.at); i++ {
		pauses = append(pauses, s.at[i].Sub(s.at[i-1]))
	}
	return slices.Clone(s.ids), pauses
}

const (
	eventSeven = "id: 7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"
	noEvent    = ": keep-alive\n\n"
)

// TestStandingStream guards the events that a server sends while its standing stream is closed: the stream is
// opened again from the last event, however often it breaks without a new one, and without it if the server
// does not keep the events. A server that is busy is asked again.
func TestStandingStream(t *testing.T) {
	for name, tt := range map[string]struct {
		streams []scriptedStream
		want    []string
	}{
		"broken twice without an event": {
			[]scriptedStream{{events: eventSeven}, {events: noEvent}, {events: noEvent}},
			[]string{"", "7", "7", "7"},
		},
		"busy":            {[]scriptedStream{{events: eventSeven}, {status: 429}}, []string{"", "7", "7"}},
		"busy at first":   {[]scriptedStream{{status: 429}}, []string{"", ""}},
		"events not kept": {[]scriptedStream{{events: eventSeven}, {status: 400}}, []string{"", "7", ""}},
		"no stream":       {[]scriptedStream{{status: 405}}, []string{""}},
		"refused":         {[]scriptedStream{{status: 400}}, []string{""}},
		"refused without the events": {
			[]scriptedStream{{events: eventSeven}, {status: 400}, {status: 400}},
			[]string{"", "7", ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &streamServer{streams: tt.streams}
				if got, _ := s.gets(t, time.Minute); !slices.Equal(got, tt.want) {
					t.Errorf("Last-Event-ID of the requests: %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestStandingStreamRetry guards that a client waits as long as the server asks for before it opens the standing
// stream again, which 2025-11-25 requires, but not for ever.
func TestStandingStreamRetry(t *testing.T) {
	for retry, want := range map[string]time.Duration{
		"5000": 5 * time.Second, "1": time.Second, "3600000": 30 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &streamServer{streams: []scriptedStream{{events: "retry: " + retry + "\n\n"}}}
			_, pauses := s.gets(t, 2*time.Minute)
			if len(pauses) != 1 || pauses[0] != want {
				t.Errorf("retry %s: pauses %v, want %v", retry, pauses, want)
			}
		})
	}
}

// listenServer is a server of 2026-07-28 without a network that refuses the first requests for subscriptions.
type listenServer struct {
	code     mcp.Code
	refusals int

	mu      sync.Mutex
	listens int
	lists   int
}

func (s *listenServer) RoundTrip(r *http.Request) (*http.Response, error) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	result := `"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}`
	switch m.Method {
	case "server/discover":
		result = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,` +
			`"cacheScope":"private","capabilities":{"tools":{"listChanged":true}}}`
	case "tools/list":
		s.lists++
	case "subscriptions/listen":
		if s.listens++; s.listens > s.refusals {
			ack := `data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":` +
				`{"io.modelcontextprotocol/subscriptionId":` + string(m.ID) + `},"notifications":{}}}` + "\n\n"
			body := io.MultiReader(strings.NewReader(ack), openBody{r.Context()})
			return answer(r, http.StatusOK, "text/event-stream", io.NopCloser(body)), nil
		}
		result = fmt.Sprintf(`"error":{"code":%d,"message":"no"}`, s.code)
	}
	text := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + result + `}`
	return answer(r, http.StatusOK, "application/json", io.NopCloser(strings.NewReader(text))), nil
}

// TestSubscriptionRefused guards the changes of a server that refuses a subscription for a moment, because it is busy
// or about to be replaced: it is asked again, and its lists are requested once it accepts.
func TestSubscriptionRefused(t *testing.T) {
	for code, want := range map[mcp.Code]int{
		mcp.CodeToolBusy: 4, mcp.CodeInternalError: 4, mcp.CodeMethodNotFound: 1, mcp.CodeInvalidParams: 1,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &listenServer{code: code, refusals: 3}
			src, err := client.Open(t.Context(), &client.Endpoint{URL: "http://busy.example", Transport: s},
				&client.Options{Version: mcp.Version20260728})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			s.mu.Lock()
			if wantLists := 1 + want/4; s.listens != want || s.lists != wantLists {
				t.Errorf("code %d: %d requests for subscriptions and %d for lists, want %d and %d",
					code, s.listens, s.lists, want, wantLists)
			}
			s.mu.Unlock()
			_ = src.Close() // never fails
		})
	}
}
