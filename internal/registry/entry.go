package registry

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/stax"
)

// EntryOptions configures the conversion of a document to a definition. Nil and the zero
// value are the defaults.
type EntryOptions struct {
	// Name is the name of the definition. Empty means the part after the slash in the name
	// of the document.
	Name string
	// Registry is the source of the document, such as "official". Empty: unknown.
	Registry string
	// Package selects "remote", or a registry type such as "npm". Empty means a remote
	// server if the document has one, since that starts nothing locally, or else the first
	// package.
	Package string
	// Values are the answers to the document's inputs, by name.
	Values map[string]string
}

// Entry is a definition that was converted from another format.
type Entry struct {
	// Config contains the one server, the declarations of its secrets, and its bindings.
	Config stax.Config
	// Todo describes the steps required before the server can be started.
	Todo []string
	// Findings report the parts of the document that a definition cannot represent.
	Findings []check.Finding
	// Bundle is the bundle to download first, or nil. If it is set, the definition has no
	// command.
	Bundle *Bundle
}

// Server returns the definition.
func (e *Entry) Server() *stax.Server { return &e.Config.Servers[0] }

// Bundle is an .mcpb file to download.
type Bundle struct {
	// URL is the https address of the bundle.
	URL    string
	SHA256 string // in hexadecimal digits, or empty
}

// UnfitError reports why a document cannot be converted to a definition.
type UnfitError struct {
	// Why is the reason in one line, and Hint the next step.
	Why  string
	Hint string
	// Answers reports whether [EntryOptions.Values] is the cause: a value is missing, or the
	// document has no such input.
	Answers bool
	// Withdrawn reports whether the registry has deleted the server.
	Withdrawn bool
}

// Error implements the error interface.
func (e *UnfitError) Error() string { return e.Why }

// Choices returns the valid values of [EntryOptions.Package].
func (d *Document) Choices() []string {
	var all []string
	if len(d.Remotes) > 0 {
		all = append(all, "remote")
	}
	for _, p := range d.Packages {
		if !slices.Contains(all, p.RegistryType) {
			all = append(all, p.RegistryType)
		}
	}
	return all
}

// Entry converts one of the document's remote servers or packages to a definition. An
// input from the user becomes a declared secret if it is one, or else a placeholder in
// the definition, listed in [Entry.Todo]. The error is an [*UnfitError] if the selection
// cannot be represented.
func (d *Document) Entry(opts *EntryOptions) (*Entry, error) {
	if opts == nil {
		opts = &EntryOptions{}
	}
	name := opts.Name
	if name == "" {
		name = d.Name[strings.LastIndexByte(d.Name, '/')+1:]
	}
	b := &builder{
		doc:  d,
		opts: opts,
		out: &Entry{Config: stax.Config{Servers: []stax.Server{{
			Name:        name,
			Description: d.Description,
			RegistryRef: &stax.RegistryRef{
				Registry: opts.Registry,
				Package:  d.Name,
				Version:  d.Version,
			},
		}}}},
	}
	b.server = b.out.Server()
	switch d.Status {
	case "deleted":
		return nil, &UnfitError{
			Why:       "the registry has deleted " + d.Name + " " + d.Version,
			Hint:      "ask who publishes it why; it may not be safe",
			Withdrawn: true,
		}
	case "deprecated":
		b.lost(check.Warning, "the registry marks %s %s as deprecated", d.Name, d.Version)
	}
	if err := b.choose(); err != nil {
		return nil, err
	}
	for _, given := range slices.Sorted(maps.Keys(opts.Values)) {
		if !b.used[given] {
			return nil, &UnfitError{
				Why:     fmt.Sprintf("it asks for no %q", given),
				Hint:    b.asked(),
				Answers: true,
			}
		}
	}
	return b.out, nil
}

// builder builds a definition.
type builder struct {
	// doc is the document, opts the user's choices and values, and out the result so far.
	doc    *Document
	opts   *EntryOptions
	out    *Entry
	server *stax.Server
	used   map[string]bool // names of the document's inputs
}

// asked lists the inputs of the document, for an error about one that it does not have.
func (b *builder) asked() string {
	if len(b.used) == 0 {
		return "it asks for nothing"
	}
	return "it asks for " + strings.Join(slices.Sorted(maps.Keys(b.used)), ", ")
}

// choose selects one of the remote servers and packages.
func (b *builder) choose() error {
	b.used = map[string]bool{}
	choice := b.opts.Package
	if choice == "remote" || choice == "" && len(b.doc.Remotes) > 0 {
		if len(b.doc.Remotes) == 0 {
			return b.none(choice)
		}
		// Prefer the newer of the two transports.
		i := max(0, slices.IndexFunc(b.doc.Remotes, func(t Transport) bool {
			return t.Type == "streamable-http"
		}))
		return b.remote(&b.doc.Remotes[i])
	}
	var why error
	for i := range b.doc.Packages {
		p := &b.doc.Packages[i]
		if choice != "" && p.RegistryType != choice {
			continue
		}
		if p.Transport.Type != "stdio" {
			why = &UnfitError{
				Why: fmt.Sprintf("the package %s is reached over %s once it has started, which a definition does not support",
					p.Identifier, p.Transport.Type),
			}
			continue
		}
		return b.pack(p)
	}
	if why != nil {
		return why
	}
	return b.none(choice)
}

// none returns the error for a choice that the document does not offer, with the valid ones.
func (b *builder) none(choice string) error {
	return &UnfitError{
		Why:  fmt.Sprintf("%s offers no %s", b.doc.Name, choice),
		Hint: "it offers " + strings.Join(b.doc.Choices(), ", "),
	}
}

// lost reports a part that a definition cannot represent.
func (b *builder) lost(severity check.Severity, format string, args ...any) {
	b.out.Findings = append(b.out.Findings,
		check.Reporter{}.Finding(ruleNotAdded.As(severity), "", "", format, args...))
}

// todo adds a step that remains for the user.
func (b *builder) todo(format string, args ...any) {
	b.out.Todo = append(b.out.Todo, fmt.Sprintf(format, args...))
}

// remote converts a remote server.
func (b *builder) remote(t *Transport) error {
	s := b.server
	switch s.Transport = stax.HTTP; t.Type {
	case "sse":
		s.Transport = stax.SSE
	case "streamable-http":
	default:
		return &UnfitError{Why: fmt.Sprintf("unknown transport %q for a remote server", t.Type)}
	}
	address, secrets, err := b.fill(t.URL, t.Variables, true)
	if err != nil {
		return err
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" || len(secrets) > 0 {
		return &UnfitError{
			Why:  "the URL of the server contains a secret, or is invalid",
			Hint: "a definition has a place for secrets in headers only",
		}
	}
	s.URL = address
	for i := range t.Headers {
		b.header(&t.Headers[i])
	}
	if len(s.Secrets) == 1 &&
		len(b.out.Config.Bindings) == 1 &&
		b.out.Config.Bindings[0].Template == "Bearer {"+s.Secrets[0]+"}" &&
		strings.EqualFold(b.out.Config.Bindings[0].Header, "Authorization") {
		b.out.Config.Bindings = nil // equivalent to the default
	}
	return nil
}

// header adds a header to the definition, or binds a secret to it.
func (b *builder) header(h *KeyValue) {
	if h.Value == "" {
		switch in := b.input(h.Name, &h.Input, stax.LooksSecretHeader); {
		case in.secret:
			key := b.declare(keyOf(b.server.Name, h.Name), &h.Input)
			b.bind(h.Name, "{"+key+"}")
			if strings.EqualFold(h.Name, "Authorization") {
				last := &b.out.Todo[len(b.out.Todo)-1]
				*last = strings.Replace(*last, "the secret",
					"the whole value of the header Authorization as the secret", 1)
			}
		case in.ok:
			b.static(h.Name, in.value)
		}
		return
	}
	value, secrets, _ := b.fill(h.Value, h.Variables, false)
	switch {
	case len(secrets) > 0:
		b.bind(h.Name, value)
	case stax.LooksSecretHeader(h.Name, value) != "" && !strings.Contains(value, "<"):
		b.lost(check.Warning, "the header %s is omitted: its value looks like a secret, and is there for all to read",
			h.Name)
	default:
		b.static(h.Name, value)
	}
}

// static sets a header with a fixed value.
func (b *builder) static(header, value string) {
	if b.server.Headers == nil {
		b.server.Headers = map[string]string{}
	}
	b.server.Headers[header] = value
}

// bind binds secrets to a header.
func (b *builder) bind(header, template string) {
	b.out.Config.Bindings = append(b.out.Config.Bindings,
		stax.Binding{
			Server:   b.server.Name,
			Header:   header,
			Template: template,
		})
}

// declare adds a secret to the server, once, and returns its key.
func (b *builder) declare(key string, in *Input) string {
	if slices.Contains(b.server.Secrets, key) {
		return key
	}
	b.server.Secrets = append(b.server.Secrets, key)
	d := stax.Declaration{
		Key:         key,
		Description: in.Description,
	}
	if !in.IsRequired {
		no := false
		d.Required = &no
	}
	b.out.Config.Secrets = append(b.out.Config.Secrets, d)
	word := "set the secret " + key
	if !in.IsRequired {
		word = "set the secret " + key + ", if needed"
	}
	b.todo("%s", about(word, in.Description))
	return key
}

// about returns the label of an input with its description on one line.
func about(what, description string) string {
	if description = strings.Join(strings.Fields(description), " "); description != "" {
		return what + ": " + description
	}
	return what
}

// given is the known state of an input.
type given struct {
	// value is the value of an input, by the user or its default.
	value  string
	ok     bool // it has a value
	secret bool
}

// input returns the value of an input, or a placeholder if a required value is missing.
// looksSecret decides about an input without a mark, by its name.
func (b *builder) input(name string, in *Input, looksSecret func(name, value string) string) given {
	b.used[name] = true
	value, answered := b.opts.Values[name]
	switch {
	case in.IsSecret || in.Default == "" && !answered && looksSecret(name, "value") != "":
		return given{secret: true}
	case answered:
		return given{
			value: value,
			ok:    true,
		}
	case in.Value != "":
		return given{
			value: in.Value,
			ok:    true,
		}
	case in.Default != "":
		return given{
			value: in.Default,
			ok:    true,
		}
	case !in.IsRequired:
		return given{}
	}
	hint := in.Placeholder
	if len(in.Choices) > 0 {
		hint = strings.Join(in.Choices, " or ")
	}
	text := "put a value in place of <" + name + ">"
	if hint != "" {
		text += ", such as " + hint
	}
	b.todo("%s", about(text, in.Description))
	return given{
		value: "<" + name + ">",
		ok:    true,
	}
}

// fill replaces the names in braces in a template with values. Secrets stay in braces, by
// key. If strict is set, placeholders are errors.
func (b *builder) fill(
	template string,
	variables map[string]Input,
	strict bool,
) (text string, secrets []string, err error) {
	var out strings.Builder
	for rest := template; ; {
		before, after, open := strings.Cut(rest, "{")
		name, behind, closed := strings.Cut(after, "}")
		out.WriteString(before)
		if !open || !closed {
			if open {
				out.WriteString("{" + after)
			}
			return out.String(), secrets, nil
		}
		rest = behind
		in, known := variables[name]
		if !known {
			out.WriteString("{" + name + "}") // unchanged (schema, Input.value)
			continue
		}
		todo := len(b.out.Todo)
		v := b.input(name, &in, stax.LooksSecret)
		switch {
		case v.secret:
			key := b.declare(variableKey(b.server.Name, name), &in)
			secrets = append(secrets, key)
			out.WriteString("{" + key + "}")
		case strict && len(b.out.Todo) > todo:
			why := "it needs a value for " + about(name, in.Description)
			return "", nil, &UnfitError{
				Why:     why,
				Hint:    "--set " + name + "=...",
				Answers: true,
			}
		default:
			out.WriteString(v.value)
		}
	}
}

// variableKey returns the key of a secret in a template: its name, if that looks like the
// name of an environment variable, which all servers would share.
func variableKey(server, name string) string {
	if name != "" &&
		name == strings.ToUpper(name) &&
		strings.Contains(name, "_") &&
		strings.Trim(name, keyLetters) == "" &&
		(name[0] < '0' || name[0] > '9') {
		return name
	}
	return keyOf(server, name)
}

// keyLetters are the characters of a key. Any other is replaced.
const keyLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// SecretKey returns the key of a secret of a server, such as WEATHER_TOKEN for the token
// of weather.
func SecretKey(server, what string) string { return keyOf(server, what) }

// keyOf builds the key of a secret from the name of a server and the purpose of the
// secret.
func keyOf(server, name string) string {
	key := strings.Map(func(r rune) rune {
		if strings.ContainsRune(keyLetters, r) {
			return r
		}
		return '_'
	}, strings.ToUpper(server+"_"+name))
	if key[0] >= '0' && key[0] <= '9' {
		key = "_" + key
	}
	return key
}
