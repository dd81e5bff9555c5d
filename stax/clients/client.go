// Package clients brings definitions of servers into the configuration of other
// programs, and out of it again.
//
// What a program reads, where, and what it cannot represent is one row of the
// table that [All] returns. [Render] makes a whole file; [Plan] and its Apply
// edit the files that are there, where no byte outside our entries changes and a
// ledger says which entries are ours. What a program cannot represent is always
// reported: by rules "stax/...", which [Rules] lists.
package clients

import (
	"slices"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/internal/tree"
)

// Client is a program that uses MCP servers, and how it is configured.
type Client struct {
	ID string `json:"id"`
	// Aliases are other ids that it is found by.
	Aliases []string `json:"aliases,omitempty"`
	Name    string   `json:"name"`
	// Files are the places of its configuration, by scope and system.
	Files Files `json:"files"`
	// Format is how the files are written; a client that takes comments reads JSONC.
	Format tree.Format `json:"format"`
	// Root is the member that holds the servers.
	Root string `json:"root"`
	// List says that the servers are a list of objects with a name.
	List bool `json:"list,omitempty"`
	// Names is what a name can consist of besides letters and digits; empty means
	// any name will do.
	Names string `json:"names,omitempty"`

	Stdio *Shape `json:"stdio,omitempty"`
	HTTP  *Shape `json:"http,omitempty"`
	SSE   *Shape `json:"sse,omitempty"`
	// Untyped is the transport of an address without a type, where the name of its
	// member does not say it.
	Untyped stax.Transport `json:"untyped,omitempty"`

	Timeout       *Timeout `json:"connectTimeout,omitempty"`
	EnabledTools  string   `json:"enabledTools,omitempty"`
	DisabledTools string   `json:"disabledTools,omitempty"`
	// EmptyIsAll says that an empty list of enabled tools allows all of them.
	EmptyIsAll bool `json:"emptyIsAll,omitempty"`
	// Refuses are variables that it gives to no server, in any case of letters.
	Refuses []string `json:"refuses,omitempty"`
	// Ignores are members that are written for those who share the file, and that
	// this client does not heed.
	Ignores []string `json:"ignores,omitempty"`

	References References `json:"references"`
	// Inputs says that it asks the user for what "${input:NAME}" stands for.
	Inputs bool `json:"inputs,omitempty"`
	// Expands are the forms that it replaces in what it is given, also where none
	// was meant.
	Expands []string `json:"expands,omitempty"`

	// Preamble is what a new file begins with, besides the servers.
	Preamble []stax.Field `json:"preamble,omitempty"`
	// ProjectDir is how an entry of a project's file names the folder of the project:
	// "." if the client starts servers there, or its own variable for that folder. Empty
	// if neither is known.
	ProjectDir string `json:"projectDir,omitempty"`
	// Todo is what is left to the user when a file was written; ProjectTodo and UserTodo
	// belong to files of that scope only.
	Todo        []string `json:"todo,omitempty"`
	ProjectTodo []string `json:"projectTodo,omitempty"`
	UserTodo    []string `json:"userTodo,omitempty"`
	// Checked says how and when this row was made sure of.
	Checked string `json:"checked"`
}

// Files are paths, each with alternatives: the first that exists, or else the
// first, is meant. "~" is the home folder, "${NAME:-path}" a variable with what
// holds without it. Project paths are relative to the project.
type Files struct {
	Linux   []string `json:"linux,omitempty"`
	Darwin  []string `json:"darwin,omitempty"`
	Windows []string `json:"windows,omitempty"`
	Project []string `json:"project,omitempty"`
}

// Shape is how an entry of one kind is written: the names of its members.
type Shape struct {
	Const       []stax.Field `json:"const,omitempty"`       // members with a fixed value
	Name        string       `json:"name,omitempty"`        // the name of the server once more
	Description string       `json:"description,omitempty"` // written also where there is none
	Command     string       `json:"command,omitempty"`     // the program
	CommandList bool         `json:"commandList,omitempty"` // with its arguments, as one list
	Args        string       `json:"args,omitempty"`
	ArgsAlways  bool         `json:"argsAlways,omitempty"` // also without arguments
	Env         string       `json:"env,omitempty"`
	Cwd         string       `json:"cwd,omitempty"`
	URL         string       `json:"url,omitempty"`
	Headers     []string     `json:"headers,omitempty"` // the path of the member
}

// Timeout is the member for the time to connect.
type Timeout struct {
	Field string `json:"field"`
	Unit  string `json:"unit"` // "ms" or "s"
}

// References are how a secret is named instead of written. Empty means that the
// client cannot.
type References struct {
	// Value stands for the value of the variable %s, in variables and headers.
	Value string `json:"value,omitempty"`
	// EnvList is the member that lists variables to pass on under their own name.
	EnvList string `json:"envList,omitempty"`
	// Header stands for the value of the variable %s in headers, if EnvList names it.
	Header string `json:"header,omitempty"`
	// Needed are the members that keep a server from being started if a variable that
	// they name is not set.
	Needed []string `json:"needed,omitempty"`
	// BearerVar is the member that names the variable with the bearer token.
	BearerVar string `json:"bearerVar,omitempty"`
	// HeaderVars is the member that names a variable for each header.
	HeaderVars string `json:"headerVars,omitempty"`
}

// ByID returns the client with that id. Otherwise near is the one that was
// probably meant, or empty.
func ByID(id string) (c *Client, near string) {
	var ids []string
	for _, c := range All() {
		if c.ID == id || slices.Contains(c.Aliases, id) {
			return &c, ""
		}
		ids = append(ids, c.ID)
	}
	return nil, nearest.DidYouMean(id, ids)
}

// Todos returns what is left to the user when a file of a scope was written.
func (c *Client) Todos(scope Scope) []string {
	if scope == Project {
		return slices.Concat(c.Todo, c.ProjectTodo)
	}
	return slices.Concat(c.Todo, c.UserTodo)
}

// Rules returns the rules about what a client can represent.
func Rules() []stax.Rule {
	return []stax.Rule{
		{ID: "stax/lossy", Severity: check.Warning, About: "the client has a place for every member"},
		{ID: "stax/client-name", Severity: check.Warning, About: "the client can carry the name; otherwise the server is left out"},
		{ID: "stax/client-transport", Severity: check.Warning, About: "the client speaks the transport; otherwise the server is left out"},
		{ID: "stax/would-expand", Severity: check.Warning, About: "the client takes no literal for a reference"},
		{ID: "stax/secret-no-reference", Severity: check.Warning, About: "the client can name a secret instead of holding it"},
		{ID: "stax/not-written", Severity: check.Note,
			About: "members that only describe, and limits that only Slipway applies, have a place in the client"},
		{ID: "stax/via-launcher", Severity: check.Note, About: "the client starts the server itself, without the launcher"},
		{ID: "stax/not-portable", Severity: check.Note, About: "the file of a project names no folder of this machine"},
		{ID: "stax/not-imported", Severity: check.Warning, About: "a definition has a place for what stands in the file of a client"},
		{ID: "stax/command-not-found", Severity: check.Warning, About: "the command is on the `PATH` of the machine that is configured"},
	}
}
