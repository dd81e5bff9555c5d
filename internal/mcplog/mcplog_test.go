package mcplog_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// library is a source whose answers can change.
type library struct {
	mcp.Unimplemented
	edition string
	calls   int
}

func (l *library) Catalog(context.Context) (*mcp.Catalog, error) {
	object := json.RawMessage(`{"type":"object"}`)
	cat := &mcp.Catalog{
		Server: mcp.Implementation{Name: "library", Version: "1"},
		Tools: []mcp.Tool{
			{Name: "find", InputSchema: object, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			{Name: "next", InputSchema: object, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			{Name: "burn", InputSchema: object},
		},
		Resources: []mcp.Resource{{URI: "book://1", Name: "one"}, {URI: "book://2", Name: "two"}},
		PageSize:  2,
	}
	if l.edition == "second" {
		cat.Tools[0].Description = "finds books"
	}
	return cat, nil
}

func (l *library) CallTool(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	text := l.edition
	switch p.Name {
	case "find":
		word, _ := p.StringArgument("word")
		text += " " + word
	case "next":
		l.calls++
		text = fmt.Sprint(l.calls)
	case "burn":
		l.calls += 1000
	default:
		return nil, mcp.UnknownTool(p.Name)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
}

func (l *library) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: l.edition}}}, nil
}

// record records a conversation of a client with a server over HTTP, seen by the client
// or by the server.
func record(t *testing.T, atClient bool, opts *mcplog.WriterOptions, talk func(src *client.Source)) []byte {
	t.Helper()
	return recordOf(t, &library{edition: "first"}, atClient, opts, talk)
}

// recordOf is record for another source than the first edition of the library.
func recordOf(t *testing.T, of mcp.Source, atClient bool, opts *mcplog.WriterOptions,
	talk func(src *client.Source)) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := mcplog.NewWriter(&out, &mcplog.Header{By: "test"}, opts)
	if err != nil {
		t.Fatal(err)
	}
	var atServer, near tap.Func
	if atClient {
		near = w.Tap(1)
	} else {
		atServer = w.Tap(0)
	}
	web := httptest.NewServer(server.New(of, &server.Options{Tap: atServer}).HTTPHandler(nil))
	t.Cleanup(web.Close)
	src, err := client.Open(t.Context(), &client.Endpoint{URL: web.URL}, &client.Options{Tap: near})
	if err != nil {
		t.Fatal(err)
	}
	talk(src)
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// ask makes the calls of the tests.
func ask(t *testing.T, src mcp.Source) (texts []string) {
	t.Helper()
	for _, request := range []struct{ tool, arguments string }{
		{"find", `{"word":"whale"}`},
		{"next", `{}`},
		{"next", `{}`},
		{"burn", `{}`},
		{"find", `{ "word" : "\u0077hale" }`},
	} {
		result, err := src.CallTool(t.Context(), &mcp.CallToolParams{
			Name:      request.tool,
			Arguments: json.RawMessage(request.arguments),
		})
		if err != nil {
			t.Fatalf("%s: %v", request.tool, err)
		}
		text, _ := mcp.Marshal(result)
		texts = append(texts, string(text))
	}
	read, err := src.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "book://2"})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := mcp.Marshal(read)
	return append(texts, string(text))
}

func readRecording(t *testing.T, text []byte) *mcplog.Recording {
	t.Helper()
	rec, err := mcplog.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func play(t *testing.T, rec *mcplog.Recording) *client.Source {
	t.Helper()
	script := mcplog.NewScript(rec)
	src, err := client.Open(t.Context(), &client.Dialer{
		Name: "recording",
		Dial: func(ctx context.Context) (server.Conn, error) { return script.Dial(ctx) },
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src
}

// A recording answers what was asked, and says what it lacks.
func TestPlay(t *testing.T) {
	for name, atClient := range map[string]bool{"client": true, "server": false} {
		t.Run(name, func(t *testing.T) {
			var want []string
			text := record(t, atClient, nil, func(src *client.Source) { want = ask(t, src) })
			src := play(t, readRecording(t, text))
			if diff := cmp.Diff(want, ask(t, src)); diff != "" {
				t.Errorf("answers (-recorded +played)\n%s", diff)
			}
			cat, err := src.Catalog(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(cat.Tools) != 3 || len(cat.Resources) != 2 {
				t.Errorf("%d tools, %d resources", len(cat.Tools), len(cat.Resources))
			}
			for tool, want := range map[string]string{
				"find":  `has answers for "find", but none for these arguments; it has some for {"word":`,
				"fined": `has no tools/call of "fined", but one of "find"`,
			} {
				_, err := src.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(`{"word":"x"}`)})
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %s", tool, err, want)
				}
			}
		})
	}
}

func replay(t *testing.T, text []byte, src mcp.Source, opts *mcplog.ReplayOptions) []string {
	t.Helper()
	outcomes, err := mcplog.Replay(t.Context(), readRecording(t, text), src, opts)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, o := range outcomes {
		for _, d := range o.Differences {
			list = append(list, fmt.Sprintf("%s %s%s: %s -> %s", o.Method, o.Name, d.Pointer, d.Before, d.After))
		}
		if o.Skipped != "" {
			list = append(list, o.Method+" "+o.Name+" skipped")
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestReplay(t *testing.T) {
	for name, atClient := range map[string]bool{"client": true, "server": false} {
		t.Run(name, func(t *testing.T) {
			text := record(t, atClient, nil, func(src *client.Source) { ask(t, src) })
			same := &library{edition: "first"}
			if diff := cmp.Diff([]string{"tools/call burn skipped"}, replay(t, text, same, nil)); diff != "" {
				t.Errorf("the same (-want +got)\n%s", diff)
			}
			if same.calls != 2 {
				t.Errorf("%d calls of next", same.calls)
			}
			want := []string{
				`resources/read book://2/contents/0/text: "first" -> "second"`,
				`tools/call burn/content/0/text: "first" -> "second"`,
				`tools/call find/content/0/text: "first whale" -> "second whale"`,
				`tools/list /tools/0/description: "" -> "finds books"`,
			}
			all := &mcplog.ReplayOptions{Changes: func(string) bool { return true }}
			if diff := cmp.Diff(want, replay(t, text, &library{edition: "second"}, all)); diff != "" {
				t.Errorf("another (-want +got)\n%s", diff)
			}
			some := &mcplog.ReplayOptions{Ignore: []string{"$.content.*.text", "$.tools.0.description"}}
			want = []string{want[0], "tools/call burn skipped"}
			if diff := cmp.Diff(want, replay(t, text, &library{edition: "second"}, some)); diff != "" {
				t.Errorf("with paths ignored (-want +got)\n%s", diff)
			}
		})
	}
}

// Neither credentials nor chosen paths reach the file, and what is left can be played.
func TestRedact(t *testing.T) {
	opts := &mcplog.WriterOptions{
		Environment: []string{"MAIL_PASSWORD=correct horse"},
		Redact:      []string{"$.params.arguments.isbn", "$.result.content.*.text"},
	}
	github := "ghp_" + strings.Repeat("aB3", 12)
	text := record(t, false, opts, func(src *client.Source) {
		for _, arguments := range []string{
			`{"word":"correct horse"}`, `{"isbn":"978-3","word":"y"}`, `{"word":"` + github + `"}`,
		} {
			if _, err := src.CallTool(t.Context(), &mcp.CallToolParams{
				Name:      "find",
				Arguments: json.RawMessage(arguments),
			}); err != nil {
				t.Error(err)
			}
		}
	})
	for _, secret := range []string{"correct horse", "978-3", github, "first y"} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the recording contains %q", secret)
		}
	}
	if !bytes.Contains(text, []byte(`\"word\":\"y\"`)) {
		t.Errorf("the recording lacks what is not a secret:\n%s", text)
	}
	play(t, readRecording(t, text))
	invalid := &mcplog.WriterOptions{Redact: []string{"params"}}
	if _, err := mcplog.NewWriter(io.Discard, &mcplog.Header{}, invalid); err == nil {
		t.Error("no error for an invalid path")
	}
}

// A file that ends early is read up to its last whole line.
func TestRead(t *testing.T) {
	text := record(t, true, nil, func(src *client.Source) { ask(t, src) })
	whole := readRecording(t, text)
	if whole.Cut || len(whole.Events) < 20 {
		t.Fatalf("%d events, cut %v", len(whole.Events), whole.Cut)
	}
	cut := readRecording(t, text[:len(text)-9])
	if !cut.Cut || len(cut.Events) != len(whole.Events)-1 {
		t.Errorf("cut %v, %d events of %d", cut.Cut, len(cut.Events), len(whole.Events))
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(text)
	_ = z.Close()
	if diff := cmp.Diff(whole, readRecording(t, packed.Bytes())); diff != "" {
		t.Errorf("gzip\n%s", diff)
	}
	short := readRecording(t, packed.Bytes()[:packed.Len()/2])
	if len(short.Events) == 0 {
		t.Error("nothing is read of half a file")
	}
	lines := bytes.SplitAfter(text, []byte{'\n'})
	for name, bad := range map[string]string{
		"":                              "not a readable recording: line 1: it does not begin",
		"{}\n":                          "not a readable recording: line 1: it does not begin",
		"# Notes\n":                     "not a readable recording: line 1: it does not begin",
		`{"mcplog":2}`:                  "not a readable recording: line 1: version 2",
		string(lines[0]) + "oops\n{}\n": "not a readable recording: line 2: invalid character",
	} {
		_, err := mcplog.Read(strings.NewReader(name))
		var format *mcplog.FormatError
		if !errors.As(err, &format) || !strings.HasPrefix(err.Error(), bad) {
			t.Errorf("%.20q: %v, want %s", name, err, bad)
		}
	}
}

// A recording does not grow beyond its limit, nor does an error of writing reach the
// conversation.
func TestLimit(t *testing.T) {
	var failed error
	opts := &mcplog.WriterOptions{
		MaxBytes: 4000,
		Failed:   func(err error) { failed = err },
	}
	text := record(t, true, opts, func(src *client.Source) { ask(t, src) })
	if !errors.Is(failed, mcplog.ErrFull) || len(text) > 8000 {
		t.Errorf("%d bytes, %v", len(text), failed)
	}
	events := readRecording(t, text).Events
	if last := events[len(events)-1]; last.Kind != mcplog.Gap {
		t.Errorf("the last event is %+v", last)
	}
}

// Every line that is written can be read: HTML is not escaped, and what is too long is a gap.
func TestLongLines(t *testing.T) {
	var out bytes.Buffer
	w, err := mcplog.NewWriter(&out, &mcplog.Header{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	html := strings.Repeat("<", 10_000)
	w.Append(&mcplog.Event{Kind: mcplog.Notification, Body: html})
	if out.Len() > 2*len(html) {
		t.Errorf("%d bytes of HTML have %d in the file", len(html), out.Len())
	}
	w.Append(&mcplog.Event{Kind: mcplog.Notification, Body: strings.Repeat("\x01", 17<<20)})
	w.Append(&mcplog.Event{Kind: mcplog.Notification, Body: "x"})
	rec := readRecording(t, out.Bytes())
	var got []string
	for _, e := range rec.Events {
		got = append(got, fmt.Sprint(e.Seq, " ", e.Kind))
	}
	if diff := cmp.Diff([]string{"1 notification", "2 gap", "3 notification"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if want := "messages are missing: an event of kind notification was too large to record"; rec.Incomplete() != want {
		t.Errorf("Incomplete() = %q, want %q", rec.Incomplete(), want)
	}
}

// Short lines take more memory than their text, which the limits of reader and writer include.
func TestMemory(t *testing.T) {
	const header = `{"mcplog":1}` + "\n"
	for name, lines := range map[string]string{
		"short lines": strings.Repeat("{}\n", 3000),
		"header":      `{"headers":{` + strings.Repeat(`"a":[],`, 10_000)[:69_999] + `}}` + "\n",
		"values":      `{"headers":{"a":["` + strings.Repeat(`","`, 10_000) + `"]}}` + "\n",
		"unknown":     `{"x":"` + strings.Repeat("x", 1<<20) + `"}` + "\n",
	} {
		_, err := mcplog.ReadMax(strings.NewReader(header+lines), 1<<20)
		if name == "header" { // equal names are one
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var format *mcplog.FormatError
		if !errors.Is(err, mcplog.ErrTooLarge) || !errors.As(err, &format) {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
	}
	if _, err := mcplog.Read(strings.NewReader(`{"mcplog":1,"x":"` + strings.Repeat("x", 1<<20) + `"}`)); err == nil {
		t.Error("a header of any length is read")
	}
	var out bytes.Buffer
	w, err := mcplog.NewWriter(&out, &mcplog.Header{}, &mcplog.WriterOptions{MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		w.Append(&mcplog.Event{Kind: mcplog.Notification})
	}
	if _, err := mcplog.ReadMax(&out, 1<<20+10_000); err != nil {
		t.Errorf("a recording that its writer has limited is too large to read: %v", err)
	}
}

// TestManyNames reads recordings without lists, whose names are those of very many requests.
func TestManyNames(t *testing.T) {
	race.SkipLong(t)
	reads := func(repeated string) string {
		var b strings.Builder
		b.WriteString(`{"mcplog":1}` + "\n")
		for i := range len(repeated) {
			request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"a://%d"}}`, i, i)
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"contents":[]}}`, i)
			fmt.Fprintf(&b, `{"seq":%d,"src":1,"d":"out","kind":"request","body":%q}`+"\n", 2*i+1, request)
			fmt.Fprintf(&b, `{"seq":%d,"src":1,"d":"in","kind":"response","body":%q}`+"\n", 2*i+2, answer)
		}
		return b.String()
	}
	fuzzbound.LinearFrom(t, 2400, "x", reads, func(text string) {
		rec, err := mcplog.Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(rec.Exchanges()); n < 2400 {
			t.Fatalf("%d exchanges", n)
		}
		mcplog.NewScript(rec)
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"mcplog":1}` + "\n" +
		`{"seq":1,"kind":"request","body":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}"}`))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	fuzzbound.Fuzz(f, func(t *testing.T, text []byte) {
		rec, err := mcplog.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		rec.Exchanges()
		rec.Questions()
		mcplog.NewScript(rec)
	})
}
