package stax

import (
	"errors"
	"fmt"
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
		(&decoder{doc: d, report: report}).config()
	}
	return d, report
}

// ParseSecrets is [Parse] for a file of declarations: {"secrets": [...]}, optionally with
// "bindings", or the bare list.
func ParseSecrets(name string, text []byte, opts *ParseOptions) (*Document, *check.Report) {
	d, report := read(name, text, opts)
	if d.root != nil {
		(&decoder{doc: d, report: report}).secretsOnly()
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
		report.Add(d.at(0, check.Finding{Rule: "stax/size", Message: "the file has more than 1 MB",
			Hint: "definitions are small; is this the right file?"}))
		return d, report
	}
	rule, problems := "stax/syntax", []tree.Problem(nil)
	if d.Format == Script {
		rule = "stax/script"
		d.root, problems = js.Read(text)
	} else {
		d.root, problems = tree.Parse(text, tree.Format(d.Format))
	}
	for _, p := range problems {
		f := check.Finding{Rule: rule, Pointer: p.Pointer, Message: p.Message, Hint: p.Hint}
		if p.Duplicate {
			f.Rule = "stax/duplicate-name"
			if f.Pointer == "" && d.root != nil {
				f.Pointer = pointerAt(d.root, p.Offset)
			}
		}
		report.Add(d.at(p.Offset, f))
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

// at sets the position of a finding, and its hint if it has none. A message may quote the
// file, but tokens in it are redacted.
func (d *Document) at(offset int, f check.Finding) check.Finding {
	f.File = d.Name
	if f.Hint == "" {
		f.Hint = hints()[f.Rule]
	}
	f.Message, f.Hint = redactTokens(f.Message), redactTokens(f.Hint)
	f.Line, f.Column = check.LineColumn(d.text, offset)
	return f
}

// Place sets file, line and column of a finding from its Pointer.
func (d *Document) Place(f check.Finding) check.Finding {
	if d.root == nil {
		return d.at(0, f)
	}
	_, at := d.root.Find(f.Pointer)
	return d.at(at, f)
}

// pointer builds a JSON pointer from names and indices.
func pointer(tokens ...any) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(jsonscan.EscapeToken(fmt.Sprint(t)))
	}
	return b.String()
}
