package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax"
)

// Via is the way a client connects to servers.
type Via string

// The ways to connect to a server.
const (
	// Direct: the client starts the server or connects to it.
	Direct Via = "direct"
	// Launcher: the client starts "slipway config run FILE SERVER", which does so.
	Launcher Via = "launcher"
	// Auto is Launcher for servers that Direct cannot represent without loss.
	Auto Via = "auto"
)

// Options configures the translation of definitions to entries. The zero value and nil
// are the defaults.
type Options struct {
	// OS is the system of the client: "linux", "darwin" or "windows". Empty is this one.
	OS string
	// Via is how servers are reached. Empty is Direct.
	Via Via
	// Program is the command of the launcher, and ProgramArgs its first arguments, as in
	// npx -y slipway. Empty is "slipway".
	Program     string
	ProgramArgs []string
	// Sources are the definitions files passed to the launcher, and Flags the flags passed
	// after the server name.
	Sources []string
	Flags   []string
	// Project is the folder of the project that entries are for. Sources in it, and files of
	// secrets in Flags, are written so that the client finds them from any copy of the
	// project. If it is empty, entries are for a user and contain the paths as given.
	Project string
}

// Entry is a server in the configuration of a client.
type Entry struct {
	// Name is the key of the entry in the file.
	Name string
	// LeftOut is why the client does not get the server. Empty means it does.
	LeftOut string
	// Value is the entry, in the members of the client.
	Value *tree.Node
	// Variables must be set in the client's environment, since the entry does not contain
	// their values.
	Variables []string
	// Launched reports whether the client starts the launcher.
	Launched bool
}

// translator builds one entry.
type translator struct {
	in check.Reporter // for the document of the server
	// client is the program to write for, server the definition, and merged where it comes
	// from.
	client *Client
	server *stax.Server
	merged *stax.Merged
	os     string
	entry  *Entry
	// shape is the form of the entry, by transport.
	shape    *Shape
	env      []pair // variables as the client gets them
	headers  []pair
	launched bool
	placed   bool         // arguments may refer to the project folder
	special  []stax.Field // members that refer to secrets
	findings []check.Finding
}

// pair is a variable or a header with its value.
type pair struct{ name, value string }

// Translate converts all servers to entries for one client and reports what is lost.
// Disabled servers are omitted.
func Translate(c *Client, m *stax.Merged, opts *Options) ([]Entry, *check.Report) {
	if opts == nil {
		opts = &Options{}
	}
	report := &check.Report{}
	var entries []Entry
	for i := range m.Config.Servers {
		s := &m.Config.Servers[i]
		entry, findings := translate(c, m, s, opts)
		report.Add(findings...)
		entries = append(entries, entry)
	}
	return entries, report
}

// translate returns the entry of a server for a client, with findings about what the
// client cannot represent. With [Auto], a server that would lose something is started
// through the launcher instead.
func translate(c *Client, m *stax.Merged, s *stax.Server, opts *Options) (Entry, []check.Finding) {
	if s.Disabled() {
		return Entry{
			Name:    s.Name,
			LeftOut: "it is disabled",
		}, nil
	}
	if opts.Via == Launcher {
		return launched(c, m, s, opts)
	}
	in := m.Origin(s.Name).Reporter(nil)
	paths := &portable{
		client:  c,
		project: opts.Project,
	}
	t := &translator{
		in:     in,
		client: c,
		server: paths.server(s, opts),
		merged: m,
		os:     opts.system(),
	}
	t.placed = t.server != s
	entry, findings := t.run()
	why := paths.why()
	if why != "" && entry.LeftOut == "" {
		findings = append(findings, in.Finding(ruleNotPortable, pointer(s, "args"),
			"", "%s", why))
	}
	if opts.Via == Auto &&
		slices.ContainsFunc(findings, func(f check.Finding) bool {
			return f.Severity == check.Warning
		}) {
		var lost []string
		for _, f := range findings {
			if f.Severity == check.Warning {
				lost = append(lost, f.Message)
			}
		}
		other, otherFindings := launched(c, m, s, opts)
		if other.LeftOut == "" {
			other.Launched = true
			note := in.Finding(ruleViaLauncher, pointer(s, ""), "",
				"%s reaches server %q through the launcher, as otherwise: %s", c.Name, s.Name,
				strings.Join(lost, "; "))
			return other, append(otherFindings, note)
		}
	}
	return entry, findings
}

// launched returns the entry that starts the launcher, which receives the secrets by
// their keys.
func launched(c *Client, m *stax.Merged, s *stax.Server, opts *Options) (Entry, []check.Finding) {
	in := m.Origin(s.Name).Reporter(nil)
	plain := &stax.Server{
		Name:    s.Name,
		Command: opts.program(),
		Secrets: passedOn(c, m, s, opts),
	}
	paths := &portable{
		client:  c,
		project: opts.Project,
	}
	plain.Args = launch(s.Name, paths.options(opts))
	t := &translator{
		in:       in,
		client:   c,
		server:   plain,
		merged:   stax.Merge(),
		os:       opts.system(),
		launched: true,
	}
	entry, findings := t.run()
	entry.Launched = true
	why := paths.why()
	if why != "" && entry.LeftOut == "" {
		findings = append(findings, t.in.Finding(ruleNotPortable, pointer(s, ""),
			"", "%s", why))
	}
	return entry, findings
}

// pointer returns the JSON pointer of a server's member in its document.
func pointer(s *stax.Server, member string) string {
	p := "/servers/" + jsonscan.EscapeToken(s.Name)
	if member != "" {
		p += "/" + member
	}
	return p
}

// add adds a finding about a member of the definition. The message begins with the name of the
// client.
func (t *translator) add(rule check.Rule, member, format string, args ...any) {
	t.findings = append(t.findings, t.in.Finding(rule, pointer(t.server, member), "",
		"%s %s", t.client.Name, fmt.Sprintf(format, args...)))
}

// lost reports what the client's format cannot express. The entry is written without it.
func (t *translator) lost(member, format string, args ...any) {
	t.add(ruleLossy, member, format, args...)
}

// leaveOut keeps the server from the client: an entry would not work, or would offer more than
// the definition allows.
func (t *translator) leaveOut(rule check.Rule, member, why string) {
	t.entry.LeftOut = why
	t.add(rule, member, "does not get server %q: %s", t.server.Name, why)
}

// run translates the server. An entry that the client could not use is omitted.
func (t *translator) run() (Entry, []check.Finding) {
	t.entry = &Entry{Name: t.server.Name}
	if bad := t.badName(); bad != "" {
		t.leaveOut(ruleClientName, "", fmt.Sprintf("it cannot carry %s in a name", bad))
		return *t.entry, t.findings
	}
	member := "command"
	switch t.shape = t.client.Stdio; {
	case t.server.Remote() && t.server.Transport == stax.SSE:
		t.shape = t.client.SSE
		member = "transport"
	case t.server.Remote():
		t.shape = t.client.HTTP
		member = "transport"
	}
	if t.shape == nil {
		what := "it starts no programs"
		if t.server.Remote() {
			what = fmt.Sprintf("it does not support %s", t.server.Transport)
		}
		t.leaveOut(ruleClientTransport, member, what)
		return *t.entry, t.findings
	}
	t.env = t.passed(pairs(t.server.Env))
	t.headers = pairs(t.server.Headers)
	t.wouldExpand()
	t.literals()
	t.secrets()
	t.login()
	t.build()
	return *t.entry, t.findings
}

// pairs returns a table in the order of its names, so that entries do not change by chance.
func pairs(table map[string]string) (list []pair) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		list = append(list, pair{name, table[name]})
	}
	return list
}

// passed returns the variables that the client passes to servers.
func (t *translator) passed(list []pair) []pair {
	return slices.DeleteFunc(list, func(p pair) bool {
		refused := slices.ContainsFunc(t.client.Refuses,
			func(name string) bool { return strings.EqualFold(name, p.name) })
		if refused {
			t.lost("env/"+escape(p.name), "refuses the variable %s", p.name)
		}
		return refused
	})
}

// badName returns the first character of the name that the client does not allow.
func (t *translator) badName() string {
	if t.client.Names == "" {
		return ""
	}
	for _, r := range t.server.Name {
		isPlain := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !isPlain && !strings.ContainsRune(t.client.Names, r) {
			return fmt.Sprintf("%q", r)
		}
	}
	return ""
}

// expansion returns the pattern that finds a form of reference in a literal.
func expansion(form string) *regexp.Regexp {
	return regexp.MustCompile(map[string]string{
		"${NAME}":      `\$\{[^}]*\}`,
		"${env:NAME}":  `\$\{env:[^}]*\}`,
		"${file:PATH}": `\$\{file:[^}]*\}`,
		"${{ }}":       `\$\{\{.*\}\}`,
		"$NAME":        `\$[A-Za-z_]`,
		"%NAME%":       `%[A-Za-z_][A-Za-z0-9_]*%`,
		"{env:NAME}":   `\{env:[^}]*\}`,
		"{file:PATH}":  `\{file:[^}]*\}`,
		"NAME":         `^[A-Z_][A-Z0-9_]*$`,
	}[form])
}

// wouldExpand reports literals that the client takes for references. None of the clients
// has a way to escape them.
func (t *translator) wouldExpand() {
	for _, form := range t.client.Expands {
		if form == "%NAME%" && t.os != "windows" {
			continue
		}
		find := expansion(form)
		check := func(member, value string) {
			if !find.MatchString(value) {
				return
			}
			where := strings.ReplaceAll(member, "/", " ")
			if member == "" {
				where = "the name of the server"
			}
			t.add(ruleWouldExpand, member, "reads %s in %s as a reference, and cannot escape it", form,
				where)
		}
		if form[0] == '{' { // expanded anywhere in the text of the file
			check("", t.server.Name)
			for _, p := range t.env {
				check("env/"+escape(p.name), p.name)
			}
		}
		for _, p := range t.env {
			check("env/"+escape(p.name), p.value)
		}
		// Expands only a value that is exactly the name of a set variable.
		if form == "NAME" {
			continue
		}
		check("command", t.server.Command)
		check("cwd", t.server.Cwd)
		check("url", t.server.URL)
		for i, arg := range t.server.Args {
			if t.launched || t.placed {
				// An intended reference.
				arg = strings.TrimPrefix(strings.TrimPrefix(arg, "file:"),
					t.client.ProjectDir+"/")
			}
			check(fmt.Sprintf("args/%d", i), arg)
		}
		for _, p := range t.headers {
			check("headers/"+escape(p.name), p.value)
		}
	}
}

// literals reports secrets in the definition that would be written to the client's file.
func (t *translator) literals() {
	if t.launched {
		return
	}
	for i := range t.server.Args {
		if why := stax.LooksSecretArgument(t.server.Args, i); why != "" {
			t.add(stax.RuleSecretLiteral.As(check.Warning), fmt.Sprintf("args/%d", i),
				"gets what looks like the value of a secret in its file: %s", why)
		}
	}
	if why := stax.LooksSecret("url", t.server.URL); why != "" {
		t.add(stax.RuleSecretLiteral.As(check.Warning), "url",
			"gets what looks like the value of a secret in its file: %s", why)
	}
}

// escape returns a name as a step of a JSON Pointer.
func escape(name string) string { return jsonscan.EscapeToken(name) }

// secrets adds references to the secrets in the client's syntax.
func (t *translator) secrets() {
	if t.server.Remote() {
		t.remoteSecrets()
		return
	}
	var list []string
	for _, key := range t.server.Secrets {
		expose := stax.ExposeAs{}
		if d := t.merged.Config.Declaration(key); d != nil {
			expose = d.ExposeAs
		}
		variable := expose.Env
		if variable == "" {
			variable = key
		}
		refs := t.client.References
		switch {
		case expose.File != "" && expose.Env == "":
			t.lost("secrets", "cannot give %s as a file", key)
			continue
		case refs.Value != "":
			t.env = append(t.env, pair{variable, fmt.Sprintf(refs.Value, key)})
		case refs.EnvList != "" && variable == key:
			t.needs(refs.EnvList, key)
			list = append(list, key)
		case refs.EnvList != "":
			t.lost("secrets", "passes %s on under its own name only, not as %s", key, variable)
			continue
		case t.launched: // the launcher finds secrets itself
		default:
			t.add(ruleSecretNoReference, "secrets",
				"cannot refer to a secret: set %s for it yourself, or use --via launcher", key)
			continue
		}
		if expose.File != "" {
			t.lost("secrets", "cannot give %s as a file", key)
		}
		t.entry.Variables = append(t.entry.Variables, key)
	}
	if list != nil {
		t.special = append(t.special, field(t.client.References.EnvList, list))
	}
}

// needs reports an optional secret that the client requires to start a server.
func (t *translator) needs(member, key string) {
	if d := t.merged.Config.Declaration(key); d != nil && d.Optional() && slices.Contains(t.client.References.Needed,
		member) {
		t.lost("secrets", "does not start the server without %s, which is optional", key)
	}
}

// field returns a member with its value as JSON.
func field(name string, v any) stax.Field {
	text, _ := json.Marshal(v)
	return stax.Field{
		Name:  name,
		Value: text,
	}
}

// remoteSecrets adds each secret to the header of its binding.
func (t *translator) remoteSecrets() {
	refs := t.client.References
	byHeader := map[string]string{}
	var list []string
	for _, b := range t.merged.BindingsOf(t.server) {
		keys := b.Keys()
		switch {
		case refs.Value != "" && len(t.shape.Headers) > 0:
			t.headers = append(t.headers, pair{b.Header, filled(b, refs.Value)})
		case refs.Header != "" && len(t.shape.Headers) > 0:
			t.headers = append(t.headers, pair{b.Header, filled(b, refs.Header)})
			for _, key := range keys {
				t.needs(refs.EnvList, key)
			}
			list = append(list, keys...)
		case refs.BearerVar != "" && strings.EqualFold(b.Header, "Authorization") &&
			b.Template == "Bearer {"+keys[0]+"}":
			t.needs(refs.BearerVar, keys[0])
			t.special = append(t.special, field(refs.BearerVar, keys[0]))
		case refs.HeaderVars != "" && b.Template == "{"+keys[0]+"}":
			byHeader[b.Header] = keys[0]
		case refs.HeaderVars != "":
			t.lost("secrets", "cannot put text around the secret in the header %s", b.Header)
			continue
		default:
			t.add(ruleSecretNoReference, "secrets", "cannot refer to a secret in a header: server %q gets no %s",
				t.server.Name, b.Header)
			continue
		}
		t.entry.Variables = append(t.entry.Variables, keys...)
	}
	if list != nil {
		slices.Sort(list)
		t.special = append(t.special, field(refs.EnvList, slices.Compact(list)))
	}
	if len(byHeader) > 0 {
		t.special = append(t.special, field(refs.HeaderVars, byHeader))
	}
	for _, key := range t.merged.Unbound(t.server) {
		t.add(stax.RuleSecretUnbound, "secrets",
			"gets no header for %s: none is bound to it", key)
	}
}

// filled returns the value of a header with references instead of secrets.
func filled(b stax.Binding, reference string) string {
	value := b.Template
	for _, key := range b.Keys() {
		value = strings.ReplaceAll(value, "{"+key+"}", fmt.Sprintf(reference, key))
	}
	return value
}

// build assembles the entry. The order of members is the same for all clients.
func (t *translator) build() {
	s := t.server
	shape := t.shape
	var members []stax.Field
	put := func(name string, v any) {
		members = append(members, field(name, v))
	}
	if t.client.List {
		put("name", s.Name)
	}
	if shape.Name != "" {
		put(shape.Name, s.Name)
	}
	members = append(members, shape.Const...)
	if shape.Description != "" {
		put(shape.Description, s.Description)
	}
	switch {
	case shape.CommandList:
		put(shape.Command, append([]string{s.Command}, s.Args...))
	case shape.Command != "":
		put(shape.Command, s.Command)
		if len(s.Args) > 0 || shape.ArgsAlways {
			put(shape.Args, append([]string{}, s.Args...))
		}
	default:
		put(shape.URL, s.URL)
	}
	if len(t.env) > 0 {
		members = append(members, table(shape.Env, t.env))
	}
	if len(t.headers) > 0 && len(shape.Headers) == 0 {
		t.lost("headers", "has no headers")
	} else if len(t.headers) > 0 {
		members = append(members, nested(shape.Headers, t.headers))
	}
	members = append(members, t.special...)
	if s.Cwd != "" && shape.Cwd == "" {
		t.lost("cwd", "does not support cwd")
	} else if s.Cwd != "" {
		put(shape.Cwd, s.Cwd)
		t.ignored("cwd", shape.Cwd)
	}
	t.tools(put)
	t.timeouts(put)
	for member, given := range map[string]bool{
		"description": s.Description != "" && shape.Description == "",
		"metadata":    len(s.Metadata) > 0,
		"registryRef": s.RegistryRef != nil,
	} {
		if given {
			t.add(ruleNotWritten, member, "does not support %s, which has no effect", member)
		}
	}
	for _, f := range s.Extra {
		t.add(ruleNotWritten, escape(f.Name),
			"does not get %q, which the format does not know", f.Name)
	}
	t.entry.Value = object(members)
}

// ignored reports that a member is written, but for other clients that share the file.
func (t *translator) ignored(member, name string) {
	if slices.Contains(t.client.Ignores, name) {
		t.lost(member, "ignores %s", name)
	}
}

// tools writes the lists of tools, unless the client would misread them.
func (t *translator) tools(put func(string, any)) {
	if overrides := t.merged.Config.OverridesOf(t.server.Name); len(overrides) > 0 {
		t.lost("", "does not support overrides: %d of the tools of %q are shown as the server has them",
			len(overrides), t.server.Name)
	}
	for _, list := range []struct {
		member, name string
		tools        []string
	}{
		{"enabledTools", t.client.EnabledTools, t.server.EnabledTools},
		{"disabledTools", t.client.DisabledTools, t.server.DisabledTools},
	} {
		switch {
		case list.tools == nil:
		case list.name != "" && len(list.tools) == 0 && t.client.EmptyIsAll &&
			list.member == "enabledTools":
			t.lost(list.member, "takes an empty list for all tools, and would offer every one")
		case list.name == "":
			t.lost(list.member, "does not support %s: it would offer every tool", list.member)
		default:
			put(list.name, list.tools)
			t.ignored(list.member, list.name)
		}
	}
}

// timeouts writes connectTimeoutMs if the client supports it. No client has a per-call
// limit or a watchdog equivalent to Slipway's.
func (t *translator) timeouts(put func(string, any)) {
	for _, own := range []struct {
		member string
		ms     int64
	}{
		{"callTimeoutMs", t.server.CallTimeoutMS}, {"hangTimeoutMs", t.server.HangTimeoutMS},
		{"pingTimeoutMs", t.server.PingTimeoutMS},
	} {
		if own.ms > 0 {
			t.add(ruleNotWritten, own.member, "does not support %s", own.member)
			t.findings[len(t.findings)-1].Hint = "--via launcher starts the server through Slipway, which applies it"
		}
	}
	ms := t.server.ConnectTimeoutMS
	switch timeout := t.client.Timeout; {
	case ms == 0:
	case timeout == nil:
		t.add(ruleNotWritten, "connectTimeoutMs", "does not support connectTimeoutMs, which is a hint")
	case timeout.Unit == "s":
		put(timeout.Field,
			json.Number(strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%03d", ms/1000, ms%1000), "0"), ".")))
	default:
		put(timeout.Field, ms)
	}
}

// table returns a member with an object, in the order of the pairs.
func table(name string, list []pair) stax.Field {
	var members []stax.Field
	for _, p := range list {
		members = append(members, field(p.name, p.value))
	}
	return stax.Field{
		Name:  name,
		Value: object(members).AppendJSON(nil),
	}
}

// nested returns a table at the end of a path of members.
func nested(path []string, list []pair) stax.Field {
	f := table(path[len(path)-1], list)
	for _, name := range slices.Backward(path[:len(path)-1]) {
		f = stax.Field{
			Name:  name,
			Value: object([]stax.Field{f}).AppendJSON(nil),
		}
	}
	return f
}

// object returns a tree of members in their order.
func object(members []stax.Field) *tree.Node {
	n := &tree.Node{Kind: tree.Object}
	for _, f := range members {
		value, err := tree.FromJSON(f.Value)
		if err != nil {
			continue // cannot fail for output of json.Marshal
		}
		n.Members = append(n.Members, tree.Member{
			Key:   f.Name,
			Value: value,
		})
	}
	return n
}
