package main

import (
	"log/slog"
	"time"

	"github.com/slipway-mcp/slipway/mcp/tap"
)

// logTraffic returns a tap for --verbose: it logs steps of connecting and HTTP exchanges,
// and with -vv each message. Bodies, which may contain secrets, are not logged.
func logTraffic(log *slog.Logger) tap.Func {
	return func(e *tap.Event) {
		switch e.Kind {
		case tap.Step:
			args := []any{"step", e.Name, "took", e.Took.Round(10 * time.Microsecond)}
			if e.Detail != "" {
				args = append(args, "result", e.Detail)
			}
			if e.Err != nil {
				args = append(args, "err", e.Err)
			}
			log.Info("connecting", args...)
		case tap.Head:
			logHead(log, e)
		default:
			log.Debug("traffic",
				"kind", e.Kind,
				"sent", e.Sent,
				"channel", e.Channel,
				"bytes", len(e.Body),
			)
		}
	}
}

// logHead logs the head of an HTTP message: of a request at level debug, of a response with
// its time at level info. Headers may contain tokens, and are never logged.
func logHead(log *slog.Logger, e *tap.Event) {
	switch {
	case e.HTTP == nil:
	case e.Sent:
		log.Debug("request", "method", e.HTTP.Method, "url", e.HTTP.URL)
	default:
		log.Info("response", "status", e.HTTP.Status, "url", e.HTTP.URL, "remote", e.HTTP.Remote,
			"took", e.HTTP.Wait.Round(10*time.Microsecond))
	}
}
