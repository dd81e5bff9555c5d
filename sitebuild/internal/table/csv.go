package table

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
)

// sampleBytes is how much of a CSV file is read to detect its dialect.
const sampleBytes = 64 << 10

// dialect is the format of a CSV file.
type dialect struct {
	// comma separates the fields; header reports that the first line has the names.
	comma rune
	// columns are the names of the first line, or made up if there is no header.
	columns []string
	header  bool
}

// openCSV opens a file of comma-separated values, or with another delimiter.
func (in *Input) openCSV(_ context.Context, r *check.Report) ([]*source, func() error, error) {
	d, err := in.sniff(r)
	if err != nil {
		return nil, nil, err
	}
	src := in.wholeFile()
	for _, name := range d.columns {
		src.column(name, true)
	}
	report := r
	src.walk = func(ctx context.Context, each func(row) error) error {
		err := in.walkCSV(ctx, d, report, each)
		report = nil // problems were reported the first time
		return err
	}
	return []*source{src}, nothingToClose, nil
}

// sniff detects the dialect of the file.
func (in *Input) sniff(r *check.Report) (*dialect, error) {
	f, err := os.Open(in.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sample, err := io.ReadAll(io.LimitReader(f, sampleBytes))
	if err != nil {
		return nil, err
	}
	whole := len(sample) < sampleBytes
	isUTF16 := bytes.HasPrefix(sample, []byte{0xff, 0xfe}) ||
		bytes.HasPrefix(sample, []byte{0xfe, 0xff})
	if isUTF16 || bytes.IndexByte(sample, 0) >= 0 {
		return nil, errors.New("the file is UTF-16 or not text; save it as CSV in UTF-8")
	}
	sample = bytes.TrimPrefix(sample, []byte(byteOrderMark))
	d := &dialect{comma: in.opts.Delimiter}
	if d.comma == 0 {
		d.comma = in.detect(sample, whole)
	}
	if !validComma(d.comma) {
		return nil, fmt.Errorf("%q cannot be the delimiter of a CSV file", d.comma)
	}
	records := peek(sample, d.comma, whole)
	if len(records) == 0 {
		return nil, errors.New("the file is empty")
	}
	first := records[0]
	if len(first) > in.opts.MaxColumns {
		return nil, fmt.Errorf("the first line has %d cells, more than the limit of %d", len(first), in.opts.MaxColumns)
	}
	if d.header = looksLikeHeader(first); in.opts.Header != nil {
		d.header = *in.opts.Header
	}
	d.columns = in.columnNames(first, d.header, r)
	return d, nil
}

// validComma reports whether package csv accepts a delimiter.
func validComma(r rune) bool {
	return r != 0 && r != '"' && r != '\r' && r != '\n' && r != utf8.RuneError &&
		utf8.ValidRune(r)
}

// detect returns the delimiter that splits most lines of the sample into the same number
// of cells.
func (in *Input) detect(sample []byte, whole bool) rune {
	switch strings.ToLower(filepath.Ext(in.path)) {
	case ".tsv", ".tab":
		return '\t'
	}
	best := ','
	bestScore := 0.0
	for _, comma := range []rune{',', ';', '\t', '|'} {
		records := peek(sample, comma, whole)
		if len(records) == 0 || len(records[0]) < 2 {
			continue
		}
		like := 0
		for _, record := range records {
			if len(record) == len(records[0]) {
				like++
			}
		}
		// Agreement counts most; among equals, more cells are less likely to be a coincidence.
		columns := min(len(records[0]), 100)
		score := float64(like)/float64(len(records)) + float64(columns)/1000
		if score > bestScore {
			best = comma
			bestScore = score
		}
	}
	return best
}

// peek returns the first records of a sample, without a truncated last one.
func peek(sample []byte, comma rune, whole bool) [][]string {
	if !whole {
		if i := bytes.LastIndexByte(sample, '\n'); i > 0 {
			sample = sample[:i+1]
		}
	}
	reader := csv.NewReader(bytes.NewReader(sample))
	reader.Comma = comma
	reader.FieldsPerRecord = -1
	reader.LazyQuotes = true
	var records [][]string
	const enough = 100
	for len(records) < enough {
		record, err := reader.Read()
		if err != nil {
			break
		}
		records = append(records, record)
	}
	return records
}

// maxColumnName is how many bytes the name of a column may have: each row of the site
// repeats it.
const maxColumnName = 500

// looksLikeHeader reports whether a line can be the names of columns. The first and the
// last cell may be empty.
func looksLikeHeader(cells []string) bool {
	for i, cell := range cells {
		cell = strings.TrimSpace(cell)
		_, isNumber := numberLiteral(cell)
		isValue := isNumber || isBoolean(cell) || isDate(cell) || isDateTime(cell)
		isGap := cell == "" && i > 0 && i < len(cells)-1
		if isValue || isGap || len(cell) > maxColumnName {
			return false
		}
	}
	return true
}

// columnNames returns a unique name for each column.
func (in *Input) columnNames(first []string, header bool, r *check.Report) []string {
	names := make([]string, len(first))
	for i, cell := range first {
		name := strings.TrimSpace(strings.ToValidUTF8(cell, "\ufffd"))
		if !header || name == "" {
			name = fmt.Sprintf("column_%d", i+1)
		}
		unique := name
		for n := 2; slices.Contains(names[:i], unique); n++ {
			unique = fmt.Sprintf("%s_%d", name, n)
		}
		if unique != name {
			in.about(r).AtLine(1, 0).Add(ruleDuplicateColumn, "", "rename one of them",
				"two columns are named %q; the second is renamed to %q", name, unique)
		}
		names[i] = unique
	}
	return names
}

// guard limits the bytes that a reader may consume between two records: otherwise an
// unclosed quote would consume the rest of the file.
type guard struct {
	// r is the input, and limit its largest record: without it, an open quote would read
	// the rest of the file into memory.
	r           io.Reader
	left, limit int
}

// Read implements [io.Reader].
func (g *guard) Read(p []byte) (int, error) {
	if g.left <= 0 {
		return 0, errRecord
	}
	n, err := g.r.Read(p[:min(len(p), g.left)])
	g.left -= n
	return n, err
}

// errRecord is returned by guard.
var errRecord = errors.New("a record is longer than the limit; a quote may not be closed")

// walkCSV calls each for every record after the header. Problems are reported unless report
// is nil.
func (in *Input) walkCSV(
	ctx context.Context,
	d *dialect,
	report *check.Report,
	each func(row) error,
) error {
	f, err := os.Open(in.path)
	if err != nil {
		return err
	}
	defer f.Close()
	buffered := bufio.NewReaderSize(f, 1<<16)
	skipMark(buffered)
	g := &guard{
		r:     buffered,
		left:  in.opts.MaxRecordBytes,
		limit: in.opts.MaxRecordBytes,
	}
	reader := csv.NewReader(g)
	reader.Comma = d.comma
	reader.FieldsPerRecord = -1
	reader.ReuseRecord = true
	cells := make([]cell, len(d.columns))
	for first := d.header; ; first = false {
		record, err := reader.Read()
		g.left = g.limit
		var syntax *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &syntax) && !errors.Is(syntax.Err, errRecord):
			in.reportSyntax(report, syntax)
			continue
		case err != nil:
			return err
		case first:
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		line, _ := reader.FieldPos(0)
		if err := each(row{line, in.cells(record, cells, reader, report)}); err != nil {
			return err
		}
	}
}

// reportSyntax reports a record that is skipped because it is not CSV.
func (in *Input) reportSyntax(report *check.Report, syntax *csv.ParseError) {
	if report == nil {
		return
	}
	at := in.about(report).AtLine(syntax.StartLine, 0)
	const hint = `write a quote inside quotes twice: ""`
	if syntax.StartLine == syntax.Line {
		reason := strings.TrimPrefix(syntax.Err.Error(), "parse error: ")
		at.Add(ruleSyntax, "", hint,
			"the line is skipped because it is not CSV: %s", reason)
		return
	}
	at.Add(ruleSyntax, "", hint,
		"the record that begins here is skipped because it is not CSV: %v in line %d", syntax.Err, syntax.Line)
}

// cells converts a record to cells. White space around values is ignored.
func (in *Input) cells(
	record []string,
	cells []cell,
	reader *csv.Reader,
	report *check.Report,
) []cell {
	if len(record) != len(cells) && report != nil {
		line, _ := reader.FieldPos(0)
		effect := "the missing cells are empty"
		if len(record) > len(cells) {
			effect = "the rest is skipped"
		}
		in.about(report).AtLine(line, 0).Add(ruleRaggedRow, "", "quote cells that contain the delimiter",
			"the row has %d cells for %d columns; %s", len(record), len(cells), effect)
	}
	n := min(len(record), len(cells))
	for i, s := range record[:n] {
		if s = strings.TrimSpace(s); s == "" {
			cells[i] = cell{}
			continue
		}
		if !utf8.ValidString(s) {
			s = strings.ToValidUTF8(s, "\ufffd")
			in.reportEncoding(report, reader, i)
		}
		cells[i] = cell{loose, s}
	}
	return cells[:n]
}

// reportEncoding reports a cell that is not UTF-8.
func (in *Input) reportEncoding(report *check.Report, reader *csv.Reader, field int) {
	if report == nil {
		return
	}
	line, column := reader.FieldPos(field)
	in.about(report).AtLine(line, column).Add(ruleEncoding, "", "iconv -f WINDOWS-1252 -t UTF-8 "+in.path,
		"the cell is not UTF-8; its invalid bytes become \ufffd")
}
