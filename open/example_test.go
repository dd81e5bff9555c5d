package open_test

import (
	"context"
	"fmt"
	"io"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
)

// The same call opens a folder, a bundle, a definitions file, a URL or a command.
func ExampleOpen() {
	ctx := context.Background()
	src, err := open.Open(ctx, "../examples/handbook", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if c, ok := src.(io.Closer); ok {
		defer c.Close()
	}
	cat, err := src.Catalog(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range cat.Tools {
		fmt.Println(tool.Name)
	}
	_, err = src.CallTool(ctx, &mcp.CallToolParams{Name: "no_such_tool"})
	fmt.Println(err)
	// Output:
	// search
	// get_page
	// get_section
	// get_nav
	// list_pages
	// unknown tool "no_such_tool"
}
