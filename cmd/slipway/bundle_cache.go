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
		Short: "Manage the cache of unpacked bundles",
		Long: `Manage the cache of unpacked bundles. A packed bundle is unpacked, read-only,
when it is first started, and verified against its archive at every start.

The cache is limited to ` + size(mcpb.DefaultCacheBytes).text() + `, or to ` + cacheVariable + `. When it
grows beyond that, the least recently used bundles are removed. Bundles in use
are never removed.`,
		Example: `  slipway bundle cache list`,
	},
		newBundleCacheList(),
		newBundleCachePrune(),
	)
}

func newBundleCacheList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List unpacked bundles",
		Long: `List the unpacked bundles in the cache, most recently used first, with their
size and the start of the SHA-256 of their archive.`,
		Example: `  slipway bundle cache list
  slipway bundle cache list --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := mcpb.ListCache(cmd.Context(), "")
			if err != nil {
				return badInput("", "bundle cache list: %v", err)
			}
			return showList(cmd, "bundles", list, printCached)
		},
	}
	jsonFlag(cmd, "the list")
	return cmd
}

func printCached(w io.Writer, list []mcpb.CachedBundle) error {
	_, err := io.WriteString(w, strings.Join(names(list, cachedLine), ""))
	return err
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
	return fmt.Sprintf("%s  %-30s %10s  %s\n", b.SHA256[:12], visible.Line(name), byteCount(b.Bytes), state)
}

func newBundleCachePrune() *cobra.Command {
	var opts mcpb.PruneOptions
	opts.MaxBytes = mcpb.DefaultCacheBytes
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove the least recently used unpacked bundles",
		Long: `Remove the least recently used bundles from the cache until the rest fits into
--max-size. Bundles in use are kept. A removed bundle is unpacked again when it
is next started.`,
		Example: `  slipway bundle cache prune
  slipway bundle cache prune --max-size 500MiB
  slipway bundle cache prune --all --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("max-size") {
				var err error
				if opts.MaxBytes, err = cacheBytes(); err != nil {
					return err
				}
			}
			report, err := mcpb.PruneCache(cmd.Context(), &opts)
			if err != nil {
				return badInput("", "bundle cache prune: %v", err)
			}
			return show(cmd, report, printPruned)
		},
	}
	cmd.Flags().Var((*size)(&opts.MaxBytes), "max-size", "`size` that may remain (default from "+cacheVariable+", if set)")
	cmd.Flags().BoolVar(&opts.All, "all", false, "remove all bundles that are not in use")
	jsonFlag(cmd, "the report")
	return cmd
}

// printPruned prints the removed bundles, and what the cache still takes.
func printPruned(w io.Writer, r *mcpb.PruneReport) error {
	removed := names(r.Removed, func(b mcpb.CachedBundle) string {
		return "removed " + cachedLine(b)
	})
	_, err := fmt.Fprintf(w, "%s%s freed; %s left, %s\n", strings.Join(removed, ""),
		byteCount(r.Freed), count(r.Kept, "bundle"), byteCount(r.KeptBytes))
	return err
}
