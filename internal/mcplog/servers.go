package mcplog

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/process"
)

// Servers returns the servers of the recording whose conversations are separate: those that the
// recording program sent requests to, in the order of their numbers. It returns none if the
// program had clients of its own: their conversation, which is one, has everything.
func (rec *Recording) Servers() []Source {
	if rec.served() {
		return nil
	}
	var found []Source
	for i := range rec.Events {
		e := &rec.Events[i]
		known := slices.ContainsFunc(found, func(s Source) bool { return s.ID == e.Source })
		if e.Kind == Request && e.Direction == Out && !known {
			found = append(found, Source{
				ID:   e.Source,
				Name: rec.serverName(e.Source),
			})
		}
	}
	slices.SortFunc(found, func(a, b Source) int { return a.ID - b.ID })
	return found
}

// serverName returns the name of a server, or its number if it has none of its own.
func (rec *Recording) serverName(id int) string {
	name := ""
	for _, s := range rec.Header.Sources {
		if s.ID == id {
			name = s.Name
		}
	}
	same := func(s Source) bool { return s.ID != id && s.Name == name }
	if name == "" || slices.ContainsFunc(rec.Header.Sources, same) {
		return strconv.Itoa(id)
	}
	return name
}

// ServerError is the error for a recording of several servers, of which none was selected, or one
// that it does not have.
type ServerError struct {
	// Name is the selected server, or "", and Names are those of the recording.
	Name  string
	Names []string
	// File is the file of the recording, or "" if it is not known.
	File string
}

// Error implements the error interface.
func (e *ServerError) Error() string {
	names := strings.Join(e.Names, ", ")
	switch {
	case len(e.Names) == 0:
		return fmt.Sprintf("cannot select %q: the recording has one conversation", e.Name)
	case e.Name == "":
		return fmt.Sprintf("the recording has %d servers: %s", len(e.Names), names)
	}
	return fmt.Sprintf("the recording has no server %q, but %s", e.Name, names)
}

// Hint returns what to write instead.
func (e *ServerError) Hint() string {
	if len(e.Names) == 0 {
		return "name it without a server: " + process.PathWord(e.File)
	}
	return "select a server, such as " + process.PathWord(e.File+"#"+e.Names[0])
}

// OfServer returns the recording of one server, by its name, or its number where names are not
// unique. An empty name selects the only server. The error is a [*ServerError].
func (rec *Recording) OfServer(name string) (*Recording, error) {
	servers := rec.Servers()
	if name == "" && len(servers) < 2 {
		return rec, nil
	}
	wrong := &ServerError{Name: name}
	for _, s := range servers {
		if s.Name == name {
			return rec.only(s), nil
		}
		wrong.Names = append(wrong.Names, s.Name)
	}
	return nil, wrong
}

// only returns the recording without the other servers.
func (rec *Recording) only(s Source) *Recording {
	one := *rec
	one.Header.Sources = []Source{s}
	one.Events = slices.DeleteFunc(slices.Clone(rec.Events), func(e Event) bool {
		return e.Source != s.ID && e.Kind != Gap // which may concern any of them
	})
	return &one
}

// SplitServer splits FILE#NAME, which selects a server of a recording, at the first # after the
// name of a recording.
func SplitServer(arg string) (file, server string) {
	for i := range len(arg) {
		if arg[i] == '#' && IsRecording(arg[:i]) {
			return arg[:i], arg[i+1:]
		}
	}
	return arg, ""
}

// IsRecording reports whether a file name is that of a recording.
func IsRecording(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(strings.ToLower(name), ".gz"), ".mcplog")
}

// ReadServer reads the recording in a file with [ReadFile], and selects a server of FILE#NAME with
// [Recording.OfServer].
func ReadServer(arg string) (*Recording, error) {
	file, server := SplitServer(arg)
	rec, err := ReadFile(file)
	if err != nil {
		return nil, err
	}
	rec, err = rec.OfServer(server)
	var wrong *ServerError
	if errors.As(err, &wrong) {
		wrong.File = file
	}
	return rec, err
}
