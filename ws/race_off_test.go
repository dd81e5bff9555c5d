//go:build !race

package ws_test

//lint:ignore U1000 not all systems have the tests that use it
const raceEnabled = false
