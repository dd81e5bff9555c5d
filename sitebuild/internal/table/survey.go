package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// tab is a table and the choices made for it.
type tab struct {
	// src is read twice: for the survey and for the answers.
	src *source
	// opts are the user's choices, which precede the automatic ones.
	opts      Table
	one, many string // names of one row and of several, for tool names
	// rows is the number of rows, and cols are the columns in the order of the source.
	rows int
	cols []*columnStats

	key []int // the columns of the key; if empty, rows are identified by number
	// shown are the columns in answers, listed those in lists.
	shown  []int
	listed []int
	// finders are the tools that find rows by the value of a column.
	finders []*finder
	lookups []int // additional columns that identify a row
	page    int   // rows on a page
	pages   int
	asRes   bool // rows are also resources
	// hasBinary reports whether lists abbreviate some cells.
	hasBinary bool
	// targets are the tools that take the values of foreign keys, by column. One that the site omits is
	// "".
	targets map[int]string
	names   sitewriter.ToolNames
}

// finder is a column to find rows by.
type finder struct {
	// column is the index of the column.
	column int
	values []string       // in order, as JSON
	counts map[string]int // of rows, by value
	pages  int            // for the value with the most rows
}

const (
	autoValues  = 1000    // of a column to find by that was not requested
	refValues   = 20_000  // of a foreign key
	askedValues = 100_000 // of a requested column
	// autoFinders and autoLookups limit the columns that are chosen without a request, and so the
	// number of tools.
	autoFinders = 8
	// enumValues is how many values the schema of an argument lists.
	enumValues = 50
	// lookupRows is the largest table whose rows are looked up by additional columns.
	lookupRows  = 10_000
	autoLookups = 8
	lookupText  = 64 // bytes of a text to look a row up by
	// pageBytes is the approximate size of a page of rows, and longText the average length of texts
	// above which a column is not shown in lists.
	pageBytes    = 32 << 10
	longText     = 200
	maxFewValues = 50 // of a number or a date to find by
)

// survey reads a table and chooses its tools. The result is nil if it has no rows.
func survey(
	ctx context.Context,
	src *source,
	opts Table,
	all *Options,
	report *check.Report,
) (*tab, error) {
	t := &tab{
		src:     src,
		opts:    opts,
		targets: map[int]string{},
		names:   all.ToolNames,
	}
	t.one, t.many = things(cmp.Or(opts.Name, src.name))
	if err := t.read(ctx, all, report); err != nil {
		return nil, err
	}
	if t.rows == 0 || len(t.cols) == 0 {
		src.about(report).Add(ruleEmpty, "", "",
			"the table %s has no rows with values and is skipped", src.name)
		return nil, nil
	}
	for i, c := range t.cols {
		// Including rows read before the column was found.
		c.rows, c.nulls = t.rows, c.nulls+t.rows-c.rows
		c.finish()
		c.arg = t.argument(i)
	}
	for _, step := range []func() error{t.chooseKey, t.chooseColumns, t.chooseFinders} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("table %s: %w", src.name, err)
		}
	}
	t.tell(report)
	t.choosePages()
	return t, nil
}

// own makes the names of the table unique: user and users are two tables.
func (t *tab) own(taken map[string]bool) {
	one := t.one
	many := t.many
	for n := 2; taken[t.one] || taken[t.many]; n++ {
		t.one = fmt.Sprintf("%s_%d", one, n)
		t.many = fmt.Sprintf("%s_%d", many, n)
	}
	taken[t.one] = true
	taken[t.many] = true
}

// SizeError is the error for a table with too many rows.
type SizeError struct {
	// Table is the name of the table, and MaxRows the limit that it exceeds.
	Table   string
	MaxRows int
}

// Error implements the error interface.
func (e *SizeError) Error() string {
	return fmt.Sprintf("the table %s has more than %d rows", e.Table, e.MaxRows)
}

// read performs the first reading.
func (t *tab) read(ctx context.Context, all *Options, report *check.Report) error {
	seen := map[uint64]int{} // rows by a configured key
	var declared []int
	repeated := 0
	return t.src.walk(ctx, func(r row) error {
		if t.rows++; t.rows > all.MaxRows {
			return &SizeError{
				Table:   t.src.name,
				MaxRows: all.MaxRows,
			}
		}
		for i := len(t.cols); i < len(t.src.columns); i++ {
			t.cols = append(t.cols, t.newColumn(t.src.columns[i]))
		}
		for i, c := range t.cols {
			v := cell{}
			if i < len(r.cells) {
				v = r.cells[i]
			}
			if c.add(v) && c.keep {
				t.duplicate(report, r.line, c.name, v.text)
			}
		}
		if len(t.opts.Key) == 0 {
			return nil
		}
		if declared == nil {
			var err error
			if declared, err = t.places(t.opts.Key); err != nil {
				declared = nil
				return err
			}
		}
		h := uint64(1)
		for _, i := range declared {
			if i < len(r.cells) {
				h = hash(h+uint64(r.cells[i].sort), r.cells[i].text)
			}
		}
		if first, twice := seen[h]; twice {
			if repeated++; repeated <= maxTwice {
				t.repeated(report, r, declared, first)
			}
			return nil
		}
		seen[h] = cmp.Or(r.line, t.rows)
		return nil
	})
}

// newColumn returns the statistics for a column. Foreign keys and requested columns may
// have more values to find rows by.
func (t *tab) newColumn(name string) *columnStats {
	limit := autoValues
	if _, isRef := t.src.refs[name]; isRef {
		limit = refValues
	}
	if slices.Contains(t.opts.Find, name) {
		limit = askedValues
	}
	c := newColumn(name, limit)
	c.keep = len(t.opts.Key) == 0 &&
		len(t.src.key) == 0 &&
		t.keyRank(name, -1) == 0
	return c
}

// duplicate reports why a column named like a key is not one.
func (t *tab) duplicate(report *check.Report, line int, column, value string) {
	t.src.about(report).AtLine(line, 0).Add(ruleDuplicateKey.As(check.Warning), "",
		"name the key, or remove the row",
		"%s %q is repeated, so %s does not identify rows", column, value, column)
}

// repeated reports a row whose key occurred before, in the row or line first.
func (t *tab) repeated(report *check.Report, r row, key []int, first int) {
	var values []string
	for _, i := range key {
		if i < len(r.cells) {
			values = append(values, r.cells[i].text)
		}
	}
	where := "line"
	if r.line == 0 {
		where = "row"
	}
	t.src.about(report).AtLine(r.line, 0).Add(ruleDuplicateKey, "", "name a key that identifies rows",
		"a row with the key %s is in %s %d already", strings.Join(values, ", "), where, first)
}

// places returns the indexes of columns by their names.
func (t *tab) places(names []string) ([]int, error) {
	places := make([]int, 0, len(names))
	for _, name := range names {
		i := t.src.column(name, false)
		if i < 0 || i >= len(t.cols) {
			return nil, noSuch("column", name, t.src.columns)
		}
		places = append(places, i)
	}
	return places, nil
}

// argument returns the name of a column as an argument: unique among the columns, and
// never "page".
func (t *tab) argument(i int) string {
	name := snake(t.cols[i].name)
	if name == "" || name == "page" {
		name = "column_" + strconv.Itoa(i+1)
	}
	for _, c := range t.cols[:i] {
		if c.arg == name {
			return name + "_" + strconv.Itoa(i+1)
		}
	}
	return name
}

// keyRank reports how much a column's name resembles a key: lower is better, -1 means not
// at all.
func (t *tab) keyRank(name string, place int) int {
	name = snake(name)
	tail := name[strings.LastIndexByte(name, '_')+1:]
	switch {
	case name == "id", name == "key", name == t.one+"_id", name == t.one+"id",
		name == t.one+"_code", name == "uuid", name == "_id":
		return 0
	case slices.Contains([]string{
		"code", "slug", "guid", "sku", "isbn", "iso", "symbol", "handle", "abbr",
		"abbreviation", "ticker", "doi", "ean", "email", "username", "login",
	}, name):
		return 1
	case name == "name", name == "title", name == t.one, name == t.one+"_name":
		return 2
	case place == 0:
		return 3
	case slices.Contains([]string{"id", "code", "key", "slug", "uuid"}, tail):
		return 4
	}
	return -1
}

// canBeKey reports whether each row has a distinct value in the column.
func (c *columnStats) canBeKey() bool {
	return c.unique &&
		c.nulls+c.blank == 0 &&
		(c.kind == kindInteger || c.kind == kindText || c.kind == kindDate) &&
		c.most <= longValue
}

// chooseKey chooses the columns of the key: the requested ones, or those declared in the
// file, or the column with the best name whose values are unique.
func (t *tab) chooseKey() error {
	wanted := t.opts.Key
	if len(wanted) == 0 {
		wanted = t.src.key
	}
	if len(wanted) > 0 {
		places, err := t.places(wanted)
		if err != nil {
			return err
		}
		for _, i := range places {
			c := t.cols[i]
			if c.kind == kindAny || c.most > 1000 {
				return fmt.Errorf("column %q cannot be a key: its values are not all short texts or numbers", c.name)
			}
		}
		t.key = places
		return nil
	}
	best := -1
	for i, c := range t.cols {
		rank := t.keyRank(c.name, i)
		if rank < 0 || !c.canBeKey() {
			continue
		}
		if best < 0 || rank < t.keyRank(t.cols[best].name, best) {
			best = i
		}
	}
	if best >= 0 {
		t.key = []int{best}
	}
	return nil
}

// chooseColumns chooses the columns of rows and of lists, which omit long texts, and those
// to look a row up by.
func (t *tab) chooseColumns() error {
	var err error
	t.hasBinary = slices.ContainsFunc(t.cols, func(c *columnStats) bool {
		return c.binaries > 0
	})
	if t.shown, err = t.places(t.opts.Columns); err != nil {
		return err
	}
	if len(t.shown) == 0 {
		for i := range t.cols {
			if !t.src.nested[i] {
				t.shown = append(t.shown, i)
			}
		}
	}
	if t.listed, err = t.places(t.opts.List); err != nil || len(t.listed) > 0 {
		return err
	}
	for _, i := range t.shown {
		c := t.cols[i]
		if slices.Contains(t.key, i) ||
			c.binaries > 0 ||
			c.bytes <= longText*max(1, c.rows-c.nulls) {
			t.listed = append(t.listed, i)
		}
	}
	if len(t.listed) == 0 {
		t.listed = t.shown[:1]
	}
	if t.rows <= lookupRows && t.opts.Find == nil {
		t.lookups = t.uniqueColumns()
	}
	return nil
}

// uniqueColumns returns the columns besides the key that identify a row: short texts, and
// numbers that are named like a key.
func (t *tab) uniqueColumns() []int {
	var found []int
	for i, c := range t.cols {
		short := c.kind == kindText && c.most <= lookupText || t.keyRank(c.name, -1) >= 0
		if short &&
			c.binaries == 0 &&
			c.canBeKey() &&
			!slices.Contains(t.key, i) &&
			len(found) < autoLookups {
			found = append(found, i)
		}
	}
	return found
}

// chooseFinders chooses the columns to find rows by: the requested ones, or those with few
// values.
func (t *tab) chooseFinders() error {
	asked, err := t.places(t.opts.Find)
	if err != nil {
		return err
	}
	if t.opts.Find == nil {
		asked = t.findable()
	}
	for _, i := range asked {
		c := t.cols[i]
		if c.values == nil {
			return fmt.Errorf(
				"column %q cannot be used for lookups: it has more than %d different values, "+
					"or values other than short texts and numbers",
				c.name, c.limit)
		}
		t.finders = append(t.finders, t.newFinder(i))
	}
	for _, c := range t.cols {
		if n := len(c.values); n > 0 && n <= enumValues {
			c.few = slices.Collect(maps.Keys(c.values))
			c.sortValues(c.few)
		}
		c.values = nil
	}
	return nil
}

// newFinder returns a finder for a column, with the rows of each value counted.
func (t *tab) newFinder(i int) *finder {
	c := t.cols[i]
	f := &finder{
		column: i,
		counts: map[string]int{},
	}
	texts := slices.Collect(maps.Keys(c.values))
	c.sortValues(texts)
	for _, value := range texts {
		if nameless(value) {
			continue
		}
		literal := string(c.appendArgument(nil, c.valueCell(value)))
		if f.counts[literal] == 0 {
			f.values = append(f.values, literal)
		}
		f.counts[literal] += c.values[value]
	}
	return f
}

// findable returns the columns that are worth finding rows by.
func (t *tab) findable() []int {
	var found []int
	for pass := range 2 { // foreign keys first
		for i, c := range t.cols {
			_, isRef := t.src.refs[c.name]
			if isRef == (pass == 0) &&
				len(found) < autoFinders &&
				!(len(t.key) == 1 && t.key[0] == i) &&
				t.worthFinding(c, isRef) {
				found = append(found, i)
			}
		}
	}
	slices.Sort(found)
	return found
}

// worthFinding reports whether a column has few enough values that several rows share one.
// A foreign key with values always is.
func (t *tab) worthFinding(c *columnStats, isRef bool) bool {
	if len(c.values) == 0 || (c.unique || c.binaries > 0) && !isRef {
		return false
	}
	n := len(t.newFinder(slices.Index(t.cols, c)).values)
	if isRef {
		return n > 0
	}
	if n < 2 || n*2 > t.rows {
		return false
	}
	switch c.kind {
	case kindText, kindBoolean:
		return true
	case kindInteger, kindDate:
		return n <= maxFewValues || strings.HasSuffix(snake(c.name), "_id") ||
			strings.Contains(snake(c.name), "year")
	}
	return false
}

// sortValues sorts numbers numerically and texts alphabetically.
func (c *columnStats) sortValues(values []string) {
	slices.SortFunc(values, func(a, b string) int {
		if c.kind == kindInteger || c.kind == kindNumber {
			x, errX := strconv.ParseFloat(a, 64)
			y, errY := strconv.ParseFloat(b, 64)
			if errors.Join(errX, errY) == nil {
				return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
			}
		}
		return strings.Compare(a, b)
	})
}

// choosePages sets the number of rows on a page, so that a page has about pageBytes.
func (t *tab) choosePages() {
	size := 0
	for _, i := range t.listed {
		c := t.cols[i]
		shown := c.bytes / t.rows
		if c.binaries > 0 && !t.isArgument(i) {
			shown = len("application/octet-stream, 1000 bytes")
		}
		size += shown + len(c.name) + 6
	}
	t.page = t.opts.PageRows
	if t.page <= 0 {
		t.page = max(5, min(100, pageBytes/max(1, size)))
	}
	t.pages = (t.rows + t.page - 1) / t.page
	for _, f := range t.finders {
		for _, n := range f.counts {
			f.pages = max(f.pages, (n+t.page-1)/t.page)
		}
	}
	most := t.opts.ResourceRows
	if most == 0 {
		most = defaultResourceRows
	}
	t.asRes = t.rows <= most
}

// tell reports properties of the columns that an author should know.
func (t *tab) tell(report *check.Report) {
	for _, c := range t.cols {
		if c.huge && c.kind == kindText {
			t.src.about(report).Add(ruleLargeInteger, "", "",
				"column %s of %s has integers beyond 9007199254740991, which many readers of JSON change; they are shown "+
					"as texts", c.name, t.src.name)
		}
	}
	for _, i := range t.key {
		if c := t.cols[i]; c.nulls+c.blank > 0 {
			t.src.about(report).Add(ruleEmptyKey, "", "",
				"%s is empty in %d rows of %s%s", c.name, c.nulls+c.blank, t.src.name,
				t.names.If(t.getName(), ", which %s does not find"))
		}
	}
	if len(t.key) == 0 {
		t.src.about(report).Add(ruleNoKey, "", "name the key if there is one",
			"no column of %s identifies its rows; they are identified by number", t.src.name)
	}
}

// resolve finds the tools that take the values of foreign keys.
func resolve(tables []*tab) {
	for _, t := range tables {
		for i, c := range t.cols {
			r, ok := t.src.refs[c.name]
			if !ok {
				continue
			}
			for _, other := range tables {
				if !strings.EqualFold(other.src.name, r.table) || len(other.key) != 1 {
					continue
				}
				if key := other.cols[other.key[0]].name; r.column == "" || strings.EqualFold(key, r.column) {
					t.targets[i] = t.names.Of(other.getName())
				}
			}
		}
	}
}

// nameless reports whether a value encodes to an empty file name.
func nameless(value string) bool {
	return staticmcp.EncodeName(value) == ""
}
