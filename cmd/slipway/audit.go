package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/settings"
	"github.com/slipway-mcp/slipway/serve"
)

// auditFlags are the flags of the audit log.
type auditFlags struct {
	path, key string
	required  bool
}

// settings returns the settings of the audit log.
func (f *auditFlags) settings() []setting {
	return []setting{
		{
			key:   "logging.auditLog",
			flag:  "audit-log",
			field: &f.path,
			usage: "append a JSON line for each call and each refusal to this `file`; arguments, results and tokens are never " +
				"logged",
			resolve: settings.ResolvePath,
			probe:   probeFolder,
		},
		{
			key:     "logging.auditKeyFile",
			flag:    "audit-key",
			field:   &f.key,
			usage:   "`file` with the key for hashing arguments in the audit log (default: a random key)",
			resolve: settings.ResolvePath,
			probe:   probeAuditKey,
		},
		{
			key:   "logging.auditRequired",
			flag:  "audit-required",
			field: &f.required,
			usage: "reject requests that cannot be logged",
		},
	}
}

// open opens the log, or returns nil if there is none. The log is reopened on SIGHUP, for
// log rotation, until stop is called, which closes it.
func (f *auditFlags) open(log *slog.Logger) (audit *serve.Audit, stop func(), err error) {
	if f.path == "" {
		if f.key != "" || f.required {
			return nil, nil, usage("--audit-log specifies its path", "the other --audit flags require an audit log")
		}
		return nil, func() {}, nil
	}
	opts := &serve.AuditOptions{
		Required: f.required,
		Logger:   log,
	}
	if f.key != "" {
		if opts.Key, err = readAuditKey(f.key); err != nil {
			return nil, nil, badInput("", "audit log: %v", err)
		}
	}
	if audit, err = serve.OpenAudit(f.path, opts); err != nil {
		hint := "openssl rand -hex 32 creates a key that is long enough"
		if errors.As(err, new(*fs.PathError)) {
			hint = "name a file in a folder that exists and that you may write to"
		}
		return nil, nil, badInput(hint, "%v", err)
	}
	// A program for log rotation renames the file and sends SIGHUP.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range hup {
			if err := audit.Reopen(); err == nil {
				log.Info("audit log reopened")
			} else {
				log.Error("cannot reopen the audit log", "error", err)
			}
		}
	}()
	return audit, func() {
		// The goroutine has to end before the log is closed, which it could reopen.
		signal.Stop(hup)
		close(hup)
		<-ended
		if err := audit.Close(); err != nil {
			log.Error("lines of the audit log are lost", "error", err)
		}
	}, nil
}

// maxAuditKey limits the file with the key for the audit log, in bytes.
const maxAuditKey = 64 << 10

// readAuditKey reads a key for the audit log. It is never nil.
func readAuditKey(path string) ([]byte, error) {
	text, err := fsutil.ReadSecret(path, maxAuditKey)
	if err != nil {
		return nil, err
	}
	return append([]byte{}, bytes.TrimSpace(text)...), nil
}

// currentAudit is the audit log in use, which may change and may be nil.
type currentAudit struct{ atomic.Pointer[serve.Audit] }

// load returns the log. c may be nil, too.
func (c *currentAudit) load() *serve.Audit {
	if c == nil {
		return nil
	}
	return c.Load()
}

// audited returns an observer that passes the events of servers to observe, and their
// starts and ends to the audit log.
func audited(log *currentAudit, observe func(client.Event)) func(client.Event) {
	return func(e client.Event) {
		observe(e)
		audit := log.load()
		if audit == nil {
			return
		}
		switch e.What {
		case client.EventStarted, client.EventLost, client.EventFailed, client.EventStopped, client.EventChanged:
			address, _, _ := strings.Cut(e.Server, " ") // arguments may be secret
			audit.Server(&serve.AuditServer{
				Name:    e.Name,
				What:    string(e.What),
				Address: address,
				Origin:  e.Origin,
				Reason:  auditReason(e.Err),
			})
		}
	}
}

// auditReason returns the text of an error without the stderr output of the server, which
// may contain any data.
func auditReason(err error) string {
	var exit *client.ExitError
	var status *client.StatusError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &exit):
		return exit.Reason
	case errors.As(err, &status):
		return (&client.StatusError{Status: status.Status}).Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "it was not ready in time"
	}
	return err.Error()
}
