package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// verdict is a manifest with the verdict of the CLI, and a line of the record.
type verdict struct {
	Name     string            `json:"name"`
	Text     []byte            `json:"text"` // of manifest.json, in base64, since some are not UTF-8
	Files    map[string][]byte `json:"files,omitempty"`
	Accepted bool              `json:"accepted"`
}

func (v *verdict) write(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for name, content := range v.Files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "manifest.json"), v.Text, 0o644)
}

type object = map[string]any
type array = []any

// png is the header of a 512x512 image.
const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x02\x00\x00\x00\x02\x00\x08\x06\x00\x00\x00"

func versions() []string { return []string{"0.1", "0.2", "0.3", "0.4"} }

// small returns a manifest with only the required fields.
func small(version string) object {
	return object{
		"manifest_version": version, "name": "n", "version": "1.0.0", "description": "d", "author": object{"name": "a"},
		"server": object{"type": "node", "entry_point": "i.js", "mcp_config": object{"command": "node"}},
	}
}

// corpus returns the cases without verdicts, in a fixed order.
func corpus() []verdict {
	var all []verdict
	add := func(name string, m any) {
		text, err := json.Marshal(m)
		if err != nil {
			panic(err) // the table is wrong
		}
		all = append(all, verdict{Name: name, Text: text})
	}
	with := func(version, path string, value any) object {
		m := small(version)
		put(m, strings.Split(path, "."), value)
		return m
	}
	for _, version := range versions() {
		add("small/"+version, small(version))
		for _, path := range required() {
			m := small(version)
			drop(m, strings.Split(path, "."))
			add("without/"+path+"/"+version, m)
		}
		for _, path := range slices.Sorted(maps.Keys(optional())) {
			add("with/"+path+"/"+version, with(version, path, optional()[path]))
		}
		for _, path := range unknown() {
			add("unknown/"+path+"/"+version, with(version, path, "x"))
		}
	}
	wrong := []any{nil, true, 1, "text", array{}, object{}, array{1}, object{"x": 1}}
	fields := append(slices.Sorted(maps.Keys(optional())), required()...)
	for i, path := range fields {
		version := versions()[2+i%2]
		for k, value := range wrong {
			add(fmt.Sprintf("type/%s/%d", path, k), with(version, path, value))
		}
	}
	for _, f := range formats() {
		for i, value := range f.values {
			add(fmt.Sprintf("format/%s/%d", f.path, i), with("0.3", f.path, value))
		}
	}
	return append(all, slices.Concat(versionCases(), textCases(), iconCases())...)
}

func put(m object, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		if m[name] == nil {
			m[name] = object{}
		}
		m = m[name].(object)
	}
	m[path[len(path)-1]] = value
}

func drop(m object, path []string) {
	for _, name := range path[:len(path)-1] {
		m = m[name].(object)
	}
	delete(m, path[len(path)-1])
}

func required() []string {
	return []string{"manifest_version", "name", "version", "description", "author", "author.name", "server", "server.type",
		"server.entry_point", "server.mcp_config", "server.mcp_config.command"}
}

// optional returns fields with valid values for the versions that support them.
func optional() object {
	option := func(more object) object {
		o := object{"type": "string", "title": "t", "description": "d"}
		maps.Copy(o, more)
		return object{"k": o}
	}
	return object{
		"$schema": "s", "display_name": "d", "long_description": "l", "license": "MIT", "icon": "",
		"author.email": "a@example.com", "author.url": "https://example.com",
		"repository": object{"type": "git", "url": "https://example.com/r"},
		"homepage":   "https://example.com", "documentation": "https://example.com", "support": "https://example.com",
		"screenshots": array{"s.png"}, "keywords": array{"k"}, "tools_generated": true, "prompts_generated": false,
		"tools": array{object{"name": "t", "description": "d"}, object{"name": "u"}},
		"prompts": array{
			object{"name": "p", "text": "x"},
			object{"name": "q", "description": "d", "arguments": array{"a"}, "text": "${arguments.a}"},
		},
		"server.mcp_config.args": array{"a"}, "server.mcp_config.env": object{"A": "b"},
		"server.mcp_config.platform_overrides": object{
			"win32": object{"command": "c", "args": array{}, "env": object{}},
			"any":   object{},
		},
		"compatibility":                object{},
		"compatibility.claude_desktop": ">=1.0.0",
		"compatibility.platforms":      array{"darwin", "win32", "linux"},
		"compatibility.runtimes":       object{"python": ">=3.8", "node": ">=16.0.0"},
		"user_config":                  option(nil),
		"user_config.k":                option(object{"required": true, "sensitive": true})["k"],
		"user_config.n":                option(object{"type": "number", "min": 1, "max": 2.5, "default": 2})["k"],
		"user_config.d":                option(object{"type": "directory", "multiple": true, "default": array{"${HOME}"}})["k"],
		"user_config.b":                option(object{"type": "boolean", "default": false})["k"],
		"user_config.f":                option(object{"type": "file", "default": "x"})["k"],
		"privacy_policies":             array{"https://example.com/p"},
		"icons": array{
			object{"src": "i.png", "size": "16x16", "theme": "dark"},
			object{"src": "j.png", "size": "1x1"},
		},
		"localization": object{"resources": "r/${locale}.json", "default_locale": "en-US"},
		"_meta":        object{"com.example": object{"x": array{1}}},
		"server.type":  "python",
	}
}

func unknown() []string {
	return []string{"scripts", "Name", "author.twitter", "server.kind", "server.mcp_config.cwd", "compatibility.other",
		"compatibility.runtimes.ruby", "repository.directory", "user_config.k.minimum", "localization.locales", "__proto__"}
}

type format struct {
	path   string
	values array
}

// formats returns values of the right type, valid and invalid.
func formats() []format {
	lists := func(values ...any) array {
		var all array
		for _, v := range values {
			all = append(all, array{v})
		}
		return all
	}
	tool := func(more ...any) array {
		o := object{"name": "t"}
		for i := 0; i < len(more); i += 2 {
			o[more[i].(string)] = more[i+1]
		}
		return array{o}
	}
	option := func(key string, value any) object {
		o := object{"type": "string", "title": "t", "description": "d"}
		o[key] = value
		return o
	}
	return []format{
		{
			"author.email",
			array{
				"a@b", "a.b@c.de", ".a@c.de", "a..b@c.de", "a.@c.de", "a@-c.de", "a@c-.de", "a@c.d", "a@c.d1",
				"ä@c.de", "a@ä.de", "A'B+C_D-E@C.DE", "a b@c.de", "a@c.de ", "", "a@b@c.de", "a+@c.de",
				"a'@c.de", "\"a\"@c.de",
			},
		},
		{"homepage", urls()},
		{"privacy_policies", lists("https://example.com", "no", "")},
		{
			"repository",
			array{
				object{"type": "git"},
				object{"url": "https://example.com"},
				object{"type": "", "url": "git+https://example.com/a.git"},
				object{"type": "git", "url": "git@example.com:a/b.git"},
			},
		},
		{
			"icons",
			array{
				array{},
				array{object{"src": "i", "size": "16"}},
				array{object{"src": "i", "size": "16X16"}},
				array{object{"src": "", "size": "0x0"}},
				array{object{"src": "i", "size": "16x16\n"}},
				array{object{"src": "i", "size": "16x16", "theme": ""}},
				array{object{"src": "i", "size": "١x١"}},
				array{object{"size": "1x1"}},
				array{object{"src": "i"}},
			},
		},
		{
			"localization",
			array{
				object{"resources": "r/${LOCALE}.json", "default_locale": "en"},
				object{"resources": "r/{locale}.json", "default_locale": "en"},
				object{"resources": "r/${locale}"},
				object{"default_locale": "en"},
				object{},
				object{"resources": "${locale}", "default_locale": "e"},
				object{"resources": "${locale}", "default_locale": "en_US"},
				object{"resources": "${locale}", "default_locale": "zh-Hant-TW-x-123456789"},
				object{"resources": "${locale}", "default_locale": "zh-Hans"},
				object{"resources": "${locale}", "default_locale": ""},
			},
		},
		{"compatibility.platforms", array{array{}, array{"macos"}, array{"linux", "linux"}, array{"Darwin"}}},
		{"compatibility.runtimes", array{object{}, object{"node": ""}, object{"python": "not a range"}}},
		{"compatibility", array{object{"claude_desktop": "x"}, object{"cursor": "^1"}, object{"cursor": 1}}},
		{"version", array{"", "1", "v1.0.0", "1.0", "01.0.0", "latest"}},
		{"name", array{"", "../../x", "My Server", "@a/b"}},
		{"server.type", array{"node", "binary", "uv", "docker", "Node", ""}},
		{"server.entry_point", array{"", "../x.js", "/etc/passwd", "a\\b.js"}},
		{
			"server.mcp_config",
			array{
				object{"command": ""},
				object{"command": "x", "args": array{"${nothing}", "${user_config.nobody}"}},
				object{"command": "x", "env": object{"A": 1}},
				object{"command": "x", "platform_overrides": object{"linux": object{"platform_overrides": object{}}}},
				object{"command": "x", "platform_overrides": object{"linux": object{"args": "x"}}},
			},
		},
		{
			"tools",
			array{
				array{},
				tool(),
				tool("inputSchema", object{}),
				tool("title", "t"),
				tool("description", nil),
				array{object{}},
				array{object{"name": ""}},
				append(tool(), tool()...),
			},
		},
		{
			"prompts",
			array{
				array{object{"name": "p"}},
				array{object{"text": "x"}},
				array{object{"name": "p", "text": "${arguments.b}", "arguments": array{"a"}}},
				array{object{"name": "p", "text": "x", "arguments": array{object{"name": "a"}}}},
			},
		},
		{
			"user_config.k",
			array{
				option("type", "text"),
				option("title", ""),
				option("default", nil),
				option("default", object{}),
				option("default", array{1}),
				option("default", array{}),
				option("default", 1),
				option("min", "1"),
				option("min", 1),
				option("multiple", true),
				option("options", array{}),
				object{"type": "number", "title": "t", "description": "d", "min": 3, "max": 1},
				object{"type": "string", "title": "t"},
				object{"title": "t", "description": "d"},
			},
		},
		{"user_config", array{object{"": option("type", "string")}, object{"a.b": option("type", "string")}}},
		{
			"_meta",
			array{
				object{"x": object{}},
				object{"com.example": "text"},
				object{"com.example": array{}},
				object{"com.example": nil},
			},
		},
		{"keywords", array{array{}, array{"a", ""}, array{"a", 1}}},
	}
}

func urls() array {
	var all array
	for _, s := range []string{
		"mailto:a@b",
		"javascript:alert(1)",
		"file:///x",
		"file://C:/x",
		"file://a b/",
		"http:example.com",
		"HTTPS://X",
		`C:\docs`,
		" https://example.com ",
		"https://example.com/a b", `https:\\example.com\a`, "https://example.com/%zz", "https://münchen.de", "example.com",
		"//example.com", "https://", "https:///example.com", "https://a b.com",
		"https://a%20b.com", "https://a:99999", "https://a:65535", "https://a:x", "https://a:", "https://:80",
		"https://[::1]",
		"https://[::1", "https://[::1]:80/x", "https://[fe80::1%25eth0]", "https://1.2.3.256", "https://1.2.3.4.5",
		"https://0x7f.1", "https://256",
		"https://4294967296", "https://1.2.3.08", "https://a.b.", "https://a..b", "https://a_b.c", "https://a<b",
		"https://user@", "https://user:p@ss@host", "https://a/#f?g", "https://?x", "https://#x",
		"foo:", "foo://", "foo://a b", "foo://a:99999", "foo://:80", "foo://a@", "foo://[x]", "1http://a", "a+b.c-d:e",
		"ht\ttp://a", "http://a\nb", "", " ", "https", "https:", "https:/example.com", "http://%41", "http://%zz",
		"http://a^b", "http://a|b", "http://1.2.3.0x", "http://0x", "git@example.com:a/b.git", "https://ex%61mple.com",
		"http://a%00b", "ssh://git@example.com/a", "data:,x", "blob:x", "about:blank",
	} {
		all = append(all, s)
	}
	return all
}

// versionCases returns cases about the two version fields of a manifest.
func versionCases() []verdict {
	var all []verdict
	for i, pair := range [][2]any{
		{"0.2", "0.1"}, {"0.1", "0.2"}, {"9.9", "0.1"}, {nil, "0.1"}, {nil, "0.2"}, {nil, "0.3"}, {nil, "0.4"},
		{"0.3", "0.3"},
		{"0.3", "9.9"}, {0.3, nil}, {nil, 0.1}, {"0.5", nil}, {"", nil},
		{"", "0.1"}, {"1.0", nil}, {" 0.3", nil}, {"0.3", ""}, {nil, nil}, {0.3, "0.3"}, {array{"0.3"}, nil},
	} {
		m := small("0.3")
		delete(m, "manifest_version")
		for k, name := range []string{"manifest_version", "dxt_version"} {
			if pair[k] != nil {
				m[name] = pair[k]
			}
		}
		text, _ := json.Marshal(m)
		all = append(all, verdict{Name: fmt.Sprintf("version/%d", i), Text: text})
	}
	for _, version := range versions() {
		m := small(version)
		m["server"] = object{"type": "uv", "entry_point": "s.py"}
		text, _ := json.Marshal(m)
		all = append(all, verdict{Name: "uv/" + version, Text: text})
		m["server"] = object{
			"type":        "uv",
			"entry_point": "s.py",
			"mcp_config":  object{"command": "uv", "args": array{"run", "s.py"}},
		}
		text, _ = json.Marshal(m)
		all = append(all, verdict{Name: "uv with mcp_config/" + version, Text: text})
	}
	return all
}

// textCases returns cases about JSON itself.
func textCases() []verdict {
	base, _ := json.Marshal(small("0.3"))
	text := string(base)
	replaced := func(old, new string) string { return strings.Replace(text, old, new, 1) }
	var all []verdict
	for _, c := range []struct{ name, text string }{
		{"empty", ""}, {"blank", " \n"}, {"null", "null"}, {"array", "[]"}, {"array of one", "[" + text + "]"},
		{"string", `"x"`}, {"number", "1"}, {"empty object", "{}"},
		{"byte order mark", "\ufeff" + text}, {"comment", "// x\n" + text}, {"block comment", replaced(`"n"`, `/* x */"n"`)},
		{"trailing comma", replaced("}}}", "}},}")},
		{"single quotes", replaced(`"n"`, `'n'`)}, {"cut off", text[:len(text)-1]}, {"text behind", text + "x"},
		{"blanks around", "\n\t " + text + " \r\n"},
		{"NaN", replaced(`"n"`, "NaN")}, {"UTF-16", "\xff\xfe{\x00}\x00"}, {"invalid UTF-8", replaced(`"n"`, "\"n\xff\"")},
		{"control character", replaced(`"n"`, "\"n\x01\"")},
		{"escapes", replaced(`"n"`, `"\u006e\ud83d\ude00"`)}, {"lone surrogate", replaced(`"n"`, `"\ud83d"`)},
		{"bad escape", replaced(`"n"`, `"\x"`)},
		{"twice, last right", replaced(`"name":`, `"name":1,"name":`)},
		{"twice, last wrong", replaced(`"name":"n"`, `"name":"n","name":1`)},
		{"escaped name", replaced(`"name":"n"`, `"\u006eame":"n"`)},
		{
			"nested",
			replaced(`"name":"n"`, `"name":"n","_meta":{"a.b":{"c":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}}`),
		},
		{
			"number too large",
			replaced(`"name":"n"`, `"name":"n","user_config":{"k":{"type":"number","title":"t","description":"d","max":1e999}}`),
		},
		{"leading zero", replaced(`"name":"n"`, `"name":"n","_meta":{"a.b":{"c":01}}`)},
	} {
		all = append(all, verdict{Name: "text/" + c.name, Text: []byte(c.text)})
	}
	return all
}

func iconCases() []verdict {
	var all []verdict
	for _, c := range []struct {
		name, icon string
		files      map[string][]byte
	}{
		{"there", "icon.png", map[string][]byte{"icon.png": []byte(png)}},
		{"there, with a dot", "./icon.png", map[string][]byte{"icon.png": []byte(png)}},
		{"not there", "icon.png", nil},
		{"no picture", "icon.png", map[string][]byte{"icon.png": []byte("GIF89a")}},
		{"empty", "icon.png", map[string][]byte{"icon.png": {}}},
		{"eight bytes", "icon.png", map[string][]byte{"icon.png": []byte(png[:8])}},
		{"seven bytes", "icon.png", map[string][]byte{"icon.png": []byte(png[:7])}},
		{"another name", "icon.jpg", map[string][]byte{"icon.jpg": []byte(png)}},
		{"on the web", "https://example.com/i.png", nil},
		{"on the web, without TLS", "http://example.com/i.png", nil},
		{"a variable", "${__dirname}/icon.png", map[string][]byte{"icon.png": []byte(png)}},
		{"absolute", "/icon.png", nil},
		{"above, not there", "../icon-of-nobody.png", nil},
		{"the folder", ".", nil},
	} {
		m := small("0.3")
		m["icon"] = c.icon
		text, _ := json.Marshal(m)
		all = append(all, verdict{Name: "icon/" + c.name, Text: text, Files: c.files})
	}
	return all
}
