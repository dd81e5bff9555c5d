package stax

import (
	"errors"
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
	Name   string
	Format Format
	Config *Config // as much as could be read, even after errors

	text     []byte
	root     *tree.Node
	declares bool // it has a list of declarations, possibly empty
}

// ParseOptions configures [Parse]. The zero value and nil are the defaults.
type ParseOptions struct {
	// Format is the format of the text. Zero means: detect by name, or else JSONC.
	Format Format
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

// ReadFile is [Parse] for a file on disk. The error is one of reading it.
func ReadFile(name string) (*Document, *check.Report, error) {
	text, err := readFile(name)
	if err != nil {
		return nil, nil, err
	}
	d, report := Parse(name, text, nil)
	return d, report, nil
}

// ReadSecrets is [ParseSecrets] for a file on disk.
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

func read(name string, text []byte, opts *ParseOptions) (*Document, *check.Report) {
	report := &check.Report{}
	d := &Document{Name: name, Config: &Config{}, text: text}
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
	problems, syntax := []tree.Problem(nil), ruleSyntax
	if d.Format == Script {
		syntax = ruleScript
		d.root, problems = js.Read(text)
	} else {
		d.root, problems = tree.Parse(text, tree.Format(d.Format))
	}
	reporter := d.Reporter(report)
	for _, p := range problems {
		rule, pointer := syntax, p.Pointer
		if p.Duplicate {
			rule = ruleDuplicateName
			if pointer == "" && d.root != nil {
				pointer = pointerAt(d.root, p.Offset)
			}
		}
		reporter.At(p.Offset).Add(rule, pointer, p.Hint, "%s", p.Message)
	}
	return d, report
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
		Report:   report,
		File:     d.Name,
		Document: &check.Document{Text: d.text, Find: d.offset},
		Redact:   redactTokens,
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
