package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// announcing prints what is served, once the address accepts connections, and again when a
// source that is not complete by then has opened.
type announcing struct {
	stderr io.Writer

	mu         sync.Mutex
	incomplete bool // the banner shows a source that is not open
}

// quickBuild is how long the banner waits for a site that is being built.
const quickBuild = 300 * time.Millisecond

// started prints the banner. cat is the catalog of src from before.
func (a *announcing) started(
	ctx context.Context,
	src mcp.Source,
	cat *mcp.Catalog,
	info *serve.Info,
	needsToken bool,
) {
	building, ok := src.(serve.Pending)
	if ok && len(cat.Tools)+len(cat.Prompts)+len(cat.Resources) > 0 {
		quick, stop := context.WithTimeout(ctx, quickBuild)
		_, err := building.Opened(quick)
		stop()
		if err != nil && quick.Err() == nil {
			return // serving stops with that error
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if now, err := src.Catalog(ctx); err == nil {
		cat = now
	}
	_, pending := src.(serve.Pending)
	a.incomplete = pending && cat.Unknown()
	banner(a.stderr, cat, info, needsToken)
}

// opened prints what a source offers, unless the banner says so.
func (a *announcing) opened(ctx context.Context, src mcp.Source) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.incomplete {
		return
	}
	if cat, err := src.Catalog(ctx); err == nil {
		say(a.stderr, "%s has started: %s", visible.Line(cat.Server.Name), counts(cat))
	}
}

// banner prints what is served, where, and how to use it.
func banner(w io.Writer, cat *mcp.Catalog, info *serve.Info, needsToken bool) {
	name := clientName(cat.Server.Name)
	endpoint := info.Endpoint
	public := ""
	if info.Public != "" {
		endpoint = info.Public
		public = "\n  Public URL    " + info.Public
	}
	admin := ""
	if info.Admin != "" {
		admin = "\n  Operators     " + info.Admin + "/metrics"
	}
	header := ""
	if needsToken {
		header = ` --header "Authorization: Bearer TOKEN"`
	}
	fmt.Fprintf(w, `slipway: serving %s: %s

  MCP endpoint  %s%s
  Health        %s%s

  Claude Code   claude mcp add --transport http %s %s%s
  mcp.json      %s

Ctrl-C stops it.
`, visible.Line(cat.Server.Name), counts(cat), info.Endpoint, public, info.Health, admin, name, endpoint, header,
		snippet(name, endpoint, needsToken))
}

// counts summarizes a catalog for the banner. Resources of a site that is still being built
// are not known yet, and are not counted.
func counts(cat *mcp.Catalog) string {
	if cat.Unknown() && !cat.Growing {
		return count(len(cat.Tools), "tool") + "; the site is being built"
	}
	words := []string{count(len(cat.Tools), "tool"), count(len(cat.Resources), "resource")}
	if n := len(cat.Templates); n > 0 {
		words = append(words, count(n, "resource template"))
	}
	text := strings.Join(append(words, count(len(cat.Prompts), "prompt")), ", ")
	// Starting, being built, out of reach, or until the caller logs in. A server that each caller
	// logs in to is in the list twice: for its name, and for its tool that asks for the login.
	names := make(map[string]bool)
	unknown := make(map[string]bool)
	for i := range cat.Sources {
		s := &cat.Sources[i]
		names[s.Name] = true
		if s.Unknown {
			unknown[s.Name] = true
		}
	}
	if len(unknown) > 0 {
		text += fmt.Sprintf(" so far; %d of %s not available yet", len(unknown), count(len(names), "source"))
	}
	return text
}

func count(n int, what string) string { return check.Count(n, what) }

// snippet returns the entry for a client's config file.
func snippet(name, endpoint string, needsToken bool) string {
	type server struct {
		Type    string            `json:"type"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers,omitempty"`
	}
	s := server{
		Type: "http",
		URL:  endpoint,
	}
	if needsToken {
		s.Headers = map[string]string{"Authorization": "Bearer TOKEN"}
	}
	text, err := mcp.Marshal(map[string]map[string]server{"mcpServers": {name: s}})
	if err != nil {
		return "" // strings can always be encoded
	}
	return string(text)
}

// clientName returns a server name that every client accepts.
func clientName(name string) string {
	mapped := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name)
	words := strings.FieldsFunc(mapped, func(r rune) bool { return r == '-' })
	if len(words) == 0 {
		return "slipway"
	}
	return strings.Join(words, "-")
}
