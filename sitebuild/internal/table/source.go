package table

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/nearest"
)

// source is a table as read from its file. CSV, JSON, JSON Lines and SQLite differ only in
// how they make one: its columns, its rows of cells, and their lines.
type source struct {
	name string // of the table
	file string // for messages
	only bool   // the file has no other table
	// columns are the column names. The first walk of a JSON file adds new ones.
	columns []string
	// index is the position of each column.
	index map[string]int
	// nested are the columns that are members of an object in another column, such as
	// name.common. Rows show the object; keys, finders and search use the members.
	nested map[int]bool
	// key is the primary key declared in the file.
	key []string
	// refs are its single-column foreign keys.
	refs map[string]ref
	// walk calls each for every row in turn; the row is valid until the next call. A row may
	// be shorter than the columns: the missing cells are at its end.
	walk func(ctx context.Context, each func(row) error) error
}

// ref is the target of a foreign key.
type ref struct{ table, column string }

// row is a row of a source.
type row struct {
	line  int // 0 when rows have none
	cells []cell
}

// sort is the type of a cell.
type sort uint8

const (
	// null is an absent value, including a missing cell.
	null  sort = iota
	loose      // a text in CSV, which may represent another type
	text
	integer // as a JSON literal
	number  // as a JSON literal
	boolean // as a JSON literal
	other   // a JSON array or object
	binary  // in base64
	omitted // binary data that is not read; the text is its size
)

// cell is one value.
type cell struct {
	// sort is what kind of value text is.
	sort sort
	text string
}

// wholeFile returns a source for the only table of the file, without columns and rows.
func (in *Input) wholeFile() *source {
	return &source{
		name: snake(stem(in.path)),
		file: in.path,
		only: true,
	}
}

// nothingToClose is the result of the functions that open files without keeping them open.
func nothingToClose() error { return nil }

// skipMark skips a byte order mark.
func skipMark(r *bufio.Reader) {
	mark, err := r.Peek(len(byteOrderMark))
	if err == nil && string(mark) == byteOrderMark {
		_, _ = r.Discard(len(byteOrderMark))
	}
}

// byteOrderMark begins some files that Windows programs write. It is not part of the first name.
const byteOrderMark = "\ufeff"

// column returns the index of a column, adding an unknown one if add is true, otherwise
// -1.
func (s *source) column(name string, add bool) int {
	if i, ok := s.index[name]; ok {
		return i
	}
	if !add {
		return -1
	}
	if s.index == nil {
		s.index = make(map[string]int)
	}
	s.index[name] = len(s.columns)
	s.columns = append(s.columns, name)
	return len(s.columns) - 1
}

// about returns a reporter for the file of the table.
func (s *source) about(r *check.Report) check.Reporter {
	return check.Reporter{
		Report: r,
		File:   s.file,
	}
}

// noSuch returns the error for an unknown name, with the closest known one or the first
// few of them.
func noSuch(what, name string, names []string) error {
	if near := nearest.DidYouMean(name, names); near != "" {
		return fmt.Errorf("no %s is named %q; did you mean %q?", what, name, near)
	}
	const few = 20
	list := strings.Join(names[:min(few, len(names))], ", ")
	return fmt.Errorf("no %s is named %q; there are %s", what, name, list)
}

// errorsJoin joins two errors, unless one is nil or wraps the other.
func errorsJoin(first, second error) error {
	if first == nil {
		return second
	}
	if second == nil || errors.Is(first, second) {
		return first
	}
	return errors.Join(first, second)
}
