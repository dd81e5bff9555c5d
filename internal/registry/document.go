// Package registry reads and writes server.json, the format in which the official
// registry of MCP servers describes a server: the packages that start it and the URLs
// where it runs.
//
//	doc, err := registry.Parse(text)
//	entry, err := doc.Entry(nil)      // convert it to a definition
//	doc, report, err := registry.Export(merged, []string{"weather"}, nil)
//
// A [Client] finds documents in a registry:
//
//	found, err := new(registry.Client).Search(ctx, []string{"weather"}, nil)
//	doc, err := new(registry.Client).Get(ctx, "io.github.owner/weather", "")
//
// The schema is that of 2025-12-11 ([SchemaURL]). The package never starts servers and
// never downloads packages.
package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/tree"
)

// SchemaURL is the schema of exported documents.
const SchemaURL = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// MaxBytes is the maximum size of a document.
const MaxBytes = 1 << 20

// Document is one server.json.
type Document struct {
	// Schema is the URL of the schema, which names its version.
	Schema string `json:"$schema,omitempty"`
	Name   string `json:"name"` // as in io.github.user/weather
	// Title is for display; Description explains the server in one sentence.
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	// Version is the version of the server, not of the document.
	Version string `json:"version"`
	// WebsiteURL and Repository lead to more about the server. Repository is kept as JSON, since
	// nothing depends on it.
	WebsiteURL string          `json:"websiteUrl,omitempty"`
	Repository json.RawMessage `json:"repository,omitempty"`
	// Packages and Remotes are the ways to start or reach it, best first.
	Packages []Package       `json:"packages,omitempty"`
	Remotes  []Transport     `json:"remotes,omitempty"`
	Meta     json.RawMessage `json:"_meta,omitempty"`
	// Status is the status in the registry's response: "active", "deprecated" or "deleted".
	// It is not part of the document.
	Status string `json:"-"`
}

// said is the metadata that a registry returns with a document.
type said map[string]struct {
	Status   string `json:"status"`
	IsLatest bool   `json:"isLatest"`
}

// status returns the status of the server, or "".
func (s said) status() string {
	for _, m := range s {
		if m.Status != "" {
			return m.Status
		}
	}
	return ""
}

// latest reports whether the registry marks the version as its latest.
func (s said) latest() bool {
	for _, m := range s {
		if m.IsLatest {
			return true
		}
	}
	return false
}

// Package is a package that starts the server.
type Package struct {
	RegistryType string `json:"registryType"` // npm, pypi, oci, nuget, cargo, mcpb
	// RegistryBaseURL is the package registry; empty means the public one of RegistryType.
	RegistryBaseURL string `json:"registryBaseUrl,omitempty"`
	// Identifier is the name of the package, or for mcpb the URL of a bundle.
	Identifier string `json:"identifier"`
	Version    string `json:"version,omitempty"`
	// FileSHA256 is the digest of the file, which bundles must have.
	FileSHA256 string `json:"fileSha256,omitempty"`
	// RuntimeHint is the program that starts the package, such as npx or uvx; empty means
	// the usual one.
	RuntimeHint string `json:"runtimeHint,omitempty"`
	// Transport is how a started package is reached.
	Transport Transport `json:"transport"`
	// RuntimeArguments come before the package on the command line, PackageArguments after
	// it.
	RuntimeArguments     []Argument `json:"runtimeArguments,omitempty"`
	PackageArguments     []Argument `json:"packageArguments,omitempty"`
	EnvironmentVariables []KeyValue `json:"environmentVariables,omitempty"`
}

// Transport is the protocol of a server and its address.
type Transport struct {
	Type string `json:"type"` // stdio, streamable-http, sse
	// URL is for servers that are reached at an address. {name} in it is replaced with a
	// variable.
	URL       string           `json:"url,omitempty"`
	Headers   []KeyValue       `json:"headers,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"` // of the URL
}

// Input is a value, or the description of a value that the user provides.
type Input struct {
	// Description tells the user what to enter.
	Description string `json:"description,omitempty"`
	// IsRequired demands a value, and IsSecret keeps it out of files and messages.
	IsRequired bool `json:"isRequired,omitempty"`
	IsSecret   bool `json:"isSecret,omitempty"`
	// Format is "string", "number", "boolean" or "filepath".
	Format string `json:"format,omitempty"`
	Value  string `json:"value,omitempty"` // fixed; {name} is replaced with a variable
	// Default applies if the user enters nothing; Choices are the permitted values, if
	// limited.
	Default string `json:"default,omitempty"`
	// Placeholder is an example value to show.
	Placeholder string   `json:"placeholder,omitempty"`
	Choices     []string `json:"choices,omitempty"`
	// Variables are the names in braces in Value.
	Variables map[string]Input `json:"variables,omitempty"`
}

// Argument is a command-line argument: "positional", passed as is, or "named", a flag
// with an optional value.
type Argument struct {
	// Type is "positional" or "named".
	Type string `json:"type"`
	// Name is that of a named argument, with its dashes.
	Name string `json:"name,omitempty"`
	// ValueHint names a positional argument. IsRepeated allows it several times.
	ValueHint  string `json:"valueHint,omitempty"`
	IsRepeated bool   `json:"isRepeated,omitempty"`
	Input
}

// KeyValue is an environment variable or a header.
type KeyValue struct {
	Name string `json:"name"`
	Input
}

// Parse reads a server.json, or a registry response with one in it: {"server": ...}, or
// the list {"servers": [...]} if all its entries are versions of one server, in which
// case the latest is used.
func Parse(text []byte) (*Document, error) {
	if len(text) > MaxBytes {
		return nil, errors.New("a server.json has at most 1 MiB")
	}
	root, problems := tree.Parse(text, tree.JSON)
	if len(problems) > 0 {
		return nil, errors.New(problems[0].Message)
	}
	var answer struct {
		response
		Servers []response
	}
	switch {
	case root.Kind != tree.Object:
		return nil, fmt.Errorf("it is %s, not an object", root.Kind)
	case root.Get("name") != nil:
		return decode(text)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	if answer.Server != nil {
		doc, err := decode(answer.Server)
		if err == nil {
			doc.Status = answer.Meta.status()
		}
		return doc, err
	}
	var found *Document
	for _, s := range answer.Servers {
		doc, err := decode(s.Server)
		if err != nil {
			return nil, err
		}
		doc.Status = s.Meta.status()
		switch {
		case found != nil && found.Name != doc.Name:
			return nil, fmt.Errorf("it lists several servers, %s and %s among them", found.Name, doc.Name)
		case found == nil || s.Meta.latest():
			found = doc
		}
	}
	if found == nil {
		return nil, errors.New("it describes no server")
	}
	return found, nil
}

// decode decodes a server document. One without a package or remote cannot become a
// definition.
func decode(text json.RawMessage) (*Document, error) {
	doc := &Document{}
	if err := json.Unmarshal(text, doc); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return nil, fmt.Errorf("%s is no %s", kind.Field, kind.Type)
		}
		return nil, err
	}
	if doc.Name == "" || len(doc.Packages) == 0 && len(doc.Remotes) == 0 {
		return nil, errors.New("it does not describe a server with packages or remotes")
	}
	for _, p := range doc.Packages {
		if p.RegistryType == "" || p.Identifier == "" || p.Transport.Type == "" {
			return nil, fmt.Errorf("a package lacks registryType, identifier or transport: is it of a schema before %s?",
				strings.Split(SchemaURL, "/")[4])
		}
	}
	return doc, nil
}

// IsDocument reports whether text looks like a document that [Parse] reads.
func IsDocument(text []byte) bool {
	root, _ := tree.Parse(text, tree.JSON)
	if root == nil || root.Kind != tree.Object {
		return false
	}
	named := root.Get("name") != nil &&
		(root.Get("packages") != nil || root.Get("remotes") != nil)
	answer := root.Get("server") != nil && root.Get("server").Get("name") != nil
	list := root.Get("servers") != nil && root.Get("servers").Kind == tree.Array
	return named || answer || list
}
