package mcpb

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

// ignorePaths are tested against every ignore file. Folders end with a slash.
var ignorePaths = []string{
	"a", "a/", "a/b", "a/b/", "a/b/c", "b", "b/a", "b/a/", "foo",
	"foo/", "foo/bar", "foo/bar/", "foo/bar/baz", "foo/x/bar",
	"x/foo", "x/foo/", "x/foo/bar", "x/y/foo/bar", "docs/", "docs/keep.md",
	"docs/other.md", "docs/sub/keep.md", "server/", "server/index.js",
	"a.log", "x/a.log", "A.LOG", "#x", "!x", "a b", "a ", "a[1]", "a1", "a-",
	"a]", `a\b`, "é", "café/é", "abc", "abd", "deep/er/and/deeper.txt",
	"foo.txt", "foo/abc.txt", ".hidden", "x/.hidden", "dist/", "dist/main.js",
	"dist/main.js/", "src/a/b/c.test.js", "src/c.test.js", "5", "z", "-", "^",
}

// ignoreFiles are ignore files, tested separately.
var ignoreFiles = []string{
	"a", "/a", "a/", "/a/", "a/b", "/a/b", "a/*", "a/**", "**/a", "**/foo/bar",
	"foo/**/bar", "**", "*", "/*", "*/", "*/b", "**/", "a**", "a**/b", "**a",
	"*.log", "/*.log", "x/*.log", "*.LOG", "#x", `\#x`, "!x", `\!x`, "a b", "a ", `a\ `, "a   ", "a[1]", `a\[1\]`,
	"a[0-9]", "a[!0-9]", "a[^0-9]", "a[]-]", "a[\\]]", "a[1", "[", "[[:digit:]]",
	"[![:alpha:]]", "[[:nonsense:]]", "[z-a]", "[--0]", "[^]", "[]]",
	"ab?", "a?b", "?", "???", "é", "*é", "caf?", "[é]",
	"docs/\n!docs/keep.md", "docs/*\n!docs/keep.md", "*\n!server/",
	"*\n!server/\n!server/**", "*\n!*/\n!*.js", "/*\n!/foo\n/foo/*\n!/foo/bar",
	"dist/\n!dist/main.js", "foo/\n!foo/\nfoo/bar", "!a\na", "a\n!a", "a\r\nb\r", "\ufeffa\nb", " a", "\ta", "a\t",
	"**/keep.md", "docs/**/keep.md", "docs/**", "docs/**/", "src/**/*.test.js", "src/*.test.js",
	"/**/foo", "//a", "a//b", "a/", "./a", "../a", "/", "", "\\", "a\\", "a\\b", `a\\b`,
	"{a,b}", "foo/***/bar", "***", "**/**/foo", "foo**bar", ".*", "!.*", "*.*", "x/**/bar",
	"/**", "a/**/b", `**\/foo`, "deep/**/deeper.txt", "deep/*/deeper.txt", "d*p/**/*.txt",
}

// TestIgnoreLikeGit compares every rule and path with git check-ignore. Each ignore file
// is in its own folder, once with files at the paths, which need not exist, and once with
// folders.
func TestIgnoreLikeGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	var in bytes.Buffer
	want := map[string]bool{} // whether we exclude it
	for i, text := range ignoreFiles {
		rules := newIgnoreRules([]byte(text))[len(defaultIgnores()):]
		for _, kind := range []string{"files", "folders"} {
			dir := fmt.Sprintf("%s/%d", kind, i)
			if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, dir, ".gitignore"), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, name := range ignorePaths {
				path, isDir := strings.CutSuffix(name, "/")
				if isDir != (kind == "folders") {
					continue
				}
				if isDir {
					if err := os.MkdirAll(filepath.Join(root, dir, path), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				rule, _ := rules.decide(path, isDir)
				want[dir+"/"+path] = rule != nil
				in.WriteString(dir + "/" + path + "\x00")
			}
		}
	}
	run := func(in io.Reader, arg ...string) string {
		cmd := exec.Command(git, arg...)
		cmd.Dir, cmd.Stdin = root, in
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "HOME="+root)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil && errs.Len() > 0 {
			t.Fatalf("git %s: %v: %s", arg, err, errs.String())
		}
		return out.String()
	}
	run(nil, "init", "-q")
	ignored := map[string]bool{}
	for name := range strings.SplitSeq(run(&in, "check-ignore", "--no-index", "-z", "--stdin"), "\x00") {
		ignored[name] = true
	}
	for name, out := range want {
		if out != ignored[name] {
			kind, rest, _ := strings.Cut(name, "/")
			number, path, _ := strings.Cut(rest, "/")
			i, _ := strconv.Atoi(number)
			t.Errorf("%q: %q of the %s left out: %v, git says %v", ignoreFiles[i], path, kind, out, ignored[name])
		}
	}
}

func TestIgnoreDefaults(t *testing.T) {
	rules := newIgnoreRules([]byte("!*.d.ts\n!.env.example\nsrc/\n"))
	tests := map[string]struct {
		out  bool
		rule string
	}{
		"server/index.js":               {false, ""},
		"server/index.d.ts":             {false, ""},
		".env":                          {true, "defaults:7"},
		".env.example":                  {false, ""},
		"X.LOG":                         {true, "defaults:6"},
		"node_modules/.bin/tsc":         {true, "defaults:21"},
		"node_modules/a/.bin/tsc":       {false, ""},
		"node_modules/a/x.js.map":       {true, "defaults:22"},
		"node_modules/Iterator.map/a":   {false, ""},
		"node_modules/a/src/b.js":       {true, ".mcpbignore:3"},
		"package-lock.json":             {true, "defaults:28"},
		"node_modules/debug.log/a.js":   {false, ""},
		".git/config":                   {true, "defaults:4"},
		"node_modules/x/.gitignore":     {true, "defaults:3"},
		"old/x-1.0.0.mcpb":              {true, "defaults:30"},
		"node_modules/y/tsconfig.json":  {true, "defaults:33"},
		"node_modules/y/tsconfig2.json": {false, ""},
	}
	for name, test := range tests {
		rule, _ := rules.decide(name, false)
		got := ""
		if rule != nil {
			got = fmt.Sprintf("%s:%d", rule.File, rule.Line)
		}
		if (rule != nil) != test.out || got != test.rule {
			t.Errorf("%s: left out by %q, want %q", name, got, test.rule)
		}
	}
}

func FuzzIgnore(f *testing.F) {
	f.Add("a/**/b\n![x-", "a/x/b")
	f.Add("************************a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaab")
	fuzzbound.Fuzz(f, func(t *testing.T, text, name string) {
		const longest = 512 // matching costs the product of both lengths
		if len(name) > longest {
			return
		}
		newIgnoreRules([]byte(text)).decide(name, false)
	})
}
