package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/install"
	"github.com/slipway-mcp/slipway/bench/trial"
)

// peer is a program in peers/ with its capabilities.
type peer struct {
	// name is that of the peer in the results.
	name   string
	dir    string // below peers/
	module string // whose version is reported
	node   bool   // a Node program; otherwise Go
	floor  bool   // always measured

	noHTTP, noStdio, noModern, noSession bool
	noGet                                bool // no GET stream of a session
	noProgress                           bool // none, or some of it is lost
	sockets                              bool // also supports WebSockets
	operated                             bool // supports fix.Workload.With
	// only restricts the workloads, if it is not nil.
	only func(fix.Workload) bool
	with string // overrides fix.Workload.With

	*options
	install.Program
}

var _ trial.Row = (*peer)(nil)

// The floors that ratios refer to.
const (
	httpFloor  = "barehand"
	stdioFloor = "floorstdio"
	wsFloor    = "barews"
	plain      = "slipway-plain" // the baseline for the cost of fix.Workload.With
	withJWT    = "slipway-jwt"   // that of a policy, which needs to know the caller
)

// allPeers returns the peers in the order of the report.
func allPeers() []*peer {
	return []*peer{
		{name: httpFloor, dir: "barehand", floor: true, noStdio: true},
		{name: stdioFloor, dir: "floorstdio", floor: true, noHTTP: true},
		{name: wsFloor, dir: "barews", floor: true, module: "github.com/coder/websocket",
			only: func(w fix.Workload) bool { return w.Kind.Socket() }},
		{
			name:  plain,
			dir:   "slipway",
			floor: true,
			with:  "plain",
			only:  func(w fix.Workload) bool { return w.With != "" && w.With != "policy" },
		},
		{
			name:  withJWT,
			dir:   "slipway",
			floor: true,
			with:  "jwt",
			only:  func(w fix.Workload) bool { return w.With == "policy" },
		},
		{name: "slipway", dir: "slipway", sockets: true, operated: true},
		{name: "slipway-router", dir: "router"},
		{name: "barejson", dir: "barejson", noGet: true},
		{
			name:     "trpc-mcp-go",
			dir:      "trpc",
			module:   "trpc.group/trpc-go/trpc-mcp-go",
			noModern: true,
		},
		// Notifications of v1.2.1 race with the answer, and the last ones may be lost.
		{
			name:       "mcp-go",
			dir:        "mcpgo",
			module:     "github.com/mark3labs/mcp-go",
			noProgress: true,
		},
		{name: "go-sdk", dir: "gosdk", module: "github.com/modelcontextprotocol/go-sdk"},
		{
			name:      "ts-v2",
			dir:       "tsv2",
			module:    "@modelcontextprotocol/server",
			node:      true,
			noSession: true,
		},
		{
			name:     "ts-v1",
			dir:      "tsv1",
			module:   "@modelcontextprotocol/sdk",
			node:     true,
			noModern: true,
		},
	}
}

// Does reports whether the peer supports the workload.
func (p *peer) Does(w fix.Workload) bool {
	switch {
	case p.slices > 0 && (p.floor || w.Kind != fix.HTTP && w.Kind != fix.WebSocket):
		return false // a floor runs with each peer
	case p.only != nil:
		return p.only(w)
	case w.With != "":
		return p.operated
	case w.Kind.Socket():
		return p.sockets
	case w.Kind.Idle():
		return !p.floor &&
			!p.noSession &&
			(w.Kind != fix.IdleStream || !p.noGet)
	case w.Events > 0 && p.noProgress:
		return false
	case w.Kind.Pipes():
		return !p.noStdio
	case p.noHTTP:
		return false
	case w.Version == fix.Modern:
		return !p.noModern
	default:
		return !w.Session || !p.noSession
	}
}

// floorOf returns the name of the peer that is the floor of the workload.
func floorOf(w fix.Workload) string {
	switch {
	case w.Kind.Pipes():
		return stdioFloor
	case w.Kind.Socket():
		return wsFloor
	case w.With == "policy":
		return withJWT
	case w.With != "":
		return plain
	}
	return httpFloor
}

// selectPeers returns the chosen peers and always the floors, which ratios are relative to.
func selectPeers(o *options) ([]trial.Row, error) {
	var chosen []trial.Row
	o.floors = make(map[string]*peer)
	wanted := strings.Split(o.peers, ",")
	found := 0
	for _, p := range allPeers() {
		named := slices.Contains(wanted, p.name)
		if named {
			found++
		}
		if p.options = o; named || p.floor || o.peers == "" {
			chosen = append(chosen, p)
		}
		if p.floor {
			o.floors[p.name] = p
		}
	}
	if o.peers != "" && found < len(wanted) {
		return nil, fmt.Errorf("unknown peer in %q; -list prints their names", o.peers)
	}
	return chosen, nil
}

// Key implements [trial.Row]. Peers have no upstream server.
func (p *peer) Key() trial.Key { return trial.Key{Name: p.name} }

// Required implements [trial.Row]: without its floor, a peer has no ratio.
func (p *peer) Required() bool { return p.floor }

// Version returns the version of the peer's library.
func (p *peer) Version() (string, string) {
	if p.module == "" {
		return "", ""
	}
	return p.name, p.Program.Version
}

// Build builds the peer, or installs its packages next to its program and the fixtures.
func (p *peer) Build(ctx context.Context) (err error) {
	folder := "peers/" + p.dir
	if !p.node {
		p.Program, err = install.Go(ctx, folder, p.module)
		return err
	}
	dir, program, err := install.Node(ctx, folder, p.module, "server.mjs")
	if err != nil {
		return err
	}
	p.Program = program
	p.Command = append(p.Command, filepath.Join(dir, "server.mjs"))
	return writeFixtures(filepath.Join(dir, "fixtures.json"))
}

// writeFixtures writes for Node peers what Go peers import. Peers use the first NTOOLS
// tools of the list.
func writeFixtures(path string) error {
	most := 0
	for _, w := range fix.Workloads() {
		most = max(most, w.Tools)
	}
	data, err := json.Marshal(map[string]any{
		"name":     fix.ServerName,
		"version":  fix.ServerVersion,
		"text":     fix.Text(),
		"message":  fix.Message,
		"uri":      fix.BlobURI,
		"mimeType": fix.BlobMIME,
		"tools":    fix.Tools(most),
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
