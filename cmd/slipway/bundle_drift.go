package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/open"
)

func newBundleTest() *cobra.Command {
	var r reporting
	var update bool
	timeout := 30 * time.Second
	cmd := &cobra.Command{
		Use:   "test BUNDLE",
		Short: "Compare a bundle's server with its manifest",
		Long: `Start the server of a bundle as a client would, and compare its tools and
prompts with the manifest, including the static_responses that Windows uses. The
exit code is 1 if they differ, or if the server writes other text than MCP
messages to stdout. Server stderr is printed to stderr.

With --update, write the tools and prompts of the server to the manifest of a
folder; all other bytes of the manifest stay the same.

` + valuesHelp,
		Example: `  slipway bundle test my-server
  slipway bundle test my-server --update
  slipway bundle test my-server.mcpb --set folders=/tmp --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := bundleOptions(cmd)
			if err != nil {
				return err
			}
			ctx, stop := context.WithTimeout(cmd.Context(), timeout)
			defer stop()
			cmd.SetContext(ctx)
			stray := &strayLines{}
			opts.Start, opts.Stray, opts.Stderr = true, stray.add,
				serverStderr(cmd.ErrOrStderr(), nil, false)(open.Argument(args[0]).Name())
			wait := waitFor(cmd, args[0])
			defer wait.finish()
			src, err := openBundle(cmd.Context(), args[0], opts)
			if err != nil {
				return silent(ctx, args[0], timeout, err)
			}
			defer src.Close()
			wait.finish()
			if update {
				return updateManifest(cmd, args[0], src)
			}
			cat, err := src.Catalog(cmd.Context())
			if err != nil {
				return silent(ctx, args[0], timeout, answered(args[0], err))
			}
			report := mcpb.Drift(src.Manifest(), cat, manifestPlace(args[0]))
			report.Add(stray.findings(manifestPlace(args[0]))...)
			return r.print(cmd, args[:1], report)
		},
	}
	r.flags(cmd)
	valueFlags(cmd)
	cmd.Flags().Var(longerThanZero(&timeout), "timeout",
		"maximum `time` for the server to start and list its tools")
	cmd.Flags().BoolVar(&update, "update", false, "write the tools and prompts of the server to the manifest")
	return cmd
}

// silent returns the error for a server that timed out.
func silent(ctx context.Context, name string, timeout time.Duration, err error) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	return remoteFailed("its stderr output is above; --timeout allows more time",
		"%s: the server did not answer within %v", name, timeout)
}

// strayLines keeps the first lines of stdout that are not messages.
type strayLines struct {
	mu    sync.Mutex
	lines [][]byte
}

const (
	maxStray     = 3   // lines
	maxStrayLine = 400 // bytes
)

// add keeps a copy of a line that is not a message: the first maxStray lines, each cut to
// maxStrayLine bytes. It is safe for concurrent use.
func (s *strayLines) add(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) < maxStray {
		s.lines = append(s.lines, bytes.Clone(line[:min(len(line), maxStrayLine)]))
	}
}

// findings returns one finding for each line, at the place of the manifest.
func (s *strayLines) findings(place string) (list []check.Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		list = append(list, mcpb.DriftStdout(line, place))
	}
	return list
}

// manifestPlace returns the path of a bundle's manifest in findings.
func manifestPlace(name string) string {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return filepath.Join(name, mcpb.ManifestName)
	case filepath.Base(name) == mcpb.ManifestName:
		return name
	}
	return name + "!" + mcpb.ManifestName
}

// updateManifest writes the tools and prompts that the running server offers to the manifest
// in the folder name. It replaces the file atomically and keeps its mode. An archive is a
// usage error.
func updateManifest(cmd *cobra.Command, name string, src *mcpb.Source) error {
	place := manifestPlace(name)
	info, err := os.Stat(place)
	if err != nil {
		return usage("unpack it, update the folder, and pack it again", "bundle test --update: %s is not a folder", name)
	}
	text, err := mcpb.Update(cmd.Context(), src.Manifest(), src)
	if err != nil {
		return answered(name, err)
	}
	if string(text) == string(src.Manifest().JSON()) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: nothing to change\n", place)
		return nil
	}
	err = fsutil.Replace(place, info.Mode().Perm(), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: updated\n", place)
	}
	return err
}
