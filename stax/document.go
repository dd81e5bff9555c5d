package stax

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/js"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// Format is the file format of a definition.
type Format uint8

// The formats of definitions. Zero means: detect by file name.
const (
	JSON   = Format(tree.JSON)
	JSONC  = Format(tree.JSONC)
	YAML   = Format(tree.YAML)
	TOML   = Format(tree.TOML)
	Script = Format(tree.TOML + 1) // TypeScript or JavaScript
)

// FormatOf returns the format for the extension of a file name, or zero.
func FormatOf(name string) Format {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json":
		return JSON
	case ".jsonc", ".json5":
		return JSONC
	case ".yaml", ".yml":
		return YAML
	case ".toml":
		return TOML
	case ".ts", ".mts", ".cts", ".js", ".mjs", ".cjs":
		return Script
	}
	return 0
}

// MaxBytes is the maximum size of a definitions file.
const MaxBytes = 1 << 20

// Document is a parsed file with its source positions.
type Document struct {
	// Name is the name for messages, and Format how the text was read.
	Name   string
	Format Format
	Config *Config // as much as could be read, even after errors
	// Imports are the files that a script imports: paths on disk after [ReadFile], otherwise
	// in [ParseOptions].Files.
	Imports []string

	// text and root are kept to find the lines of later findings.
	text     []byte
	root     *tree.Node
	declares bool // it has a list of declarations, possibly empty
}

// Members of a file that is also the configuration of slipway serve. Package
// internal/settings reads them; for definitions they mean nothing.
const (
	memberSources = "sources"
	memberServe   = "serve"
)

// ConfiguresServe reports whether the document has members for slipway serve next to its
// definitions, and may therefore have no servers.
func (d *Document) ConfiguresServe() bool {
	return d.root.Get(memberSources) != nil || d.root.Get(memberServe) != nil
}

// ParseOptions configures [Parse]. The zero value and nil are the defaults.
type ParseOptions struct {
	// Format is the format of the text. Zero means: detect by name, or else JSONC.
	Format Format
	// Files is the folder from which a script may import other scripts and JSON files, and
	// Path is the path of the script in it. Nil means that a script can only import "stax".
	Files fs.FS
	Path  string
}

// Parse reads definitions and reports all problems of this file taken by itself. name is
// used in messages, and its extension selects the format. The document is never nil; if
// the text cannot be read at all, it is empty.
func Parse(name string, text []byte, opts *ParseOptions) (*Document, *check.Report) {
	d, report := read(name, text, opts)
	if d.root != nil {
		newDecoder(d, report).config()
	}
	return d, report
}

// ParseSecrets is [Parse] for a file of declarations: {"secrets": [...]}, optionally with
// "bindings", or the bare list.
func ParseSecrets(name string, text []byte, opts *ParseOptions) (*Document, *check.Report) {
	d, report := read(name, text, opts)
	if d.root != nil {
		newDecoder(d, report).secretsOnly()
	}
	return d, report
}

// ReadFile is [Parse] for a file on disk. A script may import files of its project: of the
// closest folder around it with a package.json, tsconfig.json, deno.json or .git, or else
// of its own folder. The error is one of reading the file itself.
func ReadFile(name string) (*Document, *check.Report, error) {
	text, err := readFile(name)
	if err != nil {
		return nil, nil, err
	}
	if FormatOf(name) != Script {
		d, report := Parse(name, text, nil)
		return d, report, nil
	}
	dir, path := projectOf(name)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	d, report := Parse(name, text, &ParseOptions{
		Files: root.FS(),
		Path:  path,
	})
	for i, file := range d.Imports {
		d.Imports[i] = filepath.Join(dir, filepath.FromSlash(file))
	}
	return d, report, nil
}

// projectOf returns the folder of the project that a script belongs to, and the path of
// the script in it.
func projectOf(name string) (dir, path string) {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	dir, path = filepath.Split(name)
	dir = filepath.Clean(dir)
	for at, below := dir, path; ; {
		for _, marker := range []string{"package.json", "tsconfig.json", "deno.json", ".git"} {
			if _, err := os.Lstat(filepath.Join(at, marker)); err == nil {
				return at, below
			}
		}
		up := filepath.Dir(at)
		if up == at {
			return dir, path
		}
		at, below = up, filepath.Base(at)+"/"+below
	}
}

// ReadSecrets is [ParseSecrets] for a file on disk. The error is that of reading; faults of
// the text, and one of more than [MaxBytes], are in the report.
func ReadSecrets(name string) (*Document, *check.Report, error) {
	text, err := readFile(name)
	if err != nil {
		return nil, nil, err
	}
	d, report := ParseSecrets(name, text, nil)
	return d, report, nil
}

// readFile reads at most one byte over the limit, so that Parse can report the excess.
func readFile(name string) ([]byte, error) {
	text, err := fsutil.ReadFile(name, MaxBytes)
	if large := (*fsutil.TooLargeError)(nil); errors.As(err, &large) {
		err = nil
	}
	return text, err
}

// read parses the text of a file and reports faults of syntax, with the document as far as
// it could be read.
func read(name string, text []byte, opts *ParseOptions) (*Document, *check.Report) {
	report := &check.Report{}
	d := &Document{
		Name:   name,
		Config: &Config{},
		text:   text,
	}
	if opts != nil {
		d.Format = opts.Format
	}
	if d.Format == 0 {
		d.Format = FormatOf(name)
	}
	if d.Format == 0 {
		d.Format = JSONC
	}
	if len(text) > MaxBytes {
		d.Reporter(report).Add(ruleSize, "", "", "the file has more than 1 MB")
		return d, report
	}
	if d.Format != YAML &&
		(bytes.HasPrefix(text, []byte("\xff\xfe")) ||
			bytes.HasPrefix(text, []byte("\xfe\xff"))) {
		d.Reporter(report).Add(ruleSyntax, "", "", "the file is UTF-16; save it as UTF-8")
		return d, report
	}
	problems := []tree.Problem(nil)
	syntax := ruleSyntax
	if d.Format == Script {
		syntax = ruleScript
		script := js.Read(text, scriptOptions(opts))
		d.root = script.Root
		problems = script.Problems
		d.Imports = script.Imports
	} else {
		d.root, problems = tree.Parse(text, tree.Format(d.Format))
	}
	reporter := d.Reporter(report)
	for _, p := range problems {
		rule := syntax
		pointer := p.Pointer()
		if p.Duplicate {
			rule = ruleDuplicateName
			if d.Format == Script && d.root != nil {
				pointer = pointerAt(d.root, p.Offset)
			}
		}
		reporter.At(p.Offset).Add(rule, pointer, p.Hint, "%s", p.Message)
	}
	if at, length := longName(d.root); length > 0 {
		reporter.At(at).Add(ruleSize, "", "shorten it", "a name of %d bytes, more than %d", length, maxName)
		d.root = nil
	}
	return d, report
}

// maxName limits names in objects, in bytes. Findings about all that is below a name contain it, so
// a file of one long name and many members below it would take gigabytes.
const maxName = 1 << 10

// longName returns the position and the length of the first name that is too long, or 0.
func longName(n *tree.Node) (at, length int) {
	if n == nil {
		return 0, 0
	}
	for i := range n.Members {
		m := &n.Members[i]
		if len(m.Key) > maxName {
			return m.KeyStart, len(m.Key)
		}
		if at, length = longName(m.Value); length > 0 {
			return at, length
		}
	}
	for _, item := range n.Items {
		if at, length = longName(item); length > 0 {
			return at, length
		}
	}
	return 0, 0
}

// scriptOptions returns how a script finds the files that it imports.
func scriptOptions(opts *ParseOptions) *js.Options {
	if opts == nil {
		return nil
	}
	return &js.Options{
		Files: opts.Files,
		Name:  opts.Path,
	}
}

// pointerAt returns the JSON pointer of the member whose name starts at offset.
func pointerAt(n *tree.Node, offset int) string {
	for i := range n.Members {
		m := &n.Members[i]
		here := "/" + jsonscan.EscapeToken(m.Key)
		if m.KeyStart == offset {
			return here
		}
		if m.Value.Start > 0 && m.Value.Start <= offset && offset < m.Value.End {
			return here + pointerAt(m.Value, offset)
		}
	}
	return ""
}

// Reporter returns a reporter for findings about the document. A message may quote the
// file, but tokens in it are redacted.
func (d *Document) Reporter(report *check.Report) check.Reporter {
	return check.Reporter{
		Report: report,
		File:   d.Name,
		Document: &check.Document{
			Text: d.text,
			Find: d.offset,
		},
		Redact: redactTokens,
	}
}

// offset returns where the value at pointer or its closest existing ancestor begins.
func (d *Document) offset(pointer string) int {
	if d.root == nil {
		return 0
	}
	_, at := d.root.Find(pointer)
	return at
}
