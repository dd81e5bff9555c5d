package mcp_test

import (
	"slices"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
)

func TestWatchers(t *testing.T) {
	var w mcp.Watchers
	var a, b []string
	stopA := w.Watch(func(c mcp.Change) { a = append(a, c.URI) })
	stopB := w.Watch(func(c mcp.Change) { b = append(b, c.URI) })
	w.Tell(mcp.Change{URI: "1"})
	w.Tell(mcp.Change{})
	stopA()
	w.Tell(mcp.Change{URI: "2"})
	if !w.Any() {
		t.Error("there is no watcher left")
	}
	stopB()
	stopB()
	w.Tell(mcp.Change{URI: "3"})
	if w.Any() || !slices.Equal(a, []string{"1"}) || !slices.Equal(b, []string{"1", "2"}) {
		t.Errorf("told %q and %q", a, b)
	}
}

// TestWatchersStop: stop waits for a running notification.
func TestWatchersStop(t *testing.T) {
	var w mcp.Watchers
	begun, proceed := make(chan struct{}), make(chan struct{})
	told := false
	stop := w.Watch(func(mcp.Change) {
		close(begun)
		<-proceed
		told = true // the race detector sees whether stop waits
	})
	go w.Tell(mcp.Change{Tools: true})
	<-begun
	go close(proceed)
	if stop(); !told {
		t.Error("stop returned during a notification")
	}
}
