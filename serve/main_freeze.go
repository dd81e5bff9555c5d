package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp/freeze"
)

// freeze stores the answers of src in the folder dir, as a StaticMCP site.
func (p *program) freeze(ctx context.Context, src mcp.Source, dir string) error {
	plan, err := freeze.NewPlan(ctx, src, nil)
	if err != nil {
		return err
	}
	report, err := freeze.Run(ctx, plan, sitewriter.Dir(dir), nil)
	for _, f := range plan.Report.Findings() {
		fmt.Fprintf(p.stderr, "%s: %s\n", p.name, f)
	}
	for _, f := range report.Report.Findings() {
		fmt.Fprintf(p.stderr, "%s: %s\n", p.name, f)
	}
	var refused *freeze.RefusedError
	var foreign *sitewriter.ForeignError
	switch {
	case errors.As(err, &refused), errors.As(err, &foreign):
		return &failure{
			code: exitPolicy,
			text: err.Error(),
			hint: "slipway site freeze has options for this",
		}
	case err != nil:
		return err
	}
	if n := report.Build.Report.Count(check.Error); n > 0 {
		for _, f := range report.Build.Report.Findings() {
			fmt.Fprintf(p.stderr, "%s: %s\n", p.name, f)
		}
		return &failure{
			code: exitNo,
			text: fmt.Sprintf("the site lacks answers: %d errors", n),
		}
	}
	b := report.Build
	_, err = fmt.Fprintf(p.stdout, "%s: %d answers in %d files: %d created, %d updated, %d unchanged, %d deleted\n",
		dir, b.Answers, b.Files, b.Created, b.Changed, b.Unchanged, b.Deleted)
	return err
}
