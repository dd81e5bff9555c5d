package table

import (
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

// reopened calls do for each row of each table, reading the tables again, and end after
// each table.
func reopened(ctx context.Context, tables []*tab, do func(t *tab, r row, n int) error, end func(t *tab) error) error {
	for _, t := range tables {
		n := 0
		err := t.src.walk(ctx, func(r row) error {
			if n++; n > t.rows {
				return changed(t)
			}
			return do(t, r, n)
		})
		if err != nil {
			return err
		}
		if n != t.rows {
			return changed(t)
		}
		if err := end(t); err != nil {
			return err
		}
	}
	return nil
}

func changed(t *tab) error {
	return fmt.Errorf("%s changed while it was being read", t.src.file)
}

// answers yields the answers during the second reading.
func answers(ctx context.Context, in *Input, tables []*tab) iter.Seq2[*sitewriter.Answer, error] {
	return func(yield func(*sitewriter.Answer, error) bool) {
		var w *writer
		send := func(a *sitewriter.Answer) error {
			if !yield(a, nil) {
				return errStopped
			}
			return nil
		}
		err := reopened(ctx, tables, func(t *tab, r row, n int) error {
			if w == nil || w.t != t {
				w = newWriter(t, send)
			}
			return w.row(r, n)
		}, func(*tab) error { return w.end() })
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, fmt.Errorf("read %s: %w", in.path, err))
		}
	}
}

// resources yields the tables, and the rows of short tables.
func resources(ctx context.Context, in *Input, tables []*tab) iter.Seq2[*mcp.Resource, error] {
	return func(yield func(*mcp.Resource, error) bool) {
		send := func(r *mcp.Resource) error {
			if !yield(r, nil) {
				return errStopped
			}
			return nil
		}
		var short []*tab
		for _, t := range tables {
			about := fmt.Sprintf("The columns of the table of %d %s", t.rows, spaced(t.many))
			if send(&mcp.Resource{
				URI:         t.uri(),
				Name:        t.many,
				Title:       t.title(),
				Description: about,
				MIMEType:    "application/json",
			}) != nil {
				return
			}
			if t.asRes {
				short = append(short, t)
			}
		}
		taken := map[string]bool{} // a configured key may be repeated
		err := reopened(ctx, short, func(t *tab, r row, n int) error {
			uri, key := t.rowURI(r, n)
			if uri == "" || taken[uri] {
				return nil
			}
			taken[uri] = true
			about := fmt.Sprintf("%s %s", capital(spaced(t.one)), key)
			return send(&mcp.Resource{
				URI:         uri,
				Name:        t.label(r, key),
				Description: about,
				MIMEType:    "application/json",
			})
		}, func(*tab) error { return nil })
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, fmt.Errorf("read %s: %w", in.path, err))
		}
	}
}

func (t *tab) title() string {
	if t.opts.Title != "" {
		return t.opts.Title
	}
	return capital(spaced(t.many))
}

func (t *tab) uri() string { return "table://" + t.many }

// rowURI returns the URI of a row and a display name; "" if it has no key.
func (t *tab) rowURI(r row, n int) (uri, name string) {
	if len(t.key) == 0 {
		name = strconv.Itoa(n)
		return t.uri() + "/" + name, name
	}
	var parts, words []string
	for _, i := range t.key {
		if i >= len(r.cells) || t.cols[i].isNull(r.cells[i]) || nameless(r.cells[i].text) {
			return "", ""
		}
		parts = append(parts, url.PathEscape(r.cells[i].text))
		words = append(words, r.cells[i].text)
	}
	return t.uri() + "/" + strings.Join(parts, "/"), strings.Join(words, ", ")
}

// label returns the display name of a row: its name or title if it has one.
func (t *tab) label(r row, otherwise string) string {
	for i, c := range t.cols {
		if i < len(r.cells) &&
			t.keyRank(c.name, -1) == 2 &&
			!t.cols[i].isNull(r.cells[i]) &&
			len(r.cells[i].text) <= longValue {
			return r.cells[i].text
		}
	}
	for i := range t.cols {
		if name := t.cols[i].name; t.src.nested[i] && i < len(r.cells) &&
			(strings.HasPrefix(name, "name.") || strings.HasSuffix(name, ".name")) &&
			t.cols[i].kind == kindText && !t.cols[i].isNull(r.cells[i]) && len(r.cells[i].text) <= longValue {
			return r.cells[i].text
		}
	}
	return otherwise
}

// writer writes the answers of one table.
type writer struct {
	t       *tab
	send    func(*sitewriter.Answer) error
	list    *pager
	finders []map[string]*pager
	keys    map[uint64]bool // for a key that may be repeated
}

func newWriter(t *tab, send func(*sitewriter.Answer) error) *writer {
	w := &writer{
		t:    t,
		send: send,
	}
	w.list = &pager{
		w:     w,
		tool:  "list_" + t.many,
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
	if err := w.send(answer("get_"+t.one, args, full)); err != nil {
		return err
	}
	if uri, _ := t.rowURI(r, n); t.asRes && uri != "" {
		return w.send(sitewriter.TextResource(uri, "application/json", string(full)))
	}
	return nil
}

func (w *writer) find(f *finder, pagers map[string]*pager, r row, short []byte) error {
	c := w.t.cols[f.column]
	if f.column >= len(r.cells) || c.isNull(r.cells[f.column]) || nameless(r.cells[f.column].text) {
		return nil
	}
	value := string(c.appendArgument(nil, r.cells[f.column]))
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
	return w.send(sitewriter.TextResource(w.t.uri(), "application/json", string(w.t.describe())))
}

// arguments returns the values of columns as arguments; nil if one is empty.
func (t *tab) arguments(columns []int, r row) json.RawMessage {
	var o object
	for _, i := range columns {
		if i >= len(r.cells) || t.cols[i].isNull(r.cells[i]) || nameless(r.cells[i].text) {
			return nil
		}
		o.raw(t.cols[i].arg, t.cols[i].appendArgument(nil, r.cells[i]))
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
		v := cell{}
		if i < len(r.cells) {
			v = r.cells[i]
		}
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

func answer(tool string, args json.RawMessage, structured []byte) *sitewriter.Answer {
	return sitewriter.Structured(tool, args, string(structured), structured)
}

// pager fills the pages of one list.
type pager struct {
	w            *writer
	tool         string
	name         string // of the argument with the value, if any
	value        []byte
	total, pages int
	many         bool // the tool takes a page
	rows         [][]byte
	page         int
}

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
	structured := o.raw("rows", rawArray(p.rows)).int("page", p.page).int("pages", p.pages).int("total", p.total).end()
	clear(p.rows)
	p.rows = p.rows[:0]
	if p.page == 1 {
		if err := p.w.send(answer(p.tool, p.arguments(0), structured)); err != nil || !p.many {
			return err
		}
	}
	return p.w.send(answer(p.tool, p.arguments(p.page), structured))
}

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
		o.text("name", c.name).text("type", string(c.kind))
		if c.nulls > 0 {
			o.int("empty", c.nulls)
		}
		if c.canBeKey() {
			o.raw("unique", []byte("true"))
		}
		switch {
		case c.min == "":
		case c.kind == kindInteger || c.kind == kindNumber:
			o.raw("min", []byte(c.min)).raw("max", []byte(c.max))
		default:
			o.text("min", c.min).text("max", c.max)
		}
		if target, ok := t.targets[i]; ok {
			o.text("refersTo", target)
		}
		columns = append(columns, o.end())
	}
	var o object
	o.text("name", t.many).text("title", t.title()).text("description",
		t.opts.Description).int("rows", t.rows).texts("key", t.keyNames())
	return o.raw("columns", rawArray(columns)).end()
}

// keyNames returns the columns of the key; none if rows are identified by their numbers.
func (t *tab) keyNames() []string {
	names := []string{}
	for _, i := range t.key {
		names = append(names, t.cols[i].name)
	}
	return names
}
