package table

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	_ "modernc.org/sqlite" // the driver called "sqlite"

	"github.com/slipway-mcp/slipway/check"
)

// openSQLite opens the tables of a database. It is only read: nothing is created
// beside it, unless another program has changes in a write-ahead log.
func (in *Input) openSQLite(ctx context.Context, r *check.Report) ([]*source, func() error, error) {
	db, err := in.connect()
	if err != nil {
		return nil, nil, err
	}
	tables, err := in.sqliteTables(ctx, db)
	if err != nil {
		return nil, nil, errorsJoin(plainSQLite(err), db.Close())
	}
	var sources []*source
	for _, t := range tables {
		src, err := in.sqliteSource(t, r)
		if err != nil {
			return nil, nil, errorsJoin(fmt.Errorf("table %s: %w", t.name, plainSQLite(err)), db.Close())
		}
		src.only = len(tables) == 1
		sources = append(sources, src)
	}
	return sources, db.Close, nil
}

func (in *Input) connect() (*sql.DB, error) {
	path, err := filepath.Abs(in.path)
	if err != nil {
		return nil, err
	}
	query := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)"}}
	if log, err := os.Stat(path + "-wal"); err != nil || log.Size() == 0 {
		query.Set("immutable", "1")
	}
	name := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: query.Encode()}).String()
	db, err := sql.Open("sqlite", name)
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// plainSQLite words an error of the driver without its number.
func plainSQLite(err error) error {
	text, _, _ := strings.Cut(err.Error(), " (")
	if strings.Contains(text, "not a database") {
		return errors.New("the file is not a SQLite database, or it is encrypted")
	}
	return errors.New(text)
}

// sqliteTable is what the schema says of a table.
type sqliteTable struct {
	name    string
	columns []string
	// terms are what to select for each column.
	terms []string
	// booleans are the columns declared as such, in which SQLite has 0 and 1.
	booleans []bool
	key      []string
	refs     map[string]ref
	order    string
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// queryStrings returns the rows of a query as texts.
func queryStrings(ctx context.Context, db *sql.DB, query string, args ...any) (list [][]string, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errorsJoin(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		cells := make([]sql.NullString, len(names))
		into := make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		texts := make([]string, len(names))
		for i, c := range cells {
			texts[i] = c.String
		}
		list = append(list, texts)
	}
	return list, rows.Err()
}

// sqliteTables reads the schema: tables, and the views that are asked for.
func (in *Input) sqliteTables(ctx context.Context, db *sql.DB) ([]sqliteTable, error) {
	list, err := queryStrings(ctx, db, `SELECT name, type FROM pragma_table_list
		WHERE schema = 'main' AND type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, row := range list {
		names = append(names, row[0])
	}
	for _, name := range in.opts.Only {
		if !slices.Contains(names, name) {
			return nil, noSuch("table", name, names)
		}
	}
	var tables []sqliteTable
	for _, row := range list {
		name, isView := row[0], row[1] == "view"
		_, named := in.opts.Tables[name]
		named = named || slices.Contains(in.opts.Only, name)
		if isView && !named || len(in.opts.Only) > 0 && !slices.Contains(in.opts.Only, name) {
			continue
		}
		t := sqliteTable{name: name, refs: map[string]ref{}}
		if err := t.read(ctx, db, isView); err != nil {
			return nil, err
		}
		if len(t.columns) > in.opts.MaxColumns {
			return nil, fmt.Errorf("table %s has %d columns, more than the limit of %d", name, len(t.columns), in.opts.MaxColumns)
		}
		tables = append(tables, t)
	}
	return tables, nil
}

func (t *sqliteTable) read(ctx context.Context, db *sql.DB, isView bool) error {
	columns, err := queryStrings(ctx, db, `SELECT name, pk, type FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid`, t.name)
	if err != nil {
		return err
	}
	type part struct {
		at   int
		name string
	}
	var key []part
	for _, c := range columns {
		t.columns = append(t.columns, c[0])
		// Of the value of an expression the driver knows no declaration, and so
		// makes no times of texts, which are to stay as they are.
		t.terms = append(t.terms, "+"+quoteName(c[0]))
		t.booleans = append(t.booleans, strings.HasPrefix(strings.ToLower(c[2]), "bool"))
		if at, _ := strconv.Atoi(c[1]); at > 0 {
			key = append(key, part{at, c[0]})
		}
	}
	slices.SortFunc(key, func(a, b part) int { return a.at - b.at })
	var order []string
	for _, k := range key {
		t.key = append(t.key, k.name)
		order = append(order, quoteName(k.name))
	}
	switch {
	case len(order) > 0:
		t.order = " ORDER BY " + strings.Join(order, ", ")
	case !isView && !slices.ContainsFunc(t.columns, func(c string) bool { return strings.EqualFold(c, "rowid") }):
		t.order = " ORDER BY rowid"
	}
	refs, err := queryStrings(ctx, db, `SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?)`, t.name)
	if err != nil {
		return err
	}
	parts := map[string]int{}
	for _, r := range refs {
		parts[r[0]]++
	}
	for _, r := range refs {
		if parts[r[0]] == 1 {
			t.refs[r[2]] = ref{r[1], r[3]}
		}
	}
	return nil
}

func (in *Input) sqliteSource(t sqliteTable, r *check.Report) (*source, error) {
	src := &source{name: t.name, file: in.path, key: t.key, refs: t.refs}
	for _, name := range t.columns {
		src.column(name, true)
	}
	if len(t.columns) == 0 {
		return nil, errors.New("it has no columns")
	}
	query := "SELECT " + strings.Join(t.terms, ", ") + " FROM " + quoteName(t.name) + t.order
	report := r
	src.walk = func(ctx context.Context, each func(row) error) error {
		db, err := in.connect()
		if err != nil {
			return err
		}
		defer db.Close()
		w := &sqliteRows{in: in, src: src, booleans: t.booleans, report: report}
		report = nil
		return w.walk(ctx, db, query, each)
	}
	return src, nil
}

// sqliteRows walks the rows of one table.
type sqliteRows struct {
	in       *Input
	src      *source
	booleans []bool
	report   *check.Report
	count    int
}

func (w *sqliteRows) walk(ctx context.Context, db *sql.DB, query string, each func(row) error) (err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return plainSQLite(err)
	}
	defer func() { err = errorsJoin(err, rows.Close()) }()
	values := make([]any, len(w.src.columns))
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	cells := make([]cell, len(values))
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return plainSQLite(err)
		}
		w.count++
		for i, v := range values {
			cells[i] = w.cell(v, i)
		}
		if err := each(row{0, cells}); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return errorsJoin(ctx.Err(), plainSQLite(err))
	}
	return nil
}

// maxBlob is the size up to which binary data is shown, in base64.
const maxBlob = 4 << 10

func (w *sqliteRows) cell(v any, column int) cell {
	switch v := v.(type) {
	case int64:
		if w.booleans[column] && (v == 0 || v == 1) {
			return cell{boolean, strconv.FormatBool(v == 1)}
		}
		return cell{integer, strconv.FormatInt(v, 10)}
	case float64:
		literal := floatLiteral(v)
		if strings.ContainsAny(literal, "IN") { // infinite, or no number
			return cell{text, literal}
		}
		return cell{number, literal}
	case string:
		return cell{text, w.valid(v, column)}
	case []byte:
		if len(v) <= maxBlob {
			return cell{text, base64.StdEncoding.EncodeToString(v)}
		}
		w.warn("table/large-blob", column, fmt.Sprintf("%d bytes of binary data are left out", len(v)), "choose the other columns")
	}
	return cell{}
}

func (w *sqliteRows) valid(s string, column int) string {
	if utf8.ValidString(s) {
		return s
	}
	w.warn("table/encoding", column, "the text is not UTF-8; what cannot be read is shown as \ufffd", "")
	return strings.ToValidUTF8(s, "\ufffd")
}

func (w *sqliteRows) warn(rule string, column int, message, hint string) {
	if w.report != nil {
		w.report.Add(check.Finding{Rule: rule, Severity: check.Warning, File: w.in.path, Hint: hint,
			Message: fmt.Sprintf("row %d of %s, column %s: %s", w.count, w.src.name, w.src.columns[column], message)})
	}
}
