package serve

import "testing"

// TestKeptBodies guards the memory of bodies that are read before they are forwarded, which no caller has been
// authenticated for: one is small, all together are bounded, and the rest is forwarded as it arrives.
func TestKeptBodies(t *testing.T) {
	p := &hop{}
	for _, n := range []int64{-1, 0, maxKeptBody + 1} {
		if p.reserveBody(n) {
			t.Errorf("a body of %d bytes is read first", n)
		}
	}
	for range maxKeptBodies / maxKeptBody {
		if !p.reserveBody(maxKeptBody) {
			t.Fatalf("a body is not read first with %d bytes reserved", p.keptBytes.Load())
		}
	}
	if p.reserveBody(1) {
		t.Errorf("one more byte is reserved, of %d", int64(maxKeptBodies))
	}
	if got := p.keptBytes.Load(); got != maxKeptBodies {
		t.Errorf("%d bytes are reserved, want %d", got, int64(maxKeptBodies))
	}
	p.keptBytes.Add(-maxKeptBody)
	if !p.reserveBody(maxKeptBody) {
		t.Error("a body is not read first after another one was forwarded")
	}
}
