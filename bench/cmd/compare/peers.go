package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/bench/fix"
)

// peer is a program in peers/ with its capabilities.
type peer struct {
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
	only                                 func(fix.Workload) bool
	with                                 string // overrides fix.Workload.With
}

// The floors that ratios refer to.
const (
	httpFloor  = "barehand"
	stdioFloor = "floorstdio"
	wsFloor    = "barews"
	plain      = "slipway-plain" // the baseline for the cost of fix.Workload.With
)

// allPeers returns the peers in the order of the report.
func allPeers() []peer {
	return []peer{
		{name: httpFloor, dir: "barehand", floor: true, noStdio: true},
		{name: stdioFloor, dir: "floorstdio", floor: true, noHTTP: true},
		{name: wsFloor, dir: "barews", floor: true, module: "github.com/coder/websocket",
			only: func(w fix.Workload) bool { return w.Kind.Socket() }},
		{name: plain, dir: "slipway", floor: true, with: "plain", only: func(w fix.Workload) bool { return w.With != "" }},
		{name: "slipway", dir: "slipway", sockets: true, operated: true},
		{name: "slipway-router", dir: "router"},
		{name: "barejson", dir: "barejson", noGet: true},
		{name: "trpc-mcp-go", dir: "trpc", module: "trpc.group/trpc-go/trpc-mcp-go", noModern: true},
		// Notifications of v1.2.1 race with the answer, and the last ones may be lost.
		{name: "mcp-go", dir: "mcpgo", module: "github.com/mark3labs/mcp-go", noProgress: true},
		{name: "go-sdk", dir: "gosdk", module: "github.com/modelcontextprotocol/go-sdk"},
		{name: "ts-v2", dir: "tsv2", module: "@modelcontextprotocol/server", node: true, noSession: true},
		{name: "ts-v1", dir: "tsv1", module: "@modelcontextprotocol/sdk", node: true, noModern: true},
	}
}

// does reports whether the peer supports the workload.
func (p peer) does(w fix.Workload) bool {
	onPipes := w.Kind == fix.Stdio || w.Kind == fix.StartStdio
	switch {
	case p.only != nil:
		return p.only(w)
	case w.With != "":
		return p.operated
	case w.Kind.Socket():
		return p.sockets
	case w.Kind.Idle():
		return !p.floor && !p.noSession && (w.Kind != fix.IdleStream || !p.noGet)
	case w.Events > 0 && p.noProgress:
		return false
	case onPipes:
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
	case w.Kind == fix.Stdio || w.Kind == fix.StartStdio:
		return stdioFloor
	case w.Kind.Socket():
		return wsFloor
	case w.With != "":
		return plain
	}
	return httpFloor
}

func selectPeers(names string) ([]peer, error) {
	all := allPeers()
	if names == "" {
		return all, nil
	}
	wanted := strings.Split(names, ",")
	for _, name := range wanted {
		if !slices.ContainsFunc(all, func(p peer) bool { return p.name == name }) {
			return nil, fmt.Errorf("unknown peer %q; -list prints their names", name)
		}
	}
	return slices.DeleteFunc(all, func(p peer) bool { return !p.floor && !slices.Contains(wanted, p.name) }), nil
}
