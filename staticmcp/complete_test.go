package staticmcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

func completionFiles() fstest.MapFS {
	var many strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&many, `,{"uri":"many://%04d","name":"n","description":"d","mimeType":"m"}`, i)
	}
	files := fstest.MapFS{
		"mcp.json": {Data: []byte(inCapabilities(`"resources":[
			{"uri":"docs://en/intro","name":"n"},{"uri":"docs://en/install%20guide","name":"n"},{"uri":"docs://fr/intro",` +
			`"name":"n"},{"uri":"other://en/x","name":"n"}` +
			many.String() +
			`],
			"resourceTemplates":[
			{"uriTemplate":"docs://{lang}/{page}","name":"t"},
			{"uriTemplate":"file:///{+path}","name":"t"},
			{"uriTemplate":"enum://{x}","name":"t","_meta":{"io.github.slipway-mcp/values":{"x":["alpha","beta"]}}},
			{"uriTemplate":"stored://{x}","name":"t"},
			{"uriTemplate":"hidden://notes/{id}","name":"t"},
			{"uriTemplate":"many://{n}","name":"t"},
			{"uriTemplate":"odd://{a,b}","name":"t"}],
			"prompts":[
			{"name":"greet","arguments":[{"name":"who"},{"name":"how"}]},
			{"name":"enum","arguments":[{"name":"x","enum":["go","rust"]}]},
			{"name":"file","arguments":[{"name":"x"}]}]`))},
		"prompts/greet/ann.json":           {Data: []byte(`{"messages":[]}`)},
		"prompts/greet/ann/loud.json":      {Data: []byte(`{"messages":[]}`)},
		"prompts/greet/ann/low.json":       {Data: []byte(`{"messages":[]}`)},
		"prompts/greet/bob/soft.json":      {Data: []byte(`{"messages":[]}`)},
		"completions/prompts/file/x.json":  {Data: []byte(`["one","two"]`)},
		"completions/resources/_x_/x.json": {Data: []byte(`{"completion":{"values":["s1","s2"]}}`)},
		"resources/notes/first.json":       {Data: []byte(`{"uri":"hidden://notes/First Note","text":"x"}`)},
		"resources/notes/second.json":      {Data: []byte(`{"uri":"hidden://notes/2","text":"x"}`)},
		"resources/notes/of_another.json":  {Data: []byte(`{"uri":"else://notes/3","text":"x"}`)},
	}
	return files
}

func TestComplete(t *testing.T) {
	site, err := staticmcp.Open(t.Context(), completionFiles(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	for name, tt := range map[string]struct {
		params mcp.CompleteParams
		want   []string
	}{
		"enum":             {mcp.CompleteParams{Prompt: "enum", Argument: "x"}, []string{"go", "rust"}},
		"enum with prefix": {mcp.CompleteParams{Prompt: "enum", Argument: "x", Value: "R"}, []string{"rust"}},
		"a file of values": {mcp.CompleteParams{Prompt: "file", Argument: "x", Value: "t"}, []string{"two"}},
		"names of files":   {mcp.CompleteParams{Prompt: "greet", Argument: "who"}, []string{"ann", "bob"}},
		"below a choice": {
			mcp.CompleteParams{Prompt: "greet", Argument: "how", Value: "l", Arguments: map[string]string{"who": "Ann"}},
			[]string{"loud", "low"},
		},
		"URIs": {mcp.CompleteParams{URITemplate: "docs://{lang}/{page}", Argument: "lang"}, []string{"en", "fr"}},
		"URIs, decoded": {
			mcp.CompleteParams{URITemplate: "docs://{lang}/{page}", Argument: "page", Value: "in"},
			[]string{"intro", "install guide"},
		},
		"URIs, chosen": {
			mcp.CompleteParams{
				URITemplate: "docs://{lang}/{page}",
				Argument:    "page",
				Arguments:   map[string]string{"lang": "fr"},
			},
			[]string{"intro"},
		},
		"values in _meta": {mcp.CompleteParams{URITemplate: "enum://{x}", Argument: "x", Value: "b"}, []string{"beta"}},
		"a result":        {mcp.CompleteParams{URITemplate: "stored://{x}", Argument: "x"}, []string{"s1", "s2"}},
		"unlisted files": {
			mcp.CompleteParams{URITemplate: "hidden://notes/{id}", Argument: "id"},
			[]string{"First Note", "2"},
		},
		"nothing":          {mcp.CompleteParams{URITemplate: "file:///{+path}", Argument: "path"}, nil},
		"several in one":   {mcp.CompleteParams{URITemplate: "odd://{a,b}", Argument: "a"}, nil},
		"no such argument": {mcp.CompleteParams{Prompt: "greet", Argument: "absent"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := site.Complete(t.Context(), &tt.params)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.Completion.Values, tt.want) {
				t.Errorf("got %q, want %q", r.Completion.Values, tt.want)
			}
		})
	}
	t.Run("bounded", func(t *testing.T) {
		r, err := site.Complete(t.Context(), &mcp.CompleteParams{URITemplate: "many://{n}", Argument: "n"})
		if err != nil || len(r.Completion.Values) != 1000 {
			t.Errorf("got %d values, error %v, want 1000", len(r.Completion.Values), err)
		}
	})
	for name, p := range map[string]mcp.CompleteParams{
		"unknown prompt":   {Prompt: "none", Argument: "x"},
		"unknown template": {URITemplate: "none://{x}", Argument: "x"},
	} {
		if _, err := site.Complete(t.Context(), &p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestCompleteRemote verifies that a web host is not queried for what it cannot list.
func TestCompleteRemote(t *testing.T) {
	h := newFakeHost(t, completionFiles())
	site := openHost(t, h, &staticmcp.Options{Poll: -1})
	for _, tt := range []struct {
		params mcp.CompleteParams
		want   []string
	}{
		{mcp.CompleteParams{Prompt: "file", Argument: "x"}, []string{"one", "two"}},
		{mcp.CompleteParams{Prompt: "greet", Argument: "who"}, nil},
		{mcp.CompleteParams{URITemplate: "docs://{lang}/{page}", Argument: "lang"}, []string{"en", "fr"}},
	} {
		r, err := site.Complete(t.Context(), &tt.params)
		if err != nil || !slices.Equal(r.Completion.Values, tt.want) {
			t.Errorf("%+v: got %q, %v, want %q", tt.params, r.Completion.Values, err, tt.want)
		}
	}
	h.fail(503)
	if _, err := site.Complete(t.Context(), &mcp.CompleteParams{Prompt: "greet", Argument: "how"}); err == nil {
		t.Error("a host that is down suggests something")
	}
}
