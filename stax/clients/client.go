// Package clients writes server definitions to the configuration of other programs and
// imports them from it.
//
// [All] returns the table of clients. Each row describes which files a program reads and
// what it cannot represent. [Render] returns a whole file. [NewPlan] and [Plan.Apply]
// edit existing files: no byte outside our entries changes, and a [State] records which
// entries are ours. Everything that a program cannot represent is reported under a
// "stax/..." rule; see [Rules].
package clients

import (
	"slices"

	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax"
)

// Client is a program that uses MCP servers, and the format of its configuration.
type Client struct {
	// ID identifies the client on the command line, in lower case.
	ID string `json:"id"`
	// Aliases are alternative ids.
	Aliases []string `json:"aliases,omitempty"`
	// Name is the name of the program.
	Name string `json:"name"`
	// Files are the paths of its configuration files, by scope and system.
	Files Files `json:"files"`
	// Format is the file format. It is JSONC if the client accepts comments.
	Format tree.Format `json:"format"`
	// Root is the member that contains the servers.
	Root string `json:"root"`
	// List reports whether the servers are a list of objects with a name.
	List bool `json:"list,omitempty"`
	// Names lists the characters allowed in a name besides letters and digits; empty means
	// any name is valid.
	Names string `json:"names,omitempty"`

	// Stdio, HTTP and SSE are how an entry of that transport is written; nil means that
	// the client does not support it.
	Stdio *Shape `json:"stdio,omitempty"`
	HTTP  *Shape `json:"http,omitempty"`
	SSE   *Shape `json:"sse,omitempty"`
	// Untyped is the transport of a URL without a type, unless the name of its member
	// implies one.
	Untyped stax.Transport `json:"untyped,omitempty"`

	// Timeout is the member for the time to connect, and EnabledTools and DisabledTools
	// those for lists of tools. Empty means that the client has none.
	Timeout       *Timeout `json:"connectTimeout,omitempty"`
	EnabledTools  string   `json:"enabledTools,omitempty"`
	DisabledTools string   `json:"disabledTools,omitempty"`
	// EmptyIsAll reports whether an empty list of enabled tools allows all tools.
	EmptyIsAll bool `json:"emptyIsAll,omitempty"`
	// Login is how an entry says how to log in to a server that requires OAuth; nil means
	// that the client cannot log in.
	Login *LoginMembers `json:"login,omitempty"`
	// Refuses lists variables that the client never passes to a server, regardless of case.
	Refuses []string `json:"refuses,omitempty"`
	// Ignores lists members that are written for other clients sharing the file but that
	// this client ignores.
	Ignores []string `json:"ignores,omitempty"`

	// References are how an entry refers to a variable rather than contain its value.
	References References `json:"references"`
	// Inputs reports whether the client prompts the user for "${input:NAME}".
	Inputs bool `json:"inputs,omitempty"`
	// Expands lists the reference syntaxes that the client expands in values, even where a
	// literal was meant.
	Expands []string `json:"expands,omitempty"`

	// Preamble is the content of a new file before the servers.
	Preamble Members `json:"preamble,omitempty"`
	// ProjectDir is how an entry in a project file refers to the project folder: "." if the
	// client starts servers there, or the client's variable for the folder. Empty means
	// neither is known.
	ProjectDir string `json:"projectDir,omitempty"`
	// Installed lists folders that show that the client is installed, besides those of its
	// files.
	Installed []string `json:"installed,omitempty"`
	// Desktop reports whether the desktop starts the client, which then may lack the PATH of
	// the user's shell.
	Desktop bool `json:"desktop,omitempty"`
	// Todo lists the remaining steps for the user after a file is written; ProjectTodo and
	// UserTodo apply to files of that scope only, and VariableTodo to entries that refer to
	// variables.
	Todo         []string `json:"todo,omitempty"`
	ProjectTodo  []string `json:"projectTodo,omitempty"`
	UserTodo     []string `json:"userTodo,omitempty"`
	VariableTodo []string `json:"variableTodo,omitempty"`
	// Checked records how and when this row was verified.
	Checked string `json:"checked"`
}

// Files are paths with alternatives: the first existing one is used, or else the first.
// "~" is the home folder, and "${NAME:-path}" a variable with its default. Project paths
// are relative to the project.
type Files struct {
	// Linux, Darwin and Windows are the paths of the user's file, most common first. "~"
	// is the home folder, and "${VAR:-path}" a variable with its default.
	Linux   []string `json:"linux,omitempty"`
	Darwin  []string `json:"darwin,omitempty"`
	Windows []string `json:"windows,omitempty"`
	// Project are the paths in the folder of a project; empty means that the client has no
	// such file.
	Project []string `json:"project,omitempty"`
}

// Shape lists the member names of one kind of entry.
type Shape struct {
	Const       Members `json:"const,omitempty"`       // members with a fixed value
	Name        string  `json:"name,omitempty"`        // repeats the server name
	Description string  `json:"description,omitempty"` // written even if empty
	Command     string  `json:"command,omitempty"`     // the program
	CommandList bool    `json:"commandList,omitempty"` // the program and its arguments, as one list
	// Args, Env, Cwd and URL are the names of these members; empty means that the client
	// has no such member.
	Args       string   `json:"args,omitempty"`
	ArgsAlways bool     `json:"argsAlways,omitempty"` // written even without arguments
	Env        string   `json:"env,omitempty"`
	Cwd        string   `json:"cwd,omitempty"`
	URL        string   `json:"url,omitempty"`
	Headers    []string `json:"headers,omitempty"` // the path of the member
}

// Timeout is the member for the connect timeout.
type Timeout struct {
	// Field is the name of the member.
	Field string `json:"field"`
	Unit  string `json:"unit"` // "ms" or "s"
}

// References describes how a secret is referenced instead of written. Empty means that
// the client cannot do so.
type References struct {
	// Value is the reference to the variable %s, in variables and headers.
	Value string `json:"value,omitempty"`
	// EnvList is the member that lists variables to pass on under their own names.
	EnvList string `json:"envList,omitempty"`
	// Header is the reference to the variable %s in headers, if EnvList lists it.
	Header string `json:"header,omitempty"`
	// Needed lists members whose variables must be set for the client to start the server.
	Needed []string `json:"needed,omitempty"`
	// BearerVar is the member that names the variable with the bearer token.
	BearerVar string `json:"bearerVar,omitempty"`
	// HeaderVars is the member that names a variable for each header.
	HeaderVars string `json:"headerVars,omitempty"`
}

// ByID returns the client with that id or alias. Otherwise near is the most similar id,
// or empty.
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

// Todos returns the remaining steps for the user after a file of that scope is written.
// variables means that its entries refer to variables.
func (c *Client) Todos(scope Scope, variables bool) []string {
	all := slices.Concat(c.Todo, c.UserTodo)
	if scope == Project {
		all = slices.Concat(c.Todo, c.ProjectTodo)
	}
	if variables {
		all = append(all, c.VariableTodo...)
	}
	return all
}

// LoginMembers are the members of an entry with the settings of a login, as paths. An empty
// path means that the client has no such setting.
type LoginMembers struct {
	ClientID []string `json:"clientId,omitempty"`
	Scopes   []string `json:"scopes,omitempty"` // one string, separated by spaces
}
