package stax_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/stax"
)

func TestDotenv(t *testing.T) {
	tests := map[string]struct{ text, want, wrong string }{
		"plain":             {"A=b\n", "b", ""},
		"spaces":            {"  A = b c \n", "b c", ""},
		"export":            {"export A=b", "b", ""},
		"export and a tab":  {"export\tA=b", "b", ""},
		"exported only":     {"export B\nA=b", "b", ""},
		"a mark and CRLF":   {"\ufeffA=b\r\n", "b", ""},
		"a comment":         {"# A=x\nA=b # c\n", "b", ""},
		"behind a tab":      {"A=b\t# c\n", "b", ""},
		"only a comment":    {"A= # c\n", "", ""},
		"a hash":            {"A=b#c\n", "b#c", ""},
		"double quotes":     {`A="b \n\t\"c\" \\ \$D $E #f" # g`, "b \n\t\"c\" \\ $D $E #f", ""},
		"other escapes":     {`A="\d+\.x"`, `\d+\.x`, ""},
		"single quotes":     {`A='b\n"c"'`, `b\n"c"`, ""},
		"backquotes":        {"A=`b\"'c`", `b"'c`, ""},
		"several lines":     {"A=\"-----BEGIN\nx=y\n# z\n-----END\"\nB=c\n", "-----BEGIN\nx=y\n# z\n-----END", ""},
		"lines with CRLF":   {"A='b\r\nc'\r\n", "b\nc", ""},
		"names with dots":   {"my.key=1\nmy-key=2\nA=b\n", "b", ""},
		"twice":             {"A=b\nA=c\n", "c", ""},
		"empty":             {"A=\n", "", ""},
		"another key":       {"B=A=b\n", "", ""},
		"no assignment":     {"B=c\nA\n", "", "line 2 is not KEY=VALUE"},
		"an open quote":     {"B='x\ny'\n\nA='b\n", "", "line 4: unterminated quote"},
		"more behind quote": {"A='b'c\n", "", "line 1: text after the closing quote"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), ".env")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			source, err := stax.ParseSecretStore("file:" + path)
			if err != nil {
				t.Fatal(err)
			}
			secret, ok, err := source.Lookup(context.Background(), "A")
			if test.wrong != "" {
				if err == nil || !strings.HasSuffix(err.Error(), test.wrong) {
					t.Errorf("got %v, want %q", err, test.wrong)
				}
				return
			}
			if err != nil || secret.Reveal() != test.want || ok != (test.want != "") {
				t.Errorf("got %q, %v, %v; want %q", secret.Reveal(), ok, err, test.want)
			}
		})
	}
}

// Some clients pass their own reference through unexpanded if the variable is unset.
func TestReferenceIsNoSecret(t *testing.T) {
	source, err := stax.ParseSecretStore("env")
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]bool{
		"$T":               false,
		"${T}":             false,
		"${env:T}":         false,
		"{env:T}":          false,
		"${{ secrets.T }}": false,
		"":                 false,
		"${U}":             true,
		"x":                true,
	} {
		t.Setenv("T", value)
		if _, ok, err := source.Lookup(context.Background(), "T"); ok != want || err != nil {
			t.Errorf("%q: %v, %v; want %v", value, ok, err, want)
		}
	}
}

// An unreadable source is reported exactly once, even if the secret is optional.
func TestSourceThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".env")
	if err := os.WriteFile(path, []byte("no assignment\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := stax.ParseSecretStore("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := stax.Parse("x.yaml",
		[]byte("servers:\n  a: {url: 'https://x.example', transport: http, secrets: [T]}\n  b: {url: "+
			"'https://x.example', transport: http, secrets: [U, V]}\nsecrets: [{key: T, required: false}, U, V]\n"),
		nil)
	m := stax.Merge(d)
	r := &stax.Resolver{Stores: []stax.SecretStore{source}}
	target, err := r.Resolve(t.Context(), m, "a")
	if err != nil {
		t.Fatal(err)
	}
	if warned := fmt.Sprint(target.Warnings); !strings.HasPrefix(warned, "[it starts without the secret T") ||
		!strings.Contains(warned, "line 1 is not KEY=VALUE") || len(target.Warnings) != 1 {
		t.Errorf("it warns of %s", warned)
	}
	if _, err := r.Resolve(t.Context(), m, "b"); err == nil ||
		strings.Count(err.Error(), "line 1 is not KEY=VALUE") != 1 {
		t.Errorf("got %v", err)
	}
}
