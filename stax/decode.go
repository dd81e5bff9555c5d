package stax

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// decoder converts the tree of a document to its Config.
type decoder struct {
	check.Reporter
	// doc is the document whose Config is filled in.
	doc *Document
}

// newDecoder returns a decoder that adds its findings to report.
func newDecoder(d *Document, report *check.Report) *decoder {
	return &decoder{
		Reporter: d.Reporter(report),
		doc:      d,
	}
}

// config decodes the top level. Without servers it names the likely reason: the file of a
// client.
func (d *decoder) config() {
	root := d.doc.root
	if root.Kind == tree.Null {
		d.Add(ruleServers, "", `write {"servers": {...}}`, "the file is empty, not an object with servers")
		return
	}
	if root.Kind != tree.Object {
		d.Add(ruleServers, "", `write {"servers": {...}}`, "the file contains %s, not an object with servers",
			root.Kind.String())
		return
	}
	extra := &d.doc.Config.Extra
	d.object(root, "", fields{
		"specVersion": d.specVersion,
		"servers":     d.servers,
		"secrets":     d.declarations,
		"bindings":    d.bindings,
		"tools":       d.overrides,
		"$schema": func(n *tree.Node, _ string) {
			*extra = append(*extra, Field{"$schema", n.AppendJSON(nil)})
		},
		memberSources: func(*tree.Node, string) {},
		memberServe:   func(*tree.Node, string) {},
	}, extra)
	if root.Get("servers") == nil && !d.doc.ConfiguresServe() {
		hint := `write {"servers": {...}}`
		for _, other := range []string{"mcpServers", "mcp_servers", "context_servers", "mcp"} {
			if root.Get(other) != nil {
				hint = fmt.Sprintf("%q is the name in the file of a client; slipway config import reads those", other)
			}
		}
		d.Add(ruleServers, "/servers", hint, "there are no servers")
	}
}

// members returns each name once, with its last value.
func members(n *tree.Node) []tree.Member {
	last := make(map[string]int, len(n.Members))
	for i, m := range n.Members {
		last[m.Key] = i
	}
	var out []tree.Member
	for i, m := range n.Members {
		if last[m.Key] == i {
			out = append(out, m)
		}
	}
	return out
}

// fields maps the names of an object's members to what [decoder.read] decodes them into.
type fields map[string]any

// The special targets of [decoder.read].
type (
	milliseconds int64                         // a duration of at most a day
	processCount int64                         // a number of processes
	forbidden    func(n *tree.Node, at string) // reports a member that must not be there
)

// object decodes the members of an object. Unknown ones are reported and added to extra.
// It reports whether n is an object.
func (d *decoder) object(n *tree.Node, at string, known fields, extra *[]Field) bool {
	if !d.kind(n, at, tree.Object) {
		return false
	}
	for _, m := range members(n) {
		if into, ok := known[m.Key]; ok {
			d.read(m.Value, at+check.Pointer(m.Key), into)
			continue
		}
		var names []string
		for _, name := range slices.Sorted(maps.Keys(known)) {
			if _, no := known[name].(forbidden); !no {
				names = append(names, name)
			}
		}
		d.unknown(m, at, names, extra)
	}
	return true
}

// read decodes a value into a pointer, or passes it to a function. It adds a finding and
// reports false if the value has the wrong kind.
func (d *decoder) read(n *tree.Node, at string, into any) bool {
	kind := tree.String
	switch into.(type) {
	case *[]string:
		kind = tree.Array
	case *map[string]string:
		kind = tree.Object
	case **bool:
		kind = tree.Bool
	case *milliseconds, *processCount:
		kind = tree.Number
	case func(*tree.Node, string), forbidden:
		kind = n.Kind
	}
	if !d.kind(n, at, kind) {
		return false
	}
	switch into := into.(type) {
	case *string:
		*into = n.Text
	case **string:
		*into = &n.Text
	case **bool:
		yes := n.Text == "true"
		*into = &yes
	case *[]string:
		*into = []string{}
		for i, item := range n.Items {
			if d.kind(item, at+check.Pointer(i), tree.String) {
				*into = append(*into, item.Text)
			}
		}
	case *map[string]string:
		*into = map[string]string{}
		for _, m := range members(n) {
			if d.kind(m.Value, at+check.Pointer(m.Key), tree.String) {
				(*into)[m.Key] = m.Value.Text
			}
		}
	case *milliseconds:
		d.milliseconds(n, at, into)
	case *processCount:
		d.processes(n, at, into)
	case func(*tree.Node, string):
		into(n, at)
	case forbidden:
		into(n, at)
	}
	return true
}

// unknown reports a member that the format does not define, and keeps it.
func (d *decoder) unknown(m tree.Member, under string, known []string, extra *[]Field) {
	hint := "it is kept and has no effect"
	// "server" is as near to serve, which is rare in definitions, as to servers.
	definitions := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return name == memberServe })
	near := cmp.Or(nearest.DidYouMean(m.Key, definitions), nearest.DidYouMean(m.Key, known))
	if near != "" {
		hint = "did you mean " + near + "?"
	}
	if m.Key == "type" && under != "" {
		hint = "remove it: command or url determines the kind, and transport the protocol of a url"
	}
	d.Add(ruleUnknownField, under+check.Pointer(m.Key), hint,
		"unknown member %q", m.Key)
	*extra = append(*extra, Field{m.Key, m.Value.AppendJSON(nil)})
}

// specVersion accepts all versions 1.x, and warns about later ones than this program
// knows.
func (d *decoder) specVersion(n *tree.Node, at string) {
	var version string
	if !d.read(n, at, &version) {
		return
	}
	release, _, _ := strings.Cut(version, "+")
	release, _, _ = strings.Cut(release, "-")
	parts := strings.Split(release, ".")
	major, err := strconv.Atoi(parts[0])
	wrong := err != nil || len(parts) != 3
	for _, p := range parts {
		_, err := strconv.ParseUint(p, 10, 32)
		wrong = wrong || err != nil
	}
	switch {
	case wrong:
		d.Add(ruleSpecVersion, at, `write "1.0.0"`, "%s is not a version", quote(version))
	case major > 1:
		d.Add(ruleSpecVersion, at, "get a newer slipway", "version %s is newer than this program, which reads 1.x",
			version)
	case major < 1:
		d.Add(ruleSpecVersion, at, `write "1.0.0"`,
			"unknown format version %s", version)
	case version != SpecVersion:
		d.Add(ruleSpecVersion.As(check.Warning), at, "",
			"version %s may have members that this program does not know", version)
	}
}

// servers decodes the servers by name. An invalid one does not hide the others.
func (d *decoder) servers(n *tree.Node, _ string) {
	if n.Kind == tree.Array {
		d.Add(ruleType, "/servers", "its members are the servers, by name", "servers is a list, not an object")
		return
	}
	if !d.kind(n, "/servers", tree.Object) {
		return
	}
	if len(n.Members) == 0 {
		d.Add(ruleNoServers, "/servers", "", "no server is defined")
	}
	d.overridden(n)
	for _, m := range members(n) {
		at := check.Pointer("servers", m.Key)
		switch {
		case strings.TrimSpace(m.Key) == "":
			d.Add(ruleName, at, "", "the name of a server is empty")
		case strings.ContainsFunc(m.Key, func(r rune) bool {
			return r < ' ' || r == 0x7f
		}):
			d.Add(ruleName, at, "", "the name of a server has a control character in it")
		}
		if d.kind(m.Value, at, tree.Object) {
			d.doc.Config.Servers = append(d.doc.Config.Servers, d.server(m.Key, m.Value, at))
		}
	}
}

// overridden checks servers that a later server of the same name replaces, so that one
// run reports their problems too.
func (d *decoder) overridden(n *tree.Node) {
	last := make(map[string]int, len(n.Members))
	for i, m := range n.Members {
		last[m.Key] = i
	}
	for i, m := range n.Members {
		if last[m.Key] == i || m.Value.Kind != tree.Object {
			continue
		}
		alone := &tree.Node{
			Kind:    tree.Object,
			Start:   n.Start,
			Members: []tree.Member{m},
		}
		shadow := &Document{
			Name:   d.doc.Name,
			text:   d.doc.text,
			Config: &Config{},
			root: &tree.Node{
				Kind:    tree.Object,
				Members: []tree.Member{{Key: "servers", Value: alone, KeyStart: n.Start}},
			},
		}
		newDecoder(shadow, d.Report).server(m.Key, m.Value, check.Pointer("servers", m.Key))
	}
}

// kindOfMember returns the kind of server that a member requires: "command", "url", or ""
// for both.
func kindOfMember(name string) string {
	switch name {
	case "args", "env", "cwd":
		return "command"
	case "headers", "transport", "auth", "callerHeaders":
		return "url"
	}
	return ""
}

// server decodes one server. It is local or remote: members of the other kind are
// reported.
func (d *decoder) server(name string, n *tree.Node, at string) Server {
	s := Server{Name: name}
	d.object(n, at, fields{
		"command":          &s.Command,
		"args":             &s.Args,
		"env":              &s.Env,
		"cwd":              &s.Cwd,
		"url":              &s.URL,
		"headers":          &s.Headers,
		"callerHeaders":    &s.CallerHeaders,
		"transport":        (*string)(&s.Transport),
		"description":      &s.Description,
		"secrets":          &s.Secrets,
		"enabledTools":     &s.EnabledTools,
		"disabledTools":    &s.DisabledTools,
		"metadata":         &s.Metadata,
		"enabled":          &s.Enabled,
		"connectTimeoutMs": (*milliseconds)(&s.ConnectTimeoutMS),
		"callTimeoutMs":    (*milliseconds)(&s.CallTimeoutMS),
		"hangTimeoutMs":    (*milliseconds)(&s.HangTimeoutMS),
		"pingTimeoutMs":    (*milliseconds)(&s.PingTimeoutMS),
		"auth": func(n *tree.Node, at string) {
			d.auth(&s, n, at)
		},
		"isolate": func(n *tree.Node, at string) {
			d.isolate(&s, n, at)
		},
		"failover": func(n *tree.Node, at string) {
			d.failover(&s, n, at)
		},
		"registryRef": func(n *tree.Node, at string) {
			d.registryRef(&s, n, at)
		},
	}, &s.Extra)
	local := n.Get("command") != nil
	remote := n.Get("url") != nil
	given := "command"
	if remote {
		given = "url"
	}
	for _, m := range members(n) {
		kind := kindOfMember(m.Key)
		if local != remote && kind != "" && kind != given {
			d.Add(ruleWrongKindField, at+check.Pointer(m.Key), "remove it, or move it to the right server",
				"%s requires %s, which this server lacks", m.Key, kind)
		}
	}
	d.kindOf(&s, n, at, local, remote)
	d.contradiction(&s, at)
	d.rules(&s, at)
	return s
}

// kindOf verifies that a server has exactly one kind.
func (d *decoder) kindOf(s *Server, n *tree.Node, at string, local, remote bool) {
	switch {
	case local && remote:
		d.Add(ruleKind, at, "make two servers of it, or remove one",
			"server %q has command and url; it can have one of them", s.Name)
	case !local && !remote:
		hint := `write "command", or "url" with "transport"`
		for _, other := range []string{"httpUrl", "serverUrl", "uri", "endpoint", "cmd"} {
			if n.Get(other) != nil {
				hint = fmt.Sprintf("%s is called command or url here", other)
			}
		}
		d.Add(ruleKind, at, hint, "server %q has neither command nor url", s.Name)
	case remote:
		d.transport(s, n, at)
	}
}

// transport reports a remote server without a transport: its URL does not say whether it
// is http or sse.
func (d *decoder) transport(s *Server, n *tree.Node, at string) {
	given := n.Get("transport")
	if given == nil {
		hint := `write "transport": "http", or "sse" for a server of 2024-11-05`
		if n.Get("type") != nil {
			hint = "it is called transport here, not type"
		}
		d.Add(ruleKind, at+"/transport", hint,
			"server %q has a url and no transport", s.Name)
		return
	}
	if given.Kind != tree.String || s.Transport == HTTP || s.Transport == SSE {
		return
	}
	hint := `"http" is Streamable HTTP, "sse" the transport of 2024-11-05`
	if near := strings.ToLower(string(s.Transport)); strings.Contains(near, "http") {
		hint = `write "http"`
	}
	d.Add(ruleTransport, at+"/transport", hint, "unknown transport %s",
		quote(string(s.Transport)))
}

// kind reports whether a value has the kind that the format requires, and adds a finding
// if it does not.
func (d *decoder) kind(n *tree.Node, at string, want tree.Kind) bool {
	if n.Kind == want {
		return true
	}
	hint := map[tree.Kind]string{
		tree.Object: "write {...} with names and values",
		tree.Array:  "write [...]",
		tree.Bool:   "write true or false",
		tree.Number: "write a number, without quotes",
		tree.String: "write a string, in quotes",
	}[want]
	switch {
	case want == tree.String && (n.Kind == tree.Number || n.Kind == tree.Bool):
		hint = fmt.Sprintf("put it into quotes: %q", n.Text)
	case want == tree.Array && n.Kind == tree.String:
		hint = "put it into brackets, one string for each element"
	case n.Kind == tree.Null:
		hint = "remove it"
	case want == tree.String && n.Kind == tree.Array && strings.HasSuffix(at, "/command"):
		hint = "the program is command, the rest goes into args"
	}
	d.Add(ruleType, at, hint, "got %s, want %s", n.Kind, want)
	return false
}

// maxTimeout is one day in milliseconds.
const maxTimeout = 24 * 60 * 60 * 1000

// milliseconds decodes a timeout of up to a day. 1e4 is a whole number as well.
func (d *decoder) milliseconds(n *tree.Node, at string, into *milliseconds) {
	ms, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || ms <= 0 || ms > maxTimeout || ms != float64(int64(ms)) {
		d.Add(ruleType, at, "10000 is ten seconds", "%s is not a whole number of milliseconds between 1 and a day",
			n.Text)
		return
	}
	*into = milliseconds(ms)
}

// registryRef decodes where a definition comes from.
func (d *decoder) registryRef(s *Server, n *tree.Node, at string) {
	ref := &RegistryRef{}
	known := fields{
		"registry": &ref.Registry,
		"package":  &ref.Package,
		"version":  &ref.Version,
		"digest":   &ref.Digest,
	}
	if !d.object(n, at, known, &ref.Extra) {
		return
	}
	s.RegistryRef = ref
	if n.Get("package") == nil ||
		n.Get("package").Kind == tree.String && ref.Package == "" {
		d.Add(ruleType, at+"/package", "write the name of the server or the package in its registry",
			"registryRef has no package")
	}
	if ref.Digest != "" && !wellFormedDigest(ref.Digest) {
		d.Add(ruleDigest, at+"/digest", "sha256: and 64 hexadecimal digits",
			"this is not a digest")
	}
}

// wellFormedDigest reports whether a digest is an algorithm and as many lower-case hexadecimal
// digits as it has.
func wellFormedDigest(digest string) bool {
	algorithm, hex, ok := strings.Cut(digest, ":")
	length, known := map[string]int{"sha256": 64, "sha384": 96, "sha512": 128}[algorithm]
	return ok && known && len(hex) == length && strings.Trim(hex, "0123456789abcdef") == ""
}
