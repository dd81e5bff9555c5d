package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/internal/order"
)

// helpWidth is the width of help texts in columns.
const helpWidth = 80

// helpSection is a table in the help of a command: flags, commands or topics.
type helpSection struct {
	title string
	rows  []row
}

// flagGroup is the annotation of a flag with the title of its section.
const flagGroup = "slipway_group"

// groupFlags puts flags of a command into a section of its help. Sections appear in the
// order of their first call; flags without one come last.
func groupFlags(cmd *cobra.Command, title string, names ...string) {
	cmd.Flags().SortFlags = false
	for _, name := range names {
		_ = cmd.Flags().SetAnnotation(name, flagGroup, []string{title}) // tested: the flags exist
	}
	order := cmd.Annotations[flagGroup]
	if cmd.Annotations == nil {
		cmd.Annotations = make(map[string]string)
	}
	if !slices.Contains(strings.Split(order, "\n"), title) {
		cmd.Annotations[flagGroup] = strings.TrimPrefix(order+"\n"+title, "\n")
	}
}

// helpSections returns the tables in the help of a command.
func helpSections(cmd *cobra.Command) (sections []helpSection) {
	for _, g := range cmd.Groups() {
		sections = appendSection(sections, g.Title, commandRows(cmd, g.ID))
	}
	title := "Commands"
	if len(sections) > 0 {
		title = "Other"
	}
	sections = appendSection(sections, title, commandRows(cmd, ""))
	for _, title := range strings.Split(cmd.Annotations[flagGroup], "\n") {
		if title != "" {
			sections = appendSection(sections, title, flagRows(cmd, title))
		}
	}
	title = "Flags"
	if cmd.Annotations[flagGroup] != "" {
		title = "Other"
	}
	sections = appendSection(sections, title, flagRows(cmd, ""))
	var topics []row
	for _, c := range cmd.Commands() {
		if c.IsAdditionalHelpTopicCommand() && !c.Hidden {
			topics = append(topics, row{c.Name(), c.Short})
		}
	}
	return appendSection(sections, "Topics", topics)
}

// appendSection appends a section, unless it has no rows.
func appendSection(sections []helpSection, title string, rows []row) []helpSection {
	if len(rows) == 0 {
		return sections
	}
	return append(sections, helpSection{title, rows})
}

// commandRows returns the subcommands of a group that are not hidden.
func commandRows(cmd *cobra.Command, group string) (rows []row) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.GroupID == group && c.Name() != "help" {
			rows = append(rows, row{c.Name(), c.Short})
		}
	}
	return rows
}

// flagRows returns the flags of a command in a section, sorted by name. --help is only
// listed for the root.
func flagRows(cmd *cobra.Command, section string) (rows []row) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		group := strings.Join(f.Annotations[flagGroup], "")
		if cmd.HasParent() && isGlobal(f) {
			return
		}
		if f.Hidden ||
			group != section ||
			f.Name == "help" && cmd.HasParent() {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		if value != "" {
			name += " " + strings.ToUpper(value)
		}
		if shown := f.DefValue; !slices.Contains([]string{"", "[]", "false", "0", "0s"}, shown) {
			usage += " (default " + shown + ")"
		}
		rows = append(rows, row{name, usage})
	})
	order.By(rows, func(a, b row) int {
		return strings.Compare(a.name[6:], b.name[6:])
	})
	return rows
}

// usageLine returns how to type a command.
func usageLine(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() &&
		(!cmd.HasParent() || len(strings.Fields(cmd.Use)) == 1) {
		return cmd.CommandPath() + " COMMAND"
	}
	return cmd.UseLine()
}

// writeHelp prints the help of a command. Man pages and docs/cli.md have the same
// sections.
func writeHelp(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintln(w, cmp.Or(cmd.Long, cmd.Short))
	if cmd.IsAdditionalHelpTopicCommand() {
		return
	}
	fmt.Fprintf(w, "\nUsage:\n  %s\n", usageLine(cmd))
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, s := range helpSections(cmd) {
		fmt.Fprintf(w, "\n%s:\n", s.title)
		writeRows(w, s.rows)
	}
	if cmd.HasParent() && cmd.Runnable() {
		fmt.Fprint(w, "\nGlobal flags: -q, -v, --color; see \"slipway help\".\n")
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nRun \"%s COMMAND --help\" for more about a command.\n", cmd.CommandPath())
		if !cmd.HasParent() {
			fmt.Fprintf(w, "Run \"slipway help TOPIC\" for more about a topic.\n")
		}
	}
}

// writeShortHelp prints what slipway alone prints: how to start, and the commands, within
// 24 lines.
func writeShortHelp(w io.Writer, root *cobra.Command) {
	fmt.Fprint(w, `Slipway serves MCP servers, calls them as a client, and converts between their
forms.

Usage:
  slipway COMMAND

`)
	rows := []row{}
	for _, g := range root.Groups() {
		rows = append(rows, row{g.Title, strings.Join(names(commandRows(root, g.ID), func(r row) string {
			return r.name
		}), ", ")})
	}
	others := names(commandRows(root, ""), func(r row) string { return r.name })
	writeRows(w, append(rows, row{"Other", strings.Join(others, ", ")}))
	fmt.Fprint(w, `
Start here:
  slipway ls SOURCE      list the tools of a folder, file, URL or command
  slipway serve SOURCE   serve it at http://127.0.0.1:8080/mcp
  slipway help           print all commands with descriptions
`)
}

// maxHelpColumn is the largest column of the second half of a table; longer names get a
// line to themselves.
const maxHelpColumn = 30

// writeRows prints names and descriptions in two columns. The first is as wide as the longest
// name that fits into maxHelpColumn; longer names have a line of their own.
func writeRows(w io.Writer, rows []row) {
	column := 0
	for _, r := range rows {
		if n := len(r.name) + 4; n <= maxHelpColumn {
			column = max(column, n)
		}
	}
	column = cmp.Or(column, maxHelpColumn)
	for _, r := range rows {
		lines := wrapText(r.about, helpWidth-column)
		if len(r.name)+4 > column {
			fmt.Fprintf(w, "  %s\n", r.name)
		} else {
			fmt.Fprintf(w, "  %-*s%s\n", column-2, r.name, lines[0])
			lines = lines[1:]
		}
		for _, line := range lines {
			fmt.Fprintf(w, "%*s%s\n", column, "", line)
		}
	}
}

// wrapText splits text into lines of at most width characters.
func wrapText(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
