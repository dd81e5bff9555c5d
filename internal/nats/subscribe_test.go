package nats

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// TestLostEvents guards that a subscriber learns of a write that it missed, and only of that.
func TestLostEvents(t *testing.T) {
	change := func(sequence string) *nats.Msg {
		m := nats.NewMsg("slipway.changed.members.a")
		m.Header.Set("Nats-Sequence", sequence)
		return m
	}
	s := &subscription{
		engine: &Engine{stream: "slipway"},
		topics: []string{"members"},
		last:   7,
	}
	for _, sequence := range []string{"8", "9", "9", "3"} { // older ones can arrive again
		if e, ok, err := s.event(change(sequence)); err != nil || !ok || e.Key != "members/a" {
			t.Errorf("event %s = %v, %t, %v", sequence, e, ok, err)
		}
	}
	if _, _, err := s.event(change("11")); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("after 9, the event 11 was accepted: %v", err)
	}
	if _, _, err := s.event(change("")); err == nil {
		t.Error("an event without a sequence was accepted")
	}
}
