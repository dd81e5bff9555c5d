// Package freeaddr finds addresses for programs under test that cannot listen on port 0, or must have
// the same port again when they are restarted.
package freeaddr

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// The ports are below those that systems assign: to listeners on port 0 and to outgoing connections, of
// which tests that run at the same time make many. An assigned port that was closed for the program may be
// assigned again before that listens, or while it is restarted.
const (
	firstPort = 10_000
	ports     = 20_000
	attempts  = 100
)

// On returns a free address of 127.0.0.1, as host:port.
func On(t testing.TB) string {
	t.Helper()
	var last error
	for range attempts {
		addr := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(ports))
		ln, err := net.Listen("tcp", addr)
		if err == nil {
			_ = ln.Close()
			return addr
		}
		last = err
	}
	t.Fatal(last)
	return ""
}
