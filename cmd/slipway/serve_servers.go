package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// serverFlags are the flags for servers of definitions in serve.
type serverFlags struct {
	idle    idleFlags
	noWatch bool
	strict  bool
	settle  time.Duration
	settles bool // --settle is set explicitly

	processes int
}

// defaultSettle is the value of --settle.
const defaultSettle = 2 * time.Second

func (f *serverFlags) settings() []setting {
	return append(f.idle.settings(), []setting{
		{
			key:      "definitions.watch",
			flag:     "no-watch",
			field:    &f.noWatch,
			usage:    "do not reload files that change; SIGHUP still reloads definitions",
			about:    "reload files that change; SIGHUP reloads in any case",
			inverted: true,
		},
		{
			key:   "definitions.settle",
			flag:  "settle",
			field: &f.settle,
			usage: "maximum `time` that list requests wait for starting servers; by default, lists of a single server wait " +
				"until it has started or failed",
		},
		{
			key:   "definitions.strict",
			flag:  "strict",
			field: &f.strict,
			usage: "reject a definitions file with an invalid server, instead of skipping the server",
		},
		{
			key:     "definitions.maxProcesses",
			flag:    "max-processes",
			field:   &f.processes,
			usage:   "maximum `number` of processes for clients on this machine, of all servers with isolate; 0 means no limit",
			restart: true,
		},
	}...)
}

// apply sets the options that the flags control. drain is how long a call may take.
func (f *serverFlags) apply(o *open.Options, log *slog.Logger, drain time.Duration) error {
	d := o.Definitions
	if d.Startup.Background = true; f.settles {
		d.Startup.Settle = max(f.settle, 1) // 0 would be the default
	}
	d.Strict = f.strict
	d.Logger = log
	d.Reload.Drain, d.Reload.Signal = drain, reloadSignal()
	if f.noWatch {
		if o.Site != nil {
			o.Site.Poll = -1
		}
	} else {
		d.Reload.Watch = watchEvery
	}
	return f.idle.apply(&d.Idle)
}

// watchEvery is how often a definitions file is checked for changes. A changed file must
// be the same in two checks, as it may still be being written.
const watchEvery = 500 * time.Millisecond

// idleFlags are the flags for idle servers.
type idleFlags struct {
	lazy bool
	stop time.Duration
}

func (f *idleFlags) settings() []setting {
	return []setting{
		{
			key:   "definitions.lazy",
			flag:  "lazy",
			field: &f.lazy,
			usage: "start servers of definitions on their first call; until then, their tools are those of an earlier run",
		},
		{
			key:   "definitions.idleStop",
			flag:  "idle-stop",
			field: &f.stop,
			usage: "stop a local server after this idle `time`; the next call restarts it",
		},
	}
}

// apply sets the options for idle servers. Lazy servers need a folder in which catalogs
// outlive the process.
func (f *idleFlags) apply(d *fleet.Idle) error {
	d.Lazy = f.lazy
	d.Stop = f.stop
	if f.lazy {
		dir, err := clients.StateDir()
		if err != nil {
			return badInput("SLIPWAY_STATE_DIR names one", "--lazy: no folder for its cache: %v", err)
		}
		d.CacheDir = filepath.Join(dir, "catalogs")
	}
	return nil
}

// upstreams returns the states of the servers on a roster, for health checks, metrics and
// slipway ps.
func upstreams(r *client.Roster) func() []serve.Upstream {
	return func() []serve.Upstream {
		all := []serve.Upstream{}
		for _, s := range r.States() {
			all = append(all, serve.Upstream{
				Name:      s.Name,
				Transport: s.Kind,
				Phase:     string(s.Phase),
				Since:     s.Since,
				Next:      s.Next,
				Failures:  s.Failures,
				Starts:    s.Starts,
				InFlight:  s.InFlight,
				Target:    s.Server,
				PID:       s.PID,
				Version:   s.Speaks,
				Error:     s.Error,
			})
		}
		return all
	}
}

// announcement makes slipway ps list this process.
func announcement(command string) *serve.Announcement {
	dir := runDir()
	if dir == "" {
		return nil
	}
	return &serve.Announcement{
		Dir:     dir,
		Command: command,
	}
}

// runDir returns the folder where running processes are announced, or "".
func runDir() string {
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); os.Getenv("SLIPWAY_STATE_DIR") == "" && filepath.IsAbs(runtime) {
		return filepath.Join(runtime, "slipway")
	}
	dir, err := clients.StateDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "run")
}
