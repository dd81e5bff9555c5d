package interop_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A site is the expected answers of a server, read from a folder in the StaticMCP layout
// without any code of Slipway.
type site struct {
	dir  string
	name string

	tools, resources, templates, prompts []object

	contents map[string]object // by URI: the only item in its contents
	calls    []exchange        // every tool answer and its call
	messages []exchange        // every prompt answer and its request
}

// An exchange is one tool call or prompt request and its complete answer.
type exchange struct {
	name string
	args object
	want object
}

// readSite reads the site in dir. It supports only the standard's own layout: one folder
// or file name for each argument, in the order of the schema's required list and then of
// the other properties' names.
func readSite(t *testing.T, dir string) site {
	t.Helper()
	s := site{dir: dir, contents: map[string]object{}}
	manifest := readObject(t, filepath.Join(dir, "mcp.json"))
	s.name = manifest["serverInfo"].(object)["name"].(string)
	offers := manifest["capabilities"].(object)
	s.tools = objects(offers["tools"])
	s.resources = objects(offers["resources"])
	s.templates = objects(offers["resourceTemplates"])
	s.prompts = objects(offers["prompts"])
	s.readContents(t)
	for _, tool := range s.tools {
		schema := tool["inputSchema"].(object)
		s.calls = append(s.calls,
			readExchanges(t, dir, "tools", tool["name"].(string), func(t *testing.T, values []string) object {
				return arguments(t, schema, values)
			})...)
	}
	for _, prompt := range s.prompts {
		s.messages = append(s.messages,
			readExchanges(t, dir, "prompts", prompt["name"].(string), func(t *testing.T, values []string) object {
				return promptArguments(t, prompt, values)
			})...)
	}
	return s
}

// readContents stores every resource by the URI in its contents, independent of how URIs
// are mapped to file names.
func (s site) readContents(t *testing.T) {
	t.Helper()
	for _, path := range jsonFiles(t, filepath.Join(s.dir, "resources")) {
		item := readObject(t, path)
		if list := objects(item["contents"]); len(list) == 1 {
			item = list[0]
		}
		s.contents[item["uri"].(string)] = item
	}
}

// readExchanges reads folder/name.json and every file below folder/name/.
func readExchanges(t *testing.T, dir, folder, name string, args func(*testing.T, []string) object) []exchange {
	t.Helper()
	var out []exchange
	alone := filepath.Join(dir, folder, name+".json")
	if _, err := os.Stat(alone); err == nil {
		out = append(out, exchange{name, object{}, readObject(t, alone)})
	}
	root := filepath.Join(dir, folder, name)
	for _, path := range jsonFiles(t, root) {
		rest := strings.TrimSuffix(strings.TrimPrefix(path, root+string(filepath.Separator)), ".json")
		values := strings.Split(rest, string(filepath.Separator))
		out = append(out, exchange{name, args(t, values), readObject(t, path)})
	}
	return out
}

// arguments returns the call whose answer is in the file named by values. Each name in
// the layout is also the value.
func arguments(t *testing.T, schema object, values []string) object {
	t.Helper()
	properties, _ := schema["properties"].(object)
	names := strs(schema["required"])
	var optional []string
	for name := range properties {
		if !slices.Contains(names, name) {
			optional = append(optional, name)
		}
	}
	slices.Sort(optional)
	names = append(names, optional...)
	if len(values) > len(names) {
		t.Fatalf("no call is answered by the file %q: the tool has the arguments %q", values, names)
	}
	args := object{}
	for i, value := range values {
		args[names[i]] = argument(t, properties[names[i]].(object), value)
	}
	return args
}

func argument(t *testing.T, schema object, value string) any {
	t.Helper()
	for _, allowed := range strs(schema["enum"]) {
		if strings.EqualFold(allowed, value) {
			return allowed
		}
	}
	switch schema["type"] {
	case "integer", "number":
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	case "boolean":
		return value == "true"
	}
	return value
}

func promptArguments(t *testing.T, prompt object, values []string) object {
	t.Helper()
	args := object{}
	for i, arg := range objects(prompt["arguments"]) {
		if i < len(values) {
			args[arg["name"].(string)] = values[i]
		}
	}
	if len(args) != len(values) {
		t.Fatalf("no request is answered by the file %q", values)
	}
	return args
}

// jsonFiles returns the .json files below dir, or none if dir does not exist.
func jsonFiles(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".json") {
			out = append(out, path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return out
}

func readObject(t *testing.T, path string) object {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o, err := decodeObject(data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return o
}

func writeObject(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// objects returns a decoded JSON array of objects, or nil.
func objects(v any) []object {
	list, _ := v.([]any)
	var out []object
	for _, item := range list {
		if o, ok := item.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

// strs returns the strings of a decoded JSON array.
func strs(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
