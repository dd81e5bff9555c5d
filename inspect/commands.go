package inspect

import (
	"net/http"
	"strings"
)

// verb is a command line of Slipway that is useful for a source. The page shows it; it
// runs none.
type verb struct {
	// Verb is the word of the command, Command the whole line to copy, and Does what it
	// does.
	Verb    string `json:"verb"`
	Title   string `json:"title"`
	Command string `json:"command"`
	Does    string `json:"does"`
}

// serveCommands serves GET api/commands.
func (in *Inspector) serveCommands(w http.ResponseWriter, r *http.Request) error {
	t, err := in.asked(r)
	if err != nil {
		return err
	}
	return answer(w, map[string]any{"commands": commandsFor(t.src.Argument)})
}

// commandsFor returns the commands for a source, as it is named on the command line.
func commandsFor(argument string) []verb {
	if argument == "" {
		return []verb{}
	}
	source, program := argument, ""
	if strings.HasPrefix(argument, "-- ") {
		source = ""
		program = " " + argument
	}
	line := func(before, after string) string {
		words := strings.Join(strings.Fields(before+" "+source+" "+after), " ")
		return words + program
	}
	return []verb{
		{"check", "Check", line("slipway check", ""), "Check names, schemas, descriptions and apps"},
		{"freeze", "Freeze", line("slipway site freeze", "-o site"), "Write a static site that answers the same"},
		{"lock", "Lock", line("slipway lock", ""), "Pin the tools; a later change is reported or blocked"},
		{"diff", "Compare with the lock", line("slipway lock diff", ""), "Show what changed since the lock"},
		{"add", "Add to a client", line("slipway add", ""), "Add the server to the config files of clients"},
		{"record", "Record", line("slipway record", "-o session.mcplog"), "Serve it to one client and record everything"},
	}
}
