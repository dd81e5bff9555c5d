package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/stax"
)

// ExportOptions contains what a definition does not. Nil and the zero value are the
// defaults.
type ExportOptions struct {
	// Name is the name of the document, such as io.github.user/weather. Empty means the
	// package of registryRef, if it has that form.
	Name string
	// Title is shown instead of the name, at most 100 characters.
	Title string
	// Description is at most 100 characters. Empty means that of the definition.
	Description string
	// Version is the version of the server. Empty means the one in registryRef, or that of
	// the package.
	Version string
	// WebsiteURL is the homepage of the server.
	WebsiteURL string
}

// NeedError reports a value that the document requires.
type NeedError struct{ What, Hint string }

// Error implements the error interface.
func (e *NeedError) Error() string { return "it needs " + e.What }

// Limits of the schema.
const (
	maxDescription = 100
	maxName        = 200
)

// Export converts definitions that are alternative ways to reach the same server to one
// document: those with a command become packages, those with a URL remotes. The report
// lists, as warnings, what a document cannot represent. Values of secrets are never
// written, since definitions do not contain them. The error is a [*NeedError] if a value
// is missing, and an [*UnfitError] if none of the servers can be represented.
func Export(
	m *stax.Merged,
	servers []string,
	opts *ExportOptions,
) (*Document, *check.Report, error) {
	if opts == nil {
		opts = &ExportOptions{}
	}
	e := &exporter{
		merged: m,
		report: &check.Report{},
		doc: &Document{
			Schema:      SchemaURL,
			Name:        opts.Name,
			Title:       opts.Title,
			Description: opts.Description,
			Version:     opts.Version,
			WebsiteURL:  opts.WebsiteURL,
		},
	}
	for _, name := range servers {
		s := m.Config.Server(name)
		if s == nil {
			return nil, nil, fmt.Errorf("no server is named %q", name)
		}
		e.server = s
		e.export()
	}
	if len(e.doc.Packages)+len(e.doc.Remotes) == 0 {
		return nil, e.report, &UnfitError{
			Why:  "nothing of " + strings.Join(servers, ", ") + " can be represented",
			Hint: "a command has to start a package of npm, PyPI, a registry of images, NuGet, or a bundle",
		}
	}
	return e.doc, e.report, e.complete()
}

// exporter builds one document.
type exporter struct {
	// merged has the definitions of server, and doc is the document to complete.
	merged *stax.Merged
	server *stax.Server
	doc    *Document
	report *check.Report
}

// lost reports a member of the server that a document cannot represent.
func (e *exporter) lost(member, format string, args ...any) {
	pointer := "/servers/" + jsonscan.EscapeToken(e.server.Name)
	if member != "" {
		pointer += "/" + member
	}
	e.merged.Origin(e.server.Name).Reporter(e.report).Add(ruleNotExported, pointer, "",
		"server %q: %s", e.server.Name, fmt.Sprintf(format, args...))
}

// reverseDNS reports whether a name is a reversed domain, a slash and a name.
func reverseDNS(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-"
	domain, rest, ok := strings.Cut(name, "/")
	return ok &&
		domain != "" &&
		rest != "" &&
		strings.Trim(domain, letters) == "" &&
		strings.Trim(rest, letters+"_") == "" &&
		len(name) <= maxName
}

// complete adds what the schema requires, and verifies the document.
func (e *exporter) complete() error {
	d := e.doc
	if d.Version == "" && len(d.Packages) > 0 {
		d.Version = d.Packages[0].Version
	}
	switch {
	case d.Name == "":
		return &NeedError{"a name in the form of a registry", "--name io.github.you/weather"}
	case !reverseDNS(d.Name):
		return &NeedError{
			fmt.Sprintf("another name than %q: a domain in reverse, a slash, a name", d.Name),
			"--name io.github.you/weather",
		}
	case d.Version == "":
		return &NeedError{"a version", "--version 1.0.0"}
	case d.Version == "latest" || len(d.Version) > 255 ||
		strings.ContainsAny(d.Version, "^~<>=*| "):
		return &NeedError{fmt.Sprintf("one version, which %q is not", d.Version), "--version 1.0.0"}
	case d.Description == "":
		return &NeedError{"a description", `--description "What the server does"`}
	case utf8.RuneCountInString(d.Title) > maxDescription:
		return &NeedError{"a title of at most 100 characters", "--title shorter"}
	}
	if utf8.RuneCountInString(d.Description) > maxDescription {
		e.lost("description", "a registry takes 100 characters of the description; the rest is omitted")
		d.Description = string([]rune(d.Description)[:maxDescription-1]) + "…"
	}
	return nil
}

// export completes the document. Members that the author wrote stay.
func (e *exporter) export() {
	s := e.server
	d := e.doc
	if d.Description == "" {
		d.Description = s.Description
	}
	if ref := s.RegistryRef; ref != nil {
		if d.Name == "" && reverseDNS(ref.Package) {
			d.Name = ref.Package
		}
		if d.Version == "" {
			d.Version = ref.Version
		}
	}
	e.leftOut()
	if s.Remote() {
		e.remote()
		return
	}
	p := e.packageOf()
	if p == nil {
		return
	}
	p.Transport = Transport{Type: "stdio"}
	e.environment(p)
	d.Packages = append(d.Packages, *p)
}

// leftOut reports the members that no document can represent.
func (e *exporter) leftOut() {
	s := e.server
	for _, m := range []struct {
		name string
		is   bool
	}{
		{"cwd", s.Cwd != ""},
		{"enabledTools", s.EnabledTools != nil},
		{"disabledTools", s.DisabledTools != nil},
		{"connectTimeoutMs", s.ConnectTimeoutMS > 0},
		{"callTimeoutMs", s.CallTimeoutMS > 0},
		{"hangTimeoutMs", s.HangTimeoutMS > 0},
		{"pingTimeoutMs", s.PingTimeoutMS > 0},
		{"isolate", s.Isolate != nil},
		{"failover", s.Failover != ""},
		{"callerHeaders", len(s.CallerHeaders) > 0},
	} {
		if m.is {
			e.lost(m.name, "a registry does not support %s", m.name)
		}
	}
	if s.Disabled() {
		e.lost("enabled", "a registry does not support a server that is disabled")
	}
	for _, key := range slices.Sorted(maps.Keys(s.Metadata)) {
		if key != sourceKey {
			e.lost("metadata", "a registry does not support the metadata %q", key)
		}
	}
	for _, f := range s.Extra {
		e.lost(jsonscan.EscapeToken(f.Name), "a registry does not support %q", f.Name)
	}
}

// secretInput describes a secret, without its value.
func (e *exporter) secretInput(key string) Input {
	in := Input{
		IsSecret:   true,
		IsRequired: true,
	}
	if d := e.merged.Config.Declaration(key); d != nil {
		in.Description = d.Description
		in.IsRequired = !d.Optional()
	}
	return in
}

// environment writes the variables of a package, in the order of the command line if it
// sets them.
func (e *exporter) environment(p *Package) {
	named := map[string]bool{}
	for _, v := range p.EnvironmentVariables {
		named[v.Name] = true
	}
	add := func(v KeyValue) {
		for i := range p.EnvironmentVariables {
			if p.EnvironmentVariables[i].Name == v.Name {
				p.EnvironmentVariables[i] = v
				return
			}
		}
		p.EnvironmentVariables = append(p.EnvironmentVariables, v)
	}
	for _, name := range slices.Sorted(maps.Keys(e.server.Env)) {
		add(KeyValue{name, Input{Value: e.server.Env[name]}})
	}
	for _, key := range e.server.Secrets {
		in := e.secretInput(key)
		name := key
		d := e.merged.Config.Declaration(key)
		if d != nil && (d.ExposeAs.Env != "" || d.ExposeAs.File != "") {
			if d.ExposeAs.File != "" {
				e.lost("secrets", "a registry does not support the file in which the server gets %s", key)
			}
			if name = d.ExposeAs.Env; name == "" {
				continue
			}
		}
		if name != key {
			in = Input{
				Value:     "{" + key + "}",
				Variables: map[string]Input{key: in},
			}
		}
		add(KeyValue{name, in})
	}
	if p.RegistryType == "oci" {
		for _, v := range p.EnvironmentVariables {
			if !named[v.Name] {
				e.lost("args", "the container is not given the variable %s; a program that reads the document would",
					v.Name)
			}
		}
	}
}

// remote writes a remote server.
func (e *exporter) remote() {
	s := e.server
	t := Transport{
		Type: "streamable-http",
		URL:  s.URL,
	}
	if s.Transport == stax.SSE {
		t.Type = "sse"
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		t.Headers = append(t.Headers, KeyValue{name, Input{Value: s.Headers[name]}})
	}
	for _, b := range e.merged.BindingsOf(s) {
		in := Input{
			Value:     b.Template,
			Variables: map[string]Input{},
		}
		for _, key := range b.Keys() {
			in.Variables[key] = e.secretInput(key)
		}
		t.Headers = append(t.Headers, KeyValue{b.Header, in})
	}
	for _, key := range e.merged.Unbound(s) {
		e.lost("secrets", "the header for the secret %s is not specified", key)
	}
	e.doc.Remotes = append(e.doc.Remotes, t)
}
