package main

import (
	"context"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/compose"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
)

// client is one source as a client command sees it.
type client struct {
	arg    string
	source mcp.Source
	cat    *mcp.Catalog
}

// withSource opens the source that arg names for the time of do.
func withSource(cmd *cobra.Command, arg string, do func(c *client) error) error {
	ctx := cmd.Context()
	src, err := open.Open(ctx, arg, nil)
	if err != nil {
		return err
	}
	defer closeSource(src)
	cat, err := src.Catalog(ctx)
	if err != nil {
		return answered(arg, err)
	}
	return do(&client{arg: arg, source: src, cat: cat})
}

func closeSource(src mcp.Source) {
	if c, ok := src.(io.Closer); ok {
		_ = c.Close() // nothing was written, so nothing can be lost
	}
}

// openAll opens several sources and joins them.
func openAll(ctx context.Context, args []string, opts *open.Options, join *compose.UnionOptions) (mcp.Source, error) {
	var parts []compose.Named
	taken := make(map[string]bool)
	for _, arg := range args {
		src, err := open.Open(ctx, arg, opts)
		if err != nil {
			closeParts(parts)
			return nil, err
		}
		name := open.Name(arg)
		for n := 2; taken[name]; n++ {
			name = open.Name(arg) + "-" + strconv.Itoa(n)
		}
		taken[name] = true
		parts = append(parts, compose.Named{Name: name, Source: src})
	}
	joined, err := compose.Union(ctx, parts, join)
	if err != nil {
		closeParts(parts)
		return nil, &failure{code: exitNo, text: err.Error(), hint: "serve them one by one, on addresses of their own"}
	}
	return joined, nil
}

func closeParts(parts []compose.Named) {
	for _, p := range parts {
		closeSource(p.Source)
	}
}

// tool returns the tool with that name.
func (c *client) tool(name string) (*mcp.Tool, error) {
	if t := c.cat.Tool(name); t != nil {
		return t, nil
	}
	return nil, no(c.meant(name, toolNames(c), "--tools"), "%s: no tool %q", c.arg, name)
}

// prompt returns the prompt with that name.
func (c *client) prompt(name string) (*mcp.Prompt, error) {
	if p := c.cat.Prompt(name); p != nil {
		return p, nil
	}
	return nil, no(c.meant(name, promptNames(c), "--prompts"), "%s: no prompt %q", c.arg, name)
}

// meant is the hint for a name that does not exist.
func (c *client) meant(name string, names []string, listing string) string {
	if near := nearest.DidYouMean(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return "slipway ls " + c.arg + " " + listing + " shows what there is"
}
