package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/bench/fix"
)

// A peer is a program of peers/ and what it can do.
type peer struct {
	name   string
	dir    string // below peers/
	module string // whose version is reported
	node   bool   // a Node program; otherwise Go
	floor  bool   // always measured

	noHTTP, noStdio, noModern, noSession bool
}

// The floors that ratios are taken to.
const (
	httpFloor  = "barehand"
	stdioFloor = "floorstdio"
)

// allPeers returns the peers in the order of the report.
func allPeers() []peer {
	return []peer{
		{name: httpFloor, dir: "barehand", floor: true, noStdio: true},
		{name: stdioFloor, dir: "floorstdio", floor: true, noHTTP: true},
		{name: "slipway", dir: "slipway"},
		{name: "barejson", dir: "barejson"},
		{name: "trpc-mcp-go", dir: "trpc", module: "trpc.group/trpc-go/trpc-mcp-go", noModern: true},
		{name: "mcp-go", dir: "mcpgo", module: "github.com/mark3labs/mcp-go"},
		{name: "go-sdk", dir: "gosdk", module: "github.com/modelcontextprotocol/go-sdk"},
		{name: "ts-v2", dir: "tsv2", module: "@modelcontextprotocol/server", node: true, noSession: true},
		{name: "ts-v1", dir: "tsv1", module: "@modelcontextprotocol/sdk", node: true, noModern: true},
	}
}

// does reports whether the peer can take the workload.
func (p peer) does(w fix.Workload) bool {
	onPipes := w.Kind == fix.Stdio || w.Kind == fix.StartStdio
	switch {
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

// floorOf returns the name of the peer that the workload is compared to.
func floorOf(w fix.Workload) string {
	if w.Kind == fix.Stdio || w.Kind == fix.StartStdio {
		return stdioFloor
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
