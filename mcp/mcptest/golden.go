package mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/slipway-mcp/slipway/mcp"
)

// UpdateVariable is the environment variable that makes [Golden] rewrite its files:
// MCPTEST_UPDATE=1 go test ./...
const UpdateVariable = "MCPTEST_UPDATE"

// GoldenOptions configure [Golden]. Nil and the zero value are the defaults.
type GoldenOptions struct {
	// Calls, Reads, Prompts and Completions are requests to send in addition to the lists,
	// in this order. They can be those of [Options]: their expected answers are ignored, and
	// a Call with Blocks is skipped.
	Calls       []Call
	Reads       []Read
	Prompts     []Prompt
	Completions []Completion

	// Version is the protocol version to use; 0 means 2025-11-25, whose answers contain only
	// what the source returns, without repeated metadata.
	Version mcp.Version
	// Connect configures the client.
	Connect *ConnectOptions
	// Mask, if not nil, removes from a file's text what differs on each run, such as a time
	// or a random number. file is its path within the folder.
	Mask func(file string, text []byte) []byte
	// Update rewrites the files instead of comparing them, as [UpdateVariable] does.
	Update bool
}

// Golden compares what clients see of a Source with the files in a folder, usually below
// testdata: the lists, and the answers to the requests in opts.
//
//	server.json           the server's description of itself
//	tools.json            a list; so are resources, templates and prompts
//	calls/NAME.json       a tool's calls, with their results or errors
//	reads/URI.json        a resource; other characters than letters, digits and
//	                      . _ - become _
//	prompts/NAME.json     a prompt filled in
//	completions.json      suggestions
//
// If a file differs, the test fails and shows the lines. With Update, or MCPTEST_UPDATE=1
// in the environment, Golden writes the files and removes obsolete ones: review that like
// code. It does not touch other files in the folder. opts may be nil.
func Golden(tb testing.TB, source mcp.Source, dir string, opts *GoldenOptions) {
	tb.Helper()
	var o GoldenOptions
	if opts != nil {
		o = *opts
	}
	if o.Version == 0 {
		o.Version = mcp.Version20251125
	}
	g := &golden{
		tb:        tb,
		opts:      o,
		client:    Connect(tb, source, o.Version, o.Connect),
		files:     make(map[string][]byte),
		names:     make(map[[2]string]string),
		exchanges: make(map[string][]exchange),
	}
	g.play()
	kept, err := g.kept(dir)
	switch {
	case err != nil:
		tb.Fatalf("read the golden files: %v", err)
	case o.Update || os.Getenv(UpdateVariable) == "1":
		if err := g.write(dir, kept); err != nil {
			tb.Fatalf("write the golden files: %v", err)
		}
	default:
		g.compare(dir, kept)
	}
}

// golden sends the requests and collects the files.
type golden struct {
	// tb receives differences, and client makes the requests.
	tb     testing.TB
	opts   GoldenOptions
	client *Client
	files  map[string][]byte // by path within the folder, with slashes

	names     map[[2]string]string  // files by folder and the name of a tool, resource or prompt
	exchanges map[string][]exchange // by file
}

// exchange is a request and its answer, in the form of the files.
type exchange struct {
	// URI, Arguments or Completion is what was asked.
	URI        string          `json:"uri,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	Completion any             `json:"completion,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	Error      *wireError      `json:"error,omitempty"`
}

// play makes all requests, in an order that does not depend on the source.
func (g *golden) play() {
	g.tb.Helper()
	g.keep("server.json", g.client.Begun())
	g.list("tools.json", "tools/list", "tools")
	g.list("resources.json", "resources/list", "resources")
	g.list("templates.json", "resources/templates/list", "resourceTemplates")
	g.list("prompts.json", "prompts/list", "prompts")
	for _, c := range g.opts.Calls {
		if !c.Blocks {
			e := exchange{Arguments: json.RawMessage(c.Args)}
			g.ask(g.file("calls", c.Tool), e, "tools/call", namedParams(c.Tool, e.Arguments))
		}
	}
	for _, r := range g.opts.Reads {
		g.ask(g.file("reads", r.URI), exchange{URI: r.URI}, "resources/read", map[string]any{"uri": r.URI})
	}
	for _, p := range g.opts.Prompts {
		var e exchange
		if p.Args != nil {
			encoded, err := mcp.Marshal(p.Args)
			if err != nil {
				g.tb.Fatalf("prompt %s: %v", short(p.Name), err)
			}
			e.Arguments = encoded
		}
		g.ask(g.file("prompts", p.Name), e, "prompts/get", namedParams(p.Name, e.Arguments))
	}
	for _, c := range g.opts.Completions {
		g.ask("completions.json", exchange{Completion: c.Params}, "completion/complete", c.Params)
	}
	for file, all := range g.exchanges {
		g.keep(file, all)
	}
}

// namedParams returns the params of a tool call or a prompt.
func namedParams(name string, arguments json.RawMessage) map[string]any {
	params := map[string]any{"name": name}
	if len(arguments) > 0 {
		params["arguments"] = arguments
	}
	return params
}

// list stores a list, if the source has one.
func (g *golden) list(file, method, member string) {
	g.tb.Helper()
	all, err := list[json.RawMessage](g.client, method, member)
	var e *mcp.Error
	switch {
	case errors.As(err, &e) && e.Code == mcp.CodeMethodNotFound: // not supported
	case err != nil:
		g.tb.Fatalf("%s: %v", method, err)
	case len(all) > 0:
		g.keep(file, all)
	}
}

// ask sends a request and adds it with its answer to a file.
func (g *golden) ask(file string, e exchange, method string, params any) {
	g.tb.Helper()
	result, err := g.client.Try(method, params)
	e.Result = result
	if err != nil {
		e.Error = &wireError{err.Code, err.Message, err.Data}
	}
	g.exchanges[file] = append(g.exchanges[file], e)
}

// file returns the file in dir for a name. Names that need the same file get a number.
func (g *golden) file(dir, name string) string {
	key := [2]string{dir, name}
	if g.names[key] == "" {
		base := dir + "/" + fileName(name)
		file := base + ".json"
		for n := 2; g.isTaken(file); n++ {
			file = fmt.Sprintf("%s-%d.json", base, n)
		}
		g.names[key] = file
	}
	return g.names[key]
}

// isTaken reports whether a file name is used already. It ignores case, as some file
// systems do.
func (g *golden) isTaken(file string) bool {
	for _, other := range g.names {
		if strings.EqualFold(other, file) {
			return true
		}
	}
	return false
}

// keep stores v as the contents of a file.
func (g *golden) keep(file string, v any) {
	g.tb.Helper()
	encoded, err := mcp.Marshal(v)
	if err != nil {
		g.tb.Fatalf("%s: %v", file, err)
	}
	var text bytes.Buffer
	if err := json.Indent(&text, encoded, "", "  "); err != nil {
		g.tb.Fatalf("%s: %v", file, err)
	}
	text.WriteByte('\n')
	g.files[file] = text.Bytes()
	if g.opts.Mask != nil {
		g.files[file] = g.opts.Mask(file, text.Bytes())
	}
}

// fileName returns name in a form that is valid on every file system.
func fileName(name string) string {
	const longest = 100
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '-':
			return r
		}
		return '_'
	}, name)
	return strings.TrimLeft(name[:min(len(name), longest)], ".")
}

// kept reads the golden files, and ignores any that Golden never writes.
func (g *golden) kept(dir string) (map[string][]byte, error) {
	files := make(map[string][]byte)
	for _, pattern := range []string{
		"server.json", "tools.json", "resources.json", "templates.json", "prompts.json", "completions.json",
		"calls/*.json", "reads/*.json", "prompts/*.json",
	} {
		found, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			if err != nil {
				return nil, err
			}
			// Version control may have changed the line endings.
			files[name] = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		}
	}
	return files, nil
}

// compare reports the differences of each file, including missing and additional ones.
func (g *golden) compare(dir string, kept map[string][]byte) {
	g.tb.Helper()
	const hint = UpdateVariable + "=1 rewrites the files"
	if len(kept) == 0 {
		g.tb.Errorf("%s has no golden files; %s", dir, hint)
		return
	}
	failed := false
	for _, name := range slices.Sorted(maps.Keys(union(g.files, kept))) {
		got := g.files[name]
		want := kept[name]
		if bytes.Equal(got, want) {
			continue
		}
		failed = true
		switch path := filepath.Join(dir, filepath.FromSlash(name)); {
		case want == nil:
			g.tb.Errorf("%s is missing; it would be\n%s", path, got)
		case got == nil:
			g.tb.Errorf("%s is obsolete: no request has this answer, or the source lists nothing", path)
		default:
			g.tb.Errorf("%s (-want +got):\n%s", path, lineDiff(want, got))
		}
	}
	if failed {
		g.tb.Errorf("%s", hint)
	}
}

// lineDiff returns the lines in which got differs from want, with some context.
func lineDiff(want, got []byte) string {
	_, changes, _ := strings.Cut(string(diff.Diff("want", want, "got", got)), "+++ got\n")
	return changes
}

func union(a, b map[string][]byte) map[string][]byte {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// write writes the files that have changed, and removes obsolete ones.
func (g *golden) write(dir string, kept map[string][]byte) error {
	var errs []error
	for name, text := range g.files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if bytes.Equal(kept[name], text) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		errs = append(errs, os.WriteFile(path, text, 0o644))
	}
	for name := range kept {
		if g.files[name] == nil {
			errs = append(errs, os.Remove(filepath.Join(dir, filepath.FromSlash(name))))
		}
	}
	return errors.Join(errs...)
}
