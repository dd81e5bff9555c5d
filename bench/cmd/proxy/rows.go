package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/install"
	"github.com/slipway-mcp/slipway/bench/trial"
)

// The kinds of upstream servers.
const (
	nothing = "none"  // the program answers by itself
	child   = "stdio" // a child process, over its standard streams
	remote  = "http"
)

// The rows that others are compared with.
const (
	local       = "none"
	slipway     = "slipway"
	definitions = "slipway, from a file of definitions"
	typedMCPGo  = "mcp-go, server and client"
	reverse     = "net/http ReverseProxy"
	tuned       = reverse + ", 64 idle connections"
)

// supergateway is a package from npm.
const supergateway = "gateways/supergateway"

// row is one gateway with one kind of upstream server.
type row struct {
	name, back string
	program    string // folder, or slipway itself
	module     string // whose version is reported
	short      bool   // also measured with -short
	// env is added to the environment of the program.
	env  []string
	args func(s *setup) []string       // nil: those of package contract
	file func(s *setup) map[string]any // the server in the file of definitions to serve

	*bench
	install.Program
}

var _ trial.Row = (*row)(nil)

// setup contains the inputs for the command line of a gateway.
type setup struct {
	addr  string   // where it listens
	child []string // the command of the upstream server
	url   string   // the URL of the upstream server
}

// allRows returns the rows in the order of the report.
func allRows() []*row {
	const (
		mcpgo = "github.com/mark3labs/mcp-go"
		gosdk = "github.com/modelcontextprotocol/go-sdk"
		self  = install.Slipway
	)
	plain := contract.Config{
		Session: true,
		Tools:   fix.Called,
		With:    "metrics",
	}.Env()
	answer := func(s *setup) []string { return []string{s.addr, "session"} }
	serveChild := func(s *setup) []string {
		return append([]string{"serve", "--addr", s.addr, "--"}, s.child...)
	}
	serveURL := func(s *setup) []string {
		return []string{"serve", "--addr", s.addr, s.url}
	}
	command := func(s *setup) map[string]any {
		return map[string]any{"command": s.child[0], "args": s.child[1:]}
	}
	url := func(s *setup) map[string]any {
		return map[string]any{"url": s.url, "transport": "http"}
	}
	return []*row{
		{
			name:    local,
			back:    nothing,
			program: "peers/slipway",
			short:   true,
			env:     plain,
			args:    answer,
		},
		{name: slipway, back: child, program: self, short: true, args: serveChild},
		{name: definitions, back: child, program: self, short: true, file: command},
		{
			name:    "slipway's front, mcp-go's transport",
			back:    child,
			program: "gateways/frontmcpgo",
			module:  mcpgo,
		},
		{
			name:    "slipway's front, go-sdk's transport",
			back:    child,
			program: "gateways/frontgosdk",
			module:  gosdk,
		},
		{
			name:    typedMCPGo,
			back:    child,
			program: "gateways/mcpgo",
			module:  mcpgo,
			short:   true,
		},
		{
			name:    "go-sdk, server and client",
			back:    child,
			program: "gateways/gosdk",
			module:  gosdk,
		},
		{
			name:    "supergateway, a child for each session",
			back:    child,
			program: supergateway,
			args:    superArgs("--stateful"),
		},
		{
			name:    "supergateway, a child for each request",
			back:    child,
			program: supergateway,
			args:    superArgs("--protocolVersion", fix.Legacy),
		},
		{name: slipway, back: remote, program: self, short: true, args: serveURL},
		{name: definitions, back: remote, program: self, short: true, file: url},
		{name: reverse, back: remote, program: "gateways/reverseproxy", short: true},
		{
			name:    tuned,
			back:    remote,
			program: "gateways/reverseproxy",
			env:     []string{"REVERSEPROXY_IDLE=1"},
		},
		{name: typedMCPGo, back: remote, program: "gateways/mcpgo", module: mcpgo},
		{
			name:    "go-sdk, server and client",
			back:    remote,
			program: "gateways/gosdk",
			module:  gosdk,
		},
	}
}

// superArgs returns the command line of supergateway for a stdio server.
func superArgs(more ...string) func(*setup) []string {
	return func(s *setup) []string {
		_, port, _ := strings.Cut(s.addr, ":")
		return append([]string{"--stdio", strings.Join(s.child, " "), "--outputTransport", "streamableHttp",
			"--port", port, "--logLevel", "none"}, more...)
	}
}

// selectRows returns the rows to measure. The row that answers locally is always among them,
// because bounds refer to it.
func selectRows(o *options) ([]*row, error) {
	rows, names := allRows(), strings.Split(o.rows, ",")
	for _, name := range names {
		if o.rows != "" && !slices.ContainsFunc(rows, func(r *row) bool {
			return r.isCalled(name)
		}) {
			return nil, fmt.Errorf("unknown row %q; -list prints their names", name)
		}
	}
	return slices.DeleteFunc(rows, func(r *row) bool {
		asked := o.rows == "" || r.name == local || slices.ContainsFunc(names, r.isCalled)
		return !asked || o.short && !r.short
	}), nil
}

// isCalled reports whether a name in -rows means the row. Commas separate names, so they
// are ignored in row names.
func (r *row) isCalled(name string) bool {
	return strings.ReplaceAll(r.name, ",", "") == strings.TrimSpace(name)
}

// Key implements [trial.Row].
func (r *row) Key() trial.Key {
	return trial.Key{
		Back: r.back,
		Name: r.name,
	}
}

// Required implements [trial.Row]: all but supergateway, which needs Node.
func (r *row) Required() bool         { return r.program != supergateway }
func (r *row) Does(fix.Workload) bool { return true }

// Version returns the version of the gateway's library.
func (r *row) Version() (string, string) {
	if r.module == "" && r.Required() {
		return "", ""
	}
	return path.Base(path.Join(r.program, r.module)), r.Program.Version
}

// loopback makes the program listen on loopback only, for which it has no option.
const loopback = `const { Server } = require("net")
const listen = Server.prototype.listen
Server.prototype.listen = function (port, ...rest) {
  if (typeof port !== "number") return listen.call(this, port, ...rest)
  return listen.call(this, port, "127.0.0.1", ...rest.filter((r) => typeof r === "function"))
}
`

// Build builds or installs the program.
func (r *row) Build(ctx context.Context) (err error) {
	if r.Required() {
		r.Program, err = install.Go(ctx, r.program, r.module)
		return err
	}
	name := path.Base(supergateway)
	dir, program, err := install.Node(ctx, supergateway, name)
	if err != nil {
		return err
	}
	preload := filepath.Join(dir, "loopback.cjs")
	r.Program = program
	r.Command = append(r.Command, "--require", preload, filepath.Join(dir,
		"node_modules", name, "dist", "index.js"))
	return os.WriteFile(preload, []byte(loopback), 0o644)
}

// commandLine returns the command line of the gateway.
func (r *row) commandLine(s *setup) ([]string, error) {
	var args []string
	switch {
	case r.args != nil:
		args = r.args(s)
	case r.file != nil:
		path := filepath.Join(r.dir, "servers.json")
		servers := map[string]any{"echo": r.file(s)}
		text, err := json.Marshal(map[string]any{"specVersion": "1.0.0", "servers": servers})
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return nil, err
		}
		args = []string{"serve", "--addr", s.addr, path}
	case r.back == remote:
		args = []string{s.addr, remote, s.url}
	default:
		args = append([]string{s.addr, child}, s.child...)
	}
	return slices.Concat(r.Command, args), nil
}
