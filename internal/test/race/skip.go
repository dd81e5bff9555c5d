package race

import "testing"

// SkipLong skips a test if the race detector is on. It is for tests that need much time with
// the detector and have no concurrency of their own that shorter tests lack.
func SkipLong(t *testing.T) {
	t.Helper()
	if Enabled {
		t.Skip("takes long with the race detector, and shorter tests have the same concurrency")
	}
}
