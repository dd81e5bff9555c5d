package open

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// openDefinitions starts the servers of a definitions file.
func openDefinitions(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	var o fleet.Options
	if opts.Definitions != nil {
		o = *opts.Definitions
	}
	o.Name = cmp.Or(o.Name, Name(strings.TrimSuffix(arg, filepath.Ext(arg))))
	o.Client, o.Stderr, o.Import = opts.live().Source, opts.live().Stderr, importClientFile
	src, err := fleet.Open(ctx, arg, &o)
	if err == nil {
		return src, nil
	}
	e := unreadable(arg, err)
	var invalid *fleet.InvalidError
	var unavailable *fleet.UnavailableError
	var collision *fleet.CollisionError
	switch {
	case errors.As(err, &invalid):
		f := &invalid.Finding
		e.Why = fmt.Sprintf("no definitions of servers that can be used: line %d: %s", max(f.Line, 1), f.Message)
		e.Hint = "slipway config check " + arg
	case errors.As(err, &unavailable):
		e.Kind = Remote
	case errors.As(err, &collision):
		e.Hint = "use --prefix collision, or rename a tool below tools"
	}
	return nil, e
}

// importClientFile reads the config file of a client as definitions, if it has the most
// common form: {"mcpServers": {...}}. It returns nil if the file has no servers of that
// form. Values that look like secrets are kept separately.
func importClientFile(file string) *fleet.Definitions {
	format, _ := clients.ByID("claude-code")
	if format == nil {
		return nil
	}
	imported, report, err := clients.Import(format, file)
	if err != nil || len(imported.Config.Servers) == 0 {
		return nil
	}
	text, err := json.Marshal(&imported.Config)
	if err != nil {
		return nil
	}
	doc, _ := stax.Parse(file, text, &stax.ParseOptions{Format: stax.JSON})
	d := &fleet.Definitions{Merged: stax.Merge(doc), Secrets: imported.Values}
	for _, f := range report.Findings() {
		if f.Rule.ID == "stax/not-imported" { // secrets in the file are normal for the client
			d.Skipped = append(d.Skipped, errors.New(f.String()))
		}
	}
	return d
}

// Later is [Open] for one of several sources that are served together. A source that does
// not open within Startup.Wait of its definitions' options offers nothing until it does, so
// that the others can be served. Requests for lists wait for it until settle has passed.
//
// A failure within that time is returned, as by Open. A later failure is retried, with
// pauses that grow to 30 seconds, and reported to the observer of opts.Live each time.
// Close the source in any case; the end of ctx also ends the opening. opts and
// opts.Definitions must not be nil.
func Later(ctx context.Context, arg string, opts *Options, settle time.Duration) (mcp.Source, error) {
	if !MayTakeLong(arg) {
		joined, definitions := *opts, *opts.Definitions
		definitions.Startup.Joined, joined.Definitions = true, &definitions
		return Open(ctx, arg, &joined)
	}
	name := Name(arg)
	failed := func(err error) { opts.report(client.Event{Name: name, What: client.EventUnavailable, Err: err}) }
	return fleet.Await(ctx, name, func(ctx context.Context) (mcp.Source, error) { return Open(ctx, arg, opts) },
		&fleet.AwaitOptions{Wait: opts.Definitions.Startup.Wait, Joined: true, Settle: settle, Failed: failed})
}

// MayTakeLong reports whether opening a source involves more than local files: starting a
// server, or waiting for one to respond. Definitions have their own wait, see
// [fleet.Startup].
func MayTakeLong(arg string) bool {
	arg = normalize(arg)
	if strings.HasPrefix(arg, commandPrefix) || strings.Contains(arg, "://") {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && isBundle(arg, info)
}
