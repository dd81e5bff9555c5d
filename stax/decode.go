package stax

import (
	"encoding/json"
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
	doc *Document
}

func newDecoder(d *Document, report *check.Report) *decoder {
	return &decoder{Reporter: d.Reporter(report), doc: d}
}

func (d *decoder) config() {
	root := d.doc.root
	if root.Kind != tree.Object {
		d.Add(ruleServers, "", `write {"servers": {...}}`, "the file holds %s, not an object with servers",
			root.Kind.String())
		return
	}
	for _, m := range members(root) {
		switch m.Key {
		case "specVersion":
			d.specVersion(m.Value)
		case "servers":
			d.servers(m.Value)
		case "secrets":
			d.declarations(m.Value, "/secrets")
		case "bindings":
			d.bindings(m.Value)
		case "tools":
			d.overrides(m.Value)
		case "$schema":
			d.doc.Config.Extra = append(d.doc.Config.Extra, field(m))
		default:
			d.unknown(m, "", []string{"specVersion", "servers", "secrets", "bindings", "tools"}, &d.doc.Config.Extra)
		}
	}
	if root.Get("servers") == nil {
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

func field(m tree.Member) Field {
	return Field{m.Key, json.RawMessage(m.Value.AppendJSON(nil))}
}

func (d *decoder) unknown(m tree.Member, under string, known []string, extra *[]Field) {
	hint := "it is kept and has no effect"
	if near := nearest.DidYouMean(m.Key, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	if m.Key == "type" && under != "" {
		hint = "the kind follows from command or url; transport says how a url is spoken with"
	}
	d.Add(ruleUnknownField, under+check.Pointer(m.Key), hint, "the format has no %q here", m.Key)
	*extra = append(*extra, field(m))
}

func (d *decoder) specVersion(n *tree.Node) {
	const at = "/specVersion"
	var version string
	if !d.text(n, at, &version) {
		return
	}
	parts := strings.Split(strings.SplitN(strings.SplitN(version, "+", 2)[0], "-", 2)[0], ".")
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
		d.Add(ruleSpecVersion, at, `write "1.0.0"`, "there is no version %s of the format", version)
	case version != SpecVersion:
		d.Add(ruleSpecVersion.As(check.Warning), at, "",
			"version %s may have members that this program does not know", version)
	}
}

func (d *decoder) servers(n *tree.Node) {
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
		case strings.ContainsFunc(m.Key, func(r rune) bool { return r < ' ' || r == 0x7f }):
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
		alone := &tree.Node{Kind: tree.Object, Start: n.Start, Members: []tree.Member{m}}
		shadow := &Document{Name: d.doc.Name, text: d.doc.text, Config: &Config{},
			root: &tree.Node{Kind: tree.Object,
				Members: []tree.Member{{Key: "servers", Value: alone, KeyStart: n.Start}}}}
		newDecoder(shadow, d.Report).server(m.Key, m.Value, check.Pointer("servers", m.Key))
	}
}

// memberReader reads one member of a server.
type memberReader func(d *decoder, s *Server, n *tree.Node, at string)

// serverMembers returns the members of a server. only is the kind of server that the
// member requires: "command", "url", or "" for both.
func serverMembers() map[string]struct {
	only string
	read memberReader
} {
	type member = struct {
		only string
		read memberReader
	}
	text := func(of func(*Server) *string) memberReader {
		return func(d *decoder, s *Server, n *tree.Node, at string) { d.text(n, at, of(s)) }
	}
	list := func(of func(*Server) *[]string) memberReader {
		return func(d *decoder, s *Server, n *tree.Node, at string) { d.list(n, at, of(s)) }
	}
	table := func(of func(*Server) *map[string]string) memberReader {
		return func(d *decoder, s *Server, n *tree.Node, at string) { d.table(n, at, of(s)) }
	}
	return map[string]member{
		"command":       {"command", text(func(s *Server) *string { return &s.Command })},
		"args":          {"command", list(func(s *Server) *[]string { return &s.Args })},
		"env":           {"command", table(func(s *Server) *map[string]string { return &s.Env })},
		"cwd":           {"command", text(func(s *Server) *string { return &s.Cwd })},
		"url":           {"url", text(func(s *Server) *string { return &s.URL })},
		"headers":       {"url", table(func(s *Server) *map[string]string { return &s.Headers })},
		"transport":     {"url", text(func(s *Server) *string { return (*string)(&s.Transport) })},
		"description":   {"", text(func(s *Server) *string { return &s.Description })},
		"secrets":       {"", list(func(s *Server) *[]string { return &s.Secrets })},
		"enabledTools":  {"", list(func(s *Server) *[]string { return &s.EnabledTools })},
		"disabledTools": {"", list(func(s *Server) *[]string { return &s.DisabledTools })},
		"metadata":      {"", table(func(s *Server) *map[string]string { return &s.Metadata })},
		"enabled":       {"", (*decoder).enabled},
		"connectTimeoutMs": {"", func(d *decoder, s *Server, n *tree.Node, at string) {
			d.milliseconds(n, at, &s.ConnectTimeoutMS)
		}},
		"callTimeoutMs": {"", func(d *decoder, s *Server, n *tree.Node, at string) {
			d.milliseconds(n, at, &s.CallTimeoutMS)
		}},
		"hangTimeoutMs": {"", func(d *decoder, s *Server, n *tree.Node, at string) {
			d.milliseconds(n, at, &s.HangTimeoutMS)
		}},
		"pingTimeoutMs": {"", func(d *decoder, s *Server, n *tree.Node, at string) {
			d.milliseconds(n, at, &s.PingTimeoutMS)
		}},
		"isolate":     {"", (*decoder).isolate},
		"registryRef": {"", (*decoder).registryRef},
	}
}

func (d *decoder) server(name string, n *tree.Node, at string) Server {
	s := Server{Name: name}
	table := serverMembers()
	local, remote := n.Get("command") != nil, n.Get("url") != nil
	for _, m := range members(n) {
		known, ok := table[m.Key]
		if !ok {
			d.unknown(m, at, slices.Sorted(maps.Keys(table)), &s.Extra)
			continue
		}
		below := at + check.Pointer(m.Key)
		known.read(d, &s, m.Value, below)
		if m.Key != known.only && (known.only == "command" && remote && !local || known.only == "url" && local && !remote) {
			d.Add(ruleWrongKindField, below, "take it out, or move it to the right server",
				"%s goes with %s, and this server has none", m.Key, known.only)
		}
	}
	d.kindOf(&s, n, at, local, remote)
	d.rules(&s, at)
	return s
}

// kindOf verifies that a server has exactly one kind.
func (d *decoder) kindOf(s *Server, n *tree.Node, at string, local, remote bool) {
	switch {
	case local && remote:
		d.Add(ruleKind, at, "make two servers of it, or take one out",
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

func (d *decoder) transport(s *Server, n *tree.Node, at string) {
	given := n.Get("transport")
	if given == nil {
		hint := `write "transport": "http", or "sse" for a server of 2024-11-05`
		if n.Get("type") != nil {
			hint = "it is called transport here, not type"
		}
		d.Add(ruleKind, at+"/transport", hint, "server %q has a url and no transport", s.Name)
		return
	}
	if given.Kind != tree.String || s.Transport == HTTP || s.Transport == SSE {
		return
	}
	hint := `"http" is Streamable HTTP, "sse" the transport of 2024-11-05`
	if near := strings.ToLower(string(s.Transport)); strings.Contains(near, "http") {
		hint = `write "http"`
	}
	d.Add(ruleTransport, at+"/transport", hint, "there is no transport %s", quote(string(s.Transport)))
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
		hint = "leave it out"
	case want == tree.String && n.Kind == tree.Array && strings.HasSuffix(at, "/command"):
		hint = "the program is command, the rest goes into args"
	}
	d.Add(ruleType, at, hint, "this is %s, where %s belongs", n.Kind, want)
	return false
}

func (d *decoder) text(n *tree.Node, at string, into *string) bool {
	if !d.kind(n, at, tree.String) {
		return false
	}
	*into = n.Text
	return true
}

func (d *decoder) list(n *tree.Node, at string, into *[]string) {
	if !d.kind(n, at, tree.Array) {
		return
	}
	*into = []string{}
	for i, item := range n.Items {
		if here := at + check.Pointer(i); d.kind(item, here, tree.String) {
			*into = append(*into, item.Text)
		}
	}
}

func (d *decoder) table(n *tree.Node, at string, into *map[string]string) {
	if !d.kind(n, at, tree.Object) {
		return
	}
	*into = map[string]string{}
	for _, m := range members(n) {
		if d.kind(m.Value, at+check.Pointer(m.Key), tree.String) {
			(*into)[m.Key] = m.Value.Text
		}
	}
}

func (d *decoder) enabled(s *Server, n *tree.Node, at string) {
	if d.kind(n, at, tree.Bool) {
		yes := n.Text == "true"
		s.Enabled = &yes
	}
}

// maxTimeout is one day in milliseconds.
const maxTimeout = 24 * 60 * 60 * 1000

func (d *decoder) milliseconds(n *tree.Node, at string, into *int64) {
	if !d.kind(n, at, tree.Number) {
		return
	}
	ms, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || ms <= 0 || ms > maxTimeout || ms != float64(int64(ms)) {
		d.Add(ruleType, at, "10000 is ten seconds", "%s is not a whole number of milliseconds between 1 and a day",
			n.Text)
		return
	}
	*into = int64(ms)
}

func (d *decoder) registryRef(s *Server, n *tree.Node, at string) {
	if !d.kind(n, at, tree.Object) {
		return
	}
	ref := &RegistryRef{}
	s.RegistryRef = ref
	into := map[string]*string{
		"registry": &ref.Registry,
		"package":  &ref.Package,
		"version":  &ref.Version,
		"digest":   &ref.Digest,
	}
	for _, m := range members(n) {
		if to, ok := into[m.Key]; ok {
			d.text(m.Value, at+check.Pointer(m.Key), to)
			continue
		}
		d.unknown(m, at, slices.Sorted(maps.Keys(into)), &ref.Extra)
	}
	if n.Get("package") == nil || n.Get("package").Kind == tree.String && ref.Package == "" {
		d.Add(ruleType, at+"/package", "write the name of the server or the package in its registry",
			"registryRef names no package")
	}
	if ref.Digest != "" && !wellFormedDigest(ref.Digest) {
		d.Add(ruleDigest, at+"/digest", "sha256: and 64 hexadecimal digits", "this is no digest")
	}
}

func wellFormedDigest(digest string) bool {
	algorithm, hex, ok := strings.Cut(digest, ":")
	length, known := map[string]int{"sha256": 64, "sha384": 96, "sha512": 128}[algorithm]
	return ok && known && len(hex) == length && strings.Trim(hex, "0123456789abcdef") == ""
}
