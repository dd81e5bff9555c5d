package stax_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/stax"
)

const value = "the value of a secret"

func TestSecretDoesNotPrintItself(t *testing.T) {
	s := stax.NewSecret(value)
	inside := struct {
		Open   stax.Secret
		hidden stax.Secret
		List   []stax.Secret
	}{s, s, []stax.Secret{s}}
	asJSON, err := json.Marshal(map[string]any{"s": s, "p": &s, "in": inside})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", s, "in", inside)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "s", s, "in", inside)
	all := fmt.Sprintf("%v %+v %#v %s %q %x %d", s, s, s, s, s, s, s) + fmt.Sprintf("%v %+v %#v", inside, inside, inside) +
		fmt.Sprint(&s, []stax.Secret{s}, map[string]stax.Secret{"a": s}) + s.String() + string(asJSON) + log.String()
	if strings.Contains(all, value) || strings.Contains(all, fmt.Sprintf("%x", value)) {
		t.Errorf("the value is printed: %s", all)
	}
	if s.Reveal() != value || (stax.Secret{}).Reveal() != "" {
		t.Error("Reveal does not")
	}
}

func TestSources(t *testing.T) {
	keyring.MockInit()
	if err := keyring.Set("slipway", "A", value); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := filepath.Join(dir, "x.env")
	folder := filepath.Join(dir, "folder")
	must(t, os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "A"), []byte(value+"\n"), 0o600),
		os.WriteFile(env, []byte("# c\nexport A='"+value+"' # d\nB=\"x\\ny\"\nC = plain # e\nD=\n"), 0o600))
	t.Setenv("A", value)
	t.Setenv("UNSET", "${UNSET}")
	echo := "/bin/echo"
	tests := map[string]struct {
		source string
		key    string
		want   string
		ok     bool
	}{
		"env":              {"env", "A", value, true},
		"not in env":       {"env", "NOT_IN_ENV", "", false},
		"a reference":      {"env", "UNSET", "", false},
		"file":             {"file:" + env, "A", value, true},
		"file quotes":      {"file:" + env, "B", "x\ny", true},
		"file plain":       {"file:" + env, "C", "plain", true},
		"file empty":       {"file:" + env, "D", "", false},
		"folder":           {"file:" + folder, "A", value, true},
		"not in folder":    {"file:" + folder, "B", "", false},
		"out of folder":    {"file:" + folder, "../x.env", "", false},
		"keychain":         {"keychain", "A", value, true},
		"other keychain":   {"keychain:other", "A", "", false},
		"command":          {"command:" + echo + " vault/{KEY}/x", "A", "vault/A/x", true},
		"command no shell": {"command:" + echo + " $(id)|x", "A", "$(id)|x", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(echo); err != nil && strings.HasPrefix(test.source, "command") {
				t.Skip(err)
			}
			src, err := stax.ParseSecretStore(test.source)
			if err != nil {
				t.Fatal(err)
			}
			s, ok, err := src.Lookup(t.Context(), test.key)
			if err != nil || ok != test.ok || ok && s.Reveal() != test.want {
				t.Errorf("got %q, %v, %v; want %q, %v", s.Reveal(), ok, err, test.want, test.ok)
			}
		})
	}
	bad := filepath.Join(dir, "bad.env")
	must(t, os.WriteFile(bad, []byte("A=x\n"+value+"\n"), 0o600))
	for _, source := range []string{"file:" + bad, "file:" + filepath.Join(dir, "none"), "command:/no/such/program"} {
		src, _ := stax.ParseSecretStore(source)
		if _, _, err := src.Lookup(t.Context(), "A"); err == nil || strings.Contains(err.Error(), value) {
			t.Errorf("%s: got %v, want an error without the value", source, err)
		}
	}
	if yes, err := exec.LookPath("yes"); err == nil { // never stops by itself
		src, _ := stax.ParseSecretStore("command:" + yes)
		if _, _, err := src.Lookup(t.Context(), "A"); err == nil || !strings.Contains(err.Error(), "more than 65536 bytes") {
			t.Errorf("endless output: got %v, want an error with the limit", err)
		}
	}
	for _, source := range []string{"", "file:", "vault:x", "command:", "ENV"} {
		if _, err := stax.ParseSecretStore(source); err == nil {
			t.Errorf("%q is a source", source)
		}
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// table is a source with fixed secrets.
type table map[string]string

func (s table) String() string { return "table" }

func (s table) Lookup(_ context.Context, key string) (stax.Secret, bool, error) {
	v, ok := s[key]
	return stax.NewSecret(v), ok, nil
}

const launched = `{"servers": {
 "local": {"command": "prog", "args": ["$HOME", "a b"], "cwd": "/srv", "env": {"MODE": "fast"}, "secrets": ` +
	`["PLAIN", "RENAMED", "FILED", "OPTIONAL"]},
 "bearer": {"url": "https://x.example", "transport": "http", "headers": {"x-team": "p"}, "secrets": ["PLAIN"]},
 "bound": {"url": "https://x.example", "transport": "sse", "secrets": ["PLAIN", "RENAMED", "FILED"]},
 "off": {"command": "prog", "enabled": false, "secrets": ["GONE"]},
 "gone": {"command": "no-such-program"}
}, "secrets": ["PLAIN", "GONE", {"key": "RENAMED", "exposeAs": {"env": "OTHER"}}, {"key": "FILED", "exposeAs": ` +
	`{"file": "CERT_FILE"}}, {"key": "OPTIONAL", "required": false}],
"bindings": {"bound": {"X-Api-Key": "{PLAIN}", "X-Two": "a {RENAMED} b {PLAIN}"}}}`

// C8: a command is searched on the PATH at launch. C9: a missing command is reported.
// C10: nothing in it is expanded. C11: extensions on Windows.
func TestC8ToC11Launch(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "prog"), nil, 0o755), os.WriteFile(filepath.Join(dir, "npx.cmd"), nil, 0o755),
		os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o644))
	d, report := stax.Parse("x.json", []byte(launched), nil)
	if !report.OK(false) {
		t.Fatal(ruletest.Findings(report))
	}
	m := stax.Merge(d)
	r := &stax.Resolver{
		Stores: []stax.SecretStore{table{"PLAIN": "1"}, table{"PLAIN": "2", "RENAMED": "3", "FILED": "4"}},
		LookupEnv: func(key string) (string, bool) {
			return "relative" + string(filepath.ListSeparator) + dir, key == "PATH"
		},
	}
	target, err := r.Resolve(t.Context(), m, "local")
	if err != nil {
		t.Fatal(err)
	}
	l := target.Launch
	if l.Path != filepath.Join(dir, "prog") ||
		!slices.Equal(l.Args, []string{"$HOME", "a b"}) ||
		l.Dir != "/srv" ||
		!slices.Equal(l.Without, []string{"OPTIONAL"}) {
		t.Errorf("got %+v", l)
	}
	env, remove, err := l.Environ()
	if err != nil {
		t.Fatal(err)
	}
	if len(env) != 4 || env[1] != "MODE=fast" || env[2] != "OTHER=3" || env[3] != "PLAIN=1" {
		t.Errorf("got %q", env)
	}
	name := strings.TrimPrefix(env[0], "CERT_FILE=")
	text, err := os.ReadFile(name)
	info, statErr := os.Stat(name)
	if err != nil || statErr != nil || string(text) != "4" || info.Mode().Perm() != 0o600 {
		t.Errorf("%s holds %q, %v, %v", name, text, err, info)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder stays: %v", err)
	}
	if _, err = r.Resolve(t.Context(), m, "gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
	if _, err := r.LookPath("notes.txt"); err == nil && r.GOOS == "" && os.PathSeparator == '/' {
		t.Error("a file that is no program is found")
	}
	r.GOOS = "windows"
	if path, err := r.LookPath("npx"); err != nil || path != filepath.Join(dir, "npx.cmd") {
		t.Errorf("npx on Windows: %q, %v", path, err)
	}
	if path, err := r.LookPath("NPX.CMD"); err == nil && path == filepath.Join(dir, "npx.cmd.cmd") {
		t.Errorf("an ending is added twice: %q", path)
	}
}

// C14, C15: a disabled server is only started on request. C18: all requirements are met
// before the launch.
func TestC14C15C18Refusals(t *testing.T) {
	d, _ := stax.Parse("x.json", []byte(strings.ReplaceAll(launched, `"prog"`, `"sh"`)), nil)
	m := stax.Merge(d)
	r := &stax.Resolver{Stores: []stax.SecretStore{table{}}}
	if _, err := r.Resolve(t.Context(), m, "off"); !errors.Is(err, stax.ErrDisabled) {
		t.Errorf("disabled: %v", err)
	}
	r.Disabled = true
	var missing *stax.MissingError
	if _, err := r.Resolve(t.Context(), m, "off"); !errors.As(err, &missing) ||
		!slices.Equal(missing.Keys, []string{"GONE"}) {
		t.Errorf("missing: %v", err)
	}
	if _, err := r.Resolve(t.Context(), m, "bound"); !errors.As(err, &missing) || len(missing.Keys) != 3 {
		t.Errorf("missing: %v", err)
	}
	if _, err := r.Resolve(t.Context(), m, "none"); err == nil {
		t.Error("an unknown server is resolved")
	}
}

func TestEndpoint(t *testing.T) {
	d, _ := stax.Parse("x.json", []byte(launched), nil)
	m := stax.Merge(d)
	r := &stax.Resolver{Stores: []stax.SecretStore{table{"PLAIN": "1", "RENAMED": "3", "FILED": "4"}}}
	target, err := r.Resolve(t.Context(), m, "bearer")
	if err != nil {
		t.Fatal(err)
	}
	e := target.Endpoint
	if target.Launch != nil || fmt.Sprint(e.Header()) != "map[Authorization:[Bearer 1] X-Team:[p]]" ||
		e.Transport != stax.HTTP {
		t.Errorf("got %v, %v", e, err)
	}
	target, err = r.Resolve(t.Context(), m, "bound")
	if err != nil {
		t.Fatal(err)
	}
	e = target.Endpoint
	if target.Launch != nil ||
		fmt.Sprint(e.Header()) != "map[X-Api-Key:[1] X-Two:[a 3 b 1]]" ||
		!slices.Equal(e.Without, []string{"FILED"}) {
		t.Errorf("got %v, %v", e, err)
	}
}

func TestFind(t *testing.T) {
	d, _ := stax.Parse("x.json", []byte(launched), nil)
	r := &stax.Resolver{Stores: []stax.SecretStore{table{"PLAIN": "1"}}}
	found := r.Find(t.Context(), stax.Merge(d))
	if len(found) != 4 ||
		found[0].Key != "PLAIN" ||
		found[0].Source != "table" ||
		len(found[0].Servers) != 3 ||
		found[3].Required ||
		found[3].Source != "" {
		t.Errorf("got %+v", found)
	}
}

// TestNetworks verifies that loopback is only allowed if the URL names it, and other
// networks only if the user permits them.
func TestNetworks(t *testing.T) {
	private, err := stax.ParseNetwork("private")
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"https://mcp.example.com/": false, "http://10.0.0.1/": false, "http://localhost.example.com/": false,
		"http://127.0.0.2/":          false,
		"http://[::ffff:127.0.0.1]/": false, "http://localhost:1/": true, "http://127.0.0.1/": true, "http://[::1]:1/": true,
	} {
		doc, _ := stax.Parse("x.json", []byte(`{"servers": {"s": {"url": "`+address+`", "transport": "http"}}}`), nil)
		for _, allowed := range [][]netip.Prefix{nil, private} {
			target, err := (&stax.Resolver{AllowNetwork: allowed}).Resolve(t.Context(), stax.Merge(doc), "s")
			if err != nil {
				t.Fatal(err)
			}
			e := target.Endpoint
			if e.Loopback != want || !slices.Equal(e.Networks, allowed) {
				t.Errorf("%s may be in %v, here %v, want %v, here %v", address, e.Networks, e.Loopback, allowed, want)
			}
		}
	}
}

// The running program is found without being on the PATH, only by its own name, and only
// if the PATH has no program of that name.
func TestLookPathSelf(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "slipway"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ command, path, want string }{
		"nowhere":      {"slipway", "", "/opt/slipway"},
		"on the PATH":  {"slipway", dir, filepath.Join(dir, "slipway")},
		"another name": {"slip", "", ""},
		"a path":       {"./slipway", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &stax.Resolver{
				Self:      "/opt/slipway",
				GOOS:      "linux",
				LookupEnv: func(string) (string, bool) { return test.path, true },
			}
			if got, err := r.LookPath(test.command); got != test.want || (err != nil) != (test.want == "") {
				t.Errorf("LookPath(%q) = %q, %v, want %q", test.command, got, err, test.want)
			}
		})
	}
}
