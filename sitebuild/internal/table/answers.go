package table

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
)

// errStopped ends a walk whose caller wants no more rows.
var errStopped = errors.New("stopped")

// eachRow reads a table again and calls do for each row, with its number from 1.
func (t *tab) eachRow(ctx context.Context, do func(r row, n int) error) error {
	changed := fmt.Errorf("%s changed while it was being read", t.src.file)
	n := 0
	err := t.src.walk(ctx, func(r row) error {
		if n++; n > t.rows {
			return changed
		}
		return do(r, n)
	})
	if err == nil && n != t.rows {
		return changed
	}
	return err
}

// value returns the cell of a row in a column. ok is false for an empty one.
func (t *tab) value(r row, column int) (v cell, ok bool) {
	if column >= len(r.cells) {
		return cell{}, false
	}
	v = r.cells[column]
	return v, !t.cols[column].isNull(v)
}

// keyValue is value for a column of the key or of a finder: ok is also false for a value
// that cannot name a file.
func (t *tab) keyValue(r row, column int) (v cell, ok bool) {
	v, ok = t.value(r, column)
	return v, ok && !nameless(v.text)
}

// sender returns a function that yields values, and returns errStopped when the caller of
// the sequence wants no more.
func sender[T any](yield func(*T, error) bool) func(*T) error {
	return func(v *T) error {
		if !yield(v, nil) {
			return errStopped
		}
		return nil
	}
}

// sequence yields what read sends, and then its error.
func sequence[T any](in *Input, read func(send func(*T) error) error) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		err := read(sender(yield))
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, fmt.Errorf("read %s: %w", in.path, err))
		}
	}
}

// answers yields the answers during the second reading.
func answers(ctx context.Context, in *Input, tables []*tab) iter.Seq2[*sitewriter.Answer, error] {
	return sequence(in, func(send func(*sitewriter.Answer) error) error {
		for _, t := range tables {
			w := newWriter(t, send)
			if err := t.eachRow(ctx, w.row); err != nil {
				return err
			}
			if err := w.end(); err != nil {
				return err
			}
		}
		return nil
	})
}

// resources yields the tables, and the rows of short tables.
func resources(ctx context.Context, in *Input, tables []*tab) iter.Seq2[*mcp.Resource, error] {
	return sequence(in, func(send func(*mcp.Resource) error) error {
		for _, t := range tables {
			err := send(&mcp.Resource{
				URI:         t.uri(),
				Name:        t.many,
				Title:       t.title(),
				Description: fmt.Sprintf("The columns of the table of %d %s", t.rows, spaced(t.many)),
				MIMEType:    "application/json",
			})
			if err != nil {
				return err
			}
		}
		taken := map[string]bool{} // a configured key may be repeated
		for _, t := range tables {
			if !t.asRes {
				continue
			}
			err := t.eachRow(ctx, func(r row, n int) error {
				uri, key := t.rowURI(r, n)
				if uri == "" || taken[uri] {
					return nil
				}
				taken[uri] = true
				return send(&mcp.Resource{
					URI:         uri,
					Name:        t.label(r, key),
					Description: fmt.Sprintf("%s %s", capital(spaced(t.one)), key),
					MIMEType:    "application/json",
				})
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// title returns the display name of the table.
func (t *tab) title() string {
	return cmp.Or(t.opts.Title, capital(spaced(t.many)))
}

// uri returns the URI of the resource that describes the table.
func (t *tab) uri() string { return "table://" + t.many }

// rowURI returns the URI of a row and a display name; "" if it has no key.
func (t *tab) rowURI(r row, n int) (uri, name string) {
	if len(t.key) == 0 {
		name = strconv.Itoa(n)
		return t.uri() + "/" + name, name
	}
	var parts, words []string
	for _, i := range t.key {
		v, ok := t.keyValue(r, i)
		if !ok {
			return "", ""
		}
		parts = append(parts, url.PathEscape(v.text))
		words = append(words, v.text)
	}
	return t.uri() + "/" + strings.Join(parts, "/"), strings.Join(words, ", ")
}

// label returns the display name of a row: its name or title if it has one, or else that
// of an object in it.
func (t *tab) label(r row, otherwise string) string {
	isTitle := func(i int) bool { return t.keyRank(t.cols[i].name, -1) == 2 }
	isNestedName := func(i int) bool {
		name := t.cols[i].name
		isName := strings.HasPrefix(name, "name.") || strings.HasSuffix(name, ".name")
		return isName && t.src.nested[i] && t.cols[i].kind == kindText
	}
	for _, serves := range []func(int) bool{isTitle, isNestedName} {
		for i := range t.cols {
			v, ok := t.value(r, i)
			if ok && len(v.text) <= longValue && serves(i) {
				return v.text
			}
		}
	}
	return otherwise
}

// writer writes the answers of one table.
type writer struct {
	// t is the table; send passes on an answer.
	t    *tab
	send func(*sitewriter.Answer) error
	// list and finders collect rows into pages, so that memory does not grow with the
	// table.
	list    *pager
	finders []map[string]*pager
	keys    map[uint64]bool // for a key that may be repeated
}

// newWriter returns a writer that passes its answers to send.
func newWriter(t *tab, send func(*sitewriter.Answer) error) *writer {
	w := &writer{
		t:    t,
		send: send,
	}
	w.list = &pager{
		w:     w,
		tool:  t.listName(),
		total: t.rows,
		pages: t.pages,
		many:  t.pages > 1,
	}
	for range t.finders {
		w.finders = append(w.finders, map[string]*pager{})
	}
	if len(t.opts.Key) > 0 {
		w.keys = map[uint64]bool{}
	}
	return w
}

// row sends the answers for one row, and adds it to the pages of lists.
func (w *writer) row(r row, n int) error {
	t := w.t
	full := t.appendRow(nil, r, t.shown, false)
	if err := w.get(r, n, full); err != nil {
		return err
	}
	for _, i := range t.lookups {
		if args := t.arguments([]int{i}, r); args != nil {
			if err := w.send(answer(t.lookupName(i), args, full)); err != nil {
				return err
			}
		}
	}
	short := full
	if len(t.listed) != len(t.shown) || t.opts.List != nil || t.hasBinary {
		short = t.appendRow(nil, r, t.listed, true)
	}
	if err := w.list.add(short); err != nil {
		return err
	}
	for f, pagers := range w.finders {
		if err := w.find(t.finders[f], pagers, r, short); err != nil {
			return err
		}
	}
	return nil
}

// get sends the answers for one row.
func (w *writer) get(r row, n int, full []byte) error {
	t := w.t
	var args json.RawMessage
	if len(t.key) == 0 {
		args = (&object{}).int("row", n).end()
	} else if args = t.arguments(t.key, r); args == nil {
		return nil
	}
	if w.keys != nil {
		h := hash(0, string(args))
		if w.keys[h] {
			return nil // the first row wins; a finding reports it
		}
		w.keys[h] = true
	}
	if err := w.send(answer(t.getName(), args, full)); err != nil {
		return err
	}
	uri, _ := t.rowURI(r, n)
	if t.asRes && uri != "" {
		return w.send(sitewriter.TextResource(uri, "application/json", string(full)))
	}
	return nil
}

// find adds a row to the pages of its value in the column of a finder.
func (w *writer) find(f *finder, pagers map[string]*pager, r row, short []byte) error {
	v, ok := w.t.keyValue(r, f.column)
	if !ok {
		return nil
	}
	c := w.t.cols[f.column]
	value := string(c.appendArgument(nil, v))
	p := pagers[value]
	if p == nil {
		total := f.counts[value]
		p = &pager{
			w:     w,
			tool:  w.t.findName(f),
			total: total,
			pages: (total + w.t.page - 1) / w.t.page,
			many:  f.pages > 1,
			name:  c.arg,
			value: []byte(value),
		}
		pagers[value] = p
	}
	return p.add(short)
}

// end sends the partially filled pages and the description of the table.
func (w *writer) end() error {
	if err := w.list.flush(); err != nil {
		return err
	}
	for i, pagers := range w.finders {
		for _, value := range w.t.finders[i].values {
			if p := pagers[value]; p != nil {
				if err := p.flush(); err != nil {
					return err
				}
			}
		}
	}
	return w.send(sitewriter.TextResource(w.t.uri(), "application/json",
		string(w.t.describe())))
}

// arguments returns the values of columns as arguments; nil if one is empty.
func (t *tab) arguments(columns []int, r row) json.RawMessage {
	var o object
	for _, i := range columns {
		v, ok := t.keyValue(r, i)
		if !ok {
			return nil
		}
		o.raw(t.cols[i].arg, t.cols[i].appendArgument(nil, v))
	}
	return o.end()
}

// appendRow appends the columns of a row. If brief, binary data is abbreviated, except in
// columns whose values are arguments of a tool.
func (t *tab) appendRow(dst []byte, r row, columns []int, brief bool) []byte {
	dst = append(dst, '{')
	for n, i := range columns {
		if n > 0 {
			dst = append(dst, ',')
		}
		v, _ := t.value(r, i)
		dst = append(jsonscan.AppendQuote(dst, t.cols[i].name), ':')
		if brief && v.sort == binary && !t.isArgument(i) {
			dst = t.cols[i].appendBrief(dst, v)
			continue
		}
		dst = t.cols[i].appendJSON(dst, v)
	}
	return append(dst, '}')
}

// isArgument reports whether a tool takes values of a column.
func (t *tab) isArgument(column int) bool {
	_, refers := t.targets[column]
	return refers || slices.Contains(t.key, column) ||
		slices.ContainsFunc(t.finders, func(f *finder) bool {
			return f.column == column
		})
}

// answer returns the answer of a tool with a row or a page.
func answer(tool string, args json.RawMessage, structured []byte) *sitewriter.Answer {
	return sitewriter.Structured(tool, args, string(structured), structured)
}

// pager fills the pages of one list.
type pager struct {
	// w sends the pages of a tool.
	w    *writer
	tool string
	name string // of the argument with the value, if any
	// value is the value of that argument as JSON.
	value []byte
	// total and pages are known from the first pass over the table.
	total, pages int
	many         bool // the tool takes a page
	// rows are those of the current page.
	rows [][]byte
	// page is the number of the last page that was sent.
	page int
}

// add adds a row, and sends the page if it is full.
func (p *pager) add(row []byte) error {
	p.rows = append(p.rows, row)
	if len(p.rows) < p.w.t.page {
		return nil
	}
	return p.flush()
}

// flush sends a page. The first one is the answer with and without a page number.
func (p *pager) flush() error {
	if len(p.rows) == 0 {
		return nil
	}
	p.page++
	var o object
	o.raw("rows", rawArray(p.rows))
	o.int("page", p.page)
	o.int("pages", p.pages)
	o.int("total", p.total)
	structured := o.end()
	clear(p.rows)
	p.rows = p.rows[:0]
	if p.page == 1 {
		err := p.w.send(answer(p.tool, p.arguments(0), structured))
		if err != nil || !p.many {
			return err
		}
	}
	return p.w.send(answer(p.tool, p.arguments(p.page), structured))
}

// arguments returns the arguments for a page, or for the first one if page is 0.
func (p *pager) arguments(page int) json.RawMessage {
	var o object
	if p.name != "" {
		o.raw(p.name, p.value)
	}
	if page > 0 {
		o.int("page", page)
	}
	return o.end()
}

// describe returns the resource that describes the table.
func (t *tab) describe() []byte {
	var columns [][]byte
	for _, i := range t.shown {
		c := t.cols[i]
		var o object
		o.text("name", c.name)
		o.text("type", string(c.kind))
		if c.nulls > 0 {
			o.int("empty", c.nulls)
		}
		if c.canBeKey() {
			o.raw("unique", []byte("true"))
		}
		switch {
		case c.min == "":
		case c.kind == kindInteger || c.kind == kindNumber:
			o.raw("min", []byte(c.min))
			o.raw("max", []byte(c.max))
		default:
			o.text("min", c.min)
			o.text("max", c.max)
		}
		if target := t.targets[i]; target != "" {
			o.text("refersTo", target)
		}
		columns = append(columns, o.end())
	}
	var o object
	o.text("name", t.many)
	o.text("title", t.title())
	o.text("description", t.opts.Description)
	o.int("rows", t.rows)
	o.texts("key", t.keyNames())
	o.raw("columns", rawArray(columns))
	return o.end()
}

// keyNames returns the columns of the key; none if rows are identified by their numbers.
func (t *tab) keyNames() []string {
	names := []string{}
	for _, i := range t.key {
		names = append(names, t.cols[i].name)
	}
	return names
}
