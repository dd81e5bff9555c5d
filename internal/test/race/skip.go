package race

import "testing"

// Short reports whether a test of many steps takes few: the race detector is on, or -short is set.
func Short() bool { return Enabled || testing.Short() }

// SkipLong skips a test if the race detector is on, or -short is set. It is for tests that need much
// time with the detector and have no concurrency of their own that shorter tests lack.
func SkipLong(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
	if Enabled {
		t.Skip("takes long with the race detector, and shorter tests have the same concurrency")
	}
}

// SkipSlow skips a test under -short, but not with the race detector. It is for tests with
// concurrency of their own that take seconds, such as those that wait for a lease to expire.
func SkipSlow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}
