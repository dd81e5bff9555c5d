package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
)

func TestCatalogIsRemembered(t *testing.T) {
	src := open(t, command(t, "server"), nil)
	cat, err := src.Catalog(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	text, err := client.EncodeCatalog(cat)
	if err != nil {
		t.Fatal(err)
	}
	again, err := client.DecodeCatalog(text)
	if err != nil {
		t.Fatal(err)
	}
	if again.Version() != cat.Version() || len(cat.Tools) == 0 {
		t.Errorf("the remembered catalog differs: %s", text)
	}
	for _, wrong := range []string{
		"", "{}", `{"format":2}`, `{"format":1,"tools":[{}]}`,
		`{"format":1,"server":{"name":"x"`,
	} {
		if cat, err := client.DecodeCatalog([]byte(wrong)); err == nil {
			t.Errorf("DecodeCatalog(%q) = %v, want an error", wrong, cat)
		}
	}
}

func TestRosterKnowsWhatIsOpen(t *testing.T) {
	var r client.Roster
	a := open(t, command(t, "server"), &client.Options{Name: "b", Roster: &r})
	_ = open(t, command(t, "server"), &client.Options{Name: "a", Roster: &r})
	states := r.States()
	if len(states) != 2 ||
		states[0].Name != "a" ||
		states[1].Name != "b" ||
		states[1].Kind != "stdio" ||
		states[1].PID == 0 ||
		states[1].Starts != 1 {
		t.Errorf("States = %+v, want a and b that run", states)
	}
	r.LeftOut("file", map[string]error{"aa": errors.New("no secret"), "z": errors.New("no program")})
	r.LeftOut("other", map[string]error{"0": errors.New("wrong")})
	var names []string
	for _, st := range r.States() {
		names = append(names, st.Name+" "+string(st.Phase))
	}
	if got, want := strings.Join(names, ", "), "0 left out, a ready, aa left out, b ready, z left out"; got != want {
		t.Errorf("States = %s, want %s", got, want)
	}
	r.LeftOut("file", nil)
	r.LeftOut("other", nil)
	_ = a.Close()
	_ = a.Close()
	if states := r.States(); len(states) != 1 || states[0].Name != "a" {
		t.Errorf("States = %+v after one was closed", states)
	}
}

// TestRest ensures that an idle server can be stopped, and is started by the next call.
func TestRest(t *testing.T) {
	stopped := make(chan client.Event, 10)
	src := open(t, command(t, "server"), &client.Options{Lazy: true, Optional: true, Observe: func(e client.Event) {
		if e.What == client.EventStopped || e.What == client.EventLost {
			stopped <- e
		}
	}})
	if src.Rest() {
		t.Error("a server that does not run was stopped")
	}
	call := func() {
		t.Helper()
		if _, err := src.CallTool(context.Background(), &mcp.CallToolParams{
			Name:      "echo",
			Arguments: []byte(`{"message":"hi"}`),
		}); err != nil {
			t.Fatal(err)
		}
	}
	call()
	if !src.Rest() {
		t.Fatal("a server that has nothing to do was not stopped")
	}
	if e := <-stopped; e.What != client.EventStopped {
		t.Errorf("%s: %v, want stopped", e.What, e.Err)
	}
	call()
	if st := src.State(); st.Starts != 2 || st.Phase != client.Ready {
		t.Errorf("State = %+v, want a second start", st)
	}
}

// TestRequestsThatWaitAreBounded uses a server that never becomes ready.
func TestRequestsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	src := open(t, command(t, "deaf"),
		&client.Options{
			Lazy:     true,
			Limits:   client.Limits{InFlight: 2},
			Timeouts: client.Timeouts{Start: 300 * time.Millisecond},
		})
	codes := make(chan mcp.Code, 5)
	for range 5 {
		go func() {
			_, err := src.CallTool(context.Background(), &mcp.CallToolParams{Name: "echo"})
			var e *mcp.Error
			errors.As(err, &e)
			codes <- e.Code
		}()
	}
	got := map[mcp.Code]int{}
	for range 5 {
		got[<-codes]++
	}
	if got[mcp.CodeToolBusy] != 3 || got[mcp.CodeToolUnavailable] != 2 {
		t.Errorf("codes = %v, want 3 refused as busy and 2 that waited in vain", got)
	}
}

// TestSubscribedIsNotIdle stops an idle server several times, while another with a
// subscribed resource keeps running.
func TestSubscribedIsNotIdle(t *testing.T) {
	stopped := make(chan struct{}, 10)
	const idle = 20 * time.Millisecond
	clock := open(t, command(t, "server"),
		&client.Options{Timeouts: client.Timeouts{Idle: idle}, Observe: func(e client.Event) {
			if e.What == client.EventStopped {
				stopped <- struct{}{}
			}
		}})
	src := open(t, memory(t, &changing{cat: catalogOf("one")}), &client.Options{Timeouts: client.Timeouts{Idle: idle}})
	if err := src.Subscribe(t.Context(), "world://one"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		mustCall(t, clock, "echo", `{"text":"tick"}`)
		<-stopped
	}
	if st := src.State(); st.Phase != client.Ready || st.Starts != 1 {
		t.Errorf("State = %+v, want that it runs on", st)
	}
}
