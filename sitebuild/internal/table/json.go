package table

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// errNoTable lists the shapes of JSON that are tables.
var errNoTable = errors.New(
	"this JSON is not a table: a table is an array of objects, or an object of such arrays, of objects, or of columns")

// openJSON opens a JSON file. An array of objects is streamed. An object is read into
// memory: each array of objects in it is a table; an object of objects is one table whose
// column "key" has their names; an object of arrays of the same length is a table with
// these columns.
func (in *Input) openJSON(_ context.Context, r *check.Report) ([]*source, func() error, error) {
	f, err := os.Open(in.path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	begin, err := firstByte(bufio.NewReader(f))
	if err != nil {
		return nil, nil, err
	}
	if begin == '[' {
		src := in.wholeFile()
		src.walk = in.reader(src, r, (*jsonRows).walkArray)
		return []*source{src}, nothingToClose, nil
	}
	if begin != '{' {
		return nil, nil, errNoTable
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() > in.opts.MaxObjectBytes {
		return nil, nil, fmt.Errorf(
			"a JSON object of %d bytes is larger than the limit of %d; an array or JSON Lines can be of any size",
			info.Size(), in.opts.MaxObjectBytes)
	}
	text, err := os.ReadFile(in.path)
	if err != nil {
		return nil, nil, err
	}
	sources, err := in.objectTables(bytes.TrimPrefix(text, []byte(byteOrderMark)), r)
	return sources, nothingToClose, err
}

// firstByte returns the first byte that is not white space.
func firstByte(r *bufio.Reader) (byte, error) {
	skipMark(r)
	for range 1 << 20 {
		c, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return 0, errors.New("the file is empty")
		}
		if err != nil || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, err
		}
	}
	return 0, errNoTable
}

// member is a member of a JSON object: a slice of its text.
type member struct {
	// name is the decoded key; at is the offset of the value.
	name string
	// value is the JSON of the value, which is part of the text of the object.
	value []byte
	at    int
}

// members returns the members of the object at text[i], and where it ends.
func members(text []byte, i, depth int) ([]member, int, error) {
	var list []member
	end, err := jsonscan.Object(text, i, depth, func(key []byte, i int) (int, error) {
		i = jsonscan.Space(text, i)
		end, err := jsonscan.ValueAt(text, i, depth+1)
		if err == nil {
			list = append(list, member{string(key), text[i:end], i})
		}
		return end, err
	})
	return list, end, err
}

// objectTables finds the tables in an object.
func (in *Input) objectTables(text []byte, r *check.Report) ([]*source, error) {
	top, end, err := members(text, jsonscan.Space(text, 0), 0)
	if err == nil {
		err = jsonscan.End(text, end)
	}
	if err != nil {
		return nil, in.placed(text, err)
	}
	var rows, columns, objects, others []member
	for _, m := range top {
		switch first := firstElement(m.value); {
		case m.value[0] == '{':
			objects = append(objects, m)
		case m.value[0] == '[' && first == '{':
			rows = append(rows, m)
		case m.value[0] == '[' && first != 0:
			columns = append(columns, m)
		default:
			others = append(others, m)
		}
	}
	switch {
	case len(rows) > 0:
		return in.arrayTables(text, top, rows, r), nil
	case len(columns) > 0 && len(columns) == len(top):
		return in.columnTable(columns, r)
	case len(objects) > 0 && len(others)+len(columns) == 0:
		return in.keyedTable(text, objects, r), nil
	}
	return nil, errNoTable
}

// placed adds the line and the column to a syntax error.
func (in *Input) placed(text []byte, err error) error {
	var syntax *jsonscan.Error
	if !errors.As(err, &syntax) {
		return err
	}
	line, column := check.LineColumn(text, syntax.Offset)
	return fmt.Errorf("line %d, column %d: %s", line, column, syntax.Reason)
}

// firstElement returns the first byte of the first element of an array, or 0 if it is
// empty.
func firstElement(array []byte) byte {
	if array[0] != '[' {
		return 0
	}
	if c := array[jsonscan.Space(array, 1)]; c != ']' {
		return c
	}
	return 0
}

// arrayTables makes a table of each array of objects. Other members are reported as
// skipped.
func (in *Input) arrayTables(text []byte, top, rows []member, r *check.Report) []*source {
	var sources []*source
	for _, m := range top {
		isTable := slices.ContainsFunc(rows, func(o member) bool {
			return o.at == m.at
		})
		if !isTable {
			line, column := check.LineColumn(text, m.at)
			in.about(r).AtLine(line, column).Add(ruleLeftOut, "/"+jsonscan.EscapeToken(m.name), "",
				"%q is skipped because it is not an array of objects", m.name)
			continue
		}
		name := m.name
		if len(rows) == 1 && generic(snake(name)) {
			name = stem(in.path)
		}
		src := &source{
			name: snake(name),
			file: in.path,
			only: len(rows) == 1,
		}
		src.walk = in.reader(src, r, func(j *jsonRows, ctx context.Context, each func(row) error) error {
			return j.walkSlice(ctx, text, m, each)
		})
		sources = append(sources, src)
	}
	return sources
}

// columnTable makes a table from arrays that are columns.
func (in *Input) columnTable(columns []member, r *check.Report) ([]*source, error) {
	src := in.wholeFile()
	if len(columns) > in.opts.MaxColumns {
		return nil, fmt.Errorf("the object has %d columns, more than the limit of %d", len(columns), in.opts.MaxColumns)
	}
	var cells [][]cell
	for _, m := range columns {
		src.column(m.name, true)
		var column []cell
		for _, e := range jsonscan.Elements(m.value) {
			if most := in.opts.MaxRecordBytes; len(e) > most {
				return nil, fmt.Errorf("a value of the column %q has %d bytes, more than the limit of %d",
					m.name, len(e), most)
			}
			column = append(column, jsonCell(e))
		}
		if len(cells) > 0 && len(column) != len(cells[0]) {
			return nil, fmt.Errorf("the column %q has %d values, and %q has %d: columns of a table must have the same length",
				m.name, len(column), columns[0].name, len(cells[0]))
		}
		cells = append(cells, column)
	}
	src.walk = func(ctx context.Context, each func(row) error) error {
		out := make([]cell, len(cells))
		for i := range cells[0] {
			for c := range cells {
				out[c] = cells[c][i]
			}
			if err := errorsJoin(ctx.Err(), each(row{0, out})); err != nil {
				return err
			}
		}
		return nil
	}
	return []*source{src}, nil
}

// keyedTable makes a table from objects, with their names as its key.
func (in *Input) keyedTable(text []byte, objects []member, r *check.Report) []*source {
	src := in.wholeFile()
	src.key = []string{"key"}
	src.column("key", true)
	src.walk = in.reader(src, r, func(j *jsonRows, ctx context.Context, each func(row) error) error {
		line := 1
		seen := 0
		for _, m := range objects {
			line += bytes.Count(text[seen:m.at], []byte{'\n'})
			seen = m.at
			j.begin(line)
			j.set("key", textCell(m.name))
			if err := errorsJoin(ctx.Err(), j.object(m.value)); err != nil {
				return err
			}
			if err := each(row{line, j.cells}); err != nil {
				return err
			}
		}
		return nil
	})
	return []*source{src}
}

// textCell returns a cell with a text.
func textCell(s string) cell { return cell{text, s} }

// jsonRows makes rows from JSON objects.
type jsonRows struct {
	// in is the file, and src the table that it becomes.
	in     *Input
	src    *source
	report *check.Report // nil when the file is read again
	// cells are reused for each row.
	cells  []cell
	filled []int // the row in which each cell was set last
	// count is the number of rows so far, and line where the current one begins.
	count int
	line  int
}

// reader returns a walk that uses fresh rows each time. The first walk collects the
// columns and reports problems.
func (in *Input) reader(
	src *source,
	r *check.Report,
	walk func(*jsonRows, context.Context, func(row) error) error,
) func(context.Context, func(row) error) error {
	return func(ctx context.Context, each func(row) error) error {
		j := &jsonRows{
			in:     in,
			src:    src,
			report: r,
		}
		r = nil
		return walk(j, ctx, each)
	}
}

// begin starts a row.
func (j *jsonRows) begin(line int) {
	j.count++
	j.line = line
	clear(j.cells)
}

// set sets a cell; a repeated name keeps its first value.
func (j *jsonRows) set(name string, v cell) {
	i := j.src.column(name, j.report != nil)
	if i < 0 {
		return // the file has changed, which is detected elsewhere
	}
	for len(j.cells) <= i {
		j.cells = append(j.cells, cell{})
		j.filled = append(j.filled, 0)
	}
	if j.filled[i] == j.count {
		if j.report != nil {
			j.in.about(j.report).AtLine(j.line, 0).Add(ruleDuplicateMember, "", "",
				"duplicate member %q in the row; the second is skipped", name)
		}
		return
	}
	j.filled[i] = j.count
	j.cells[i] = v
}

// object reads the members of an object, which is valid JSON.
func (j *jsonRows) object(text []byte) error {
	if most := j.in.opts.MaxRecordBytes; len(text) > most {
		return fmt.Errorf("line %d: a row has %d bytes, more than the limit of %d",
			j.line, len(text), most)
	}
	list, _, err := members(text, 0, 0)
	if err != nil {
		return err
	}
	for _, m := range list {
		if len(m.name) > maxColumnName {
			return fmt.Errorf("line %d: a member name has %d bytes, more than the limit of %d", j.line, len(m.name),
				maxColumnName)
		}
		j.set(m.name, jsonCell(m.value))
	}
	for _, m := range list {
		if m.value[0] == '{' {
			j.nested(m.name, m.value, 1)
		}
	}
	if len(j.src.columns) > j.in.opts.MaxColumns {
		return fmt.Errorf("line %d: there are more than %d columns", j.line,
			j.in.opts.MaxColumns)
	}
	return nil
}

const (
	// Objects in a row become columns of their members, up to this depth and number of columns.
	maxNestedDepth   = 3
	maxNestedColumns = 20
)

// nested sets the columns of the members of a nested object. Only members that the first
// row has become columns, because the names in objects such as {"de": "Hallo"} are
// values.
func (j *jsonRows) nested(name string, object []byte, depth int) {
	list, _, err := members(object, 0, 0)
	if err != nil || depth > maxNestedDepth {
		return
	}
	for _, m := range list {
		path := name + "." + m.name
		if m.value[0] == '{' {
			j.nested(path, m.value, depth+1)
			continue
		}
		known := j.src.column(path, false)
		if known < 0 && !j.addsNested(path, m.value) {
			continue
		}
		isFilled := known >= 0 && known < len(j.filled) && j.filled[known] == j.count
		if known >= 0 && (isFilled || !j.src.nested[known]) {
			continue // a separate column has this name
		}
		j.set(path, jsonCell(m.value))
		if known < 0 {
			if j.src.nested == nil {
				j.src.nested = map[int]bool{}
			}
			j.src.nested[j.src.column(path, false)] = true
		}
	}
}

// addsNested reports whether a member of a nested object becomes a column.
func (j *jsonRows) addsNested(path string, value []byte) bool {
	isFirstRow := j.report != nil && j.count <= 1
	return isFirstRow && len(j.src.nested) < maxNestedColumns &&
		len(path) <= maxColumnName && value[0] != '['
}

// jsonCell converts a valid JSON value to a cell.
func jsonCell(raw []byte) cell {
	switch raw[0] {
	case 'n':
		return cell{}
	case '"':
		s, _ := jsonscan.Unquote(raw)
		return cell{text, s}
	case 't', 'f':
		return cell{boolean, string(raw)}
	case '{', '[':
		return cell{other, string(jsonscan.AppendCompact(nil, raw))}
	}
	if isInteger(string(raw)) {
		return cell{integer, string(raw)}
	}
	return cell{number, string(raw)}
}

// element reads one element of an array of rows.
func (j *jsonRows) element(raw []byte, line int, each func(row) error) error {
	if raw[0] != '{' {
		j.reportSkipped(line, 0, "the element is skipped because it is not an object")
		return nil
	}
	j.begin(line)
	if err := j.object(raw); err != nil {
		return err
	}
	return each(row{line, j.cells})
}

// reportSkipped reports a row that is skipped.
func (j *jsonRows) reportSkipped(line, column int, message string) {
	if j.report != nil {
		j.in.about(j.report).AtLine(line, column).Add(ruleSyntax, "", `a row is an object: {"name": "value"}`,
			"%s", message)
	}
}

// walkSlice walks an array in memory.
func (j *jsonRows) walkSlice(
	ctx context.Context,
	text []byte,
	m member,
	each func(row) error,
) error {
	line := 1
	seen := 0
	_, err := jsonscan.Array(m.value, 0, 0, func(i int) (int, error) {
		i = jsonscan.Space(m.value, i)
		end, err := jsonscan.Value(m.value, i)
		if err != nil {
			return end, err
		}
		line += bytes.Count(text[seen:m.at+i], []byte{'\n'})
		seen = m.at + i
		return end, errorsJoin(ctx.Err(), j.element(m.value[i:end], line, each))
	})
	return err
}

// walkArray streams an array of objects.
func (j *jsonRows) walkArray(ctx context.Context, each func(row) error) error {
	f, err := os.Open(j.in.path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := &lineReader{
		r:    bufio.NewReaderSize(f, 1<<16),
		line: 1,
	}
	skipMark(lines.r)
	g := &guard{
		r:     lines,
		limit: j.in.opts.MaxRecordBytes,
	}
	g.left = g.limit
	dec := json.NewDecoder(g)
	if _, err := dec.Token(); err != nil {
		return lines.placed(err, dec)
	}
	for dec.More() {
		g.left = g.limit
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return lines.placed(err, dec)
		}
		if err := jsonscan.Valid(raw); err != nil {
			return fmt.Errorf("line %d: %w", lines.at(dec.InputOffset()), err)
		}
		line := lines.at(dec.InputOffset() - int64(len(raw)))
		if err := errorsJoin(ctx.Err(), j.element(raw, line, each)); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return lines.placed(err, dec)
	}
	return nil
}

// lineReader maps offsets of the bytes it has passed on to line numbers.
type lineReader struct {
	// r is the input; offset and ends relate positions to lines.
	r *bufio.Reader
	// offset is the number of bytes passed on. ends are the offsets of line feeds.
	offset int64
	ends   []int64 // of the lines from line on
	line   int
}

// Read implements [io.Reader].
func (l *lineReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for i, c := range p[:n] {
		if c == '\n' {
			l.ends = append(l.ends, l.offset+int64(i))
		}
	}
	l.offset += int64(n)
	return n, err
}

// at returns the line of an offset. Offsets must not decrease.
func (l *lineReader) at(offset int64) int {
	n := 0
	for n < len(l.ends) && l.ends[n] < offset {
		n++
	}
	l.ends = l.ends[n:]
	l.line += n
	return l.line
}

// placed adds the line to an error of the decoder.
func (l *lineReader) placed(err error, dec *json.Decoder) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("unterminated array")
	}
	var syntax *json.SyntaxError
	offset := dec.InputOffset()
	if errors.As(err, &syntax) {
		offset = max(offset, syntax.Offset)
	}
	return fmt.Errorf("line %d: %w", l.at(offset), err)
}
