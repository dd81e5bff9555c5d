package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/stax"
)

// Names are the names of configuration files in the current folder.
var names = []string{"slipway.yaml", "slipway.yml", "slipway.json", "slipway.jsonc", "slipway.toml"}

// maxSources limits the sources of a file.
const maxSources = 200

// File is a configuration file.
type File struct {
	// Path is the file, and Text its content.
	Path string
	Text []byte
	// Sources and Values are in the order of the file.
	Sources  []Source
	Values   []Value
	Document *stax.Document // the definitions in the same file

	root *tree.Node
}

// Source is an element of sources.
type Source struct {
	// Argument is the SOURCE, with a path relative to the current folder, or empty if
	// Command is set.
	Argument string
	Command  []string
	Name     string // "" for the name that follows from the source
	// Pointer and Line are where the source is in the file.
	Pointer string
	Line    int
}

// SeveralError is the error of [Find] for a folder with more than one configuration file.
type SeveralError struct{ Files []string }

// Error implements the error interface.
func (e *SeveralError) Error() string {
	return "several configuration files: " + strings.Join(e.Files, ", ")
}

// Find returns the configuration file in a folder, or "" if there is none.
func Find(dir string) (string, error) {
	var found []string
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			found = append(found, path)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if len(found) > 1 {
		return "", &SeveralError{found}
	}
	return strings.Join(found, ""), nil
}

// Read reads a file and reports all problems that it has by itself. The error says why it
// cannot be read at all.
func (t *Table) Read(path string) (*File, *check.Report, error) {
	text, err := fsutil.ReadFile(path, stax.MaxBytes)
	if err != nil {
		return nil, nil, err
	}
	f, report := t.Parse(path, text)
	return f, report, nil
}

// Parse is [Table.Read] for a text. path selects the format, and its folder is the one
// that relative paths start from.
func (t *Table) Parse(path string, text []byte) (*File, *check.Report) {
	doc, report := stax.Parse(path, text, nil)
	f := &File{
		Path:     path,
		Text:     text,
		Document: doc,
	}
	if doc.Format == stax.Script {
		doc.Reporter(report).Add(ruleType, "", "use YAML, JSON or TOML",
			"a script cannot configure serve")
		return f, report
	}
	root, _ := tree.Parse(text, tree.Format(doc.Format))
	if root == nil || root.Kind != tree.Object {
		return f, report // reported already
	}
	f.root = root
	if report.OK(false) {
		report.Merge(stax.Merge(doc).Check())
	}
	r := reader{
		Reporter: doc.Reporter(report),
		table:    t,
		file:     f,
		dir:      filepath.Dir(path),
	}
	r.refuseSecrets(root)
	r.sources(root.Get("sources"))
	r.serve(root.Get("serve"))
	if root.Get("sources") == nil && root.Get("servers") == nil {
		r.Add(ruleNothing, "", "", "there is nothing to serve: no sources and no servers")
	}
	return f, report
}

// HasServers reports whether the file has definitions of servers.
func (f *File) HasServers() bool { return len(f.Document.Config.Servers) > 0 }

// Value returns the value of the setting with that flag, or nil.
func (f *File) Value(flag string) *Value {
	for i := range f.Values {
		if f.Values[i].Setting.Flag == flag {
			return &f.Values[i]
		}
	}
	return nil
}

// Changed returns the settings that differ from those of another file, sorted by name.
func (f *File) Changed(from *File) []*Setting {
	was := from.values()
	is := f.values()
	changed := make(map[string]*Setting)
	for name, v := range is {
		old := was[name]
		if old == nil || !slices.Equal(old.Texts, v.Texts) {
			changed[name] = v.Setting
		}
	}
	for name, v := range was {
		if is[name] == nil {
			changed[name] = v.Setting
		}
	}
	sorted := make([]*Setting, 0, len(changed))
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		sorted = append(sorted, changed[name])
	}
	return sorted
}

// values returns the values of the file by the names of their settings.
func (f *File) values() map[string]*Value {
	all := make(map[string]*Value, len(f.Values))
	for i := range f.Values {
		all[f.Values[i].Setting.Name()] = &f.Values[i]
	}
	return all
}

// Conflict adds a finding about a setting, or about serve if the file does not set it.
// outside means that the environment may solve it: then it is a warning.
func (f *File) Conflict(report *check.Report, flag, hint, message string, outside bool) {
	at := "/serve"
	if v := f.Value(flag); v != nil {
		at = v.Pointer
	}
	rule := ruleConflict
	if outside {
		rule = rule.As(check.Warning)
	}
	f.Document.Reporter(report).Add(rule, at, hint, "%s", message)
}

// Missing adds a finding about a source or file that cannot be used.
func (f *File) Missing(report *check.Report, pointer, hint, message string) {
	f.Document.Reporter(report).Add(ruleMissing, pointer, hint, "%s", message)
}

// Probe verifies the files and addresses that the settings name.
func (f *File) Probe(report *check.Report) {
	for i := range f.Values {
		v := &f.Values[i]
		if v.Setting.Probe == nil {
			continue
		}
		for _, text := range v.Texts {
			if err := v.Setting.Probe(text); err != nil {
				f.Missing(report, v.Pointer, "", err.Error())
			}
		}
	}
}

// reader converts the tree of a file.
type reader struct {
	check.Reporter
	// table has the settings that exist, file what was read, and dir the folder that paths
	// are relative to.
	table *Table
	file  *File
	dir   string
}

// line returns the line of the value at pointer.
func (r *reader) line(pointer string) int {
	return r.Finding(ruleValue, pointer, "", "").Line
}

func (r *reader) wrongKind(n *tree.Node, at, want, hint string) {
	r.Add(ruleType, at, hint, "got %s, want %s", n.Kind, want)
}

// sources reads the list of sources.
func (r *reader) sources(n *tree.Node) {
	switch {
	case n == nil:
		return
	case n.Kind != tree.Array:
		r.wrongKind(n, "/sources", "a list", "write [...], with a SOURCE for each element")
		return
	case len(n.Items) > maxSources:
		r.Add(ruleSources, "/sources", "split them over several servers", "%d sources, want at most %d", len(n.Items),
			maxSources)
		return
	}
	seen := make(map[string]bool)
	for i, item := range n.Items {
		at := "/sources" + check.Pointer(i)
		s := r.source(item, at)
		if s == nil {
			continue
		}
		if s.Name != "" && seen[s.Name] {
			r.Add(ruleSourceName, at+"/name", "", "two sources have the name %q", s.Name)
		}
		seen[s.Name] = true
		r.file.Sources = append(r.file.Sources, *s)
	}
}

// source reads one source: a string, or an object.
func (r *reader) source(n *tree.Node, at string) *Source {
	s := &Source{
		Pointer: at,
		Line:    r.line(at),
	}
	switch n.Kind {
	case tree.String:
		s.Argument = n.Text
	case tree.Object:
		if !r.sourceObject(s, n, at) {
			return nil
		}
	default:
		r.wrongKind(n, at, "a string or an object", "")
		return nil
	}
	switch {
	case s.Argument == "" && len(s.Command) == 0:
		r.Add(ruleSources, at, "", "the source is empty")
		return nil
	case len(s.Command) > 0:
		if strings.ContainsAny(s.Command[0], `/\`) {
			s.Command[0] = ResolvePath(r.dir, s.Command[0])
		}
	default:
		s.Argument = ResolveSource(r.dir, s.Argument)
	}
	return s
}

// sourceObject reads the members of a source, and reports whether they can be used.
func (r *reader) sourceObject(s *Source, n *tree.Node, at string) bool {
	known := []string{"command", "name", "source"}
	ok := true
	for _, m := range n.Members {
		here := at + check.Pointer(m.Key)
		switch m.Key {
		case "source":
			s.Argument = m.Value.Text
			ok = r.want(m.Value, here, tree.String) && ok
		case "name":
			s.Name = m.Value.Text
			if ok = r.want(m.Value, here, tree.String) && ok; ok && !isName(s.Name) {
				r.Add(ruleSourceName, here, "", "%q cannot be the name of a source", s.Name)
			}
		case "command":
			if !r.want(m.Value, here, tree.Array) {
				return false
			}
			for i, word := range m.Value.Items {
				ok = r.want(word, here+check.Pointer(i), tree.String) && ok
				s.Command = append(s.Command, word.Text)
			}
		default:
			r.unknown(here, m.Key, known, "")
		}
	}
	if ok && (n.Get("source") == nil) == (n.Get("command") == nil) {
		r.Add(ruleSources, at, "", "want source or command, one of them")
		return false
	}
	if ok && n.Get("command") != nil && (len(s.Command) == 0 || s.Command[0] == "") {
		r.Add(ruleSources, at+"/command", "", "the command is empty")
		return false
	}
	return ok
}

func isName(name string) bool {
	return name != "" && len(name) <= 64 &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// ResolveSource is a [Setting.Resolve] for a SOURCE, which may be a path.
func ResolveSource(dir, source string) string {
	host, _, _ := strings.Cut(source, ":")
	switch {
	case strings.Contains(source, "://"), strings.HasPrefix(source, "exec:"), strings.HasPrefix(source, "file:"):
		return source
	case host == "localhost", host == "127.0.0.1", strings.HasPrefix(source, "[::1]"), source == "-":
		return source
	}
	return ResolvePath(dir, source)
}

func (r *reader) want(n *tree.Node, at string, kind tree.Kind) bool {
	if n.Kind == kind {
		return true
	}
	hint := ""
	if kind == tree.String && (n.Kind == tree.Number || n.Kind == tree.Bool) {
		hint = fmt.Sprintf("put it into quotes: %q", n.Text)
	}
	r.wrongKind(n, at, kind.String(), hint)
	return false
}

func (r *reader) unknown(at, key string, known []string, hint string) {
	near := nearest.DidYouMean(key, known)
	if hint == "" && near != "" {
		hint = "did you mean " + near + "?"
	}
	if hint == "" {
		hint = "its members are " + strings.Join(known, ", ")
	}
	r.Add(ruleUnknown, at, hint, "there is no %q here", key)
}

// serve reads the groups of settings.
func (r *reader) serve(n *tree.Node) {
	if n == nil {
		return
	}
	if n.Kind != tree.Object {
		r.wrongKind(n, "/serve", "an object", "its members are groups, as in serve: {limits: {rate: 20}}")
		return
	}
	var groups []string
	for _, g := range r.table.Groups {
		groups = append(groups, g.Key)
	}
	for _, m := range n.Members {
		at := "/serve" + check.Pointer(m.Key)
		switch {
		case !slices.Contains(groups, m.Key):
			r.unknown(at, m.Key, groups, r.meant(m.Key))
		case m.Value.Kind != tree.Object:
			r.wrongKind(m.Value, at, "an object", "")
		default:
			r.group(m.Key, m.Value, at)
		}
	}
}

// meant returns the hint for a member that is the name of a setting elsewhere, or of its
// flag.
func (r *reader) meant(key string) string {
	for i := range r.table.Settings {
		s := &r.table.Settings[i]
		if key == s.Key || fold(key) == fold(s.Flag) {
			return "did you mean " + s.Name() + "?"
		}
	}
	return ""
}

// fold makes rateLimit, rate_limit and rate-limit the same.
func fold(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c == '_' {
			return -1
		}
		return unicode.ToLower(c)
	}, name)
}

// group reads the settings of one group. Each value is verified as its flag would.
func (r *reader) group(group string, n *tree.Node, at string) {
	known := make(map[string]*Setting)
	for _, s := range r.table.Of(group) {
		known[s.Key] = s
	}
	for _, m := range n.Members {
		here := at + check.Pointer(m.Key)
		s := known[m.Key]
		if s == nil {
			hint := r.meant(m.Key)
			if secrets.Name(m.Key) && group == "access" {
				hint = "name a file with access.tokenFile, or set MCP_SERVER_TOKEN"
			}
			r.unknown(here, m.Key, slices.Sorted(maps.Keys(known)), hint)
			continue
		}
		texts, ok := r.texts(s, m.Value, here)
		if !ok || !r.valid(s, texts, here) {
			continue
		}
		r.file.Values = append(r.file.Values, Value{
			Setting: s,
			Texts:   r.resolved(s, texts),
			Pointer: here,
			Line:    r.line(here),
		})
	}
}

func (r *reader) resolved(s *Setting, texts []string) []string {
	if s.Resolve == nil {
		return texts
	}
	out := slices.Clone(texts)
	for i, text := range texts {
		if !slices.Contains(s.Words, text) {
			out[i] = s.Resolve(r.dir, text)
		}
	}
	return out
}

// valid reports whether the flag accepts the values, and adds a finding if not.
func (r *reader) valid(s *Setting, texts []string, at string) bool {
	for _, text := range texts {
		if strings.Contains(text, "${") {
			r.Add(ruleReference, at, "set "+s.Env+" instead, which takes precedence over the file",
				"nothing is expanded here")
		}
		if err := s.check(text); err != nil {
			hint := ""
			if near := nearest.DidYouMean(text, s.Words); near != "" {
				hint = "did you mean " + near + "?"
			}
			r.Add(ruleValue, at, hint, "%s: %s", s.Name(), err)
			return false
		}
	}
	return true
}

// check parses a value by the rules of its kind, which the schema also has, and then as
// the flag does.
func (s *Setting) check(text string) error {
	pattern := patterns[s.Kind]
	if pattern.re != nil && !pattern.re().MatchString(text) {
		return errors.New("want " + pattern.want)
	}
	port, err := strconv.Atoi(text)
	if err == nil && s.Kind == Address && (port < 0 || port > 65535) {
		return errors.New("want a port from 0 to 65535, or HOST:PORT")
	}
	if s.Kind == Choice && !slices.Contains(s.Words, text) {
		return errors.New("want " + strings.Join(s.Words, ", "))
	}
	if s.Check == nil {
		return nil
	}
	return s.Check(text)
}

// texts converts a value to the texts that the flag takes.
func (r *reader) texts(s *Setting, n *tree.Node, at string) (texts []string, ok bool) {
	switch s.Kind {
	case Bool:
		if !r.want(n, at, tree.Bool) {
			return nil, false
		}
		return []string{strconv.FormatBool((n.Text == "true") != s.Inverted)}, true
	case Int, Number:
		return []string{n.Text}, r.want(n, at, tree.Number)
	case Size, Duration, Address:
		if n.Kind == tree.Number {
			return []string{n.Text}, true
		}
	case List:
		if n.Kind == tree.Array {
			return r.list(n, at)
		}
	case Groups, Map:
		return r.pairs(s.Kind, n, at)
	}
	return []string{n.Text}, r.want(n, at, tree.String)
}

func (r *reader) list(n *tree.Node, at string) (texts []string, ok bool) {
	for i, item := range n.Items {
		if !r.want(item, at+check.Pointer(i), tree.String) {
			return nil, false
		}
		texts = append(texts, item.Text)
	}
	return texts, true
}

// pairs converts an object to NAME=VALUE texts.
func (r *reader) pairs(kind Kind, n *tree.Node, at string) (texts []string, ok bool) {
	if !r.want(n, at, tree.Object) {
		return nil, false
	}
	for _, m := range n.Members {
		here := at + check.Pointer(m.Key)
		values := []string{m.Value.Text}
		switch {
		case m.Key == "" || strings.Contains(m.Key, "="):
			r.Add(ruleValue, here, "", "%q cannot be a name here", m.Key)
			return nil, false
		case kind == Groups && m.Value.Kind == tree.Array:
			if values, ok = r.list(m.Value, here); !ok {
				return nil, false
			}
		case kind == Map && (m.Value.Kind == tree.Number || m.Value.Kind == tree.Bool):
		case !r.want(m.Value, here, tree.String):
			return nil, false
		}
		for _, value := range values {
			texts = append(texts, m.Key+"="+value)
		}
	}
	return texts, true
}

// refuseSecrets reports secrets in the members for serve. The definitions have their own
// rule.
func (r *reader) refuseSecrets(root *tree.Node) {
	for _, name := range []string{"sources", "serve"} {
		r.findSecrets(root.Get(name), "/"+name, name)
	}
}

// findSecrets reports values that look like secrets: the file is meant to be shared.
func (r *reader) findSecrets(n *tree.Node, at, name string) {
	if n == nil {
		return
	}
	for _, m := range n.Members {
		r.findSecrets(m.Value, at+"/"+jsonscan.EscapeToken(m.Key), m.Key)
	}
	for i, item := range n.Items {
		r.findSecrets(item, at+check.Pointer(i), name)
	}
	if n.Kind != tree.String || strings.HasSuffix(name, "File") ||
		slices.Contains(publicNames, name) {
		return
	}
	if why := stax.LooksSecret(name, n.Text); why != "" {
		r.Add(ruleSecret, at, "", "this looks like a secret: %s", why)
	}
}

// publicNames are settings whose values look random or have secret names, and are neither.
var publicNames = []string{"requireSigner", "secretsFrom", "key", "cert", "listen", "lock"}
