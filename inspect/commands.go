package inspect

import (
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/process"
)

// verb is a command line of Slipway that is useful for a source. The page shows it, and has
// a button that does the same where that needs neither a command nor the file system.
type verb struct {
	// Verb is the word of the command, Command the whole line to copy, and Does what it
	// does.
	Verb string `json:"verb"`
	// Title is the label on the page.
	Title   string `json:"title"`
	Command string `json:"command"`
	Does    string `json:"does"`
	// Here reports whether the page does it, too.
	Here bool `json:"here,omitempty"`
}

// serveCommands serves GET api/commands.
func (in *Inspector) serveCommands(w http.ResponseWriter, r *http.Request) error {
	t, err := in.asked(r)
	if err != nil {
		return err
	}
	return answer(w, map[string]any{"commands": commandsFor(t.src)})
}

// commandLine returns a command for a source, whose words are before the flags of the command, or
// after them if they are those of a program.
func commandLine(source []string, before, flags string) string {
	words := []string{before, process.SourceWords(source), flags}
	if len(source) > 0 && source[0] == "--" {
		words[1], words[2] = words[2], words[1]
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// commandsFor returns the commands for a source, as it is named on the command line.
func commandsFor(src *Source) []verb {
	if len(src.Argument) == 0 || src.isRecording() {
		return []verb{}
	}
	line := func(before, after string) string {
		return commandLine(src.Argument, before, after)
	}
	lockable := src.Lock.Name != "" && src.Lock.Definitions == ""
	freeze := line("slipway site freeze", "-o site")
	record := line("slipway record", "-o session.mcplog")
	return []verb{
		{"check", "Check", line("slipway check", ""), "Check names, schemas, descriptions and apps", true},
		{"lock", "Lock", line("slipway lock", ""), "Pin the tools; a later change is reported or blocked", lockable},
		{"diff", "Compare with a lock", line("slipway lock diff", ""), "Show what changed since the lock", lockable},
		{"freeze", "Freeze", freeze, "Write a static site that answers the same", false},
		{"pack", "Pack", freeze + " && slipway bundle pack site", "Make a bundle that people install with a click", false},
		{"add", "Add to a client", line("slipway add", ""), "Add the server to the config files of clients", false},
		{"record", "Record", record, "Serve it to one client and record everything", false},
	}
}
