package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
)

// TestWatchdogEndsHangs ensures that a call to a hanging server fails with the reason,
// without another call, and that the process is replaced.
func TestWatchdogEndsHangs(t *testing.T) {
	leaks(t)
	c := command(t, "stuck")
	c.StopTimeout = 100 * time.Millisecond
	src := open(t, c, &client.Options{Timeouts: client.Timeouts{
		Hang: 50 * time.Millisecond,
		Ping: time.Second, // enough for the process that replaces it
	}})
	first := src.State().PID
	_, err := call(t, src, "hang", "")
	if err == nil || !strings.Contains(err.Error(), "the server hangs: it has not answered a ping within") {
		t.Errorf("the call ends with %v", err)
	}
	if got := mustCall(t, src, "fine", ""); got != "fine" || src.State().PID == first {
		t.Errorf("fine = %q, process %d after %d", got, src.State().PID, first)
	}
}

// TestWatchdogAfterCancel ensures that a cancelled call is sufficient.
func TestWatchdogAfterCancel(t *testing.T) {
	leaks(t)
	c := command(t, "stuck")
	c.StopTimeout = 100 * time.Millisecond
	src := open(t, c, &client.Options{Timeouts: client.Timeouts{Hang: time.Hour, Ping: 100 * time.Millisecond}})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := src.CallTool(ctx, &mcp.CallToolParams{Name: "hang"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the call ends with %v", err)
	}
	until(t, "the process is replaced", nil, nil, func() bool { return src.State().Starts == 2 })
}

// TestBusyServersLive ensures that a server which answers pings, and one that cannot
// answer but shows activity, are not replaced.
func TestBusyServersLive(t *testing.T) {
	race.SkipSlow(t)
	t.Run("answers pings", func(t *testing.T) {
		src := open(t, command(t, "server"),
			&client.Options{Timeouts: client.Timeouts{Hang: 5 * time.Millisecond, Ping: patience}})
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := src.CallTool(ctx, &mcp.CallToolParams{Name: "block"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call ends with %v", err)
		}
		if st := src.State(); st.Starts != 1 {
			t.Errorf("%d starts, want 1", st.Starts)
		}
	})
	for _, how := range []string{"spin", "chatter"} {
		t.Run(how, func(t *testing.T) {
			// A second, because less would require a larger share of CPU time than the
			// default.
			src := open(t, command(t, "stuck"),
				&client.Options{Timeouts: client.Timeouts{Hang: 10 * time.Millisecond, Ping: time.Second}})
			if how == "spin" && src.State().PID != 0 && !cpuTimeIsKnown {
				t.Skip("only Linux tells the CPU time of a process")
			}
			if got := mustCall(t, src, how, ""); got != "done" {
				t.Errorf("%s = %q", how, got)
			}
			if st := src.State(); st.Starts != 1 {
				t.Errorf("%d starts, want 1", st.Starts)
			}
		})
	}
}

// TestWatchdogOverHTTP ensures that a call fails with the reason if an upstream accepts
// connections but never responds.
func TestWatchdogOverHTTP(t *testing.T) {
	race.SkipSlow(t)
	for _, v := range []mcp.Version{mcp.Version20260728, mcp.Version20251125} {
		t.Run(v.String(), func(t *testing.T) {
			leaks(t)
			u := newUpstream(t, &world{})
			src := open(t, &client.Endpoint{URL: u.URL + "/mcp", NoListen: true},
				&client.Options{Version: v, Timeouts: client.Timeouts{Hang: 50 * time.Millisecond, Ping: time.Second}})
			inner := *u.handler.Load()
			recovered := make(chan struct{})
			u.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body) // otherwise the disconnect of the client is not noticed
				select {
				case <-recovered: // also for earlier reconnection attempts
				case <-r.Context().Done():
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				inner.ServeHTTP(w, r)
			}))
			_, err := call(t, src, "echo", `{"text":"hi"}`)
			if err == nil || !strings.Contains(err.Error(), "the server hangs: it has not answered a ping within") {
				t.Errorf("the call ends with %v", err)
			}
			close(recovered)
			if got := mustCall(t, src, "echo", `{"text":"hi"}`); got != "hi" {
				t.Errorf("echo = %q", got)
			}
		})
	}
}

// TestCallTimeout ensures that a server's call timeout ends a call with an error that
// says so.
func TestCallTimeout(t *testing.T) {
	t.Parallel()
	src := open(t, command(t, "server"),
		&client.Options{Name: "slow", Timeouts: client.Timeouts{Call: 50 * time.Millisecond}})
	_, err := call(t, src, "block", "")
	var e *mcp.Error
	if !errors.As(err, &e) ||
		e.Code != mcp.CodeToolTimeout ||
		!strings.Contains(e.Message, `server "slow" has not answered within 50ms`) {
		t.Errorf("the call ends with %v", err)
	}
}
