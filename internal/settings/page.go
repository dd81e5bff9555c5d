package settings

import (
	"fmt"
	"strings"
)

// Reference returns the page that lists all settings, in Markdown.
func (t *Table) Reference() string {
	var b strings.Builder
	b.WriteString(`# Settings of serve

All settings of ` + "`slipway serve`" + `, generated from its flags. A flag takes precedence over the environment
variable, that over [the configuration file](../config-file.md), and that over the default. The variable is the flag in
upper case after ` + "`MCP_SERVER_`" + `, such as ` + "`MCP_SERVER_LOG_LEVEL`" + `.

A running server applies changes of the file. Settings with a † need a restart.

`)
	for _, g := range t.Groups {
		fmt.Fprintf(&b, "## %s\n\n%s In the file below `serve.%s`.\n\n", g.Title,
			g.About, g.Key)
		b.WriteString("| member | flag | value | default | meaning |\n| --- | --- | --- | --- | --- |\n")
		for _, s := range t.Of(g.Key) {
			value := s.Default
			if s.Kind == Bool {
				value = fmt.Sprint(s.defaultJSON())
			}
			if value != "" {
				value = "`" + value + "`"
			}
			meaning := strings.ReplaceAll(s.Description(), "|", `\|`)
			mark := ""
			if s.Restart {
				mark = " †"
			}
			fmt.Fprintf(&b, "| `%s`%s | `--%s` | %s | %s | %s |\n", s.Key, mark,
				s.Flag, s.Kind, value, meaning)
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// String returns the form of the values, such as "size, such as 64MiB".
func (k Kind) String() string {
	return [...]string{
		Text:     "text",
		Bool:     "`true` or `false`",
		Int:      "whole number",
		Number:   "number",
		Size:     "size: `64MiB`",
		Duration: "time: `10s`",
		Choice:   "word",
		Address:  "text or port",
		List:     "list",
		Groups:   "`{NAME: [VALUE]}`",
		Map:      "`{NAME: VALUE}`",
	}[k]
}
