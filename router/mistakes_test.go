package router_test

import (
	"context"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/router"
)

func nothing(context.Context, router.Void) (string, error) { return "", nil }

func takes[In any](opts ...router.ToolOption) router.Feature {
	return router.Tool("t", "", func(context.Context, In) (string, error) { return "", nil }, opts...)
}

func gives[Out any](opts ...router.ToolOption) router.Feature {
	return router.Tool("t", "", func(context.Context, router.Void) (out Out, err error) { return }, opts...)
}

func template[Vars any](text string, opts ...router.TemplateOption) router.Feature {
	return router.Template("x", text, func(context.Context, Vars) (string, error) { return "", nil }, opts...)
}

func prompt[In any](opts ...router.PromptOption) router.Feature {
	return router.Prompt("p", "", func(context.Context, In) (string, error) { return "", nil }, opts...)
}

func resource(name, uri string, opts ...router.ResourceOption) router.Feature {
	return router.Resource(name, uri, func(context.Context) (string, error) { return "", nil }, opts...)
}

type one struct {
	A string `json:"a"`
}

type inner struct {
	X int `json:"x"`
}

type deep struct {
	Rows []struct {
		Cells map[string]struct {
			F func() `json:"f"`
		} `json:"cells"`
	} `json:"rows"`
}

type panics struct{}

func (panics) JSONSchema() mcp.Schema { panic("no schema today") }

type badSchema struct{}

func (badSchema) JSONSchema() mcp.Schema { return mcp.Schema{Type: "strnig"} }

type noValues string

func (noValues) Enum() []string { return nil }

// TestMistakes has one mistake per row, and each is one line of the error.
func TestMistakes(t *testing.T) {
	app := router.App("ui://x/y", "<p>")
	for _, tt := range []struct {
		name     string
		features []router.Feature
		want     string // without the place
	}{
		{"tool names", []router.Feature{router.Tool("t", "", nothing), router.Tool("t", "", nothing)},
			`tool "t": is already the name of a tool at mistakes_test.go:N`},
		{"prompt names", []router.Feature{prompt[one](), prompt[one]()},
			`prompt "p": is already the name of a prompt at mistakes_test.go:N`},
		{"resource names", []router.Feature{resource("r", "x://1"), resource("r", "x://2")},
			`resource "r": is already the name of a resource at mistakes_test.go:N`},
		{"resource and template name", []router.Feature{resource("x", "x://1"), template[one]("y://{a}")},
			`template "x": is already the name of a resource at mistakes_test.go:N`},
		{"resource URIs", []router.Feature{resource("r", "x://1"), resource("s", "x://1")},
			`resource "s": the URI "x://1" is already that of "r" at mistakes_test.go:N`},
		{"ambiguous templates", []router.Feature{template[one]("x://{a}/f"), router.Group("g", template[one]("x://l/{a}"))},
			`template "gx": the template "x://l/{a}" is ambiguous: it and "x://{a}/f" at mistakes_test.go:N both describe ` +
				`"x://l/f"`},
		{
			"names in a group",
			[]router.Feature{router.Tool("a_b", "", nothing), router.Group("a_", router.Tool("b", "", nothing))},
			`tool "a_b": is already the name of a tool at mistakes_test.go:N`,
		},
		{"empty tool name", []router.Feature{router.Tool("", "", nothing)}, `tool "": the name is empty`},
		{"tool name", []router.Feature{router.Tool("a b", "", nothing)},
			`tool "a b": the name may contain only letters, digits and _ - . /`},
		{"long tool name", []router.Feature{router.Tool(strings.Repeat("a", 129), "", nothing)},
			`tool "` + strings.Repeat("a", 129) + `": the name is longer than 128 characters`},
		{"empty resource name", []router.Feature{resource("", "x://1")}, `resource "": the name is empty`},
		{"nil function", []router.Feature{router.Tool[one, string]("t", "", nil)}, `tool "t": the function is nil`},
		{"nil resource function", []router.Feature{router.Resource[string]("r", "x://1", nil)},
			`resource "r": the function is nil`},
		{"nil template function", []router.Feature{router.Template[one, string]("x", "x://{a}", nil)},
			`template "x": the function is nil`},
		{"nil prompt function", []router.Feature{router.Prompt[one, string]("p", "", nil)},
			`prompt "p": the function is nil`},
		{"nil feature", []router.Feature{router.Tool("t", "", nothing), nil}, `server "x": feature 2 is nil`},
		{"nil option", []router.Feature{router.Tool("t", "", nothing, nil)}, `tool "t": an option is nil`},
		{"empty", nil, `server "x": it has no tool, resource, template or prompt`},

		{"unsupported type", []router.Feature{takes[struct {
			C chan int `json:"c"`
		}]()}, `tool "t": c: a chan (chan int) cannot be a JSON value`},
		{"unsupported type, deep", []router.Feature{takes[deep]()},
			`tool "t": rows.cells.f: a func (func()) cannot be a JSON value`},
		{"unsupported complex", []router.Feature{takes[struct{ Z complex128 }]()},
			`tool "t": Z: a complex128 (complex128) cannot be a JSON value`},
		{"interface", []router.Feature{takes[struct{ R error }]()},
			`tool "t": R: an interface with methods (error) cannot be a JSON value`},
		{"map keys", []router.Feature{takes[struct{ M map[int]string }]()},
			`tool "t": M: the keys of a map must be strings, not int`},
		{"input no object", []router.Feature{takes[int]()},
			`tool "t": the input must be a struct, or a map with string keys, not int`},
		{"json option", []router.Feature{takes[struct {
			A int `json:"a,string"`
		}]()}, `tool "t": A: the option "string" of its json tag is only for outputs`},
		{"output type", []router.Feature{gives[func()]()}, `tool "t": the output: a func (func()) cannot be a JSON value`},
		{"panic in a type's method", []router.Feature{takes[struct{ P panics }]()}, `tool "t": panic: no schema today`},
		{"a type's schema", []router.Feature{takes[struct{ P badSchema }]()},
			`tool "t": P: router_test.badSchema.JSONSchema(): `},
		{"a type without values", []router.Feature{takes[struct{ P noValues }]()},
			`tool "t": P: router_test.noValues.Enum() returns no values`},

		{"default out of enum", []router.Feature{takes[struct {
			U string `json:"u" enum:"a,b" default:"c"`
		}]()}, `tool "t": u: default:"c": must be one of "a", "b" (got "c")`},
		{"default of the wrong type", []router.Feature{takes[struct {
			N int `json:"n" default:"many"`
		}]()}, `tool "t": n: default:"many": unexpected character 'm' at byte 0`},
		{"default out of bounds", []router.Feature{takes[struct {
			N int `json:"n" maximum:"5" default:"6"`
		}]()}, `tool "t": n: default:"6": must be at most 5 (got 6)`},
		{"example", []router.Feature{takes[struct {
			N int `json:"n" example:"x"`
		}]()}, `tool "t": n: example:"x": unexpected character 'x' at byte 0`},
		{"required with default", []router.Feature{takes[struct {
			N int `json:"n" default:"1" required:"true"`
		}]()}, `tool "t": n: required:"true" contradicts the default`},
		{"required", []router.Feature{takes[struct {
			N int `json:"n" required:"yes"`
		}]()}, `tool "t": n: required:"yes" is neither true nor false`},
		{"keyword of another type", []router.Feature{takes[struct {
			S string `json:"s" minimum:"1"`
		}]()}, `tool "t": s: minimum:"1" does not apply to string`},
		{"bound", []router.Feature{takes[struct {
			N int `json:"n" minimum:"one"`
		}]()}, `tool "t": n: minimum:"one": want a number`},
		{"bounds that do not meet", []router.Feature{takes[struct {
			N int `json:"n" minimum:"5" exclusiveMaximum:"5"`
		}]()}, `tool "t": n: no int is within minimum 5 and exclusiveMaximum 5`},
		{"bound beyond the type", []router.Feature{takes[struct {
			N uint8 `json:"n" maximum:"-1"`
		}]()}, `tool "t": n: no uint8 is within minimum 0 and maximum -1`},
		{"lengths", []router.Feature{takes[struct {
			S string `json:"s" minLength:"5" maxLength:"4"`
		}]()}, `tool "t": s: no string is within minLength 5 and maxLength 4`},
		{"length", []router.Feature{takes[struct {
			S string `json:"s" minLength:"-1"`
		}]()}, `tool "t": s: minLength:"-1": want a number of at least 0`},
		{"items", []router.Feature{takes[struct {
			S []string `json:"s" minItems:"5" maxItems:"4"`
		}]()}, `tool "t": s: no []string is within minItems 5 and maxItems 4`},
		{"unique", []router.Feature{takes[struct {
			S []string `json:"s" uniqueItems:"yes"`
		}]()}, `tool "t": s: uniqueItems:"yes": want true or false`},
		{"pattern", []router.Feature{takes[struct {
			S string `json:"s" pattern:"("`
		}]()}, `tool "t": s: pattern:"(": missing closing ): "("`},
		{"format", []router.Feature{takes[struct {
			S string `json:"s" format:"emial"`
		}]()}, `tool "t": s: format:"emial": unknown format, did you mean "email"?`},
		{"multiple", []router.Feature{takes[struct {
			N int `json:"n" multipleOf:"0"`
		}]()}, `tool "t": n: multipleOf:"0": want a number above 0`},
		{"enum twice", []router.Feature{takes[struct {
			S string `json:"s" enum:"a,a"`
		}]()}, `tool "t": s: enum:"a,a": duplicate "a"`},
		{"enum of numbers", []router.Feature{takes[struct {
			N int `json:"n" enum:"1,x"`
		}]()}, `tool "t": n: enum:"1,x": unexpected character 'x' at byte 0`},

		{"header of a list", []router.Feature{takes[struct {
			S []string `json:"s" header:"X"`
		}]()}, `tool "t": s: header:"X" does not apply to []string`},
		{"header name", []router.Feature{takes[struct {
			S string `json:"s" header:"a b"`
		}]()}, `tool "t": s: header:"a b" is not the name of a header`},

		{"schema, not JSON", []router.Feature{takes[map[string]any](router.Schema(`{`))},
			`tool "t": Schema: unexpected end of input at byte 1`},
		{"schema, no object", []router.Feature{takes[map[string]any](router.Schema(`{"type":"string"}`))},
			`tool "t": Schema: "type" must be "object"`},
		{
			"schema, type",
			[]router.Feature{takes[map[string]any](router.Schema(`{"type":"object","properties":{"a":{"type":"strnig"}}}`))},
			`tool "t": Schema: `,
		},
		{"schema, required", []router.Feature{takes[map[string]any](router.Schema(`{"type":"object","required":["a"]}`))},
			`tool "t": Schema: the required "a" is not among the properties`},
		{
			"schema, twice",
			[]router.Feature{takes[map[string]any](router.Schema(`{"type":"object","properties":{"a":{},"a":{}}}`))},
			`tool "t": Schema: duplicate "a"`,
		},
		{"output schema", []router.Feature{gives[map[string]any](router.OutputSchema(`{"type":1}`))},
			`tool "t": the output schema: `},
		{"task support", []router.Feature{gives[string](router.TaskSupport("maybe"))},
			`tool "t": TaskSupport must be "forbidden", "optional" or "required", not "maybe"`},
		{"meta", []router.Feature{gives[string](router.Meta{Key: "f", Value: func() {}})},
			`tool "t": Meta: json: unsupported type: func()`},

		{"relative URI", []router.Feature{resource("r", "notes/all")}, `resource "r": the URI "notes/all" has no scheme`},
		{"URI with a space", []router.Feature{resource("r", "x://a b")},
			`resource "r": the URI "x://a b": invalid character " " in host name`},
		{"relative template", []router.Feature{template[one]("a/{a}")}, `template "x": the URI "a/x" has no scheme`},
		{"template syntax", []router.Feature{template[one]("x://{a")},
			`template "x": the template "x://{a": a brace without its pair`},
		{"template without variables", []router.Feature{template[router.Void]("x://a")},
			`template "x": the template "x://a" has no variables: use Resource`},
		{"field without variable", []router.Feature{template[struct {
			A   string `json:"a"`
			Cty string `json:"cty"`
		}]("x://{a}/{city}")},
			`template "x": the field "cty" is not a variable of the template (has a, city), did you mean "city"?
template "x": the variable "city" has no field`},
		{"variable without field", []router.Feature{template[one]("x://{a}/{b}")},
			`template "x": the variable "b" has no field`},
		{"variable type", []router.Feature{template[struct {
			A []string `json:"a"`
		}]("x://{a}")}, `template "x": a: a []string cannot be given as a text`},
		{"variables type", []router.Feature{template[int]("x://{a}")},
			`template "x": the variables must be a struct or map[string]string, not int`},
		{"complete a variable", []router.Feature{template[one]("x://{a}", router.Complete("b", cities))},
			`template "x": Complete("b"): no such variable (has a)`},
		{"folder", []router.Feature{router.Folder("f", "x://a", fstest.MapFS{})},
			`template "f": the URI "x://a" of a folder must end with "/"`},
		{"folder of nothing", []router.Feature{router.Folder("f", "x://a/", fs.FS(nil))},
			`template "f": the file system is nil`},

		{"complete an argument", []router.Feature{prompt[one](router.Complete("b", cities))},
			`prompt "p": Complete("b"): no such argument (has a)`},
		{"complete twice", []router.Feature{prompt[one](router.Complete("a", cities), router.Complete("a", cities))},
			`prompt "p": duplicate Complete("a")`},
		{"complete with nil", []router.Feature{prompt[one](router.Complete("a", nil))},
			`prompt "p": Complete("a"): the function is nil`},
		{"complete nothing", []router.Feature{router.Options{RequireCompletion: true}, prompt[one]()},
			`prompt "p": the argument "a" has no Complete, which RequireCompletion asks for`},
		{"prompt input", []router.Feature{prompt[map[string]string]()},
			`prompt "p": the input must be a struct, not map[string]string`},
		{"prompt argument type", []router.Feature{prompt[struct {
			A inner `json:"a"`
		}]()}, `prompt "p": a: a router_test.inner cannot be given as a text`},
		{"prompt output", []router.Feature{router.Prompt("p", "", func(context.Context, one) (int, error) {
			return 0, nil
		})}, `prompt "p": the output must be Messages, []mcp.PromptMessage, *mcp.GetPromptResult or string, not int`},

		{"app not registered", []router.Feature{gives[string](router.UI(app))},
			`tool "t": UI: the app "ui://x/y" is not registered`},
		{"app nil", []router.Feature{gives[string](router.UI(nil))}, `tool "t": UI: the app is nil`},
		{"app URI", []router.Feature{router.App("http://x/y", "<p>")}, `app "http://x/y": `},
		{"visible to no caller", []router.Feature{gives[string](router.VisibleTo())},
			`tool "t": UI: no caller can see the tool`},
		{"visible to an unknown audience", []router.Feature{app, gives[string](router.UI(app, "user"))},
			`tool "t": UI: unknown visibility "user"`},
		{"UI twice", []router.Feature{app, gives[string](router.UI(app), router.VisibleTo(apps.VisibleToModel))},
			`tool "t": UI and VisibleTo exclude each other, and may be given once`},
		{"CSP", []router.Feature{router.App("ui://x/y", "<p>", router.CSP{ConnectDomains: []string{"a; b"}})},
			`app "ui://x/y": "a; b" is not a source of a content security policy`},

		{"options twice", []router.Feature{router.Options{}, router.Options{}, router.Tool("t", "", nothing)},
			`options: given twice`},
		{"options in a group", []router.Feature{router.Group("g", router.Options{}), router.Tool("t", "", nothing)},
			`group "g": Options belong to New`},
		{"extensions", []router.Feature{
			router.Options{CapabilityOptions: router.CapabilityOptions{Extensions: []byte(`[]`)}},
			router.Tool("t", "", nothing),
		},
			`options: Extensions is not a JSON object`},
		{"nil filter", []router.Feature{router.Filter(nil), router.Tool("t", "", nothing)}, `filter: the function is nil`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := router.New("x", "1", tt.features...)
			if err == nil {
				t.Fatalf("New = nil, want %s", tt.want)
			}
			got := unplaced(err.Error())
			if got != tt.want &&
				!(strings.HasSuffix(tt.want, ": ") && strings.HasPrefix(got, tt.want) && !strings.Contains(got, "\n")) {
				t.Errorf("New\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

var places = regexp.MustCompile(`mistakes_test\.go:[0-9]+(: )?`)

// unplaced removes the places at the start of lines, and replaces the line number of any
// other place with N.
func unplaced(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if at := places.FindStringIndex(line); at != nil && at[0] == 0 {
			line = line[at[1]:]
		}
		lines[i] = regexp.MustCompile(`mistakes_test\.go:[0-9]+`).ReplaceAllString(line, "mistakes_test.go:N")
	}
	return strings.Join(lines, "\n")
}

// TestAllAtOnce: one error lists every mistake with its own place.
func TestAllAtOnce(t *testing.T) {
	_, err := router.New("", "",
		router.Tool("a b", "", nothing), // line 1
		router.Prompt("p", "", func(context.Context, one) (string, error) { return "", nil }, // line 2
			router.Complete("nope", cities)),
		router.Group("g_",
			resource("r", "nowhere"),
			router.Template("t", "x://{b}", func(context.Context, one) (string, error) { return "", nil }), // line 6
		),
	)
	if err == nil {
		t.Fatal("New = nil, want an error")
	}
	lines := strings.Split(err.Error(), "\n")
	want := []string{ // in source order: resource is the helper above
		`^mistakes_test.go:(\d+): resource "g_r": the URI "nowhere" has no scheme$`,
		`^mistakes_test.go:(\d+): server "": the name is empty$`,
		`^mistakes_test.go:(\d+): server "": the version is empty$`,
		`^mistakes_test.go:(\d+): tool "a b": the name may`,
		`^mistakes_test.go:(\d+): prompt "p": Complete\("nope"\): no such argument \(has a\)$`,
		`^mistakes_test.go:(\d+): template "g_t": the field "a" is not a variable`,
		`^mistakes_test.go:(\d+): template "g_t": the variable "b" has no field$`,
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%v", len(lines), len(want), err)
	}
	for i, line := range lines {
		if !regexp.MustCompile(want[i]).MatchString(line) {
			t.Errorf("line %d: %s, want %s", i, line, want[i])
		}
	}
	// A place is that of the call, even through generic helpers.
	tool, prompt, template := placed(t, lines[3]), placed(t, lines[4]), placed(t, lines[5])
	if prompt != tool+1 || template != tool+5 {
		t.Errorf("places %s, %s, %s: want them 1 and 5 lines apart", lines[3], lines[4], lines[5])
	}
}

// TestDuplicatesOfWrongFeatures: a feature with another mistake is still checked for a
// duplicate name.
func TestDuplicatesOfWrongFeatures(t *testing.T) {
	_, err := router.New("x", "1",
		router.Tool("t", "", nothing),
		router.Tool("t", "", nothing, router.Meta{}),
		router.Options{}, router.Options{ListOptions: router.ListOptions{PageSize: -1}})
	if err == nil {
		t.Fatal("New = nil, want an error")
	}
	for _, want := range []string{
		`tool "t": a member of Meta has no key`,
		`tool "t": is already the name of a tool at mistakes_test.go:`,
		`: options: given twice`,
		`options: PageSize is -1, and 0 is the default`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, want %q in it", err, want)
		}
	}
}

func placed(t *testing.T, line string) (n int) {
	t.Helper()
	for _, c := range strings.SplitN(line, ":", 3)[1] {
		n = n*10 + int(c-'0')
	}
	return n
}
