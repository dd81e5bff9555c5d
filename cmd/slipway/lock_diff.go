package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/lock"
)

func newLockDiff() *cobra.Command {
	var l locking
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff SOURCE...",
		Short: "Show what is not as it was locked",
		Long: `Ask sources what they offer, and show line by line what is different from the
lock. Characters that people do not see are shown as escapes. The exit code is 1
if there is a difference.

` + lockHelp,
		Example: `  slipway lock diff locked/mcp.yaml`,
		Args:    takesSource(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := l.compare(cmd, sourceFirst(cmd, args))
			if err != nil {
				return err
			}
			drifts := c.shown(c.drifts)
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), map[string]any{"drift": driftRows(drifts)})
			} else {
				err = printDrifts(cmd.OutOrStdout(), drifts)
			}
			if n := len(slices.DeleteFunc(drifts, isTold)); err == nil && n > 0 {
				return no("slipway lock approve accepts it; with --server and --item a part of it", "%s: items that differ: %d", c.path, n)
			}
			return err
		},
	}
	l.lockFlag(cmd)
	l.flags(cmd)
	jsonFlag(cmd, &asJSON, "the differences")
	return cmd
}

// isTold reports whether a drift is only reported: a new version alone, or a locked
// source that is not among the arguments.
func isTold(d lock.Drift) bool {
	return d.Item.Kind == lock.Version || d.Item.Kind == lock.Whole && d.Is == nil
}

// shown returns drifts, in which a source that is not locked is expanded to all of its
// items.
func (c *compared) shown(drifts []lock.Drift) (all []lock.Drift) {
	for _, d := range drifts {
		if d.Item.Kind == lock.Whole && d.Is != nil {
			all = append(all, lock.Compare(d.Source, &lock.Entry{Version: c.now[d.Source].Version}, c.now[d.Source])...)
			continue
		}
		all = append(all, d)
	}
	return all
}

// printDrifts prints each drift as a heading and a unified diff.
func printDrifts(w io.Writer, drifts []lock.Drift) error {
	for _, d := range drifts {
		if _, err := fmt.Fprintf(w, "%s: %s\n", visible.Line(d.Source), d); err != nil {
			return err
		}
		if d.Item.Kind == lock.Version || d.Item.Kind == lock.Whole {
			continue
		}
		was, is := pinLines(d.Was), pinLines(d.Is)
		if bytes.Equal(was, is) { // the difference is not visible in the lines, such as a trailing space
			was, is = pinJSON(d.Was), pinJSON(d.Is)
		}
		text := diff.Diff("locked", was, "now", is)
		_, rest, _ := bytes.Cut(text, []byte("\n")) // "diff locked now"
		if _, err := w.Write(rest); err != nil {
			return err
		}
	}
	return nil
}

// pinLines returns the readable form of a pin.
func pinLines(p *lock.Pin) []byte {
	if p == nil {
		return nil
	}
	lines := lock.Readable(p.Definition)
	if p.Definition == nil {
		lines = []string{p.Digest}
		if p.Bytes > 0 {
			lines = append(lines, fmt.Sprintf("%d bytes", p.Bytes))
		}
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

func pinJSON(p *lock.Pin) []byte {
	var out bytes.Buffer
	if p == nil || json.Indent(&out, p.Definition, "", "  ") != nil {
		return nil
	}
	return []byte(visible.Lines(out.String()) + "\n")
}

// driftRow is a drift in the output of --json.
type driftRow struct {
	Source string    `json:"source"`
	Item   string    `json:"item"`
	Change string    `json:"change"` // changed, new or gone
	Was    *lock.Pin `json:"was,omitempty"`
	Is     *lock.Pin `json:"is,omitempty"`
}

func driftRows(drifts []lock.Drift) []driftRow {
	rows := make([]driftRow, 0, len(drifts))
	for _, d := range drifts {
		change := "changed"
		switch {
		case d.Was == nil:
			change = "new"
		case d.Is == nil:
			change = "gone"
		}
		rows = append(rows, driftRow{d.Source, d.Item.String(), change, d.Was, d.Is})
	}
	return rows
}
