package interop_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mistakes are calls to one site that must fail, each in a different way.
type mistakes struct {
	tool      string
	wrongType object // an argument of another type than the schema's
	missing   object // a required argument is missing
	unknown   object // an argument that the schema does not have
	unheld    object // valid, but the site has no such answer

	prompt string // a prompt with a required argument, or ""
}

// checkSite compares everything that c can see of a server with the site's own files.
func checkSite(t *testing.T, c client, version string, s site, wrong mistakes) {
	t.Run("handshake", func(t *testing.T) {
		if got := c.version(); got != version {
			t.Errorf("version = %q, want %q", got, version)
		}
		if got := c.serverName(); got != s.name {
			t.Errorf("server name = %q, want %q", got, s.name)
		}
	})
	t.Run("lists", func(t *testing.T) { checkLists(t, c, s) })
	t.Run("tool answers", func(t *testing.T) { checkCalls(t, c, s) })
	t.Run("resource contents", func(t *testing.T) { checkContents(t, c, s) })
	if len(s.messages) > 0 {
		t.Run("prompt messages", func(t *testing.T) { checkMessages(t, c, s) })
	}
	t.Run("mistakes", func(t *testing.T) { checkMistakes(t, c, wrong) })
	if !modern(version) {
		t.Run("ping", func(t *testing.T) {
			if err := c.ping(limited(t)); err != nil {
				t.Error(err)
			}
		})
		t.Run("log level", func(t *testing.T) { checkLogLevel(t, c) })
	}
}

func checkLists(t *testing.T, c client, s site) {
	checkList(t, c, "tools", s.tools, "name", "description", "inputSchema")
	checkList(t, c, "resources", s.resources, "uri", "name", "description", "mimeType")
	checkList(t, c, "resourceTemplates", s.templates, "uriTemplate", "name", "description", "mimeType")
	if len(s.prompts) > 0 {
		checkList(t, c, "prompts", s.prompts, "name", "description", "arguments")
	} else if _, declared := c.capabilities()["prompts"]; !declared {
		_, _, err := c.list(limited(t), "prompts", "")
		wantCode(t, c, "prompts/list without the capability", err, -32601)
	}
	for _, kind := range []string{"tools", "resources", "resourceTemplates"} {
		_, _, err := c.list(limited(t), kind, "no cursor of this server")
		wantCode(t, c, "list of "+kind+" with a made-up cursor", err, -32602)
	}
}

// checkList compares the named fields of all items, in order, plus the fields introduced
// by 2025-06-18 where the version has them.
func checkList(t *testing.T, c client, kind string, want []object, fields ...string) {
	t.Helper()
	if c.version() >= v0618 {
		fields = append(fields, "title", "outputSchema")
	}
	got, _ := listAll(t, c, kind)
	same(t, "list of "+kind, pick(plain(got), fields), pick(plain(want), fields))
}

// plain removes empty lists of required arguments, which mcp-go adds, from input schemas.
func plain(items []object) []object {
	out := make([]object, 0, len(items))
	for _, item := range items {
		schema, _ := item["inputSchema"].(object)
		if required, is := schema["required"].([]any); is && len(required) == 0 {
			item, schema = maps.Clone(item), maps.Clone(schema)
			delete(schema, "required")
			item["inputSchema"] = schema
		}
		out = append(out, item)
	}
	return out
}

// listAll follows the cursors to the end and returns all items and the number
// of pages.
func listAll(t *testing.T, c client, kind string) (items []object, pages int) {
	t.Helper()
	seen := map[string]bool{}
	for cursor := ""; ; {
		page, next, err := c.list(limited(t), kind, cursor)
		if err != nil {
			t.Fatalf("list of %s, page %d: %v", kind, pages+1, err)
		}
		items = append(items, page...)
		pages++
		if next == "" {
			return items, pages
		}
		if seen[next] {
			t.Fatalf("list of %s: the cursor %q came twice", kind, next)
		}
		seen[next] = true
		cursor = next
	}
}

func checkCalls(t *testing.T, c client, s site) {
	if len(s.calls) == 0 {
		t.Fatal("the site has no tool answers")
	}
	wrong := 0
	for _, call := range s.calls {
		if !checkCall(t, c, call) {
			wrong++
		}
		stopAt(t, wrong)
	}
}

// sayable returns the content that a client of version should receive in place of the
// site's own. A content type unknown to the version must be replaced with a text of the
// server's choice.
func sayable(version string, said, meant []object) []object {
	want := slices.Clone(meant)
	for i, item := range meant {
		if since(item["type"]) <= version {
			continue
		}
		want[i] = object{"type": "text", "text": "words for something that " + version + " does not know"}
		if i < len(said) && said[i]["type"] == "text" {
			want[i] = said[i]
		}
	}
	return want
}

// since returns the first version with a content type.
func since(contentType any) string {
	switch contentType {
	case "audio":
		return v0326
	case "resource_link":
		return v0618
	}
	return v2024
}

// stopAt ends a long list of checks after five failures.
func stopAt(t *testing.T, wrong int) {
	t.Helper()
	if wrong == 5 {
		t.Fatal("and so on: the rest was not checked")
	}
}

// checkCall compares the answer to one call, and reports whether it was right.
func checkCall(t *testing.T, c client, call exchange) bool {
	t.Helper()
	what := fmt.Sprintf("%s(%v)", call.name, call.args)
	got, err := c.call(limited(t), call.name, call.args)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return false
	}
	said, meant := objects(got["content"]), objects(call.want["content"])
	right := same(t, what, said, sayable(c.version(), said, meant))
	if c.version() >= v0618 {
		right = same(t, what+" structuredContent", got["structuredContent"], call.want["structuredContent"]) && right
	}
	return same(t, what+" isError", got["isError"] == true, call.want["isError"] == true) && right
}

func checkContents(t *testing.T, c client, s site) {
	if len(s.resources) == 0 {
		t.Fatal("the site has no resources")
	}
	wrong := 0
	for _, resource := range s.resources {
		if !checkRead(t, c, s, resource["uri"].(string)) {
			wrong++
		}
		stopAt(t, wrong)
	}
	_, err := c.read(limited(t), "nowhere://no such resource")
	wantCode(t, c, "read an unknown resource", err, notFound(c.version()))
}

// checkRead compares the contents of a URI, and reports whether they were right.
func checkRead(t *testing.T, c client, s site, uri string) bool {
	t.Helper()
	want, held := s.contents[uri]
	got, err := c.read(limited(t), uri)
	if !held {
		return wantCode(t, c, "read "+uri+", which has no file", err, notFound(c.version()))
	}
	if err != nil && c.spoils(uri) {
		return wantCode(t, c, "read "+uri+", which the SDK spoils", err, headerMismatch)
	}
	if err != nil {
		t.Errorf("read %s: %v", uri, err)
		return false
	}
	fields := []string{"uri", "mimeType", "text", "blob"}
	return same(t, "read "+uri, pick(objects(got["contents"]), fields), pick([]object{want}, fields))
}

// headerMismatch is the code for a header that contradicts the body.
const headerMismatch = -32020

// notFound returns the code for a resource that does not exist.
func notFound(version string) int {
	if modern(version) {
		return -32602
	}
	return -32002
}

func checkMessages(t *testing.T, c client, s site) {
	for _, m := range s.messages {
		args := map[string]string{}
		for name, value := range m.args {
			args[name] = value.(string)
		}
		got, err := c.prompt(limited(t), m.name, args)
		if err != nil {
			t.Errorf("prompt %s(%v): %v", m.name, args, err)
			continue
		}
		same(t, fmt.Sprintf("prompt %s(%v)", m.name, args), got["messages"], m.want["messages"])
	}
}

func checkMistakes(t *testing.T, c client, wrong mistakes) {
	for what, args := range map[string]object{
		"an argument of the wrong type": wrong.wrongType,
		"a required argument missing":   wrong.missing,
		"an unknown argument":           wrong.unknown,
	} {
		got, err := c.call(limited(t), wrong.tool, args)
		if c.version() <= v0618 {
			wantCode(t, c, what, err, -32602)
		} else {
			wantToolError(t, what, got, err)
		}
	}
	got, err := c.call(limited(t), wrong.tool, wrong.unheld)
	wantToolError(t, "a call the site has no answer for", got, err)

	_, err = c.call(limited(t), "no_such_tool", object{})
	wantCode(t, c, "an unknown tool", err, -32602)
	if wrong.prompt == "" {
		return
	}
	_, err = c.prompt(limited(t), "no_such_prompt", nil)
	wantCode(t, c, "an unknown prompt", err, -32602)
	_, err = c.prompt(limited(t), wrong.prompt, nil)
	wantCode(t, c, "a required prompt argument missing", err, -32602)
}

func checkLogLevel(t *testing.T, c client) {
	err := c.setLevel(limited(t), "debug")
	if _, declared := c.capabilities()["logging"]; !declared {
		wantCode(t, c, "logging/setLevel without the capability", err, -32601)
		return
	}
	if err != nil {
		t.Errorf("logging/setLevel debug: %v", err)
	}
	wantCode(t, c, "logging/setLevel with no level of syslog", c.setLevel(limited(t), "shouting"), -32602)
}

func wantCode(t *testing.T, c client, what string, err error, want int) bool {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want code %d", what, want)
		return false
	}
	if got := c.code(err); got != want {
		t.Errorf("%s: code %d (%v), want %d", what, got, err, want)
		return false
	}
	return true
}

// wantToolError expects a result that a model can read and act on.
func wantToolError(t *testing.T, what string, got object, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v, want a result with isError", what, err)
		return
	}
	if got["isError"] != true {
		t.Errorf("%s: isError = %v, want true", what, got["isError"])
	}
	content := objects(got["content"])
	if len(content) == 0 || content[0]["type"] != "text" || content[0]["text"] == "" {
		t.Errorf("%s: content = %v, want a text that explains", what, content)
	}
}

// same reports whether two decoded JSON values are equal, and fails the test if not.
func same(t *testing.T, what string, got, want any) bool {
	t.Helper()
	diff := cmp.Diff(want, got)
	if diff == "" {
		return true
	}
	const enough = 25
	lines := strings.SplitAfter(diff, "\n")
	if len(lines) > enough {
		lines = append(lines[:enough], fmt.Sprintf("and %d more lines", len(lines)-enough))
	}
	t.Errorf("%s differs (- want, + got):\n%s", what, strings.Join(lines, ""))
	return false
}

// equal reports whether two decoded JSON values are equal.
func equal(a, b any) bool { return cmp.Equal(a, b) }

// pick returns the named fields of each item, without those that have no value: an empty
// list counts as none.
func pick(items []object, fields []string) []object {
	out := []object{}
	for _, item := range items {
		kept := object{}
		for _, field := range fields {
			v := item[field]
			if list, is := v.([]any); v != nil && v != "" && !(is && len(list) == 0) {
				kept[field] = v
			}
		}
		out = append(out, kept)
	}
	return out
}
