package client

import (
	"bytes"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// visitor is a client that is asked to visit URLs.
type visitor struct{ mcp.Session }

// Long ids of elicitations are not kept.
func TestLongElicitationIDsAreDropped(t *testing.T) {
	ses := &session{}
	longest := strings.Repeat("i", server.MaxElicitationID)
	ses.visits(longest, visitor{})
	ses.visits(longest+"i", visitor{})
	if _, kept := ses.visitors[longest]; !kept || len(ses.visitors) != 1 {
		t.Errorf("%d ids are kept, want the one of %d bytes", len(ses.visitors), len(longest))
	}
}

// A notification in a mailbox does not keep the line that it arrived in.
func TestMailboxKeepsParamsOnly(t *testing.T) {
	line := bytes.Repeat([]byte("x"), 1<<20)
	c := newCall("tools/call")
	c.say(letter{params: line[:2]})
	kept := c.said.Load().letters[0].params
	if line[0] = 'y'; string(kept) != "xx" {
		t.Errorf("the params are %q: a slice of the line", kept)
	}
}
