package table_test

import (
	"database/sql"
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"
)

// TestBinaryData verifies that lists show the type and size of binary data, and that
// reading one row shows all of it.
func TestBinaryData(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 92)...)
	for _, s := range []string{
		`CREATE TABLE teams (id BLOB PRIMARY KEY, name TEXT)`,
		`CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, role TEXT, photo BLOB, mark BLOB,
			team BLOB REFERENCES teams(id))`,
		`INSERT INTO teams VALUES (x'0102', 'red'), (x'0304', 'blue')`,
	} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for i, photo := range [][]byte{png, []byte("\x00\x01\x02"), make([]byte, 5000), nil} {
		if _, err := db.ExecContext(t.Context(), `INSERT INTO users VALUES (?, ?, ?, ?, ?, x'0102')`,
			i+1, "user "+itoa(i+1), []string{"admin", "guest"}[i%2], photo, []byte{9, byte(i)}); err != nil {
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
	whole := base64.StdEncoding.EncodeToString(png)
	for _, call := range []struct{ tool, arguments string }{
		{"list_users", `{}`},
		{"find_users_by_role", `{"role":"admin"}`},
	} {
		got := b.call(t, call.tool, call.arguments)
		for _, want := range []string{
			`"photo":"image/png, 100 bytes"`,
			`"photo":"binary data, 5000 bytes, not stored"`,
			`"team":"AQI="`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not have %s: %s", call.tool, want, got)
			}
		}
		if strings.Contains(got, whole) {
			t.Errorf("%s shows binary data: %s", call.tool, got)
		}
	}
	if got := b.call(t, "list_users", `{}`); !strings.Contains(got, `"photo":"binary data, 3 bytes"`) {
		t.Errorf("list_users: %s", got)
	}
	if got := b.call(t, "get_user", `{"id":1}`); !strings.Contains(got, `"photo":"`+whole+`"`) {
		t.Errorf("get_user: %s", got)
	}
	if got := b.call(t, "get_team", `{"id":"AQI="}`); !strings.Contains(got, `"name":"red"`) {
		t.Errorf("get_team: %s", got)
	}
	if got := b.call(t, "search_users", `{"query":"AAEC"}`); strings.Contains(got, "user 2") {
		t.Errorf("search_users finds binary data: %s", got)
	}
}
