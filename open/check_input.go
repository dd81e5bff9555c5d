package open

import (
	"context"
	"errors"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/sitebuild"
)

// checkInput checks an input that a site is built from: whether it can be read, and
// whether all of its contents can be written.
func checkInput(ctx context.Context, arg string) (*check.Report, error) {
	report := &check.Report{}
	if file, ok := sitebuild.FindMapping(arg); ok {
		findings, err := sitebuild.CheckMapping(file)
		if err != nil {
			return nil, unreadable(arg, err)
		}
		if report.Add(findings...); !report.OK(false) {
			return report, nil
		}
	}
	in, err := Builder(arg, nil)
	if err != nil {
		return nil, err
	}
	site, err := in.Site(ctx)
	var invalid *sitebuild.MappingError
	if errors.As(err, &invalid) {
		report.Add(invalid.Findings...)
		return report, nil
	}
	if err != nil {
		return nil, unreadable(arg, err)
	}
	result, err := sitebuild.Write(ctx, site, sitebuild.NewMemory(), &sitebuild.Options{DryRun: true, Lenient: true, NoIndex: true})
	if err != nil {
		return nil, unreadable(arg, err)
	}
	report.Add(result.Report.Findings()...)
	return report, nil
}
