// Package settings reads the configuration file of slipway serve, and generates its JSON
// schema and reference page. All of them come from one [Table], which the command derives
// from its flags: a setting has one name on the command line, one in the environment and
// one in the file, and the same values everywhere.
//
// The file is a definitions file of package stax with two more members:
//
//	sources: [./docs, https://mcp.example.com/mcp]
//	serve:
//	  limits: {rate: 20}
//
// Start with [Table.Parse].
package settings

import (
	"encoding/csv"
	"path/filepath"
	"strings"
)

// Kind is the type of a setting.
type Kind uint8

// The kinds of settings.
const (
	Text     Kind = iota // a string
	Bool                 // true or false
	Int                  // a whole number
	Number               // a number
	Size                 // bytes, such as 64MiB
	Duration             // a time, such as 10s
	Choice               // one of Setting.Words
	Address              // a string, or a port as a number
	List                 // several strings
	Groups               // an object of lists: NAME: [VALUE, ...]
	Map                  // an object of values: NAME: VALUE
)

// Setting is one setting of serve.
type Setting struct {
	// Group and Key are the names in the file: serve.GROUP.KEY.
	Group, Key string
	// Flag and Env are the names on the command line and in the environment.
	Flag, Env string
	// Usage describes the setting; it may contain one word in backquotes, the value.
	Usage   string
	Kind    Kind
	Default string   // "" if empty
	Words   []string // the choices of a Choice; of other kinds, words with a special meaning
	// Inverted means that the flag switches off what the member switches on.
	Inverted bool
	// Restart means that a running server cannot change it.
	Restart bool
	// Resolve makes a value independent of the current folder. dir is the folder of the
	// file. Nil means that values contain no paths.
	Resolve func(dir, value string) string
	// Check parses a value as the flag does, and returns what is wrong with it.
	Check func(value string) error
	// Probe verifies what a value names, such as a file, without using it. It may be nil.
	Probe func(value string) error
}

// Pointer is the JSON pointer of the setting in a file.
func (s *Setting) Pointer() string { return "/serve/" + s.Group + "/" + s.Key }

// Name is the name of the setting in messages, such as serve.limits.rate.
func (s *Setting) Name() string { return "serve." + s.Group + "." + s.Key }

// Group is a group of settings.
type Group struct {
	Key   string // in the file
	Title string // in the help
	About string // one sentence
}

// Table is all settings, by group.
type Table struct {
	// Groups are in the order of the help, and Settings by group.
	Groups   []Group
	Settings []Setting
}

// Of returns the settings of a group.
func (t *Table) Of(group string) (list []*Setting) {
	for i := range t.Settings {
		if t.Settings[i].Group == group {
			list = append(list, &t.Settings[i])
		}
	}
	return list
}

// Flag returns the setting with that flag, or nil.
func (t *Table) Flag(name string) *Setting {
	for i := range t.Settings {
		if t.Settings[i].Flag == name {
			return &t.Settings[i]
		}
	}
	return nil
}

// ResolvePath is a [Setting.Resolve] for paths of files.
func ResolvePath(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Value is a setting in a file.
type Value struct {
	Setting *Setting
	// Texts are the values as the flag takes them: several for lists and maps, else one.
	Texts []string
	// Pointer and Line are where the value is in the file.
	Pointer string
	Line    int
}

// Flag returns the value in the form in which the flag is set once: a list is a line of
// comma-separated values.
func (v *Value) Flag() string {
	if v.Setting.Kind != List && v.Setting.Kind != Groups {
		return strings.Join(v.Texts, "")
	}
	var line strings.Builder
	w := csv.NewWriter(&line)
	_ = w.Write(v.Texts) // a strings.Builder does not fail
	w.Flush()
	return strings.TrimSuffix(line.String(), "\n")
}
