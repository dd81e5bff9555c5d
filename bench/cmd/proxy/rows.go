package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/install"
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

// row is one gateway with one kind of upstream server.
type row struct {
	name, back string
	program    string // below gateways/ or peers/, or slipway itself
	module     string // whose version is reported
	short      bool   // also measured with -short
	env        []string
	args       func(s *setup) ([]string, error) // nil: those of package contract
}

// setup contains the inputs for the command line of a gateway.
type setup struct {
	addr  string   // where it listens
	child []string // the command of the upstream server
	url   string   // the URL of the upstream server
	dir   string   // for files
}

func allRows() []row {
	const (
		mcpgo = "github.com/mark3labs/mcp-go"
		gosdk = "github.com/modelcontextprotocol/go-sdk"
	)
	plain := contract.Config{Session: true, Tools: fix.Called, With: "metrics"}
	return []row{
		{name: local, back: nothing, program: "peers/slipway", short: true, env: plain.Env(), args: answering},
		{name: slipway, back: child, program: command, short: true, args: serveChild},
		{name: definitions, back: child, program: command, short: true, args: serveDefinitions},
		{name: "slipway's front, mcp-go's transport", back: child, program: "gateways/frontmcpgo", module: mcpgo},
		{name: "slipway's front, go-sdk's transport", back: child, program: "gateways/frontgosdk", module: gosdk},
		{name: typedMCPGo, back: child, program: "gateways/mcpgo", module: mcpgo, short: true},
		{name: "go-sdk, server and client", back: child, program: "gateways/gosdk", module: gosdk},
		{name: "supergateway, a child for each session", back: child, program: supergateway, args: superStateful},
		{name: "supergateway, a child for each request", back: child, program: supergateway, args: superStateless},
		{name: slipway, back: remote, program: command, short: true, args: serveURL},
		{name: definitions, back: remote, program: command, short: true, args: serveRemoteDefinitions},
		{name: reverse, back: remote, program: "gateways/reverseproxy", short: true},
		{name: tuned, back: remote, program: "gateways/reverseproxy", env: []string{"REVERSEPROXY_IDLE=1"}},
		{name: typedMCPGo, back: remote, program: "gateways/mcpgo", module: mcpgo},
		{name: "go-sdk, server and client", back: remote, program: "gateways/gosdk", module: gosdk},
	}
}

func selectRows(o *options) ([]row, error) {
	rows := allRows()
	if o.rows != "" {
		for _, name := range strings.Split(o.rows, ",") {
			if !slices.ContainsFunc(rows, func(r row) bool { return r.called(name) }) {
				return nil, fmt.Errorf("no row is called %q; -list prints their names", name)
			}
		}
	}
	return slices.DeleteFunc(rows, func(r row) bool {
		asked := o.rows == "" || r.name == local || slices.ContainsFunc(strings.Split(o.rows, ","), r.called)
		return !asked || o.short && !r.short
	}), nil
}

// called reports whether a name in -rows means the row. Commas separate names, so they
// are ignored in row names.
func (r row) called(name string) bool {
	return strings.ReplaceAll(r.name, ",", "") == strings.TrimSpace(name)
}

func answering(s *setup) ([]string, error) { return []string{s.addr, "session"}, nil }

func serveChild(s *setup) ([]string, error) {
	return append([]string{"serve", "--addr", s.addr, "--"}, s.child...), nil
}

func serveURL(s *setup) ([]string, error) { return []string{"serve", "--addr", s.addr, s.url}, nil }

func serveDefinitions(s *setup) ([]string, error) {
	return s.serveFile(map[string]any{"command": s.child[0], "args": s.child[1:]})
}

func serveRemoteDefinitions(s *setup) ([]string, error) {
	return s.serveFile(map[string]any{"url": s.url, "transport": "http"})
}

// contractArgs returns the arguments of the programs in gateways/.
func contractArgs(back string) func(*setup) ([]string, error) {
	return func(s *setup) ([]string, error) {
		if back == remote {
			return []string{s.addr, "http", s.url}, nil
		}
		return append([]string{s.addr, "stdio"}, s.child...), nil
	}
}

// Programs from outside this module: slipway itself, and a package from npm.
const (
	command      = "cmd/slipway"
	supergateway = "supergateway"
)

func superStateful(s *setup) ([]string, error) {
	return superArgs(s, "--stateful"), nil
}

func superStateless(s *setup) ([]string, error) {
	return superArgs(s, "--protocolVersion", fix.Legacy), nil
}

func superArgs(s *setup, more ...string) []string {
	_, port, _ := strings.Cut(s.addr, ":")
	return append([]string{"--stdio", strings.Join(s.child, " "), "--outputTransport", "streamableHttp",
		"--port", port, "--logLevel", "none"}, more...)
}

// built is a program that is ready to start.
type built struct {
	command []string
	version string
}

// build builds or installs the program of a row.
func build(ctx context.Context, root string, r row) (built, error) {
	if r.program == supergateway {
		return installSupergateway(ctx, root)
	}
	dir, pkg := root, []string{"./" + r.program}
	if r.program == command {
		dir, pkg = filepath.Dir(root), []string{"-trimpath", "-ldflags=-s -w", "./" + command}
	}
	binary := filepath.Join(root, install.Cache, "bin", strings.ReplaceAll(r.program, "/", "-"))
	version, err := install.Go(ctx, dir, binary, r.module, pkg...)
	return built{[]string{binary}, version}, err
}

// loopback makes the program listen on loopback only, for which it has no option.
const loopback = `const { Server } = require("net")
const listen = Server.prototype.listen
Server.prototype.listen = function (port, ...rest) {
  return typeof port === "number" ? listen.call(this, port, "127.0.0.1", ...rest.filter((r) => typeof r === "function")) : listen.call(this, port, ...rest)
}
`

func installSupergateway(ctx context.Context, root string) (built, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return built{}, errors.New("node is not installed")
	}
	dir := filepath.Join(root, install.Cache, "npm", supergateway)
	version, err := install.NPM(ctx, filepath.Join(root, "gateways", supergateway), dir, supergateway)
	if err != nil {
		return built{}, err
	}
	preload := filepath.Join(dir, "loopback.cjs")
	if err := os.WriteFile(preload, []byte(loopback), 0o644); err != nil {
		return built{}, err
	}
	main := filepath.Join(dir, "node_modules", supergateway, "dist", "index.js")
	return built{[]string{node, "--require", preload, main}, version}, nil
}
