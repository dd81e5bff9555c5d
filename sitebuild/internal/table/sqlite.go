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

	"modernc.org/sqlite" // also the driver called "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/order"
)

// openSQLite opens the tables of a database, read-only. No files are created next to it,
// unless another program has changes in a write-ahead log.
func (in *Input) openSQLite(ctx context.Context, r *check.Report) ([]*source, func() error, error) {
	db, err := in.connect(ctx)
	if err != nil {
		return nil, nil, plainSQLite(err)
	}
	tables, err := in.sqliteTables(ctx, db)
	if err != nil {
		return nil, nil, errorsJoin(plainSQLite(err), db.Close())
	}
	var sources []*source
	for _, t := range tables {
		src, err := in.sqliteSource(t, r)
		if err != nil {
			return nil, nil, errorsJoin(fmt.Errorf("table %s: %w", t.name,
				plainSQLite(err)), db.Close())
		}
		src.only = len(tables) == 1
		sources = append(sources, src)
	}
	return sources, db.Close, nil
}

// connect opens the database with one connection, on which SQLite rejects any value of
// more than MaxRecordBytes before reading it.
func (in *Input) connect(ctx context.Context) (*sql.DB, error) {
	path, err := filepath.Abs(in.path)
	if err != nil {
		return nil, err
	}
	query := url.Values{
		"mode":    {"ro"},
		"_pragma": {"query_only(1)"},
	}
	if log, err := os.Stat(path + "-wal"); err != nil || log.Size() == 0 {
		query.Set("immutable", "1")
	}
	opaque := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	name := (&url.URL{
		Scheme:   "file",
		Opaque:   opaque,
		RawQuery: query.Encode(),
	}).String()
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err == nil {
		_, err = sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_LENGTH, in.opts.MaxRecordBytes)
		err = errorsJoin(err, conn.Close())
	}
	if err != nil {
		return nil, errorsJoin(err, db.Close())
	}
	return db, nil
}

// plainSQLite rewords an error of the driver without its number.
func plainSQLite(err error) error {
	var failed *sqlite.Error
	if errors.As(err, &failed) {
		switch failed.Code() & 0xff { // the rest is the extended code
		case sqlite3.SQLITE_TOOBIG:
			return errors.New("a value is larger than the limit of one row")
		case sqlite3.SQLITE_NOTADB:
			return errors.New("the file is not a SQLite database, or it is encrypted")
		}
	}
	text, _, _ := strings.Cut(err.Error(), " (")
	return errors.New(text)
}

// sqliteTable is the schema of a table.
type sqliteTable struct {
	// name is the table or view, and columns are in its order.
	name    string
	columns []string
	// terms are the SELECT expressions of the columns: the value, or NULL for binary data
	// of more than maxBlob bytes. sizes are expressions for the sizes in bytes of the
	// values that are read. SQLite computes both from the header of a row, without reading
	// the value.
	terms, sizes []string
	// blobs are expressions for texts "COLUMN:BYTES," for binary data that is omitted,
	// and "" for other values.
	blobs []string
	// booleans marks the columns declared as boolean, which SQLite stores as 0 and 1.
	booleans []bool
	// key are the columns of the primary key, refs the foreign keys, and order the ORDER
	// BY clause that makes builds reproducible.
	key   []string
	refs  map[string]ref
	order string
}

// quoteName quotes an identifier for SQL.
func quoteName(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// queryStrings returns the rows of a query as strings.
func queryStrings(
	ctx context.Context,
	db *sql.DB,
	query string,
	args ...any,
) (list [][]string, err error) {
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

// sqliteTables reads the schema: tables, and the requested views.
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
		name := row[0]
		isView := row[1] == "view"
		_, named := in.opts.Tables[name]
		named = named || slices.Contains(in.opts.Only, name)
		if isView && !named ||
			len(in.opts.Only) > 0 && !slices.Contains(in.opts.Only, name) {
			continue
		}
		t := sqliteTable{
			name: name,
			refs: map[string]ref{},
		}
		if err := t.read(ctx, db, isView); err != nil {
			return nil, err
		}
		if len(t.columns) > in.opts.MaxColumns {
			return nil, fmt.Errorf("table %s has %d columns, more than the limit of %d",
				name, len(t.columns), in.opts.MaxColumns)
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// read reads the columns and keys of the table, and builds the terms of its query: large
// binary values are replaced by their sizes before they reach memory.
func (t *sqliteTable) read(ctx context.Context, db *sql.DB, isView bool) error {
	columns, err := queryStrings(ctx, db,
		`SELECT name, pk, type FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid`, t.name)
	if err != nil {
		return err
	}
	type part struct {
		at   int
		name string
	}
	var key []part
	for _, c := range columns {
		name := quoteName(c[0])
		large := fmt.Sprintf("typeof(%s) = 'blob' AND octet_length(%s) > %d", name,
			name, maxBlob)
		// An expression has no declared type, so the driver returns texts unchanged instead of
		// converting some to times.
		t.terms = append(t.terms, fmt.Sprintf("CASE WHEN %s THEN NULL ELSE %s END", large, name))
		t.sizes = append(t.sizes, fmt.Sprintf("CASE WHEN %s THEN 0 ELSE ifnull(octet_length(%s), 0) END", large, name))
		t.blobs = append(t.blobs, fmt.Sprintf("CASE WHEN %s THEN '%d:' || octet_length(%s) || ',' ELSE '' END", large,
			len(t.columns), name))
		t.columns = append(t.columns, c[0])
		t.booleans = append(t.booleans, strings.HasPrefix(strings.ToLower(c[2]), "bool"))
		if at, _ := strconv.Atoi(c[1]); at > 0 {
			key = append(key, part{at, c[0]})
		}
	}
	order.By(key, func(a, b part) int { return a.at - b.at })
	var order []string
	for _, k := range key {
		t.key = append(t.key, k.name)
		order = append(order, quoteName(k.name))
	}
	switch {
	case len(order) > 0:
		t.order = " ORDER BY " + strings.Join(order, ", ")
	case !isView && !slices.ContainsFunc(t.columns, func(c string) bool {
		return strings.EqualFold(c, "rowid")
	}):
		t.order = " ORDER BY rowid"
	}
	refs, err := queryStrings(ctx, db,
		`SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?)`, t.name)
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

// sqliteSource returns a table as a source, whose first walk also verifies the sizes of all
// rows before it reads them.
func (in *Input) sqliteSource(t sqliteTable, r *check.Report) (*source, error) {
	src := &source{
		name: t.name,
		file: in.path,
		key:  t.key,
		refs: t.refs,
	}
	for _, name := range t.columns {
		src.column(name, true)
	}
	if len(t.columns) == 0 {
		return nil, errors.New("it has no columns")
	}
	from := " FROM " + quoteName(t.name)
	query := "SELECT " + strings.Join(t.terms, ", ") + ", " + balanced(t.blobs, " || ") + from + t.order
	size := balanced(t.sizes, " + ")
	oversized := fmt.Sprintf("SELECT %s%s WHERE %s > %d LIMIT 1", size, from, size,
		in.opts.MaxRecordBytes)
	report := r
	src.walk = func(ctx context.Context, each func(row) error) error {
		db, err := in.connect(ctx)
		if err != nil {
			return plainSQLite(err)
		}
		defer db.Close()
		if report != nil {
			if err := in.refuseOversized(ctx, db, oversized); err != nil {
				return err
			}
		}
		w := &sqliteRows{
			in:       in,
			src:      src,
			booleans: t.booleans,
			report:   report,
		}
		report = nil
		return w.walk(ctx, db, query, each)
	}
	return src, nil
}

// balanced joins terms to an expression with minimal nesting: SQLite rejects a chain of
// 1,000.
func balanced(terms []string, operator string) string {
	if len(terms) == 1 {
		return terms[0]
	}
	half := len(terms) / 2
	return "(" + balanced(terms[:half], operator) + operator + balanced(terms[half:], operator) + ")"
}

// refuseOversized returns an error if a row of the table has more than MaxRecordBytes.
// query finds one without reading its values.
func (in *Input) refuseOversized(ctx context.Context, db *sql.DB, query string) error {
	info, err := os.Stat(in.path)
	if err == nil && info.Size() <= int64(in.opts.MaxRecordBytes) {
		return nil // the common case costs nothing
	}
	found, err := queryStrings(ctx, db, query)
	if err != nil {
		return plainSQLite(err)
	}
	if len(found) > 0 {
		return fmt.Errorf("a row has %s bytes, more than the limit of %d",
			found[0][0], in.opts.MaxRecordBytes)
	}
	return nil
}

// sqliteRows walks the rows of one table.
type sqliteRows struct {
	// in is the database, and src the table to read.
	in       *Input
	src      *source
	booleans []bool
	report   *check.Report
	count    int
}

// walk calls each for every row of the query.
func (w *sqliteRows) walk(
	ctx context.Context,
	db *sql.DB,
	query string,
	each func(row) error,
) (err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return plainSQLite(err)
	}
	defer func() { err = errorsJoin(err, rows.Close()) }()
	values := make([]any, len(w.src.columns))
	into := make([]any, len(values), len(values)+1)
	for i := range values {
		into[i] = &values[i]
	}
	var blobs string
	into = append(into, &blobs)
	cells := make([]cell, len(values))
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return plainSQLite(err)
		}
		w.count++
		for i, v := range values {
			cells[i] = w.cell(v, i)
		}
		w.omit(cells, blobs)
		if err := each(row{0, cells}); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return errorsJoin(ctx.Err(), plainSQLite(err))
	}
	return nil
}

// maxBlob is the largest binary value that is included, in base64, in bytes.
const maxBlob = 4 << 10

// cell converts a value of the driver. Integers in a column declared as boolean are
// booleans.
func (w *sqliteRows) cell(v any, column int) cell {
	switch v := v.(type) {
	case int64:
		if w.booleans[column] && (v == 0 || v == 1) {
			return cell{boolean, strconv.FormatBool(v == 1)}
		}
		return cell{integer, strconv.FormatInt(v, 10)}
	case float64:
		literal := floatLiteral(v)
		if strings.ContainsAny(literal, "IN") { // infinite, or not a number
			return cell{text, literal}
		}
		return cell{number, literal}
	case string:
		return cell{text, w.valid(v, column)}
	case []byte:
		return cell{binary, base64.StdEncoding.EncodeToString(v)}
	}
	return cell{}
}

// omit records and reports the omitted binary data of a row: "COLUMN:BYTES,".
func (w *sqliteRows) omit(cells []cell, list string) {
	for entry := range strings.SplitSeq(strings.TrimSuffix(list, ","), ",") {
		column, size, ok := strings.Cut(entry, ":")
		i, err := strconv.Atoi(column)
		if ok && err == nil && i < len(cells) {
			cells[i] = cell{omitted, size}
			w.warn(ruleLargeBlob, i, "choose the other columns",
				"%s bytes of binary data are omitted", size)
		}
	}
}

// valid returns a text with its invalid UTF-8 replaced, which is reported.
func (w *sqliteRows) valid(s string, column int) string {
	if utf8.ValidString(s) {
		return s
	}
	w.warn(ruleEncoding, column, "", "the text is not UTF-8; what cannot be read is shown as \ufffd")
	return strings.ToValidUTF8(s, "\ufffd")
}

// warn reports a problem of the current row unless the table is read again.
func (w *sqliteRows) warn(rule check.Rule, column int, hint, format string, args ...any) {
	if w.report != nil {
		w.in.about(w.report).Add(rule, "", hint,
			"row %d of %s, column %s: %s",
			w.count, w.src.name, w.src.columns[column], fmt.Sprintf(format, args...))
	}
}
