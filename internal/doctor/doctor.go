// Package doctor diagnoses why MCP servers do not work: on this machine, in the config files
// of clients, behind a command, or at a URL.
//
//	d := doctor.New(&doctor.Options{Open: open})
//	d.URL(ctx, "https://mcp.example.com/mcp")
//	for _, c := range d.Checks() {
//		fmt.Println(c.Status, c.Name, c.Detail)
//	}
//
// Each problem is a finding of a rule "doctor/...", see [Rules]; its hint is the command or
// the edit that fixes it. Nothing is changed, and no secret is printed. Programs named in
// files are started, and their URLs contacted, only with [Options.Start]; the exception is
// the node on the PATH, which is asked for its version.
package doctor

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// Options configure [New]. Nil and the zero value mean the defaults.
type Options struct {
	// Place is where the files of clients are located, with the environment of programs.
	Place clients.Place
	// Definitions is the user's definitions file. It need not exist; empty means that it is
	// unknown.
	Definitions string
	// StateDir is the folder of the [clients.State]; empty means none.
	StateDir string
	// Program is the path of the running program, and Version describes it. An empty Program
	// skips the check of the PATH.
	Program, Version string
	// Addr is the default address of a server; empty skips its check.
	Addr string

	// Listen tries an address. Nil means [net.Listen].
	Listen func(network, addr string) (net.Listener, error)

	// Open opens a source, as on the command line, with the client options of the
	// diagnosis. It is required by [Doctor.URL] and [Doctor.Command].
	Open func(ctx context.Context, source string, opts *client.Options) (mcp.Source, error)
	// Resolver finds the secrets of definitions, and limits the networks of their servers.
	// Nil means the environment, and the public internet.
	Resolver *stax.Resolver
	// Start also starts the servers in files, and connects to those at a URL.
	Start bool
	// Roster, if not nil, lists the servers while they are started.
	Roster *client.Roster
	// Client is our identity for servers.
	Client mcp.Implementation
	// Timeout limits the start of each server; 0 means 30 seconds.
	Timeout time.Duration
	// Slow is the duration of a start that is reported as slow; 0 means 5 seconds.
	Slow time.Duration
}

// Status is the outcome of a check.
type Status string

// The outcomes.
const (
	OK      Status = "ok"
	Warning Status = "warning" // or a problem that the check could not decide
	Failure Status = "error"
)

// Check is one step of a diagnosis.
type Check struct {
	About    string          `json:"about"` // such as the id of a client
	Name     string          `json:"name"`
	Status   Status          `json:"status"`
	Detail   string          `json:"detail"` // what was found
	Findings []check.Finding `json:"findings"`
}

// Doctor runs checks. It is not safe for concurrent use.
type Doctor struct {
	// opts are the options with their defaults; checks and report grow with each check.
	opts   Options
	checks []Check
	report check.Report

	nodeVersion *string // of the node on the PATH, once known
}

// New returns a Doctor. opts may be nil.
func New(opts *Options) *Doctor {
	d := &Doctor{}
	if opts != nil {
		d.opts = *opts
	}
	if d.opts.Timeout == 0 {
		d.opts.Timeout = 30 * time.Second
	}
	if d.opts.Slow == 0 {
		d.opts.Slow = 5 * time.Second
	}
	if d.opts.Listen == nil {
		d.opts.Listen = net.Listen
	}
	if d.opts.Place.OS == "" {
		d.opts.Place.OS = runtime.GOOS
	}
	if d.opts.Place.LookupEnv == nil {
		d.opts.Place.LookupEnv = os.LookupEnv
	}
	if d.opts.Resolver == nil {
		d.opts.Resolver = &stax.Resolver{}
	}
	return d
}

// Checks returns the checks made so far, in their order.
func (d *Doctor) Checks() []Check { return d.checks }

// Report returns the findings of all checks.
func (d *Doctor) Report() *check.Report { return &d.report }

// Add records a check that the caller makes: do reports findings and returns what it found.
func (d *Doctor) Add(about, name string, do func(r check.Reporter) (detail string)) (ok bool) {
	c := makeCheck(about, name, do)
	d.record(c)
	return c.Status != Failure
}

// record adds checks that were made.
func (d *Doctor) record(checks ...Check) {
	for _, c := range checks {
		d.checks = append(d.checks, c)
		d.report.Add(c.Findings...)
	}
}

// makeCheck makes a check without recording it.
func makeCheck(about, name string, do func(r check.Reporter) (detail string)) Check {
	report := &check.Report{}
	c := Check{
		About:  about,
		Name:   name,
		Status: OK,
		Detail: do(check.Reporter{Report: report}),
	}
	c.Findings = append([]check.Finding{}, report.Findings()...)
	switch {
	case report.Count(check.Error) > 0:
		c.Status = Failure
	case report.Count(check.Warning) > 0:
		c.Status = Warning
	}
	return c
}

// lookPath finds a program as a server finds it whose definition has these variables.
func (d *Doctor) lookPath(command string, env map[string]string) (string, error) {
	return process.LookPath(command, d.opts.Place.OS, func(name string) (string, bool) {
		if value, ok := env[name]; ok {
			return value, true
		}
		return d.opts.Place.LookupEnv(name)
	})
}

// baseName returns the name of a program without its folder and the extension of Windows.
func baseName(command string) string {
	base := filepath.Base(filepath.FromSlash(command))
	for _, ending := range []string{".exe", ".cmd", ".bat"} {
		base = strings.TrimSuffix(base, ending)
	}
	return base
}
