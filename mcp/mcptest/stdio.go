package mcptest

import (
	"context"
	"io"
	"net/http"
	"slices"

	"github.com/slipway-mcp/slipway/internal/peer"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// maxMessage is the maximum length of a message from the server.
const maxMessage = 1 << 30

// streamLink is a pair of pipes to a server.
type streamLink struct {
	// client receives what the server writes.
	client *Client
	in     *io.PipeWriter // the server's input
	served chan error
	read   chan struct{} // closed when everything the server wrote has been read
}

// newStreamLink serves a client over pipes in memory.
func newStreamLink(c *Client, server *mcpserver.Server) *streamLink {
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	l := &streamLink{
		client: c,
		in:     in,
		served: make(chan error, 1),
		read:   make(chan struct{}),
	}
	go func() {
		err := server.ServeStdio(context.Background(), serverIn, serverOut, nil)
		_ = serverIn.CloseWithError(io.EOF)
		_ = serverOut.Close()
		l.served <- err
	}()
	go l.readLines(out)
	return l
}

// readLines passes on each line until the server closes its output.
func (l *streamLink) readLines(out io.Reader) {
	defer close(l.read)
	lines := peer.NewLineReader(out, maxMessage)
	for {
		line, err := lines.Next()
		if err != nil {
			if !isClosed(err) {
				l.client.tb.Errorf("read from the server: %v", err)
			}
			return
		}
		l.client.received(line)
	}
}

func (l *streamLink) send(msg []byte, _ http.Header) (all bool, err error) {
	_, err = l.in.Write(slices.Concat(msg, []byte{'\n'}))
	return false, err
}

// close closes the input, which ends the server.
func (l *streamLink) close() error {
	_ = l.in.Close()
	<-l.read
	return <-l.served
}
