package clients

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/stax/internal/edit"
)

// Selection selects files of a state. The zero value selects all.
type Selection struct {
	Clients []string // ids
	// Scope is the scope of the files; empty means both.
	Scope Scope
	// Servers are names of entries; nil means all.
	Servers []string
	// Sources selects entries that were written from these definitions files, given by
	// their absolute paths. Nil means all entries.
	Sources []string
}

// file reports whether the selection includes the file of a record. An empty selection
// includes all.
func (s *Selection) file(r *record) bool {
	return (len(s.Clients) == 0 || slices.Contains(s.Clients, r.Client)) &&
		(s.Scope == "" || s.Scope == r.Scope)
}

// any reports whether an entry of a file is selected, or the whole file is.
func (s *Selection) any(r *record) bool {
	if len(s.Servers) == 0 && s.Sources == nil {
		return true
	}
	for name, w := range r.Servers {
		if s.server(name, w) {
			return true
		}
	}
	return false
}

// server reports whether an entry of a file is selected.
func (s *Selection) server(name string, w written) bool {
	return (len(s.Servers) == 0 || slices.Contains(s.Servers, name)) &&
		(s.Sources == nil || slices.Equal(s.Sources, w.Sources))
}

// Servers returns the sorted names of the selected entries.
func (l *State) Servers(s *Selection) []string {
	var all []string
	for _, r := range l.files {
		if !s.file(r) {
			continue
		}
		for name, w := range r.Servers {
			if s.server(name, w) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Drift is the difference between an entry and its recorded value.
type Drift struct {
	// Client is the id of the client, Path its file, and Server the entry.
	Client string `json:"client"`
	Path   string `json:"path"`
	Server string `json:"server"`
	Change string `json:"change"` // "missing", "changed", or "unreadable" for a whole file
	// Fields are the members of the entry that differ.
	Fields []string `json:"fields,omitempty"`
	Why    string   `json:"why,omitempty"` // for a whole file
}

// Drift compares the client configuration files with what was written to them.
func (l *State) Drift(s *Selection) []Drift {
	var all []Drift
	for _, path := range l.Paths() {
		r := l.files[path]
		if !s.file(r) {
			continue
		}
		text, err := readFile(path)
		var there []edit.Entry
		c, _ := ByID(r.Client)
		if c != nil && (err == nil || errors.Is(err, fs.ErrNotExist)) {
			there, err = edit.Get(text, c.target())
		}
		if c == nil || err != nil {
			d := Drift{
				Client: r.Client,
				Path:   path,
				Change: "unreadable",
				Why:    "this version of slipway does not support the client",
			}
			if c != nil {
				d.Why = fsutil.Reason(err)
			}
			all = append(all, d)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(r.Servers)) {
			entry := entryOf(there, name)
			d := Drift{
				Client: r.Client,
				Path:   path,
				Server: name,
				Change: "missing",
			}
			if !s.server(name, r.Servers[name]) || r.pristine(name, entry) {
				continue
			}
			if entry != nil {
				d.Change = "changed"
				d.Fields = differing(r.entry(name), entry)
			}
			all = append(all, d)
		}
	}
	return all
}
