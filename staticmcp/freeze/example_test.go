package freeze_test

import (
	"context"
	"fmt"

	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/freeze"
)

// A site is a source like any other, so it can be frozen, too.
func Example() {
	ctx := context.Background()
	source, err := staticmcp.OpenDir(ctx, "../../examples/http-reference", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer source.Close()
	plan, err := freeze.NewPlan(ctx, source, &freeze.Options{
		Only:        []string{"compare_methods"},
		NoResources: true,
		NoPrompts:   true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := freeze.Run(ctx, plan, sitebuild.NewMemory(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Stored, "answers in", report.Build.Files, "files")
	// Output: 100 answers in 104 files
}
