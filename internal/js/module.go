package js

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// Limits of the files that a script imports, directly or through another file.
const (
	maxImports     = 64
	maxImportBytes = 4 << 20 // of all files together
	maxImportDepth = 16
	importSteps    = 100 // of an import, for finding the file
)

// module is a file: the script itself, or one that it imports. The texts of all files are
// one after the other in reader.all, so a position identifies its file.
type module struct {
	name       string // its path in Options.Files
	start, end int    // of its text
	from       *module
	importedAt int // the position of the import in from
	depth      int
	exports    map[string]value // "default" is the default export
	common     bool             // the default export has the named ones as members, as in CommonJS
	state      state
}

// state is the progress of reading a module: reading → complete or failed.
type state uint8

// The states of a module. One that imports itself is found reading.
const (
	reading state = iota
	complete
	failed // its problems were reported
)

// get returns an export.
func (m *module) get(name string) (value, bool) {
	if m.state == failed {
		return hole(), true
	}
	v, ok := m.exports[name]
	whole := m.exports["default"]
	if !ok && m.common && isKind(whole, tree.Object) {
		n := whole.node.Get(name)
		return value{node: n}, n != nil
	}
	return v, ok
}

// namespace returns the value of import * as name.
func (m *module) namespace() value {
	notCallable := func(_ *reader, at int, _ []value) value {
		panic(fail(at, "this is not a function", ""))
	}
	return value{fn: &function{
		exports: m,
		given:   notCallable,
	}}
}

// oneFile is the hint for an import that is not supported.
const oneFile = "put all definitions into one file, or merge several files"

// load returns the file that a path in an import statement or a call of require leads to.
// at is the position of that path.
func (r *reader) load(at int, specifier string) *module {
	cannot := func(why, hint string) *fault {
		return fail(at, fmt.Sprintf("cannot import %q: %s", specifier, why), hint)
	}
	if r.opts.Files == nil {
		panic(cannot(`only "stax" can be imported`, oneFile))
	}
	if !strings.HasPrefix(specifier, "./") && !strings.HasPrefix(specifier, "../") {
		panic(cannot(`only "stax" and files of the project can be imported`, oneFile))
	}
	r.steps += importSteps
	name, err := r.locate(specifier)
	switch {
	case errors.Is(err, errOutside):
		panic(cannot("the file is outside the project", "move it into the folder of the project"))
	case err != nil:
		panic(cannot("the file does not exist", ""))
	}
	for _, m := range r.modules {
		if m.name == name && m.state == reading {
			panic(cannot("import cycle: "+r.cycle(m),
				"move the shared declarations to a third file"))
		}
		if m.name == name {
			return m
		}
	}
	m := &module{
		name:       name,
		from:       r.module,
		importedAt: at,
		depth:      r.module.depth + 1,
		exports:    map[string]value{},
	}
	if len(r.modules) > maxImports || m.depth > maxImportDepth {
		panic(cannot(fmt.Sprintf("more than %d files, or %d in a row", maxImports,
			maxImportDepth), ""))
	}
	text, err := fsutil.ReadRegular(r.opts.Files, name, int64(maxImportBytes-r.imported))
	if large := (*fsutil.TooLargeError)(nil); errors.As(err, &large) {
		panic(cannot(fmt.Sprintf("the imported files have more than %d MiB",
			maxImportBytes>>20), ""))
	} else if err != nil {
		panic(cannot("the file cannot be read", ""))
	}
	r.imported += len(text)
	r.add(m, text)
	r.evaluate(m)
	return m
}

// errOutside is the error for an import of a path that leaves the folder of the files.
var errOutside = errors.New("outside the project")

// locate returns the path of the file that a specifier means: the path itself, or with an
// extension that TypeScript and Node would try.
func (r *reader) locate(specifier string) (string, error) {
	name := path.Join(path.Dir(r.module.name), specifier)
	if !fs.ValidPath(name) {
		return "", errOutside
	}
	candidates := []string{name}
	stem, ok := strings.CutSuffix(name, "js")
	if ok && strings.HasSuffix(strings.TrimRight(stem, "mc"), ".") {
		// TypeScript names the file that it will write
		candidates = append(candidates, stem+"ts")
	}
	for _, suffix := range []string{"", "/index"} {
		for _, extension := range []string{".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".json"} {
			candidates = append(candidates, name+suffix+extension)
		}
	}
	for _, candidate := range candidates {
		info, err := fs.Stat(r.opts.Files, candidate)
		if err == nil && info.Mode().IsRegular() {
			return candidate, nil
		}
	}
	return "", fs.ErrNotExist
}

// cycle returns the chain of imports that leads from m back to it.
func (r *reader) cycle(m *module) string {
	names := []string{m.name}
	for at := r.module; at != m; at = at.from {
		names = append(names, at.name)
	}
	names = append(names, m.name)
	slices.Reverse(names)
	return strings.Join(names, " → ")
}

// add appends the text of a module to the text of all.
func (r *reader) add(m *module, text []byte) {
	if len(r.modules) > 0 {
		r.all = append(r.all[:len(r.all):len(r.all)], '\n')
	}
	if r.opts.Lenient {
		text = bytes.ToValidUTF8(text, []byte("\ufffd"))
	}
	m.start = len(r.all)
	r.all = append(r.all, text...)
	m.end = len(r.all)
	r.modules = append(r.modules, m)
}

// enter makes m the current module.
func (r *reader) enter(m *module) {
	r.module = m
	r.text = r.all[:m.end]
}

// evaluate reads a module that was just added. Its problems are reported where they are.
func (r *reader) evaluate(m *module) {
	at := r.at
	outer := r.module
	scoped := r.scope
	exporting := r.exporting
	depth := r.depth
	defer func() {
		r.at = at
		r.scope = scoped
		r.exporting = exporting
		r.depth = depth
		r.enter(outer)
	}()
	r.enter(m)
	r.at = m.start
	r.exporting = false
	r.scope = &scope{names: given()}
	read := r.statements
	switch c := r.peekByte(); {
	case r.opts.Lenient && (c == '{' || c == '['):
		m.common = true
		read = r.exportValue
	case strings.HasSuffix(m.name, ".json"):
		read = r.data
	}
	f := r.try(read)
	m.state = complete
	if f != nil {
		m.state = failed
		r.skipFault(f)
	}
}

// data reads the current module as JSON.
func (r *reader) data() {
	m := r.module
	n, problems := tree.Parse(r.all[m.start:m.end], tree.JSON)
	for _, p := range problems {
		p.Offset += m.start
		p = p.WithoutPointer()
		r.problem(p)
	}
	if n == nil {
		panic(&fault{hole: true})
	}
	orderMembers(n)
	move(n, m.start)
	m.common = true
	m.exports["default"] = value{node: n}
}

// orderMembers gives the members of all objects the order of JSON.parse: a repeated name
// has its last value, and names that are array indexes come first.
func orderMembers(n *tree.Node) {
	for _, item := range n.Items {
		orderMembers(item)
	}
	o := newObject(n.Start)
	for _, m := range n.Members {
		orderMembers(m.Value)
		o.set(m)
	}
	n.Members = o.ordered().Members
}

// move shifts the positions of a tree.
func move(n *tree.Node, by int) {
	n.Start = n.Start + by
	n.End = n.End + by
	for _, item := range n.Items {
		move(item, by)
	}
	for i := range n.Members {
		m := &n.Members[i]
		m.KeyStart = m.KeyStart + by
		m.KeyEnd = m.KeyEnd + by
		move(m.Value, by)
	}
}

// containing returns the module of a position.
func (r *reader) containing(at int) *module {
	i, found := slices.BinarySearchFunc(r.modules, at, func(m *module, at int) int {
		return m.start - at
	})
	if !found {
		i--
	}
	return r.modules[max(i, 0)]
}

// inScript returns the position in the script itself through which it imports what is at
// a position.
func (r *reader) inScript(at int) int {
	for m := r.containing(at); m.from != nil; m = m.from {
		at = m.importedAt
	}
	return at
}

// placed returns a problem with its position in the script itself. The message of one in
// an imported file begins with its position there.
func (r *reader) placed(p tree.Problem) tree.Problem {
	m := r.containing(p.Offset)
	if m.from == nil {
		return p
	}
	before := r.all[m.start:p.Offset]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	p.Message = fmt.Sprintf("%s:%d:%d: %s", m.name, line, column, p.Message)
	p.Offset = r.inScript(p.Offset)
	return p
}

// settle moves the positions of imported values into the script, and returns the number
// of values, up to more than maxValues. A value that occurs several times counts each
// time, as in every encoding of the tree.
func (r *reader) settle(n *tree.Node, sizes map[*tree.Node]int) int {
	if size, ok := sizes[n]; ok {
		return size
	}
	if at := r.inScript(n.Start); at != n.Start {
		n.Start = at
		n.End = 0
	}
	size := 1
	for _, item := range n.Items {
		size += r.settle(item, sizes)
	}
	for i := range n.Members {
		m := &n.Members[i]
		if at := r.inScript(m.KeyStart); at != m.KeyStart {
			m.KeyStart = at
			m.KeyEnd = at
		}
		size += r.settle(m.Value, sizes)
	}
	size = min(size, r.limit(maxValues)+1)
	sizes[n] = size
	return size
}
