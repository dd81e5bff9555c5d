package sitebuild_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/slipway-mcp/slipway/sitebuild"
)

// A table becomes a site with a tool that finds its rows.
func ExampleOpen() {
	folder, err := os.MkdirTemp("", "sitebuild")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "countries.csv")
	if err := os.WriteFile(file, []byte("name,capital\nFrance,Paris\nJapan,Tokyo\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	input, err := sitebuild.Open(file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	site, err := input.Site(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	out := sitebuild.NewMemory()
	result, err := sitebuild.Write(ctx, site, out, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Answers, "answers")
	fmt.Println(out)
	// Output:
	// 8 answers
	// .nojekyll
	// .staticmcp/index.json
	// mcp.json
	// resources/countries.json
	// resources/countries/france.json
	// resources/countries/japan.json
	// tools/get_country/france.json
	// tools/get_country/japan.json
	// tools/get_country_by_capital/paris.json
	// tools/get_country_by_capital/tokyo.json
	// tools/list_countries.json
}
