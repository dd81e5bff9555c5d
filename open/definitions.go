package open

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/internal/process"
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
	o.Name = cmp.Or(o.Name, Argument(strings.TrimSuffix(arg, filepath.Ext(arg))).Name())
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
		finding := invalidFinding(arg, &invalid.Finding)
		e.Why = finding.Why
		e.Hint = finding.Hint
		if isServerScript(arg) {
			e.Hint = commandHint(append(interpreter(arg), arg))
		}
	case errors.As(err, &unavailable):
		e.Kind = Remote
	case errors.As(err, &collision):
		e.Hint = "use --prefix collision, or rename a tool below tools"
	}
	return nil, e
}

// invalidDefinitions returns the first error of a report about a definitions file. Warnings alone
// prevent nothing.
func invalidDefinitions(arg string, report *check.Report) *Error {
	for _, f := range report.Findings() {
		if f.Severity == check.Error {
			return invalidFinding(arg, &f)
		}
	}
	return &Error{Arg: arg}
}

// invalidFinding returns the error for definitions with an error.
func invalidFinding(arg string, f *check.Finding) *Error {
	return &Error{
		Arg:  arg,
		Why:  fmt.Sprintf("no definitions of servers that can be used: line %d: %s", max(f.Line, 1), f.Message),
		Hint: "slipway config check " + process.PathWord(arg),
	}
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
	d := &fleet.Definitions{
		Merged:  stax.Merge(doc),
		Secrets: imported.Values,
	}
	for _, f := range report.Findings() {
		// Secrets in the file are normal for the client.
		if f.Rule.ID == "stax/not-imported" {
			d.Skipped = append(d.Skipped, errors.New(f.String()))
		}
	}
	return d
}
