package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/calltest"
	"github.com/slipway-mcp/slipway/internal/cataloglint"
	"github.com/slipway-mcp/slipway/internal/doctor"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/internal/settings"
	"github.com/slipway-mcp/slipway/internal/sitelint"
	"github.com/slipway-mcp/slipway/lock"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp/freeze"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
)

// rulesPage is the address of the reference of all rules.
const rulesPage = "https://github.com/slipway-mcp/slipway/blob/main/docs/reference/rules.md"

// rules returns all rules of all formats.
func rules() []check.Rule {
	return slices.Concat(
		cataloglint.Rules(), apps.Rules(), sitelint.Rules(), mcpb.Rules(), stax.Rules(), clients.Rules(), registry.Rules(),
		lock.Rules(), freeze.Rules(), sitebuild.Rules(), settings.Rules(),
		doctor.Rules(), calltest.Rules(),
	)
}

// reporting is how commands that check print their findings.
type reporting struct {
	strict bool
	// formats has at most one output to stdout, first.
	formats []reportOutput
	// own writes text and JSON, for commands that print more than findings.
	own func(w io.Writer, format check.Format) error
	// cases are the tests that were made, if the command makes any.
	cases []check.Case
}

// reportOutput is a format in which findings are written, and the file to write, or "" for
// stdout.
type reportOutput struct {
	format check.Format
	file   string
}

// flags adds --strict, --format and --json.
func (o *reporting) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.strict, "strict", false, "treat warnings as errors")
	cmd.Flags().Var(o.formatValue(), "format",
		"print the findings as `FORMAT`: "+orList(formatNames())+"; FORMAT=FILE writes them to a file (repeatable)")
	jsonFlag(cmd, "the findings")
	cmd.Flags().Lookup("json").Usage += ", as --format json does"
}

// formatNames returns the words that --format accepts.
func formatNames() (names []string) {
	for _, f := range check.Formats() {
		names = append(names, string(f))
	}
	return names
}

// formatValue binds --format.
func (o *reporting) formatValue() pflag.Value {
	return eachUse(func(text string) error {
		name, file, toFile := strings.Cut(text, "=")
		switch {
		case !slices.Contains(formatNames(), name):
			return usage(didYouMean(name, formatNames(), "want "+orList(formatNames())), "unknown format %q", name)
		case toFile && file == "":
			return errors.New("name a file after =")
		case !toFile && len(o.formats) > 0 && o.formats[0].file == "":
			return errors.New("only one format can be printed; write the other to a file with " + name + "=FILE")
		}
		out := reportOutput{check.Format(name), file}
		if toFile {
			o.formats = append(o.formats, out)
		} else {
			o.formats = slices.Insert(o.formats, 0, out)
		}
		return nil
	})
}

// outputs returns the requested outputs. Unless a format is printed, it is text, or JSON
// with --json.
func (o *reporting) outputs(cmd *cobra.Command) ([]reportOutput, error) {
	printed := len(o.formats) > 0 && o.formats[0].file == ""
	switch {
	case printed && wantsJSON(cmd) && o.formats[0].format != check.JSON:
		return nil, usage("write one of them to a file, for example --format json=findings.json",
			"%s: both --json and --format %s", cmd.Name(), o.formats[0].format)
	case printed:
		return o.formats, nil
	case wantsJSON(cmd):
		return slices.Insert(slices.Clone(o.formats), 0, reportOutput{format: check.JSON}), nil
	}
	return slices.Insert(slices.Clone(o.formats), 0, reportOutput{format: check.Text}), nil
}

// print prints the findings about the inputs to stdout, as text or in another format, and
// their number to stderr. It returns an error if there is an error among them, or with
// --strict a warning.
func (o *reporting) print(cmd *cobra.Command, inputs []string, r *check.Report) error {
	outputs, err := o.outputs(cmd)
	if err != nil {
		return err
	}
	for _, out := range outputs {
		if err := o.write(cmd, out, inputs, r); err != nil {
			return err
		}
	}
	what := strings.Join(inputs, ", ")
	if !r.OK(o.strict) {
		return no("", "%s: %s", what, r.Summary())
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", what, r.Summary())
	return err
}

// write writes the findings to stdout or a file. An earlier report in the file is replaced.
func (o *reporting) write(
	cmd *cobra.Command,
	out reportOutput,
	inputs []string,
	r *check.Report,
) error {
	own := o.own != nil && (out.format == check.Text || out.format == check.JSON)
	switch {
	case own && out.file == "":
		return o.own(cmd.OutOrStdout(), out.format)
	case own:
		return fsutil.Replace(out.file, 0o644, func(w io.Writer) error {
			return o.own(w, out.format)
		})
	case out.file == "" && out.format == check.Text:
		return showFindings(cmd, r)
	}
	opts := &check.WriteOptions{
		Strict:   o.strict,
		Inputs:   inputs,
		Cases:    o.cases,
		Root:     repositoryRoot(),
		Rules:    rules(),
		RulesURL: rulesPage,
	}
	if v, ok := strings.CutPrefix(thisBuild().Version, "v"); ok {
		opts.Version = v
	}
	if out.file == "" {
		return r.Write(cmd.OutOrStdout(), out.format, opts)
	}
	return fsutil.Replace(out.file, 0o644, func(w io.Writer) error {
		return r.Write(w, out.format, opts)
	})
}

// repositoryRoot returns the nearest folder with .git above the working directory, to which
// tools that show findings in files relate paths, or else the working directory.
func repositoryRoot() string {
	wd, err := os.Getwd()
	if err != nil {
		return ""
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return wd
		}
	}
}

// showFindings prints findings to stdout, as text or JSON.
func showFindings(cmd *cobra.Command, r *check.Report) error {
	out := cmd.OutOrStdout()
	if wantsJSON(cmd) {
		return r.WriteJSON(out)
	}
	return r.WriteText(fitting(out), colored(out))
}

// printFindings prints the findings about the input of a command to stderr. With --quiet it
// prints them only if there are errors.
func printFindings(cmd *cobra.Command, r *check.Report) {
	stderr := cmd.ErrOrStderr()
	if r.Count(check.Error) > 0 {
		stderr = loud(stderr)
	}
	_ = r.WriteText(fitting(stderr), colored(stderr)) // there is nowhere to report the error
}

// shownNotes is how many notes of a rule [printBriefly] prints.
const shownNotes = 5

// printBriefly is printFindings for a command whose result matters more than notes about its input, such as one for
// each link to a file elsewhere: of the notes of each rule, it prints the first few, and how many others there are.
func printBriefly(cmd *cobra.Command, r *check.Report) {
	brief := &check.Report{Limit: -1}
	notes := make(map[string]int)
	for _, f := range r.Findings() {
		if f.Severity == check.Note {
			notes[f.Rule.ID]++
		}
		if notes[f.Rule.ID] <= shownNotes || f.Severity != check.Note {
			brief.Add(f)
		}
	}
	printFindings(cmd, brief)
	if n := len(r.Findings()) - len(brief.Findings()) + r.Omitted(); n > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "and %d more that are not shown: --json lists them\n", n)
	}
}
