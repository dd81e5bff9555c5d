package apps_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/mcp"
)

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := mcp.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEncode lists which members are always emitted, and which are omitted.
func TestEncode(t *testing.T) {
	for _, test := range []struct {
		name string
		in   any
		want string
	}{
		{"tool, nothing said", apps.ToolUI{}, `{"visibility":["model","app"]}`},
		{"tool, linked", apps.ToolUI{ResourceURI: "ui://weather/dashboard"},
			`{"resourceUri":"ui://weather/dashboard","visibility":["model","app"]}`},
		{"tool, for apps", apps.ToolUI{Visibility: []apps.Visibility{apps.VisibleToApp}}, `{"visibility":["app"]}`},
		{"tool, for no caller", apps.ToolUI{Visibility: []apps.Visibility{}}, `{"visibility":[]}`},
		{"resource, nothing said", apps.ResourceUI{}, `{}`},
		{"resource, border", apps.ResourceUI{PrefersBorder: yes()}, `{"prefersBorder":true}`},
		{"resource, no border", apps.ResourceUI{PrefersBorder: no()}, `{"prefersBorder":false}`},
		{
			"resource, empty structures",
			apps.ResourceUI{CSP: &apps.CSP{}, Permissions: &apps.Permissions{}},
			`{"csp":{},"permissions":{}}`,
		},
		{"resource, everything", apps.ResourceUI{
			CSP:           &apps.CSP{ConnectDomains: []string{"api.example.com"}, ResourceDomains: []string{"cdn.example.com"}},
			Permissions:   &apps.Permissions{Camera: true, ClipboardWrite: true},
			Domain:        "a904794854a047f6.example.com",
			PrefersBorder: yes(),
		}, `{"csp":{"connectDomains":["api.example.com"],"resourceDomains":["cdn.example.com"]},` +
			`"permissions":{"camera":{},"clipboardWrite":{}},"domain":"a904794854a047f6.example.com","prefersBorder":true}`},
		{"csp, every list", apps.CSP{
			ConnectDomains:  []string{"https://a.example?<&>"},
			ResourceDomains: []string{"https://b.example"},
			FrameDomains:    []string{"https://c.example"},
			BaseURIDomains:  []string{"https://d.example"},
		}, `{"connectDomains":["https://a.example?<&>"],"resourceDomains":["https://b.example"],` +
			`"frameDomains":["https://c.example"],"baseUriDomains":["https://d.example"]}`},
		{"csp, empty lists", apps.CSP{ConnectDomains: []string{}}, `{}`},
		{"permissions, all", apps.Permissions{Camera: true, Microphone: true, Geolocation: true, ClipboardWrite: true},
			`{"camera":{},"microphone":{},"geolocation":{},"clipboardWrite":{}}`},
		{"permissions, none", apps.Permissions{}, `{}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := encode(t, test.in); got != test.want {
				t.Errorf("encoded as %s, want %s", got, test.want)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	both := []apps.Visibility{apps.VisibleToModel, apps.VisibleToApp}
	for _, test := range []struct {
		name string
		in   string
		into any
		want any
	}{
		{"tool, nothing said", `{}`, new(apps.ToolUI), &apps.ToolUI{Visibility: both}},
		{
			"tool, null",
			`{"visibility":null,"resourceUri":"ui://a"}`,
			new(apps.ToolUI),
			&apps.ToolUI{ResourceURI: "ui://a", Visibility: both},
		},
		{"tool, for no caller", `{"visibility":[]}`, new(apps.ToolUI), &apps.ToolUI{Visibility: []apps.Visibility{}}},
		{"tool, for apps", `{"visibility":["app"],"csp":{}}`, new(apps.ToolUI), &apps.ToolUI{Visibility: both[1:]}},
		{"resource, border", `{"prefersBorder":false}`, new(apps.ResourceUI), &apps.ResourceUI{PrefersBorder: no()}},
		{"resource, empty structures", `{"csp":{},"permissions":{}}`, new(apps.ResourceUI),
			&apps.ResourceUI{CSP: &apps.CSP{}, Permissions: &apps.Permissions{}}},
		{
			"permissions as objects",
			`{"camera":{},"clipboardWrite":{}}`,
			new(apps.Permissions),
			&apps.Permissions{Camera: true, ClipboardWrite: true},
		},
		{
			"permissions as booleans",
			`{"camera":true,"microphone":false,"geolocation":null}`,
			new(apps.Permissions),
			&apps.Permissions{Camera: true},
		},
		{"bare hosts", `{"connectDomains":["api.example.com","https://b.example"]}`, new(apps.CSP),
			&apps.CSP{ConnectDomains: []string{"api.example.com", "https://b.example"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := json.Unmarshal([]byte(test.in), test.into); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, test.into); diff != "" {
				t.Errorf("decoded %s (- want, + got):\n%s", test.in, diff)
			}
		})
	}
	for name, in := range map[string]string{
		"a word":    `{"camera":"yes"}`,
		"a number":  `{"camera":1}`,
		"a list":    `{"camera":[]}`,
		"no object": `["camera"]`,
	} {
		t.Run("permission as "+name, func(t *testing.T) {
			if err := json.Unmarshal([]byte(in), new(apps.Permissions)); err == nil {
				t.Errorf("decoded %s, want an error", in)
			}
		})
	}
}

func TestToolMeta(t *testing.T) {
	linked := apps.ToolUI{ResourceURI: "ui://a/b"}
	legacy := apps.ToolUI{ResourceURI: "ui://a/b", LegacyKey: true}
	for _, test := range []struct {
		name, meta string
		ui         apps.ToolUI
		want       string
	}{
		{"no _meta", "", linked, `{"ui":{"resourceUri":"ui://a/b","visibility":["model","app"]}}`},
		{"empty", " { } ", linked, `{"ui":{"resourceUri":"ui://a/b","visibility":["model","app"]}}`},
		{"others stay", `{"z": 1, "a":{"b" :[9007199254740993]}}`, linked,
			`{"z":1,"a":{"b":[9007199254740993]},"ui":{"resourceUri":"ui://a/b","visibility":["model","app"]}}`},
		{"the author's own stays", `{"ui":{"visibility":["app"],"more":1}}`, linked,
			`{"ui":{"visibility":["app"],"more":1,"resourceUri":"ui://a/b"}}`},
		{
			"flat key, too",
			"",
			legacy,
			`{"ui":{"resourceUri":"ui://a/b","visibility":["model","app"]},"ui/resourceUri":"ui://a/b"}`,
		},
		{"flat key stays", `{"ui/resourceUri":"ui://x"}`, legacy,
			`{"ui/resourceUri":"ui://x","ui":{"resourceUri":"ui://a/b","visibility":["model","app"]}}`},
		{"nothing for the flat key", "", apps.ToolUI{LegacyKey: true}, `{"ui":{"visibility":["model","app"]}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var meta json.RawMessage
			if test.meta != "" {
				meta = json.RawMessage(test.meta)
			}
			got, err := apps.AddToolMeta(meta, test.ui)
			if err != nil || string(got) != test.want {
				t.Errorf("AddToolMeta(%s) = %s, %v, want %s", test.meta, got, err, test.want)
			}
			if meta == nil {
				if got := apps.ToolMeta(test.ui); string(got) != test.want {
					t.Errorf("ToolMeta = %s, want %s", got, test.want)
				}
			}
		})
	}
}

func TestMetaOfTheWrongForm(t *testing.T) {
	for _, meta := range []string{
		``, ` `, `null`, `[]`, `"x"`, `{`, `{"a":1}x`, `{"ui":[]}`, `{"ui":null}`,
		`{"ui":{},"ui":{}}`, `{"ui":{"a":1,"a":2}}`,
	} {
		if got, err := apps.AddToolMeta(json.RawMessage(meta), apps.ToolUI{}); err == nil {
			t.Errorf("AddToolMeta(%q) = %s, want an error", meta, got)
		}
		if got, err := apps.AddResourceMeta(json.RawMessage(meta), apps.ResourceUI{PrefersBorder: yes()}); err == nil {
			t.Errorf("AddResourceMeta(%q) = %s, want an error", meta, got)
		}
	}
}

func TestResourceMeta(t *testing.T) {
	for _, test := range []struct {
		name, meta string
		ui         apps.ResourceUI
		want       string
	}{
		{"nothing", "", apps.ResourceUI{}, ""},
		{"empty structures", "", apps.ResourceUI{CSP: &apps.CSP{}, Permissions: &apps.Permissions{}}, ""},
		{"empty beside others", "", apps.ResourceUI{CSP: &apps.CSP{}, PrefersBorder: no()}, `{"ui":{"prefersBorder":false}}`},
		{"nothing to add", `{"a":1}`, apps.ResourceUI{}, `{"a":1}`},
		{"the handler's own stays", `{"ui":{"prefersBorder":false}}`, apps.ResourceUI{Domain: "d", PrefersBorder: yes()},
			`{"ui":{"prefersBorder":false,"domain":"d"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var meta json.RawMessage
			if test.meta != "" {
				meta = json.RawMessage(test.meta)
			}
			got, err := apps.AddResourceMeta(meta, test.ui)
			if err != nil || string(got) != test.want {
				t.Errorf("AddResourceMeta(%s) = %s, %v, want %s", test.meta, got, err, test.want)
			}
			if meta == nil {
				if got := apps.ResourceMeta(test.ui); string(got) != test.want {
					t.Errorf("ResourceMeta = %s, want %s", got, test.want)
				}
			}
		})
	}
}

func TestReadToolMeta(t *testing.T) {
	both := []apps.Visibility{apps.VisibleToModel, apps.VisibleToApp}
	for _, test := range []struct {
		name, meta string
		want       *apps.ToolUI
	}{
		{"nothing", `{"other":1}`, nil},
		{"nested", `{"ui":{"resourceUri":"ui://a"}}`, &apps.ToolUI{ResourceURI: "ui://a", Visibility: both}},
		{"flat", `{"ui/resourceUri":"ui://a"}`, &apps.ToolUI{ResourceURI: "ui://a", Visibility: both}},
		{
			"nested before flat",
			`{"ui/resourceUri":"ui://b","ui":{"resourceUri":"ui://a"}}`,
			&apps.ToolUI{ResourceURI: "ui://a", Visibility: both},
		},
		{
			"flat with a visibility",
			`{"ui/resourceUri":"ui://b","ui":{"visibility":["app"]}}`,
			&apps.ToolUI{ResourceURI: "ui://b", Visibility: both[1:]},
		},
		{"for apps, without a link", `{"ui":{"visibility":["app"]}}`, &apps.ToolUI{Visibility: both[1:]}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, tool := range []mcp.Tool{
				{Name: "t", Meta: json.RawMessage(test.meta)},
				{Name: "t", Raw: json.RawMessage(`{"name":"t","_meta":` + test.meta + `}`)},
			} {
				got, err := apps.ToolUIOf(&tool)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("ToolUIOf, raw %t (- want, + got):\n%s", tool.Raw != nil, diff)
				}
			}
		})
	}
	if got, err := apps.ReadToolMeta(nil); got != nil || err != nil {
		t.Errorf("ReadToolMeta(nil) = %v, %v, want nothing", got, err)
	}
	for _, meta := range []string{
		`{"ui":{"resourceUri":"https://a.example"}}`, `{"ui/resourceUri":"javascript:1"}`,
		`{"ui":{"resourceUri":"ui://"}}`, `{"ui":7}`,
	} {
		if got, err := apps.ReadToolMeta(json.RawMessage(meta)); err == nil {
			t.Errorf("ReadToolMeta(%s) = %v, want an error", meta, got)
		}
	}
}

func TestReadResourceMeta(t *testing.T) {
	own, listed := `{"ui":{"prefersBorder":false}}`, `{"ui":{"domain":"d"}}`
	for _, test := range []struct {
		name, contents, listed string
		want                   *apps.ResourceUI
	}{
		{"neither", `{}`, ``, nil},
		{"contents win", own, listed, &apps.ResourceUI{PrefersBorder: no()}},
		{"listed only", `{"other":1}`, listed, &apps.ResourceUI{Domain: "d"}},
		{"contents only", own, ``, &apps.ResourceUI{PrefersBorder: no()}},
	} {
		t.Run(test.name, func(t *testing.T) {
			raw := func(s string) json.RawMessage {
				if s == "" {
					return nil
				}
				return json.RawMessage(s)
			}
			got, err := apps.ReadResourceMeta(raw(test.contents), raw(test.listed))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("ReadResourceMeta (- want, + got):\n%s", diff)
			}
		})
	}
	if _, err := apps.ReadResourceMeta(json.RawMessage(`{"ui":[]}`), nil); err == nil {
		t.Error("ReadResourceMeta took a list for an object")
	}
}

func TestAppIsSaidTwice(t *testing.T) {
	app := apps.App{
		URI: "ui://w/board", Name: "board", Title: "Board", Description: "Shows the weather.", HTML: "<!doctype html><b>&",
		UI: apps.ResourceUI{PrefersBorder: no()},
	}
	const meta = `"_meta":{"ui":{"prefersBorder":false}}`
	if got, want := encode(t,
		app.Resource()), `{"name":"board","uri":"ui://w/board","title":"Board","description":"Shows the weather.",`+
		`"mimeType":"text/html;profile=mcp-app",`+meta+`}`; got != want {
		t.Errorf("Resource() = %s, want %s", got, want)
	}
	got := encode(t, app.Contents())
	for _, want := range []string{
		meta,
		`"uri":"ui://w/board"`,
		`"mimeType":"text/html;profile=mcp-app"`,
		`"text":"<!doctype html><b>&"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("Contents() = %s, want %s in it", got, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	tool := mcp.Tool{Name: "t", Meta: json.RawMessage(`{"a":1}`)}
	if err := (apps.ToolUI{ResourceURI: "ui://a"}).Describe(&tool); err != nil {
		t.Fatal(err)
	}
	if got, want := string(tool.Meta), `{"a":1,"ui":{"resourceUri":"ui://a","visibility":["model","app"]}}`; got != want {
		t.Errorf("_meta of the tool = %s, want %s", got, want)
	}

	ui := apps.ResourceUI{Domain: "d"}
	resource, template := mcp.Resource{URI: "ui://a"}, mcp.ResourceTemplate{URITemplate: "ui://a/{b}"}
	if err := ui.Describe(&resource); err != nil {
		t.Fatal(err)
	}
	if err := ui.DescribeTemplate(&template); err != nil {
		t.Fatal(err)
	}
	read := &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
		{URI: "ui://a", Text: "x"},
		{URI: "ui://a", MIMEType: "text/html", Meta: json.RawMessage(`{"ui":{"domain":"own"}}`)},
	}}
	described, err := ui.DescribeContents(read)
	if err != nil {
		t.Fatal(err)
	}
	const meta = `{"ui":{"domain":"d"}}`
	for what, got := range map[string][2]string{
		"resource":        {resource.MIMEType, string(resource.Meta)},
		"template":        {template.MIMEType, string(template.Meta)},
		"contents":        {described.Contents[0].MIMEType, string(described.Contents[0].Meta)},
		"shared contents": {read.Contents[0].MIMEType + apps.MIMEType, string(read.Contents[0].Meta) + meta}, // unmodified
	} {
		if want := [2]string{apps.MIMEType, meta}; got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	if c := described.Contents[1]; c.MIMEType != "text/html" || string(c.Meta) != `{"ui":{"domain":"own"}}` {
		t.Errorf("the handler's own %s %s did not stay", c.MIMEType, c.Meta)
	}
}

func TestDescribeRefusesRaw(t *testing.T) {
	raw, err := mcp.ParseRaw([]byte(`{"contents":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	doc := json.RawMessage(`{}`)
	ui := apps.ResourceUI{}
	_, read := ui.DescribeContents(&mcp.ReadResourceResult{Raw: raw})
	_, contents := ui.DescribeContents(
		&mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{Meta: json.RawMessage(`{}`)}}})
	if contents != nil {
		t.Errorf("DescribeContents with nothing to say: %v", contents)
	}
	for what, err := range map[string]error{
		"tool":     apps.ToolUI{}.Describe(&mcp.Tool{Raw: doc}),
		"resource": ui.Describe(&mcp.Resource{Raw: doc}),
		"template": ui.DescribeTemplate(&mcp.ResourceTemplate{Raw: doc}),
		"contents": read,
		"bad meta": apps.ToolUI{}.Describe(&mcp.Tool{Meta: json.RawMessage(`7`)}),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
