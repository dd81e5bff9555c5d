package uritemplate_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/uritemplate"
)

func parse(t testing.TB, text string) *uritemplate.Template {
	t.Helper()
	p, err := uritemplate.Parse(text)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return p
}

type values = map[string]string

// TestExpand has the examples of RFC 6570, sections 3.2.2 to 3.2.9, without modifiers.
func TestExpand(t *testing.T) {
	v := values{
		"var": "value", "hello": "Hello World!", "half": "50%", "base": "http://example.com/home/",
		"empty": "", "path": "/foo/bar", "x": "1024", "y": "768", "who": "fred", "dom": "example.com", "v": "6",
	}
	for template, want := range map[string]string{
		"{var}":                  "value",
		"{hello}":                "Hello%20World%21",
		"{half}":                 "50%25",
		"O{empty}X":              "OX",
		"O{undef}X":              "OX",
		"{x,y}":                  "1024,768",
		"{x,hello,y}":            "1024,Hello%20World%21,768",
		"?{x,empty}":             "?1024,",
		"?{x,undef}":             "?1024",
		"{+hello}":               "Hello%20World!",
		"{+half}":                "50%25",
		"{base}index":            "http%3A%2F%2Fexample.com%2Fhome%2Findex",
		"{+base}index":           "http://example.com/home/index",
		"O{+empty}X":             "OX",
		"{+path}/here":           "/foo/bar/here",
		"here?ref={+path}":       "here?ref=/foo/bar",
		"{#var}":                 "#value",
		"{#hello}":               "#Hello%20World!",
		"foo{#empty}":            "foo#",
		"foo{#undef}":            "foo",
		"{.who}":                 ".fred",
		"{.dom,var}":             ".example.com.value",
		"X{.empty}":              "X.",
		"X{.undef}":              "X",
		"{/who}":                 "/fred",
		"{/half,who}":            "/50%25/fred",
		"{/var,empty}":           "/value/",
		"{/var,x}/here":          "/value/1024/here",
		"{;who}":                 ";who=fred",
		"{;empty}":               ";empty",
		"{;v,empty,who}":         ";v=6;empty;who=fred",
		"{;v,undef,who}":         ";v=6;who=fred",
		"{?who}":                 "?who=fred",
		"{?x,y,empty}":           "?x=1024&y=768&empty=",
		"{?x,y,undef}":           "?x=1024&y=768",
		"?fixed=yes{&x}":         "?fixed=yes&x=1024",
		"{&x,y,empty}":           "&x=1024&y=768&empty=",
		"/:who/notes/:x":         "/fred/notes/1024",
		"http://[::1]:80/:x":     "http://[::1]:80/1024",
		"é/{x}":                  "%C3%A9/1024",
		"mailto:{who}@x{?hello}": "mailto:fred@x?hello=Hello%20World%21",
	} {
		if got := parse(t, template).Expand(v); got != want {
			t.Errorf("Expand(%q) = %q, want %q", template, got, want)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		name, template, uri string
		want                values // nil if uri does not match
	}{
		{"within a segment", "file:///app/config/{name}.json", "file:///app/config/main.json", values{"name": "main"}},
		{"two in a path", "file:///docs/{category}/{id}.md", "file:///docs/go/1.md", values{"category": "go", "id": "1"}},
		{"dots in the value", "file:///{id}.md", "file:///a.b.md", values{"id": "a.b"}},
		{"slash ends a value", "file:///docs/{id}.md", "file:///docs/a/b.md", nil},
		{"encoded slash", "x://{a}/z", "x://a%2Fb/z", values{"a": "a/b"}},
		{"space", "x://{a}", "x://a%20b", values{"a": "a b"}},
		{"not encoded", "x://{a}", "x://jo@é", values{"a": "jo@é"}},
		{"comma, alone", "x://{a}", "x://1,2", values{"a": "1,2"}},
		{"comma, two", "x://{a,b}", "x://1,2", values{"a": "1", "b": "2"}},
		{"comma, the second missing", "x://{a,b}", "x://1", values{"a": "1"}},
		{"reserved", "file:///{+path}", "file:///a/b%20c?d#e", values{"path": "a/b c?d#e"}},
		{"reserved before a query", "x://{+p}{?q}", "x://a/b?q=1", values{"p": "a/b", "q": "1"}},
		{"reserved before text", "x://{+p}/end", "x://a/b/end", values{"p": "a/b"}},
		{"query, other order", "x://s{?a,b}", "x://s?b=1&a=2", values{"a": "2", "b": "1"}},
		{"query, one", "x://s{?a,b}", "x://s?b=1", values{"b": "1"}},
		{"query, none", "x://s{?a,b}", "x://s", values{}},
		{"query, empty value", "x://s{?a}", "x://s?a=", values{"a": ""}},
		{"query, reserved encoded", "x://s{?a}", "x://s?a=1%262%3D3", values{"a": "1&2=3"}},
		{"query, unknown", "x://s{?a}", "x://s?c=1", nil},
		{"query, twice", "x://s{?a}", "x://s?a=1&a=2", nil},
		{"query continued", "x://s?k=1{&a}", "x://s?k=1&a=2", values{"a": "2"}},
		{"query in two parts", "x://s{?a}{&b}", "x://s?b=2&a=1", values{"a": "1", "b": "2"}},
		{"query and fragment", "x://s{?a}{#f}", "x://s?a=1#top", values{"a": "1", "f": "top"}},
		{"segments", "x://s{/a,b}", "x://s/1/2", values{"a": "1", "b": "2"}},
		{"fewer segments", "x://s{/a,b}", "x://s/1", values{"a": "1"}},
		{"label", "x://{a}{.ext}", "x://f.tar.gz", values{"a": "f.tar", "ext": "gz"}},
		{"no label", "x://{a}{.ext}", "x://f", values{"a": "f"}},
		{"parameters", "x://s{;a,b}", "x://s;a=1;b", values{"a": "1", "b": ""}},
		{"parameter missing", "x://s{;a,b}", "x://s;b=2", values{"b": "2"}},
		{"fragment", "x://s{#f}", "x://s#a/b", values{"f": "a/b"}},
		{"empty is undefined", "x://u/{id}", "x://u/", values{}},
		{"colon segment", "x://u/:id/notes", "x://u/7/notes", values{"id": "7"}},
		{"no variables", "x://u", "x://u", values{}},
		{"broken escape", "x://{a}", "x://%zz", nil},
		{"escape of no UTF-8", "x://{a}", "x://%ff", nil},
		{"other scheme", "x://{a}", "y://1", nil},
		{"more behind", "x://{a}", "x://1/2", nil},
		{"line break", "x://{+a}", "x://1\n2", values{"a": "1\n2"}},
		{"too long", "x://{a}", "x://" + strings.Repeat("a", uritemplate.MaxBytes), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := parse(t, tt.template).Match(tt.uri)
			if ok != (tt.want != nil) || ok && !cmp.Equal(got, tt.want) {
				t.Errorf("Match(%q, %q) = %v, %v, want %v", tt.template, tt.uri, got, ok, tt.want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for template, want := range map[string]string{
		"x://{a":      "a brace without its pair",
		"x://a}":      "a brace without its pair",
		"x://{}":      "{}: an empty expression",
		"x://{+}":     `{+}: "" is not a variable name`,
		"x://{a b}":   `{a b}: "a b" is not a variable name`,
		"x://{a*}":    "{a*}: modifiers (level 4) are not supported",
		"x://{a:3}":   "{a:3}: modifiers (level 4) are not supported",
		"x://{=a}":    "{=a}: the operator '=' is reserved",
		"x://{a}/{a}": `duplicate variable "a"`,
		"x://{a}{b}":  `nothing separates the variables "a" and "b", so it is ambiguous where one ends`,
		"x://{+a,b}":  "values of {+} may contain the comma that separates them: use one variable",
		"x://s{?a}/b": "a query must come last: nothing but a fragment may follow it",
		"x://a b":     "a URI cannot contain ' '",
		"x://100%":    "a percent sign must begin an escape such as %20",
		strings.Repeat("a", uritemplate.MaxBytes+1): "the template is longer than 8192 bytes",
	} {
		if _, err := uritemplate.Parse(template); err == nil || err.Error() != want {
			t.Errorf("Parse(%.40q) = %v, want %s", template, err, want)
		}
	}
}

func TestOverlap(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want string // a URI, or "" for none
	}{
		{"x://{a}", "x://{b}", "x://x"},
		{"x://{a}/f", "x://lisbon/{b}", "x://lisbon/f"},
		{"x://{a}/f", "x://{a}/g", ""},
		{"x://{a}", "x://{a}/g", ""},
		{"x://{+a}", "x://{a}/g", "x://x/g"},
		{"x://{+a}", "y://{a}", ""},
		{"x://{a}.md", "x://{a}.txt", ""},
		{"x://{a}.md", "x://read{b}", "x://read.md"},
		{"x://s{?q}", "x://s{?p}", "x://s"},
		{"x://s{?q}", "x://{a}", "x://s"},
		{"x://s{;q}", "x://{a}{?b}", "x://s"},
		{"x://s/{a}", "x://s{?q}", ""},
	} {
		got, found := uritemplate.Overlap(parse(t, tt.a), parse(t, tt.b))
		if got != tt.want || found != (tt.want != "") {
			t.Errorf("Overlap(%q, %q) = %q, %v, want %q", tt.a, tt.b, got, found, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	p := parse(t, "x://:a/{b}{?c,d}")
	if got, want := p.String(), "x://{a}/{b}{?c,d}"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, p.Names()); diff != "" {
		t.Errorf("Names() (-want +got):\n%s", diff)
	}
	if p.Optional("a") || !p.Optional("c") || p.Optional("z") {
		t.Errorf("Optional: a %v, c %v, z %v, want false, true, false", p.Optional("a"), p.Optional("c"), p.Optional("z"))
	}
}

// FuzzRoundTrip expands templates and expects the values back.
func FuzzRoundTrip(f *testing.F) {
	f.Add("x://{a}/{b}.md{?c}", "1", "é/ö", "&=#")
	f.Add("file:///{+a}{#b}", "a/b", "c", "")
	f.Add("x://{a,b}{/c}", "1,2", "%41", "a b")
	f.Add("x:{a}{.b}{;c}", "q", "w", "")
	f.Add("/:a/s?k=1{&b,c}", "q", "w", "\n")
	fuzzbound.Fuzz(f, func(t *testing.T, template, a, b, c string) {
		p, err := uritemplate.Parse(template)
		if err != nil {
			return
		}
		uri := p.Expand(values{"a": a, "b": b, "c": c})
		got, ok := p.Match(uri)
		if !ok {
			// Reserved expansion copies characters that may belong to the next part.
			if strings.ContainsAny(template, "+#.") || !strings.Contains(template, "{") || !valid(a, b, c) ||
				len(uri) > uritemplate.MaxBytes {
				return
			}
			t.Fatalf("%q does not match its own expansion %q of %q %q %q", template, uri, a, b, c)
		}
		if strings.Contains(template, "+") && strings.Contains(template, "}{") {
			return // a reserved value may contain what belongs to the next part
		}
		if again := p.Expand(got); again != uri {
			if more, ok := p.Match(again); !ok || !cmp.Equal(more, got) {
				t.Fatalf("%q: %q matched as %q, which expands to %q", template, uri, got, again)
			}
		}
	})
}

func valid(all ...string) bool {
	for _, s := range all {
		if strings.ToValidUTF8(s, "") != s {
			return false
		}
	}
	return true
}
