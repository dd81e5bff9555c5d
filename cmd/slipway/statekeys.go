package main

import (
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/serve"
)

// stateKeyFlags select the keys that seal state carried by clients.
type stateKeyFlags struct {
	path string
	keys string // from MCP_SERVER_STATE_KEY
}

// fromEnvironment reads the variable without a flag.
func (f *stateKeyFlags) fromEnvironment(lookup func(string) (string, bool)) {
	f.keys, _ = lookup(envPrefix + "STATE_KEY")
}

// open returns the keys, or nil if there are none. They are reread on SIGHUP, until stop
// is called.
func (f *stateKeyFlags) open(log *slog.Logger) (keys *serve.StateKeys, stop func(), err error) {
	if f.path == "" && f.keys == "" {
		return nil, func() {}, nil
	}
	const random = "openssl rand -hex 32 creates a key"
	var more [][]byte
	if f.keys != "" {
		if more, err = serve.ParseStateKeys([]byte(f.keys)); err != nil {
			return nil, nil, usage(random, "%sSTATE_KEY: %v", envPrefix, err)
		}
	}
	keys, err = serve.OpenStateKeys(f.path, more...)
	switch {
	case errors.Is(err, serve.ErrKeyExposed):
		return nil, nil, denied("chmod 600 "+shell.PathWord(f.path), "%v", err)
	case err != nil:
		return nil, nil, badInput(random, "%v", err)
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	// Keys are rotated without a restart. A file that cannot be read changes nothing.
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range hangups {
			if err := keys.Reload(); err != nil {
				log.Error("state keys not reloaded, keeping the previous ones", "error", err)
				continue
			}
			log.Info("state keys reloaded")
		}
	}()
	return keys, func() {
		signal.Stop(hangups)
		close(hangups)
		<-ended
	}, nil
}
