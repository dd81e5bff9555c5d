package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/serve"
)

// auditFlags are the flags of the audit log.
type auditFlags struct {
	path, key string
	required  bool
}

func (f *auditFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "audit-log", "",
		"append a JSON line for each call and each refusal to this `file`; arguments, results and tokens are never logged")
	flags.StringVar(&f.key, "audit-key", "",
		"`file` with the key for hashing arguments in the audit log (default: a random key)")
	flags.BoolVar(&f.required, "audit-required", false, "reject requests that cannot be logged")
}

// open opens the log, or returns nil if there is none. The log is reopened on SIGHUP, for
// log rotation, until stop is called, which closes it.
func (f *auditFlags) open(log *slog.Logger) (audit *serve.Audit, stop func(), err error) {
	if f.path == "" {
		if f.key != "" || f.required {
			return nil, nil, usage("--audit-log says where it is", "there is no audit log for the other flags to be about")
		}
		return nil, func() {}, nil
	}
	opts := &serve.AuditOptions{
		Required: f.required,
		Logger:   log,
	}
	if f.key != "" {
		key, err := os.ReadFile(f.key)
		if err != nil {
			return nil, nil, badInput("", "audit log: %v", err)
		}
		if opts.Key = bytes.TrimSpace(key); len(opts.Key) == 0 {
			opts.Key = []byte{}
		}
	}
	if audit, err = serve.OpenAudit(f.path, opts); err != nil {
		return nil, nil, badInput("its folder must be there, and a key long: openssl rand -hex 32 makes a good one", "%v",
			err)
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range hup {
			if err := audit.Reopen(); err == nil {
				log.Info("the audit log has been opened again")
			} else {
				log.Error("the audit log cannot be opened again", "error", err)
			}
		}
	}()
	return audit, func() {
		signal.Stop(hup)
		close(hup)
		<-ended
		if err := audit.Close(); err != nil {
			log.Error("lines of the audit log are lost", "error", err)
		}
	}, nil
}

// audited returns an observer that passes the events of servers to observe, and their
// starts and ends to the audit log.
func audited(audit *serve.Audit, observe func(client.Event)) func(client.Event) {
	if audit == nil {
		return observe
	}
	return func(e client.Event) {
		observe(e)
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
