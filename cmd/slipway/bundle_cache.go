package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcpb"
)

// cacheVariable is the environment variable with the maximum size of unpacked bundles.
const cacheVariable = "SLIPWAY_BUNDLE_CACHE_SIZE"

// cacheBytes reads cacheVariable. 0 means the default.
func cacheBytes() (int64, error) {
	text := os.Getenv(cacheVariable)
	if text == "" {
		return 0, nil
	}
	var most size
	if err := most.Set(text); err != nil {
		return 0, usage("", "%s: %q: %v", cacheVariable, text, err)
	}
	return int64(most), nil
}

func newBundleCache() *cobra.Command {
	return group(&cobra.Command{
		Use:   "cache",
		Short: "List and remove unpacked bundles",
		Long: `List and remove the unpacked copies of bundles. A packed bundle is unpacked when
it is first started, read-only, and compared with its archive at every start.

The copies may take ` + defaultCacheSize().String() + ` together, or what ` + cacheVariable + `
says. Beyond that, those that were not used for the longest time are removed
when another bundle is unpacked. A copy in use is never removed.`,
		Example: `  slipway bundle cache list`,
	},
		newBundleCacheList(),
		newBundleCachePrune(),
	)
}

func defaultCacheSize() *size {
	most := size(mcpb.DefaultCacheBytes)
	return &most
}

func newBundleCacheList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List unpacked bundles",
		Long: `List the bundles that are unpacked in the cache, the one used last first, with
their size and the start of the SHA-256 of their archive.`,
		Example: `  slipway bundle cache list
  slipway bundle cache list --json`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := mcpb.ListCache(cmd.Context(), "")
			if err != nil {
				return &failure{code: exitInput, text: "bundle cache list: " + err.Error()}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"bundles": list})
			}
			out := &strings.Builder{}
			for _, b := range list {
				out.WriteString(cachedLine(b))
			}
			_, err = io.WriteString(cmd.OutOrStdout(), out.String())
			return err
		},
	}
	jsonFlag(cmd, &asJSON, "the list")
	return cmd
}

// cachedLine describes an unpacked bundle.
func cachedLine(b mcpb.CachedBundle) string {
	name := strings.TrimSpace(b.Name + " " + b.Version)
	if name == "" {
		name = "(manifest not readable)"
	}
	state := "used " + b.LastUsed.Local().Format(time.DateTime)
	if b.InUse {
		state = "in use"
	}
	return fmt.Sprintf("%s  %-30s %10s  %s\n", b.SHA256[:12], visible.Line(name), bytesText(b.Bytes), state)
}

func newBundleCachePrune() *cobra.Command {
	var opts mcpb.PruneOptions
	var asJSON bool
	most := size(mcpb.DefaultCacheBytes)
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove unpacked bundles until the others fit",
		Long: `Remove unpacked bundles from the cache, those first that were not used for the
longest time, until the others fit into --max-size. A bundle that runs is kept.
A bundle that was removed is unpacked again when it is started.`,
		Example: `  slipway bundle cache prune
  slipway bundle cache prune --max-size 500MiB
  slipway bundle cache prune --all --json`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.MaxBytes = int64(most)
			if !cmd.Flags().Changed("max-size") {
				var err error
				if opts.MaxBytes, err = cacheBytes(); err != nil {
					return err
				}
			}
			report, err := mcpb.PruneCache(cmd.Context(), &opts)
			if err != nil {
				return &failure{code: exitInput, text: "bundle cache prune: " + err.Error()}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), report)
			}
			out := &strings.Builder{}
			for _, b := range report.Removed {
				out.WriteString("removed " + cachedLine(b))
			}
			fmt.Fprintf(out, "%s freed; %s left, %s\n", bytesText(report.Freed), count(report.Kept, "bundle"),
				bytesText(report.KeptBytes))
			_, err = io.WriteString(cmd.OutOrStdout(), out.String())
			return err
		},
	}
	cmd.Flags().Var(&most, "max-size", "how much may stay; the default is that of "+cacheVariable+", if it is set")
	cmd.Flags().BoolVar(&opts.All, "all", false, "remove every bundle that is not in use")
	jsonFlag(cmd, &asJSON, "the report")
	return cmd
}
