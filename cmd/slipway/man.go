package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the man pages",
		Hidden: true, // for packagers
		Long: `Write a man page for each command (section 1) and help topic (section 7) to DIR,
for packages that install them. They have the same content as --help.`,
		Example: `  slipway man man`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writeManPages(args[0], cmd.Root())
		},
	}
}

// writeManPages writes the pages of a command and its subcommands to dir.
func writeManPages(dir string, cmd *cobra.Command) error {
	name := manName(cmd) + "." + manSection(cmd)
	err := fsutil.Replace(filepath.Join(dir, name), 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, manPage(cmd))
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range cmd.Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		if err := writeManPages(dir, c); err != nil {
			return err
		}
	}
	return nil
}

// manName returns the name of a command's manual page, such as slipway-site-build.
func manName(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "-")
}

// manSection returns 7 (conventions) for help topics, and 1 for commands.
func manSection(cmd *cobra.Command) string {
	if cmd.IsAdditionalHelpTopicCommand() {
		return "7"
	}
	return "1"
}

// manPage returns the page of a command in roff. It has no date, so that the same version
// always gives the same page.
func manPage(cmd *cobra.Command) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, ".TH %s %s \"\" \"slipway %s\" \"Slipway manual\"\n.nh\n.ad l\n", strings.ToUpper(manName(cmd)),
		manSection(cmd), roff(thisBuild().Version))
	fmt.Fprintf(out, ".SH NAME\n%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	if manSection(cmd) == "1" {
		fmt.Fprintf(out, ".SH SYNOPSIS\n.B %s\n", roff(usageLine(cmd)))
	}
	fmt.Fprintf(out, ".SH DESCRIPTION\n%s", roffParagraphs(cmd.Long))
	for _, s := range helpSections(cmd) {
		fmt.Fprintf(out, ".SH %s\n", strings.ToUpper(s.title))
		for _, r := range s.rows {
			fmt.Fprintf(out, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(r.name)), roff(r.about))
		}
	}
	if cmd.Example != "" {
		fmt.Fprintf(out, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roffLines(cmd.Example))
	}
	if cmd.HasParent() {
		fmt.Fprintf(out, ".SH SEE ALSO\n.BR %s (1)\n", roff(manName(cmd.Parent())))
	}
	return out.String()
}

// roffParagraphs formats text: indented lines keep their line breaks.
func roffParagraphs(text string) string {
	out := &strings.Builder{}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			fmt.Fprintf(out, ".PP\n.nf\n%s\n.fi\n", roffLines(paragraph))
		} else {
			fmt.Fprintf(out, ".PP\n%s\n", roffLines(paragraph))
		}
	}
	return out.String()
}

// roffLines escapes each line, so that no text begins a macro.
func roffLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = roff(lines[i])
	}
	return strings.Join(lines, "\n")
}

// roff escapes a line of text: a period or an apostrophe at its start would begin a
// request.
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + line
	}
	return line
}
