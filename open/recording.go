package open

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// isRecording reports whether a file name is that of a recording.
func isRecording(name string) bool {
	return hasExt(strings.TrimSuffix(strings.ToLower(name), ".gz"), ".mcplog")
}

// readRecording reads the recording in a file.
func readRecording(name string) (*mcplog.Recording, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer f.Close()
	rec, err := mcplog.Read(f)
	var bad *mcplog.FormatError
	if errors.As(err, &bad) {
		return nil, &Error{
			Arg:  name,
			Why:  "not a readable recording",
			Err:  err,
			Hint: "slipway record SOURCE -o FILE writes one",
		}
	}
	if err != nil {
		return nil, unreadable(name, err)
	}
	return rec, nil
}

// openRecording opens a server that answers as a recording does.
func openRecording(ctx context.Context, arg string, o *LiveOptions) (mcp.Source, error) {
	rec, err := readRecording(arg)
	if err != nil {
		return nil, err
	}
	script := mcplog.NewScript(rec)
	return openLive(ctx, arg, &client.Dialer{
		Name: arg,
		Dial: func(ctx context.Context) (mcpserver.Conn, error) { return script.Dial(ctx) },
	}, o)
}
