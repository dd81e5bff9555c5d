package server_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp/server"
)

// A client that stops reading must not keep the server from stopping. This takes real
// time: a goroutine that waits for a lock stops the clock of a bubble.
func TestStdioEndsAlthoughNobodyReads(t *testing.T) {
	t.Parallel()
	in, w := io.Pipe()
	nobody, out := io.Pipe()
	defer nobody.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- server.New(newDemo(), nil).ServeStdio(ctx, in, out, &server.StdioOptions{DrainTimeout: time.Millisecond})
	}()
	if _, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := nobody.Read(make([]byte, 1)); err != nil { // the rest of the answer waits
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "does not read") {
			t.Errorf("ServeStdio = %v, want an error about the client", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("ServeStdio does not return")
	}
}
