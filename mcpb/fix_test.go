package mcpb_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcpb"
)

func TestFix(t *testing.T) {
	const rest = `, "version": "1.0.0", "description": "d",
  "server": {"type": "node", "entry_point": "i.js", "mcp_config": {"command": "node"}}`
	const head = `{ "manifest_version": "0.3", "name": "n"` + rest + `, "author": {"name": "a"}`
	tests := map[string]struct {
		before, after string
		repairs       string // joined with "; "
	}{
		"nothing":         {head + `}`, head + `}`, ""},
		"byte order mark": {"\ufeff" + head + `}`, head + `}`, "removed the byte order mark"},
		"old name of the version": {strings.Replace(head, "manifest_version", "dxt_version", 1) + `}`, head + `}`,
			`renamed "dxt_version" to "manifest_version"`},
		"both names": {strings.Replace(head, `"name": "n"`, `"dxt_version": "0.1", "name": "n"`, 1) + `}`, head + `}`,
			`removed "dxt_version", the old name of "manifest_version"`},
		"a version that is a number": {
			strings.Replace(head, `"0.3"`, `0.3`, 1) + `}`,
			head + `}`,
			"made the version a string",
		},
		"a version too old": {strings.Replace(head, "0.3", "0.1", 1) + `, "icons": [], "privacy_policies": []}`,
			head + `, "icons": [], "privacy_policies": []}`,
			"set the version from 0.1 to 0.3, which the fields need"},
		"fields by other names": {
			head +
				`, "displayName": "D", "user_config": {"n": {"type": "number", "title": "t", "description": "d", "minimum": 1,
"Max": 2}}}`,
			head +
				`, "display_name": "D", "user_config": {"n": {"type": "number", "title": "t", "description": "d", "min": 1,
"max": 2}}}`,
			`renamed "displayName" to "display_name"; renamed "minimum" to "min"; renamed "Max" to "max"`},
		"a name that is taken": {
			head + `, "user_config": {"n": {"type": "number", "title": "t", "description": "d", "minimum": 1, "min": 2}}}`,
			head + `, "user_config": {"n": {"type": "number", "title": "t", "description": "d", "minimum": 1, "min": 2}}}`, ""},
		"a guess is no repair": {head + `, "licence": "MIT"}`, head + `, "licence": "MIT"}`, ""},
		"people and places": {
			strings.Replace(head, `{"name": "a"}`, `"A \"B\" <a@example.com> (https://example.com)"`, 1) +
				`, "repository": "github:a/b"}`,
			strings.Replace(head, `{"name": "a"}`,
				`{ "name": "A \"B\"", "email": "a@example.com", "url": "https://example.com" }`, 1) +
				`, "repository": { "type": "git", "url": "https://github.com/a/b" }}`,
			"made the author an object; made the repository an object"},
		"strings for others": {
			head +
				`, "keywords": "k", "tools_generated": "true", "user_config": {"n": {"type": "number", "title": "t",
"description": "d", "max": "2"}}}`,
			head +
				`, "keywords": ["k"], "tools_generated": true, "user_config": {"n": {"type": "number", "title": "t",
"description": "d", "max": 2}}}`,
			"turned the string into a list; removed the quotes from true; removed the quotes from 2"},
		"null": {
			head + ",\n  \"icon\": null,\n  \"license\": null\n}",
			head + "\n}",
			`removed "icon", which was null; removed "license", which was null`,
		},
		"comments and commas": {strings.Replace(head, `"name"`, "/* x */ \"name\" // y", 1) + ",\n}",
			strings.Replace(head, `"name"`, " \"name\" ", 1) + "\n}",
			"removed a comment; removed a comment; removed a comma before a closing bracket"},
		"no JSON at all": {`{"name" // x`, `{"name" // x`, ""},
		"backslashes": {
			strings.Replace(head, "i.js", `s\\i.js`, 1) + `}`,
			strings.Replace(head, "i.js", `s/i.js`, 1) + `}`,
			"wrote the path with slashes",
		},
		"not UTF-8": {"\ufeff{\xff}", "\ufeff{\xff}", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if name == "comments and commas" {
				tt.before = strings.Replace(tt.before, "// y:", "// y\n:", 1)
				tt.after = strings.Replace(tt.after, `"name" :`, "\"name\" \n:", 1)
			}
			got, repairs := mcpb.Fix([]byte(tt.before))
			if diff := cmp.Diff(string(got), tt.after); diff != "" {
				t.Error(diff)
			}
			var about []string
			for _, r := range repairs {
				about = append(about, r.About)
			}
			if diff := cmp.Diff(strings.Join(about, "; "), tt.repairs); diff != "" {
				t.Error(diff)
			}
			if again, more := mcpb.Fix(got); len(more) > 0 || string(again) != string(got) {
				t.Errorf("a second time: %v", more)
			}
		})
	}
}
