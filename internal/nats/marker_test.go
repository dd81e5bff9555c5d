package nats

import (
	"testing"
	"time"
)

// TestMarkers guards the ends of sessions and logins: the marker of a deleted record outlives it. Deleting
// without a pause does not fill the stream.
func TestMarkers(t *testing.T) {
	var b markerBudget
	now := time.Now()
	for ttl, want := range map[time.Duration]time.Duration{
		0:                lastingMarker,
		time.Second:      shortMarker,
		45 * time.Minute: 45 * time.Minute,
		36 * time.Hour:   36 * time.Hour,
	} {
		if got := b.ttlFor(ttl, now); got != want {
			t.Errorf("the marker of a record of %v stays %v, want %v", ttl, got, want)
		}
	}
	for b.written < maxMarkers {
		b.ttlFor(time.Hour, now)
	}
	if got := b.ttlFor(time.Hour, now.Add(markerPeriod-1)); got != shortMarker {
		t.Errorf("the marker of a record too many stays %v, want %v", got, shortMarker)
	}
	if got := b.ttlFor(time.Hour, now.Add(markerPeriod)); got != time.Hour {
		t.Errorf("a marker of the next period stays %v, want an hour", got)
	}
}
