//go:build !race

package serve_test

//lint:ignore U1000 not all systems have the tests that use it
const raceEnabled = false
