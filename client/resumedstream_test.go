package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
)

// resumingServer ends the stream of each answer after an event, and asks to resume it at once, 50 times.
type resumingServer struct {
	streamServer
	gets        int
	began       time.Time
	open, most  atomic.Int64 // bodies that are not closed
	answerStart string
}

func (s *resumingServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(body, &m); err != nil {
			return nil, err
		}
		if m.Method != "tools/call" {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			return s.post(r)
		}
		s.began = time.Now()
		s.answerStart = `{"jsonrpc":"2.0","id":` + string(m.ID)
	} else if r.Header.Get("Last-Event-Id") == "" {
		return answer(r, http.StatusMethodNotAllowed, "", http.NoBody), nil
	} else {
		s.gets++
	}
	text := fmt.Sprintf("id: %d\nretry: 1\ndata: \n\n", s.gets)
	if s.gets == 50 {
		text = "data: " + s.answerStart + `,"result":{"content":[]}}` + "\n\n"
	}
	s.most.Store(max(s.most.Load(), s.open.Add(1)))
	return answer(r, http.StatusOK, "text/event-stream", &countedBody{strings.NewReader(text), &s.open}), nil
}

type countedBody struct {
	io.Reader
	open *atomic.Int64
}

func (b *countedBody) Close() error {
	b.open.Add(-1)
	return nil
}

// TestResumedAnswer ensures that a server which ends the stream of an answer again and again is asked neither
// without a pause nor on ever more connections.
func TestResumedAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &resumingServer{}
		src, err := client.Open(t.Context(), &client.Endpoint{URL: "http://streams.example", Transport: s},
			&client.Options{Version: mcp.Version20251125})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		if _, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(s.began); took < 5*time.Second {
			t.Errorf("%d requests in %v, want at most 10 a second", s.gets, took)
		}
		if n := s.most.Load(); n > 2 {
			t.Errorf("%d responses are open at the same time, want that of the answer and the next one", n)
		}
	})
}

// announcingServer announces an answer of 60 MiB and sends a few bytes.
type announcingServer struct{ streamServer }

func (s *announcingServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return answer(r, http.StatusMethodNotAllowed, "", http.NoBody), nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if strings.Contains(string(body), `"tools/call"`) {
		resp := answer(r, http.StatusOK, "application/json", io.NopCloser(strings.NewReader(`{"jsonrpc"`)))
		resp.ContentLength = 60 << 20
		return resp, nil
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return s.post(r)
}

// TestAnnouncedAnswer ensures that an answer takes no memory before it arrives.
func TestAnnouncedAnswer(t *testing.T) {
	src, err := client.Open(t.Context(), &client.Endpoint{URL: "http://streams.example", Transport: &announcingServer{}},
		&client.Options{Version: mcp.Version20251125})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"}); err == nil {
		t.Error("part of an answer is an answer")
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 4 {
		t.Errorf("an answer of a few bytes takes %d MiB", n)
	}
}
