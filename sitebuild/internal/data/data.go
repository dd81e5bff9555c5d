// Package data builds StaticMCP sites from data files and text templates: tools, resources
// and prompts whose answers are rendered once for each row of a table.
//
//	in, err := data.New("data", &data.Options{Templates: "templates", Answers: answers})
//	site, err := in.Site(ctx)
//
// Each CSV, JSON or YAML file in the folder is a set, which templates call by the file's
// name: statuses.yaml is statuses. Every text of an answer is a template, so that
//
//	{
//		Resource: "http://status/{{.status.code}}",
//		Each:     []map[string]string{{"status": "statuses"}},
//		Text:     "# {{.status.code}} {{.status.phrase}}\n",
//	}
//
// is one resource for each row of statuses.yaml. The answers of a table that need no text
// of their own are the subject of package sitebuild/table.
package data

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// Options configure an [Input].
type Options struct {
	// Templates is a folder of templates that the texts of answers can call by file name.
	// Default: none.
	Templates string
	// Answers are the definitions and their answers.
	Answers []Item
}

// Item defines one tool, prompt or resource template, or one resource for each row. Exactly
// one of Tool, Prompt, Template and Resource is set. All texts are templates.
type Item struct {
	Tool, Prompt string
	// Resource is a URI, Template a URI template. Name is the name of either.
	Resource, Template, Name string

	// Title, Description and MIMEType describe the item in the lists.
	Title, Description, MIMEType string

	// Arguments are those of a tool or prompt, in the order of the call.
	Arguments []Argument
	// Answers are the stored answers of a tool or prompt.
	Answers []Answer

	// Each, Text and File are for a resource; Text or the contents of File, a name in the
	// data folder, are what it holds.
	Each       []map[string]string
	Text, File string
}

// Answer is an answer of a tool or prompt for each combination of rows.
type Answer struct {
	// Each names the variables of loops and the lists they run through, outermost first.
	// A list is an expression of the template language, such as statuses or
	// sort "name" .topic.fields. Default: one answer.
	Each []map[string]string
	// With are the arguments of the call.
	With map[string]string
	// Text is the answer of a tool, or the only message of a prompt without Messages.
	Text string
	// Description is that of a prompt's answer.
	Description string
	// Messages are those of a prompt, in order.
	Messages []Message
}

// Message is a message of a prompt, from the user unless Role says otherwise: Text, or with
// Resource the embedded resource of that URI, which holds Text.
type Message struct{ Role, Text, Resource, MIMEType string }

// Error is a mistake in the answers.
type Error struct {
	// Path is the place, such as [2].answers[0].text.
	Path string
	// Err is what is wrong there.
	Err error
}

// Error returns the place and the cause.
func (e *Error) Error() string {
	return "answers" + e.Path + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Input is a folder of data with its answers. It is safe for concurrent use.
type Input struct {
	// dir is the folder with the data files and the answers.
	dir  string
	opts Options
}

var _ sitewriter.Input = (*Input)(nil)

// New returns the answers for the data in the folder dir. The files are read by Site.
func New(dir string, opts *Options) (*Input, error) {
	for _, folder := range []string{dir, opts.Templates} {
		info, err := os.Stat(folder)
		switch {
		case folder == "":
		case err != nil:
			return nil, err
		case !info.IsDir():
			return nil, fmt.Errorf("read data: %s is not a folder", folder)
		}
	}
	return &Input{dir, *opts}, nil
}

// Paths implements [sitewriter.Input].
func (in *Input) Paths() []string {
	if in.opts.Templates == "" {
		return []string{in.dir}
	}
	return []string{in.dir, in.opts.Templates}
}

const (
	// maxFileBytes limits a file of data, a template and a rendered text.
	maxFileBytes = 16 << 20
	// maxFiles limits the files of a folder.
	maxFiles = 1000
)

// readFile returns a file of a folder. Links that leave the folder are errors.
func readFile(dir, name string) ([]byte, error) {
	f, err := os.OpenInRoot(dir, filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxFileBytes)
	}
	return text, err
}

// fileNames returns the names of the files in a folder.
func fileNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxFiles {
		return nil, fmt.Errorf("%s has more than %d files", dir, maxFiles)
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// readSets returns the values of the data files in a folder by name.
func readSets(dir string) (map[string]any, error) {
	names, err := fileNames(dir)
	if err != nil {
		return nil, err
	}
	sets := make(map[string]any)
	for _, file := range names {
		decode := decoderOf(file)
		if decode == nil {
			continue
		}
		name := strings.TrimSuffix(file, filepath.Ext(file))
		path := filepath.Join(dir, file)
		if !token.IsIdentifier(name) || sets[name] != nil {
			return nil, fmt.Errorf("%s: a template can call data by a name that is a word, and once in the folder",
				path)
		}
		text, err := readFile(dir, file)
		if err != nil {
			return nil, err
		}
		value, err := decode(file, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		fillRows(value)
		sets[name] = value
	}
	return sets, nil
}

// decoderOf returns the function that decodes a data file, by the ending of its name, or nil for
// other files.
func decoderOf(file string) func(name string, text []byte) (any, error) {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".csv":
		return decodeCSV
	case ".json", ".yaml", ".yml":
		return decodeTree
	}
	return nil
}

// decodeCSV returns the rows below the first line, which names the columns. All cells are
// texts.
func decodeCSV(_ string, text []byte) (any, error) {
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, errors.New("no line with the names of columns")
	}
	var rows []any
	for _, record := range records[1:] {
		row := make(map[string]any)
		for i, column := range records[0] {
			row[column] = record[i]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// decodeTree decodes JSON or YAML. Numbers keep their digits until plainNumbers converts them.
func decodeTree(name string, text []byte) (any, error) {
	root, err := tree.ReadDocument(name, text)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(root.AppendJSON(nil)))
	decoder.UseNumber()
	var value any
	err = decoder.Decode(&value)
	return plainNumbers(value), err
}

// plainNumbers replaces numbers by integers where possible, which templates can compare
// and print with all their digits.
func plainNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plainNumbers(v[name])
		}
	}
	return value
}

// fillRows gives all rows of a table the same columns: "" if a row lacks one. A column that
// no row has is then an error of the template that names it.
func fillRows(value any) {
	rows, _ := value.([]any)
	columns := make(map[string]bool)
	for _, row := range rows {
		members, _ := row.(map[string]any)
		for name := range members {
			columns[name] = true
		}
	}
	for _, row := range rows {
		members, ok := row.(map[string]any)
		for name := range columns {
			if _, has := members[name]; ok && !has {
				members[name] = ""
			}
		}
	}
}
