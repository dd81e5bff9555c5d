package mcpb_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcpb"
)

// bundleOf returns a bundle with a small manifest, in which pairs of old and new texts
// are replaced, and with files, whose mode is 0755.
func bundleOf(files map[string]string, replace ...string) fstest.MapFS {
	manifest := strings.NewReplacer(replace...).Replace(`{
  "manifest_version": "0.3", "name": "n", "version": "1.0.0", "description": "d", "author": {"name": "a"},
  "server": {"type": "node", "entry_point": "index.js", "mcp_config": {"command": "node",
"args": ["${__dirname}/index.js"]}}
}`)
	fsys := fstest.MapFS{"manifest.json": {Data: []byte(manifest)}, "index.js": {Data: []byte("//")}}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o755}
	}
	return fsys
}

// brief formats findings as "severity rule pointer".
func brief(r *check.Report) []string {
	var all []string
	for _, f := range ruletest.Findings(r) {
		place := f.Pointer
		if place == "" {
			place = f.File
		}
		all = append(all, fmt.Sprintf("%s %s %s", f.Severity, strings.TrimPrefix(f.Rule.ID, "mcpb/"), place))
	}
	slices.Sort(all)
	return all
}

func pngOf(width, height uint32) string {
	head := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	head = binary.BigEndian.AppendUint32(head, width)
	return string(binary.BigEndian.AppendUint32(head, height)) + "\x08\x06\x00\x00\x00"
}

func elf(machine byte) string {
	head := make([]byte, 64)
	copy(head, "\x7fELF\x02\x01\x01")
	head[18] = machine
	return string(head)
}

func pe(machine uint16) string {
	head := make([]byte, 128)
	copy(head, "MZ")
	head[0x3c] = 64
	copy(head[64:], "PE\x00\x00")
	binary.LittleEndian.PutUint16(head[68:], machine)
	return string(head)
}

func macho(cpus ...uint32) string {
	if len(cpus) == 1 {
		head := binary.LittleEndian.AppendUint32(nil, 0xfeedfacf)
		return string(binary.LittleEndian.AppendUint32(head, cpus[0])) + strings.Repeat("\x00", 32)
	}
	head := binary.BigEndian.AppendUint32(nil, 0xcafebabe)
	head = binary.BigEndian.AppendUint32(head, uint32(len(cpus)))
	for _, cpu := range cpus {
		head = append(binary.BigEndian.AppendUint32(head, cpu), make([]byte, 16)...)
	}
	return string(head)
}

const (
	amd64Mach, arm64Mach = 0x01000007, 0x0100000c
	binaryServer         = `"type": "binary", "entry_point": "bin/x", "mcp_config": {"command": "${__dirname}/bin/x"}`
	nodeServer           = `"type": "node", "entry_point": "index.js", "mcp_config": {"command": "node",
"args": ["${__dirname}/index.js"]}`
)

func optionsOf(text string) []string {
	return []string{`"author":`, `"user_config": {` + text + `}, "author":`}
}

func args(list, options string) []string {
	return append(optionsOf(options), `["${__dirname}/index.js"]`, `[`+list+`]`)
}

func TestCheck(t *testing.T) {
	field := func(text string) []string { return []string{`"author":`, text + `, "author":`} }
	server := func(text string) []string { return []string{nodeServer, text} }
	binary := func(platforms string) []string {
		return append(server(binaryServer), `"author":`, `"compatibility": {"platforms": [`+platforms+`]}, "author":`)
	}
	k := `"k": {"type": "string", "title": "t", "description": "d"}`
	secretKey := `"k": {"type": "string", "title": "t", "description": "d", "sensitive": true}`
	tests := map[string]struct {
		files   map[string]string
		replace []string
		want    []string // severity, rule, and pointer or file
	}{
		"nothing wrong": {},
		"no JSON":       {nil, []string{`"0.3",`, `"0.3"`}, []string{"error json manifest.json"}},
		"byte order mark and a key twice": {nil,
			[]string{"{\n", "\ufeff{\n", `"name": "n"`, `"name": "m", "name": "n"`},
			[]string{"error bom manifest.json", "warning duplicate-key /name"}},
		"all at once": {nil,
			[]string{`"name": "n",`, `"nmae": 1,`, `"version": "1.0.0"`, `"version": 1`, `"type": "node"`,
				`"type": "nodejs"`},
			[]string{"error enum /server/type", "error required /name", "error type /version",
				"error unknown-field /nmae"}},
		"a field of a newer version": {
			nil,
			append(field(`"icons": []`), `"0.3"`, `"0.2"`),
			[]string{"error newer-field /icons"},
		},
		"the old name of the version": {
			nil,
			[]string{"manifest_version", "dxt_version", "0.3", "0.1"},
			[]string{"warning dxt-version /dxt_version"},
		},
		"name and version": {
			nil,
			[]string{`"name": "n"`, `"name": "../my x"`, "1.0.0", "1.0"},
			[]string{"warning name /name", "warning version /version"},
		},
		"ranges": {nil, field(`"compatibility": {"claude_desktop": "newest", "runtimes": {"node": ">=16, <20"}}`),
			[]string{"warning range /compatibility/claude_desktop", "warning range /compatibility/runtimes/node"}},
		"right ranges": {
			nil,
			field(`"compatibility": {"claude_desktop": "^1.2 || >=3 <5", "runtimes": {"node": ">= 16.x"}}`),
			nil,
		},
		"range of another runtime": {
			nil,
			field(`"compatibility": {"runtimes": {"python": ">=3.8,<4.0"}}`),
			[]string{"note runtimes /compatibility/runtimes/python"},
		},
		"platforms": {
			nil,
			field(`"compatibility": {"platforms": []}`),
			[]string{"warning platforms /compatibility/platforms"},
		},
		"meta": {
			nil,
			field(`"_meta": {"windows": {}, "com.example": {}}`),
			[]string{"warning meta-key /_meta/windows"},
		},
		"policies": {
			nil,
			field(`"privacy_policies": ["http://a.example", "http://a.example"]`),
			[]string{
				"warning privacy-policy /privacy_policies/0",
				"warning privacy-policy /privacy_policies/1",
				"warning privacy-policy /privacy_policies/1",
			},
		},
		"names twice": {
			nil,
			field(`"tools": [{"name": "t"}, {"name": "t"}]`),
			[]string{"warning duplicate-name /tools/1/name"},
		},
		"no entry point": {
			nil,
			[]string{`"entry_point": "index.js"`, `"entry_point": "indx.js"`},
			[]string{"error entry-point /server/entry_point"},
		},
		"no entry point, named twice": {
			map[string]string{"bin/y": ""},
			server(binaryServer),
			[]string{"error entry-point /server/entry_point"},
		},
		"an entry point outside": {
			nil,
			[]string{`"entry_point": "index.js"`, `"entry_point": "../index.js"`},
			[]string{"error path /server/entry_point"},
		},
		"an entry point of another": {
			map[string]string{"main.py": ""},
			[]string{`"entry_point": "index.js"`, `"entry_point": "main.py"`},
			[]string{"warning entry-point /server/entry_point"},
		},
		"a folder as entry point": {
			map[string]string{"d/x.js": ""},
			[]string{`"entry_point": "index.js"`, `"entry_point": "d"`},
			[]string{"error entry-point /server/entry_point", "warning entry-point /server/entry_point"},
		},
		"no command": {
			nil,
			[]string{`"command": "node"`, `"command": "bin/node"`},
			[]string{"error command /server/mcp_config/command"},
		},
		"a command outside": {
			nil,
			[]string{`"command": "node"`, `"command": "/usr/bin/node"`},
			[]string{"warning path /server/mcp_config/command"},
		},
		"overrides": {nil,
			[]string{
				`"args":`,
				`"platform_overrides": {"macos": {"command": "x"}, "darwin": {}, "linux": {"command": "bin/y"}}, "args":`,
			},
			[]string{
				"error command /server/mcp_config/platform_overrides/linux/command",
				"note platform-override /server/mcp_config/platform_overrides/darwin",
				"warning platform-override /server/mcp_config/platform_overrides/macos",
			}},
		"uv": {map[string]string{"s.py": "", "server/lib/x.py": ""},
			append(server(`"type": "uv", "entry_point": "s.py"`), `"0.3"`, `"0.4"`),
			[]string{"error uv /server/type", "warning reference-refuses /server/mcp_config",
				"warning uv /server/type"}},
		"variables": {nil, args(`"${DIR}", "${user_config.kk}", "${HOME", "${user_config.k}"`, k),
			[]string{
				"warning undeclared-option /server/mcp_config/args/1",
				"warning variable /server/mcp_config/args/0",
				"warning variable /server/mcp_config/args/2",
			}},
		"an option that nothing uses": {nil, optionsOf(k), []string{"note unused-option /user_config/k"}},
		"a secret among arguments": {nil, args(`"${user_config.k}"`, secretKey),
			[]string{
				"note privacy-policy /privacy_policies",
				"warning option-as-flag /server/mcp_config/args/0",
				"warning secret-in-args /server/mcp_config/args/0",
			}},
		"a list in a text": {
			nil,
			args(`"--d=${user_config.k}"`,
				`"k": {"type": "file", "title": "t", "description": "d", "multiple": true}`),
			[]string{"note list-in-text /server/mcp_config/args/0"},
		},
		"a list as the command": {nil,
			[]string{`"command": "node"`, `"command": "${user_config.k}"`, `"description": "d"`,
				`"description": "d", "user_config": {"k": {"type": "file", "title": "t", "description": "d", "multiple": true}}`},
			[]string{"error list-as-command /server/mcp_config/command"}},
		"options": {nil,
			args(`"${user_config.k}", "${user_config.n}"`,
				`"k": {"type": "string", "title": "t", "description": "d", "multiple": true, "min": 1, "max": 2, "default": 3},
			"n": {"type": "number", "title": "t", "description": "d", "sensitive": true, "min": 5, "max": 2,
			"default": "${user_config.k}"}`),
			[]string{"note privacy-policy", "warning option /user_config/k/default",
				"warning option /user_config/k/max",
				"warning option /user_config/k/min", "warning option /user_config/k/multiple",
				"warning option /user_config/n/default", "warning option /user_config/n/min",
				"warning option /user_config/n/sensitive", "warning option-as-flag", "warning secret-default",
				"warning secret-in-args", "warning variable /user_config/n/default"}},
		"prompts": {nil,
			field(`"prompts": [{"name": "p", "arguments": ["topic", "b"], "text": "${arguments.topik}"}]`),
			[]string{
				"note prompt-argument /prompts/0/arguments/0",
				"note prompt-argument /prompts/0/arguments/1",
				"warning prompt-argument /prompts/0/text",
			}},
		"a good icon": {map[string]string{"icon.png": pngOf(512, 512)}, field(`"icon": "icon.png"`), nil},
		"no icon":     {nil, field(`"icon": "icon.png"`), []string{"error icon /icon"}},
		"a JPEG": {
			map[string]string{"icon.png": "\xff\xd8\xff"},
			field(`"icon": "icon.png"`),
			[]string{"error icon /icon"},
		},
		"an icon on the web": {nil, field(`"icon": "https://example.com/i.png"`),
			[]string{"warning remote-icon /icon"}},
		"an icon not square": {
			map[string]string{"icon.png": pngOf(512, 256)},
			field(`"icon": "icon.png"`),
			[]string{"warning icons /icon"},
		},
		"icons": {
			map[string]string{"i.png": pngOf(16, 16)},
			field(
				`"icons": [{"src": "i.png", "size": "16x16"}, {"src": "i.png", "size": "32x32"}, {"src": "j.png",
"size": "16x16"}]`),
			[]string{"warning icons /icons/1/size", "warning icons /icons/2", "warning icons /icons/2/src"},
		},
		"screenshots": {
			map[string]string{"s.png": pngOf(800, 600), "t.png": "x"},
			field(`"screenshots": ["s.png", "t.png", "../u.png"]`),
			[]string{"warning screenshot /screenshots/1", "warning screenshot /screenshots/2"},
		},
		"no translations": {
			nil,
			field(`"localization": {"resources": "r/${locale}.json", "default_locale": "en"}`),
			[]string{"warning localization /localization/resources"},
		},
		"translations outside": {
			nil,
			field(`"localization": {"resources": "../${locale}.json", "default_locale": "en"}`),
			[]string{"warning path /localization/resources"},
		},
		"undeclared ones": {
			map[string]string{"mcpb-resources/de.json": "{}"},
			nil,
			[]string{"warning localization /localization"},
		},
		"a translation": {
			map[string]string{
				"r/de.json": `{"description": "d", "nmae": 1, "tools": [{"name": "tt", "description": "d"}],
"author": {"url": "x"}, "keywords": "k"}`,
			},
			append(
				field(
					`"localization": {"resources": "r/${locale}.json", "default_locale": "en"}, "tools": [{"name": "t",
"description": "x"}]`),
				`"manifest`, `"manifest`),
			[]string{
				"note untranslated r/de.json", "warning translation /author/url",
				"warning translation /keywords", "warning translation /nmae",
				"warning translation /tools/0/name",
			}},
		"a broken translation": {
			map[string]string{"r/de.json": `{`},
			field(`"localization": {"resources": "r/${locale}.json", "default_locale": "en"}`),
			[]string{"error json r/de.json"},
		},
		"a binary for everything": {
			map[string]string{"bin/x": elf(62)},
			server(binaryServer),
			[]string{"note binary-cpu", "warning binary-platform", "warning binary-platform"},
		},
		"a binary for what is declared": {
			map[string]string{"bin/x": elf(62)},
			binary(`"linux"`),
			[]string{"note binary-cpu /server/mcp_config/command"},
		},
		"a binary for something else": {
			map[string]string{"bin/x": elf(183)},
			binary(`"darwin"`),
			[]string{"error binary-platform /server/mcp_config/command"},
		},
		"a binary with two CPUs": {map[string]string{"bin/x": macho(amd64Mach, arm64Mach)}, binary(`"darwin"`), nil},
		"a binary with one CPU": {
			map[string]string{"bin/x": macho(arm64Mach)},
			binary(`"darwin"`),
			[]string{"note binary-cpu /server/mcp_config/command"},
		},
		"binaries side by side": {
			map[string]string{"bin/x": elf(62), "bin/x.exe": pe(0x8664)},
			binary(`"linux", "win32"`),
			[]string{"note binary-cpu", "note binary-cpu"},
		},
		"Windows, and not Windows": {
			map[string]string{"bin/x": pe(0xaa64)},
			binary(`"linux"`),
			[]string{"error binary-platform /server/mcp_config/command"},
		},
		"Java is not machine code": {
			map[string]string{"bin/x": "\xca\xfe\xba\xbe\x00\x00\x00\x41" + strings.Repeat("\x00", 64)},
			binary(`"linux"`),
			[]string{"warning entry-point /server/entry_point"},
		},
		"a script is a program": {map[string]string{"bin/x": "#!/bin/sh\n"}, binary(`"linux"`), nil},
		"an empty file is none": {
			map[string]string{"bin/x": ""},
			binary(`"linux"`),
			[]string{"warning entry-point /server/entry_point"},
		},
		"modules for one system": {
			map[string]string{"node_modules/a/a.node": elf(62)},
			nil,
			[]string{"note binary-cpu /compatibility/platforms", "warning binary-platform /compatibility/platforms"},
		},
		"modules for the declared ones": {
			map[string]string{"node_modules/a/a.node": elf(62)},
			field(`"compatibility": {"platforms": ["linux"]}`),
			[]string{"note binary-cpu"},
		},
		"files with secrets by name": {
			map[string]string{".env": "A=b", "keys/id_rsa": "x", ".env.example": ""},
			nil,
			[]string{"warning secret-file .env", "warning secret-file keys/id_rsa"},
		},
		"a token in a file": {
			map[string]string{"a.js": "x\n  k = 'ghp_" + strings.Repeat("aB3", 12) + "'"},
			nil,
			[]string{"warning secret a.js"},
		},
		"a private key": {
			map[string]string{"k.pem": "-----BEGIN EC PRIVATE KEY-----\n" + strings.Repeat("MHcCAQEE", 9)},
			nil,
			[]string{"warning secret k.pem"},
		},
		"the form of a private key": {map[string]string{"a.js": "'-----BEGIN PRIVATE KEY-----' + key"}, nil, nil},
		"an example of a token":     {map[string]string{"a.js": "AKIAIOSFODNN7EXAMPLE"}, nil, nil},

		"another file to run": {
			nil, []string{"}/index.js", "}/nidex.js"}, []string{"error command /server/mcp_config/args/0"},
		},

		"a token in a package": {map[string]string{"node_modules/a/a.js": "ghp_" + strings.Repeat("aB3", 12)}, nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, r, err := mcpb.Check(bundleOf(tt.files, tt.replace...), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := brief(r)
			same := slices.EqualFunc(got, tt.want, func(g, w string) bool { return g == w || strings.HasPrefix(g, w+" ") })
			if !same {
				t.Errorf("got %q,\nwant %q\n%s", got, tt.want, text(r))
			}
			if strings.Contains(text(r), "aB3") {
				t.Error("a secret is printed")
			}
		})
	}
}

// TestCheckPath checks a folder like packing does.
func TestCheckPath(t *testing.T) {
	dir := t.TempDir()
	for name, f := range bundleOf(map[string]string{
		".env":        "A=b",
		"docs/id_rsa": "x",
		"id_rsa":      "x",
		".mcpbignore": "docs\n",
	}) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.Data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(name string, want ...string) {
		t.Helper()
		_, r, err := mcpb.CheckPath(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := brief(r); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	secret := "warning secret-file " + filepath.Join(dir, "id_rsa")
	expect(dir, secret)
	expect(filepath.Join(dir, "manifest.json"))
	bare := t.TempDir()
	if err := os.WriteFile(filepath.Join(bare, "manifest.json"), bundleOf(nil)["manifest.json"].Data, 0o644); err != nil {
		t.Fatal(err)
	}
	expect(bare, "note manifest-only "+bare, "warning entry-point /server/entry_point")
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link")); err != nil {
		t.Skip("no symbolic links here")
	}
	expect(dir, "error pack-link "+filepath.Join(dir, "link"), "warning secret-file "+filepath.Join(dir, ".env"),
		"warning secret-file "+filepath.Join(dir, "docs/id_rsa"), secret)
}

// TestCheckPacked checks that every file of an archive is read, including those that no
// rule is about.
func TestCheckPacked(t *testing.T) {
	manifest := string(bundleOf(nil)["manifest.json"].Data)
	archive := rawArchive{entries: files("manifest.json", manifest, "index.js", "//", "data.bin", "\x00\x01")}
	name := filepath.Join(t.TempDir(), "b.mcpb")
	expect := func(want ...string) {
		t.Helper()
		if err := os.WriteFile(name, archive.bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		_, r, err := mcpb.CheckPath(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := brief(r); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	expect()
	archive.entries[2].crc = p(uint32(1))
	expect("error archive-damaged " + name)
}

func TestMeantPlatform(t *testing.T) {
	for name, want := range map[string]string{
		"Windows": "is called win32",
		"macOS":   "is called darwin",
		"linus":   `did you mean "linux"?`,
	} {
		_, r, err := mcpb.Check(bundleOf(nil, `/index.js"]`,
			`/index.js"], "platform_overrides": {"`+name+`": {"command": "x"}}`),
			nil)
		if err != nil || !strings.Contains(text(r), want) {
			t.Errorf("%s: got %v\n%s\nwant %s", name, err, text(r), want)
		}
	}
}

func TestLeftOut(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"manifest.json": string(bundleOf(nil)["manifest.json"].Data),
		"index.js":      "//",
		"other.js":      "//",
		".mcpbignore":   "/index.js\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, r, err := mcpb.CheckPath(dir, nil)
	if err != nil || r.OK(false) || !strings.Contains(text(r), "index.js exists, but packing excludes it") {
		t.Errorf("%v\n%s", err, text(r))
	}
}

// TestCheckManyFindings ensures that many faults cost no more than a few: only some get a
// position and a hint, but all are counted.
func TestCheckManyFindings(t *testing.T) {
	race.SkipLong(t)
	const n = 10_000
	var fields, refs, options strings.Builder
	for i := range n {
		fmt.Fprintf(&fields, `"nmae%d":1,`, i)
		fmt.Fprintf(&refs, `,"${user_config.o%dx}"`, i)
		fmt.Fprintf(&options, `"o%d":{},`, i)
	}
	fsys := bundleOf(nil, `"author":`, fields.String()+`"user_config":{`+options.String()+`"o":{}},"author":`,
		`/index.js"]`, `/index.js"`+refs.String()+`]`)
	_, r, err := mcpb.Check(fsys, nil)
	if err != nil {
		t.Fatal(err)
	}
	if errors, warnings := r.Count(check.Error), r.Count(check.Warning); errors != 4*n+3 ||
		warnings != n ||
		len(r.Findings()) > 3000 ||
		r.Omitted() < 4*n {
		t.Errorf("%d errors, %d warnings, %d kept", errors, warnings, len(r.Findings()))
	}
	fixed, _ := mcpb.Fix(fsys["manifest.json"].Data)
	if string(fixed) != string(fsys["manifest.json"].Data) {
		t.Error("repaired what cannot be repaired")
	}
}
