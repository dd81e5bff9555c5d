package table_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/sitebuild/internal/table"
)

// database creates a database of one table, files, with 20 small rows and one whose last
// column is expression.
func database(t *testing.T, expression string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "files.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	statements := []string{`CREATE TABLE files (id INTEGER PRIMARY KEY, name TEXT, data)`}
	for i := range 20 {
		statements = append(statements, fmt.Sprintf(`INSERT INTO files VALUES (%d, 'file %d', x'00ff')`, i, i))
	}
	statements = append(statements, `INSERT INTO files VALUES (99, 'big', `+expression+`)`)
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// peakMemory returns by how many bytes the resident memory of the process grew while do
// ran. It skips the test on systems that do not report it.
func peakMemory(t *testing.T, do func()) int64 {
	t.Helper()
	debug.FreeOSMemory()
	if runtime.GOOS != "linux" || os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) != nil {
		t.Skip("the peak of resident memory cannot be reset here")
	}
	before := statusBytes(t, "VmRSS:")
	do()
	return statusBytes(t, "VmHWM:") - before
}

func statusBytes(t *testing.T, field string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), field)
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// TestOversizedCell reads a database with one cell of 96 MB. The cell is never loaded:
// binary data is omitted, a text is an error.
func TestOversizedCell(t *testing.T) {
	const size, most = 96_000_000, 60 << 20
	tests := []struct{ name, expression, finding, err string }{
		{"blob", "zeroblob(96000000)", "row 21 of files, column data: 96000000 bytes of binary data are omitted", ""},
		{"text", "CAST(zeroblob(96000000) AS TEXT)", "", "a row has 96000005 bytes, more than the limit of 16777216"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := database(t, test.expression)
			grown := peakMemory(t, func() {
				in, err := table.New(path, nil)
				if err != nil {
					t.Fatal(err)
				}
				site, err := in.Site(t.Context())
				if err != nil || test.err != "" {
					if err == nil || !strings.Contains(err.Error(), test.err) {
						t.Fatalf("got %v, want %q", err, test.err)
					}
					return
				}
				r, err := sitewriter.Write(t.Context(), site, sitewriter.NewMemory(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if text := fmt.Sprint(ruletest.Findings(&r.Report)); !strings.Contains(text, test.finding) {
					t.Errorf("findings %s do not say %q", text, test.finding)
				}
			})
			if grown > most {
				t.Errorf("a cell of %d bytes costs %d bytes of memory, want at most %d", size, grown, most)
			}
		})
	}
}

// TestOversizedRow verifies that a row of many cells, each within the limit, is rejected,
// and so is a computed value of a view.
func TestOversizedRow(t *testing.T) {
	opts := &table.Options{MaxRecordBytes: 5000}
	if _, err := open(t, database(t, "printf('%4990s', 'x')"), opts); err != nil {
		t.Errorf("a row within the limit: %v", err)
	}
	_, err := open(t, database(t, "printf('%4999s', 'x')"), opts)
	if err == nil || !strings.Contains(err.Error(), "a row has 5004 bytes, more than the limit of 5000") {
		t.Errorf("got %v", err)
	}
	for _, text := range []string{
		`{"a":{"id":1},"b":{"id":2,"x":"` + strings.Repeat("y", 5000) + `"}}`,
		`{"list":[{"id":1},{"id":2,"x":"` + strings.Repeat("y", 5000) + `"}]}`,
		`{"id":[1,2],"x":["a","` + strings.Repeat("y", 5000) + `"]}`,
		`[{"id":1},{"id":2,"x":"` + strings.Repeat("y", 5000) + `"}]`,
	} {
		if _, err := open(t, file(t, "a.json", text), opts); err == nil || !strings.Contains(err.Error(), "limit") {
			t.Errorf("%.40s: got %v", text, err)
		}
	}
}

// TestManyColumns reads a table with the maximum number of columns.
func TestManyColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wide.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 1000)
	values := make([]string, 1000)
	for i := range names {
		names[i], values[i] = "c"+itoa(i), itoa(i)
	}
	for _, s := range []string{
		`CREATE TABLE wide (` + strings.Join(names, ", ") + `)`,
		`INSERT INTO wide VALUES (` + strings.Join(values, ", ") + `)`,
	} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := open(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.call(t, "get_wide", `{"c0":0}`); !strings.Contains(got, `"c999":999`) {
		t.Errorf("got %.100s", got)
	}
}
