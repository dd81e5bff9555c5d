package router

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// observe runs a call, and notifies the observer before and after if there is one.
func observe[P, R any](
	ctx context.Context, r *Router, method, name string, params P,
	call func(mcp.Source, context.Context, P) (R, error),
) (result R, err error) {
	if r.options.Observer == nil {
		return call(r.top, ctx, params)
	}
	request := mcp.RequestFrom(ctx)
	e := server.Event{
		Kind:    server.EventRequest,
		Method:  method,
		Name:    name,
		Version: request.Version(),
		Session: request.Session(),
	}
	r.options.Observer.Observe(ctx, e)
	began := time.Now()
	e.Kind = server.EventAnswer
	e.Outcome = server.OutcomePanicked
	defer func() {
		e.Duration = time.Since(began)
		r.options.Observer.Observe(ctx, e)
	}()
	result, err = call(r.top, ctx, params)
	e.Outcome = server.OutcomeOK
	tool, isTool := any(result).(*mcp.CallToolResult)
	switch {
	case err == nil:
		if isTool && tool != nil && tool.IsError {
			e.Outcome = server.OutcomeToolError
		}
	case errors.Is(ctx.Err(), context.Canceled):
		e.Outcome = server.OutcomeCancelled
	case errors.Is(err, mcp.ErrInputRequired):
		e.Outcome = server.OutcomeInputRequired
	case errors.As(err, &e.Err):
		e.Outcome = server.OutcomeError
	default:
		e.Err = &mcp.Error{
			Code:    mcp.CodeInternalError,
			Message: err.Error(),
			Cause:   err,
		}
		e.Outcome = server.OutcomeError
		if isTool {
			e.Outcome = server.OutcomeToolError
		}
	}
	return result, err
}

// LogTo returns an observer that logs events: answers at level info, answers with an
// error at warn, refused requests at warn, panics at error, and the start of requests,
// notifications and sessions at debug. A question to the client and a call that the
// client cancelled are not errors. Use it for [Options.Observer] or
// [server.Options.Observer].
func LogTo(log *slog.Logger) server.Observer { return logObserver{log} }

// logObserver logs the events of a server.
type logObserver struct{ log *slog.Logger }

// Observe implements [server.Observer].
func (o logObserver) Observe(ctx context.Context, e server.Event) {
	level := slog.LevelDebug
	text := ""
	switch e.Kind {
	case server.EventRequest:
		text = "request"
	case server.EventAnswer:
		level = slog.LevelInfo
		text = "answer"
		switch e.Outcome {
		case server.OutcomePanicked:
			level = slog.LevelError
		case server.OutcomeError, server.OutcomeToolError:
			level = slog.LevelWarn
		}
	case server.EventNotification:
		text = "notification"
	case server.EventRefused:
		level = slog.LevelWarn
		text = "refused"
	case server.EventSession:
		text = "session"
	case server.EventSessionEnd:
		text = "session end"
	}
	if !o.log.Enabled(ctx, level) {
		return
	}
	o.log.LogAttrs(ctx, level, text, attributes(&e)...)
}

// attributes returns what is known about an event, without empty values. The cause is for
// logs alone: clients never see it.
func attributes(e *server.Event) []slog.Attr {
	var all []slog.Attr
	for _, text := range []struct{ key, value string }{
		{"method", e.Method}, {"name", e.Name}, {"transport", e.Transport},
	} {
		if text.value != "" {
			all = append(all, slog.String(text.key, text.value))
		}
	}
	if e.Duration > 0 {
		all = append(all, slog.Duration("duration", e.Duration))
	}
	if e.Err != nil {
		if e.Outcome != server.OutcomeToolError {
			all = append(all, slog.Int("code", int(e.Err.Code)))
		}
		all = append(all, slog.String("error", e.Err.Message))
		if e.Err.Cause != nil && e.Err.Cause.Error() != e.Err.Message {
			all = append(all, slog.String("cause", e.Err.Cause.Error()))
		}
	}
	switch e.Outcome {
	case "", server.OutcomeOK, server.OutcomeError:
		return all
	}
	return append(all, slog.String("outcome", string(e.Outcome)))
}
