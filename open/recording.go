package open

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// openRecording opens a server that answers as a recording does, or as one of its servers does:
// arg is FILE or FILE#NAME.
func openRecording(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	rec, err := mcplog.ReadServer(arg)
	var several *mcplog.ServerError
	if errors.As(err, &several) {
		return nil, &Error{
			Arg:  arg,
			Why:  err.Error(),
			Err:  err,
			Hint: several.Hint(),
		}
	}
	var bad *mcplog.FormatError
	if errors.As(err, &bad) {
		return nil, &Error{
			Arg:  arg,
			Why:  err.Error(),
			Err:  err,
			Hint: "slipway record SOURCE -o FILE writes one",
		}
	}
	if err != nil {
		return nil, unreadable(arg, err)
	}
	if missing := rec.Incomplete(); missing != "" {
		opts.report(client.Event{
			Name:   filepath.Base(arg),
			Server: arg,
			What:   client.EventWarning,
			Err:    errors.New(missing),
		})
	}
	script := mcplog.NewScript(rec)
	return openLive(ctx, arg, &client.Dialer{
		Name: arg,
		Dial: func(ctx context.Context) (mcpserver.Conn, error) {
			return script.Dial(ctx)
		},
	}, opts.live())
}
