package table_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"database/sql"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/naivesite"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/internal/test/sitetest"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild/internal/table"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// file writes a file for a test.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// built is a site built from a table and reopened.
type built struct{ *sitetest.Built }

func open(t *testing.T, path string, opts *table.Options) (*built, error) {
	t.Helper()
	in, err := table.New(path, opts)
	if err != nil {
		return nil, err
	}
	b, err := sitetest.Open(t, in, &sitewriter.Options{Lenient: true})
	if err != nil {
		return nil, err
	}
	return &built{b}, nil
}

func must(t *testing.T, path string, opts *table.Options) *built {
	t.Helper()
	b, err := open(t, path, opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// call returns the structured answer to a call, or the text of an error.
func (b *built) call(t *testing.T, tool, args string) string {
	t.Helper()
	switch a := b.Call(tool, args); {
	case a.IsError:
		return "error: " + a.Text
	case a.Structured == "":
		return a.Text
	default:
		if a.Text != a.Structured {
			t.Errorf("the text %s is not %s", a.Text, a.Structured)
		}
		return a.Structured
	}
}

func (b *built) tools() []string {
	var names []string
	for _, tool := range b.From.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func (b *built) rules() []string {
	var list []string
	for _, f := range ruletest.Record(b.From.Findings...) {
		list = append(list, strings.TrimPrefix(f.String(), filepath.Dir(f.File)+"/"))
	}
	return list
}

const countries = `code,name,continent,population,independent,founded,zip
fr,France,Europe,68000000,TRUE,1792-09-22,07001
de,Germany,Europe,84000000,true,1871-01-18,01067
jp,日本,Asia,125000000,True,0660-02-11,00012
na,Namibia,Africa,2600000,TRUE,1990-03-21,99999
gl,Greenland,,56000,FALSE,NA,03900
ci,"Côte d’Ivoire",Africa,28000000,TRUE,1960-08-07,
`

func TestCSV(t *testing.T) {
	b := must(t, file(t, "countries.csv", countries), nil)
	want := []string{
		"get_country", "get_country_by_name", "list_countries", "find_countries_by_continent",
		"find_countries_by_independent",
	}
	if diff := cmp.Diff(b.tools(), want); diff != "" {
		t.Error(diff)
	}
	calls := map[string][3]string{
		"key": {
			"get_country",
			`{"code":"gl"}`,
			`{"code":"gl","name":"Greenland","continent":null,"population":56000,"independent":false,"founded":null,` +
				`"zip":"03900"}`,
		},
		"unique": {
			"get_country_by_name",
			`{"name":"日本"}`,
			`{"code":"jp","name":"日本","continent":"Asia","population":125000000,"independent":true,` +
				`"founded":"0660-02-11","zip":"00012"}`,
		},
		"finder": {
			"find_countries_by_continent",
			`{"continent":"Africa"}`,
			`{"rows":[{"code":"na","name":"Namibia","continent":"Africa","population":2600000,"independent":true,` +
				`"founded":"1990-03-21","zip":"99999"},{"code":"ci","name":"Côte d’Ivoire","continent":"Africa",` +
				`"population":28000000,"independent":true,"founded":"1960-08-07","zip":null}],"page":1,"pages":1,"total":2}`,
		},
		"boolean": {
			"find_countries_by_independent",
			`{"independent":false}`,
			`{"rows":[{"code":"gl","name":"Greenland","continent":null,"population":56000,"independent":false,` +
				`"founded":null,"zip":"03900"}],"page":1,"pages":1,"total":1}`,
		},
		"no such enum": {
			"find_countries_by_continent",
			`{"continent":"Mars"}`,
			`invalid arguments for find_countries_by_continent: continent: must be one of "Africa", "Asia", "Europe" ` +
				`(got "Mars")`,
		},
	}
	for name, c := range calls {
		t.Run(name, func(t *testing.T) {
			if got := b.call(t, c[0], c[1]); got != c[2] {
				t.Errorf("got %s\nwant %s", got, c[2])
			}
		})
	}
	if len(b.From.Findings) > 0 {
		t.Errorf("findings: %v", b.rules())
	}
}

func TestResources(t *testing.T) {
	b := must(t, file(t, "countries.csv", countries), nil)
	for uri, want := range map[string]string{
		"table://countries":    `"columns":[{"name":"code","type":"text","unique":true}`,
		"table://countries/fr": `{"code":"fr","name":"France"`,
	} {
		result, err := b.Site.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := json.Marshal(result)
		var answer struct{ Contents []struct{ Text string } }
		if err := json.Unmarshal(raw, &answer); err != nil || !strings.Contains(answer.Contents[0].Text, want) {
			t.Errorf("%s: %s, want %s in it", uri, raw, want)
		}
	}
	cat, err := b.Site.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := cat.Resources[1].Name; got != "France" {
		t.Errorf("the row is called %q, want France", got)
	}
}

// TestShapes reads the same row from each form of input.
func TestShapes(t *testing.T) {
	tests := map[string]struct{ file, content, tool, args, want string }{
		"semicolons": {"a.csv", "id;price\n1;1,5\n2;2,5\n", "get_a", `{"id":2}`, `{"id":2,"price":"2,5"}`},
		"tabs":       {"a.csv", "id\tname\n1\tx, y\n2\tz\n", "get_a", `{"id":1}`, `{"id":1,"name":"x, y"}`},
		"bars":       {"a.csv", "id|name\n1|x\n2|z\n", "get_a", `{"id":1}`, `{"id":1,"name":"x"}`},
		"tsv":        {"a.tsv", "id\tname\n1\tx\n", "get_a", `{"id":1}`, `{"id":1,"name":"x"}`},
		"mark":       {"a.csv", "\ufeffid,name\r\n1,x\r\n", "get_a", `{"id":1}`, `{"id":1,"name":"x"}`},
		"quotes": {
			"a.csv", "id,\"the, name\"\n1,\"a \"\"b\"\"\nc\"\n", "get_a", `{"id":1}`,
			`{"id":1,"the, name":"a \"b\"\nc"}`,
		},
		"no header":  {"a.csv", "7,x\n8,y\n", "get_a", `{"column_1":8}`, `{"column_1":8,"column_2":"y"}`},
		"no key":     {"data.csv", "a,b\n1,1\n1,2\n", "get_row", `{"row":2}`, `{"a":1,"b":2}`},
		"corner":     {"a.csv", ",n\nx,1\ny,2\n", "get_a", `{"column_1":"y"}`, `{"column_1":"y","n":2}`},
		"one column": {"words.csv", "word\nalpha\nbeta\n", "get_word", `{"word":"beta"}`, `{"word":"beta"}`},
		"numbers": {
			"a.csv", "id,n,m,z\n1,.5,1e3,007\n2,-.5,2,010\n", "get_a", `{"id":2}`,
			`{"id":2,"n":-0.5,"m":2,"z":"010"}`,
		},
		"large": {"a.csv", "id,n\n1,9007199254740993\n", "get_a", `{"id":1}`, `{"id":1,"n":"9007199254740993"}`},
		"array": {
			"a.json", `[{"id":1,"n":2.50,"o":{"x":[1]}},{"n":null,"id":2,"more":true}]`, "get_a",
			`{"id":1}`, `{"id":1,"n":2.50,"o":{"x":[1]},"more":null}`,
		},
		"mixed":   {"a.json", `[{"id":1,"n":"x"},{"id":2,"n":3}]`, "get_a", `{"id":2}`, `{"id":2,"n":3}`},
		"columns": {"a.json", `{"id":[1,2],"n":["x","y"]}`, "get_a", `{"id":2}`, `{"id":2,"n":"y"}`},
		"by key": {
			"currencies.json", `{"EUR":{"name":"Euro"},"USD":{"name":"Dollar"}}`, "get_currency",
			`{"key":"USD"}`, `{"key":"USD","name":"Dollar"}`,
		},
		"wrapped":  {"a.json", `{"total":1,"users":[{"id":7}]}`, "get_user", `{"id":7}`, `{"id":7}`},
		"envelope": {"cities.json", `{"data":[{"id":7}]}`, "get_city", `{"id":7}`, `{"id":7}`},
		"several": {
			"a.json", `{"users":[{"id":7}],"orders":[{"order_id":"x"}]}`, "get_order",
			`{"order_id":"x"}`, `{"order_id":"x"}`,
		},
		"same names":    {"a.json", `{"user":[{"id":7}],"users":[{"id":8}]}`, "get_user_2", `{"id":8}`, `{"id":8}`},
		"lines":         {"log_entries.jsonl", "{\"id\":1}\n\n{\"id\":2}\n", "get_log_entry", `{"id":2}`, `{"id":2}`},
		"same as a row": {"page.csv", "page,n\n1,x\n2,y\n", "get_page", `{"column_1":2}`, `{"page":2,"n":"y"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := must(t, file(t, test.file, test.content), nil)
			if got := b.call(t, test.tool, test.args); got != test.want {
				t.Errorf("got %s, want %s; tools %v", got, test.want, b.tools())
			}
		})
	}
}

func TestFindings(t *testing.T) {
	tests := map[string]struct {
		file, content string
		opts          *table.Options
		want          []string
	}{
		"ragged": {"a.csv", "id,n\n1\n2,x,y\n3,z\n", nil, []string{
			"a.csv:2: warning: the row has 1 cells for 2 columns; the missing cells are empty [table/ragged-row]",
			"a.csv:3: warning: the row has 3 cells for 2 columns; the rest is skipped [table/ragged-row]"}},
		"quotes": {"a.csv", "id,n\n1,a\"b\n2,x\n", nil, []string{
			`a.csv:2: error: the line is skipped because it is not CSV: bare " in non-quoted-field [table/syntax]`}},
		"bytes": {"a.csv", "id,n\n1,caf\xe9\n", nil, []string{
			"a.csv:2:3: warning: the cell is not UTF-8; its invalid bytes become \ufffd [table/encoding]"}},
		"names": {"a.csv", "id,n,n\n1,x,y\n", nil, []string{
			`a.csv:1: warning: two columns are named "n"; the second is renamed to "n_2" [table/duplicate-column]`}},
		"lines": {"a.jsonl", "{\"id\":1}\n{\"id\":\n[2]\n{\"id\":1,\"id\":3}\n", nil, []string{
			"a.jsonl:2:7: error: the line is skipped because it is not JSON: unexpected end of input [table/syntax]",
			"a.jsonl:3: error: the element is skipped because it is not an object [table/syntax]",
			`a.jsonl:4: warning: duplicate member "id" in the row; the second is skipped [table/duplicate-member]`,
			`a.jsonl:4: warning: id "1" is repeated, so id does not identify rows [table/duplicate-key]`}},
		"large integers": {"a.csv", "id,n\n1,9007199254740993\n", nil, []string{
			"a.csv: note: column n of a has integers beyond 9007199254740991, which many readers of JSON change; " +
				"they are shown as texts [table/large-integer]"}},
		"members that are no tables": {"a.json", `{"version":2,"lands":[{"id":1}],"towns":[{}]}`, nil, []string{
			"a.json: warning: the table towns has no rows with values and is skipped [table/empty]",
			`a.json:1:12: note: "version" is skipped because it is not an array of objects [table/left-out]`}},
		"array": {"a.json", "[{\"id\":1},\n 2]", nil, []string{
			"a.json:2: error: the element is skipped because it is not an object [table/syntax]"}},
		"empty key": {"a.csv", "n,m\nx,1\n,2\n", &table.Options{Table: table.Table{Key: []string{"n"}}}, []string{
			"a.csv: warning: n is empty in 1 rows of a, which get_a does not find [table/empty-key]"}},
		"key asked for": {"a.csv", "n,m\nx,1\ny,2\nx,3\n", &table.Options{Table: table.Table{Key: []string{"n"}}}, []string{
			"a.csv:4: error: a row with the key x is in line 2 already [table/duplicate-key]"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := must(t, file(t, test.file, test.content), test.opts)
			got := slices.DeleteFunc(b.rules(), func(s string) bool { return strings.Contains(s, "[table/no-key]") })
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	tests := map[string]struct {
		file, content string
		opts          *table.Options
		want          string
	}{
		"empty": {"a.csv", "", nil, "the file is empty"},
		"only an open quote": {"a.csv", "id,n\n1,\"x\n", nil,
			"no table has rows: line 2: the line is skipped because it is not CSV: extraneous or missing \" in quoted-field"},
		"only header": {"a.csv", "id,n\n", nil, "no table has rows"},
		"utf-16":      {"a.csv", "\xff\xfei\x00d\x00", nil, "the file is UTF-16 or not text; save it as CSV in UTF-8"},
		"open quote": {"a.csv", "id,n\n1,\"x\n" + strings.Repeat("2,y\n", 100), &table.Options{MaxRecordBytes: 100},
			"a record is longer than the limit; a quote may not be closed"},
		"rows":     {"a.csv", "id\n1\n2\n3\n", &table.Options{MaxRows: 2}, "the table a has more than 2 rows"},
		"no array": {"a.json", "[{\"id\":1}\n,", nil, "line 2: unterminated array"},
		"no table": {"a.json", `{"openapi":"3.0.0","paths":{}}`, nil,
			"this JSON is not a table: a table is an array of objects, or an object of such arrays, of objects, or of columns"},
		"lengths": {"a.json", `{"a":[1,2],"b":[1]}`, nil,
			`the column "b" has 1 values, and "a" has 2: columns of a table must have the same length`},
		"key": {"a.csv", "id,name\n1,x\n", &table.Options{Table: table.Table{Key: []string{"nmae"}}},
			`no column is named "nmae"; did you mean "name"?`},
		"find": {"a.csv", "id,name\n1,x\n", &table.Options{Table: table.Table{Find: []string{"zzz"}}},
			`table a: no column is named "zzz"; there are id, name`},
		"several": {"a.json", `{"a":[{"id":1}],"b":[{"id":1}]}`, &table.Options{Table: table.Table{Key: []string{"id"}}},
			"there are 2 tables, and the settings are for one; set them for each table"},
		"database": {"a.db", "this is no database, but long enough to be one", nil,
			"the file is not a SQLite database, or it is encrypted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := file(t, test.file, test.content)
			_, err := open(t, path, test.opts)
			if err == nil || err.Error() != "read "+path+": "+test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	if _, err := table.New("a.txt", nil); err == nil || !strings.Contains(err.Error(), "a table is a .csv") {
		t.Errorf("got %v", err)
	}
}

func TestPages(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,group\n")
	for i := range 25 {
		b.WriteString(strings.Join([]string{string(rune('a' + i)), string(rune('x' + i%2))}, ",") + "\n")
	}
	s := must(t, file(t, "letters.csv", b.String()),
		&table.Options{Table: table.Table{PageRows: 10, Columns: []string{"id"}, ResourceRows: -1}})
	for _, c := range [][3]string{
		{"list_letters", `{}`, `"page":1,"pages":3,"total":25}`},
		{"list_letters", `{"page":1}`, `"page":1,"pages":3,"total":25}`},
		{
			"list_letters",
			`{"page":3}`,
			`{"rows":[{"id":"u"},{"id":"v"},{"id":"w"},{"id":"x"},{"id":"y"}],"page":3,"pages":3,"total":25}`,
		},
		{"find_letters_by_group", `{"group":"y"}`, `"page":1,"pages":2,"total":12}`},
		{
			"find_letters_by_group",
			`{"group":"x","page":2}`,
			`{"rows":[{"id":"u"},{"id":"w"},{"id":"y"}],"page":2,"pages":2,"total":13}`,
		},
	} {
		if got := s.call(t, c[0], c[1]); !strings.HasSuffix(got, c[2]) {
			t.Errorf("%s %s: got %s, want %s", c[0], c[1], got, c[2])
		}
	}
	naive := naivesite.Site{FS: s.Files, Encode: staticmcp.EncodeName}
	for _, call := range [][]string{
		{"list_letters"},
		{"list_letters", "1"},
		{"list_letters", "3"},
		{"find_letters_by_group", "y"},
		{"find_letters_by_group", "x", "2"},
		{"get_letter", "c"},
	} {
		if _, err := naive.Call(call[0], call[1:]...); err != nil {
			t.Errorf("the naive reader: %v: %v", call, err)
		}
	}
}

func TestSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, born DATE, active BOOLEAN, photo BLOB, full TEXT ` +
			`GENERATED ALWAYS AS (name || '!'))`,
		`CREATE TABLE orders (user_id INTEGER REFERENCES users, nr INTEGER, total REAL, PRIMARY KEY (user_id, nr)) ` +
			`WITHOUT ROWID`,
		`CREATE TABLE unused (id INTEGER)`,
		`CREATE VIEW totals AS SELECT user_id, sum(total) AS total FROM orders GROUP BY user_id`,
		`INSERT INTO users (id, name, born, active, photo) VALUES (1, 'Ann', '1990-01-02', 1, x'0102'), (2, 'Bob', ` +
			`NULL, 0, NULL)`,
		`INSERT INTO orders VALUES (1, 1, 9.5), (1, 2, 10), (2, 1, 3)`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	b := must(t, path, nil)
	want := []string{"get_order", "list_orders", "find_orders_by_user_id", "get_user", "get_user_by_name", "list_users"}
	for _, name := range want {
		if !slices.Contains(b.tools(), name) {
			t.Errorf("no tool %s in %v", name, b.tools())
		}
	}
	for _, c := range [][3]string{
		{"get_user", `{"id":1}`, `{"id":1,"name":"Ann","born":"1990-01-02","active":true,"photo":"AQI=","full":"Ann!"}`},
		{"get_user", `{"id":2}`, `{"id":2,"name":"Bob","born":null,"active":false,"photo":null,"full":"Bob!"}`},
		{"get_order", `{"user_id":1,"nr":2}`, `{"user_id":1,"nr":2,"total":10}`},
		{"find_orders_by_user_id", `{"user_id":2}`, `{"rows":[{"user_id":2,"nr":1,"total":3}],"page":1,"pages":1,"total":1}`},
	} {
		if got := b.call(t, c[0], c[1]); got != c[2] {
			t.Errorf("%s %s: got %s, want %s", c[0], c[1], got, c[2])
		}
	}
	tool := catalog(t, b).Tool("find_orders_by_user_id")
	if !strings.Contains(string(tool.InputSchema), "what get_user takes") {
		t.Errorf("no target: %s", tool.InputSchema)
	}
	view := must(t, path, &table.Options{Only: []string{"totals"}})
	if got := view.call(t, "get_total", `{"user_id":1}`); got != `{"user_id":1,"total":19.5}` {
		t.Errorf("view: %s; %v", got, view.tools())
	}
	if _, err := open(t, path, &table.Options{Only: []string{"user"}}); err == nil ||
		!strings.Contains(err.Error(), `did you mean "users"?`) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside the database: %v %v", entries, err)
	}
}

// TestWriteAheadLog reads changes that another program has written but not yet moved into
// the file itself.
func TestWriteAheadLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		`PRAGMA journal_mode = WAL`,
		`CREATE TABLE entries (id INTEGER PRIMARY KEY, text TEXT)`,
		`INSERT INTO entries VALUES (7, 'late')`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if log, err := os.Stat(path + "-wal"); err != nil || log.Size() == 0 {
		t.Fatalf("there is no log: %v", err)
	}
	b := must(t, path, nil)
	if got := b.call(t, "get_entry", `{"id":7}`); got != `{"id":7,"text":"late"}` {
		t.Errorf("got %s", got)
	}
}

func catalog(t *testing.T, b *built) *mcp.Catalog {
	t.Helper()
	cat, err := b.Site.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// TestMemory verifies that little of a long table is kept in memory.
func TestMemory(t *testing.T) {
	race.SkipLong(t)
	const rows = 50_000
	var b strings.Builder
	b.WriteString("id,name,kind,note\n")
	for i := range rows {
		b.WriteString(strings.Join([]string{itoa(i), "name " + itoa(i), "kind " + itoa(i%7), strings.Repeat("x", 100)},
			",") + "\n")
	}
	in, err := table.New(file(t, "things.csv", b.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	site, err := in.Site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := 0
	for _, err := range site.Answers {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == rows/2 {
			runtime.GC()
			runtime.ReadMemStats(&after)
		}
	}
	if n <= rows {
		t.Errorf("%d answers for %d rows", n, rows)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d bytes are kept while answers are read", grown)
	}
}

func itoa(i int) string { return string(mustMarshal(i)) }

func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func FuzzTables(f *testing.F) {
	f.Add(countries, uint8(0))
	f.Add("\"a;b\";c\n1;2\n", uint8(0))
	f.Add(`[{"id":1,"x":{"y":[null]}}]`, uint8(1))
	f.Add(`{"a":[1],"b":["x"]}`, uint8(1))
	f.Add(`{"k":{"id":1},"l":{}}`, uint8(1))
	f.Add("{\"id\":1}\n{", uint8(2))
	f.Add("{}\n{}\n", uint8(2))
	fuzzbound.Fuzz(f, func(t *testing.T, content string, format uint8) {
		name := []string{"a.csv", "a.json", "a.jsonl", "a.tsv"}[format%4]
		// A site repeats the names of all columns in each row.
		in, err := table.New(file(t, name, content), &table.Options{MaxColumns: 50})
		if err != nil {
			t.Fatal(err)
		}
		site, err := in.Site(context.Background())
		if err != nil {
			return
		}
		if r, err := sitewriter.Write(context.Background(), site, sitewriter.NewMemory(),
			&sitewriter.Options{Lenient: true}); err != nil {
			t.Fatalf("%v: %v", err, ruletest.Findings(&r.Report))
		}
	})
}
