package table

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/nearest"
)

// source is a table as its file has it.
type source struct {
	name string // of the table
	file string // for messages
	only bool   // there is but this one in the file
	// columns are the names. The first walk of JSON adds those that it meets.
	columns []string
	index   map[string]int
	// nested are the columns that are members of an object in a column, such as
	// name.common. Rows show the object; keys, finders and search use the members.
	nested map[int]bool
	// key are the columns of the primary key that the file declares.
	key []string
	// refs are its foreign keys of one column.
	refs map[string]ref
	// walk calls each for every row in turn, which is valid until the next one.
	// Cells that a row does not have are missing at its end.
	walk func(ctx context.Context, each func(row) error) error
}

// ref is what a foreign key leads to.
type ref struct{ table, column string }

// row is a row of a source.
type row struct {
	line  int // 0 when rows have none
	cells []cell
}

// sort is what a cell is.
type sort uint8

const (
	null  sort = iota
	loose      // a text of CSV, which may stand for something else
	text
	integer // as a JSON literal
	number  // as a JSON literal
	boolean // as a JSON literal
	other   // a JSON array or object
	binary  // in base64
	omitted // binary data that is not read: how many bytes
)

// cell is one value.
type cell struct {
	sort sort
	text string
}

// column returns the place of a column, which is new if add is true and it is not
// known; -1 if there is none.
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

func noSuch(what, name string, names []string) error {
	if near := nearest.DidYouMean(name, names); near != "" {
		return fmt.Errorf("there is no %s %q; did you mean %q?", what, name, near)
	}
	const few = 20
	list := strings.Join(names[:min(few, len(names))], ", ")
	return fmt.Errorf("there is no %s %q; there are %s", what, name, list)
}

func errorsJoin(first, second error) error {
	if first == nil {
		return second
	}
	if second == nil || errors.Is(first, second) {
		return first
	}
	return errors.Join(first, second)
}
