package tap_test

import (
	"fmt"
	"net/http"

	"github.com/slipway-mcp/slipway/mcp/tap"
)

// A transport passes each message to the function, which sees it before the peer does.
func ExampleTapper() {
	t := tap.New(func(e *tap.Event) {
		direction := "received"
		if e.Sent {
			direction = "sent"
		}
		fmt.Printf("%s %s on stream %d: %s\n", direction, e.Kind, e.Stream, e.Body)
	})
	s := t.Open(tap.Stdio)
	s.Sends([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	s.Received([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), tap.Stderr)
	// Output:
	// sent message on stream 1: {"jsonrpc":"2.0","id":1,"method":"ping"}
	// received message on stream 1: {"jsonrpc":"2.0","id":1,"result":{}}
}

func ExampleRedactHeader() {
	h := http.Header{"Authorization": {"Bearer abc"}, "Accept": {"text/event-stream"}, "X-Api-Key": {"abc"}}
	fmt.Println(tap.RedactHeader(h))
	// Output: map[Accept:[text/event-stream] Authorization:[[redacted]] X-Api-Key:[[redacted]]]
}
