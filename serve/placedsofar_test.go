package serve

import "testing"

// TestPlacedWhileAsking guards sessions that start while a replica is asked for its load: they are not in
// its answer, and still count.
func TestPlacedWhileAsking(t *testing.T) {
	p := &placing{peers: map[string]*peerLoad{"b": {placed: 2}}}
	before := p.placedSoFar()
	p.peers["b"].placed++
	p.renew(map[string]*peerLoad{"b": {}, "c": {}}, before)
	if b, c := p.peers["b"].placed, p.peers["c"].placed; b != 1 || c != 0 {
		t.Errorf("%d sessions count at b, %d at c, want 1 and 0", b, c)
	}
}
