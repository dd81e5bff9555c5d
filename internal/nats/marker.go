package nats

import "time"

// The marker of a deleted record outlives the record. If all servers of a NATS cluster are killed, a message
// that a later one had replaced is back once the later one has expired, so a marker that expires before the
// record would have brings it back.
const (
	// lastingMarker is for records that do not expire.
	lastingMarker = 30 * 24 * time.Hour
	// shortMarker is for what is deleted beyond maxMarkers: enough for the event.
	shortMarker = 2 * time.Second
	// maxMarkers is how many longer markers a replica writes in markerPeriod. Clients that begin and
	// end sessions without a pause would otherwise fill the stream, and no record could be written.
	maxMarkers   = 50_000
	markerPeriod = time.Hour
)

// markerBudget limits markers.
type markerBudget struct {
	began   time.Time // of the period
	written int
}

// ttlFor returns how long the marker of a record stays that expires after ttl, or never if it is 0.
func (b *markerBudget) ttlFor(ttl time.Duration, now time.Time) time.Duration {
	if now.Sub(b.began) >= markerPeriod {
		*b = markerBudget{began: now}
	}
	if b.written >= maxMarkers {
		return shortMarker
	}
	b.written++
	if ttl == 0 {
		return lastingMarker
	}
	return max(ttl, shortMarker)
}
