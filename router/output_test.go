package router_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	"github.com/slipway-mcp/slipway/router"
)

type said string

type report struct {
	Name  string          `json:"name"`
	Score float64         `json:"score" maximum:"10"`
	Tags  []string        `json:"tags"`
	By    map[string]int  `json:"by"`
	Next  *report         `json:"next,omitempty"`
	Null  *int            `json:"null"`
	At    time.Time       `json:"at,omitzero"`
	Wait  time.Duration   `json:"wait,omitempty"`
	Addr  netip.Addr      `json:"addr,omitzero"`
	Raw   json.RawMessage `json:"raw,omitempty"`
	Data  []byte          `json:"data,omitempty"`
	Any   any             `json:"any,omitempty"`
}

// answer runs a tool that returns out, and returns the result as it is sent.
func answer[Out any](t testing.TB, out Out, opts ...router.ToolOption) (string, error) {
	t.Helper()
	r, err := router.New("x", "1",
		router.Tool("t", "", func(context.Context, router.Void) (Out, error) { return out, nil }, opts...))
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.CallTool(context.Background(), &mcp.CallToolParams{Name: "t"})
	if err != nil {
		return "", err
	}
	encoded, err := mcp.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded), nil
}

func TestOutput(t *testing.T) {
	link := mcp.ResourceLink(mcp.Resource{Name: "n", URI: "x://1"})
	for _, tt := range []struct {
		name string
		run  func(testing.TB) (string, error)
		want string
	}{
		{"string", func(t testing.TB) (string, error) {
			return answer(t, "a<b")
		}, `{"content":[{"type":"text","text":"a<b"}],"isError":false}`},
		{"string type", func(t testing.TB) (string, error) {
			return answer(t, said("hi"))
		}, `{"content":[{"type":"text","text":"hi"}],"isError":false}`},
		{"void", func(t testing.TB) (string, error) { return answer(t, router.Void{}) }, `{"content":[],"isError":false}`},
		{"content", func(t testing.TB) (string, error) { return answer(t, mcp.Image([]byte{1}, "image/png")) },
			`{"content":[{"type":"image","data":"AQ==","mimeType":"image/png"}],"isError":false}`},
		{"contents", func(t testing.TB) (string, error) {
			return answer(t, []mcp.Content{
				mcp.Audio([]byte{1}, "audio/wav"), mcp.EmbeddedResource(mcp.ResourceContents{URI: "x://1", Text: "t"}), link,
			})
		}, `{"content":[{"type":"audio","data":"AQ==","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"x://1",` +
			`"text":"t"}},{"type":"resource_link","name":"n","uri":"x://1"}],"isError":false}`},
		{"no contents", func(t testing.TB) (string, error) {
			return answer(t, []mcp.Content(nil))
		}, `{"content":[],"isError":false}`},
		{"result", func(t testing.TB) (string, error) {
			return answer(t, &mcp.CallToolResult{
				Content: []mcp.Content{mcp.Text("x")},
				IsError: true,
				Meta:    json.RawMessage(`{"a":1}`),
			})
		}, `{"content":[{"type":"text","text":"x"}],"isError":true,"_meta":{"a":1}}`},
		{"result as a value", func(t testing.TB) (string, error) { return answer(t, mcp.CallToolResult{}) },
			`{"content":[],"isError":false}`},
		{"struct with Text", func(t testing.TB) (string, error) {
			return answer(t, weather{"Lyon", 21.5, "c"})
		}, `{"content":[{"type":"text","text":"Lyon: 22 c"}],"structuredContent":{"city":"Lyon","temp":21.5,"unit":"c"},` +
			`"isError":false}`},
		{"pointer with Text", func(t testing.TB) (string, error) {
			return answer(t, &weather{"Lyon", 21, "c"})
		}, `{"content":[{"type":"text","text":"Lyon: 21 c"}],"structuredContent":{"city":"Lyon","temp":21,"unit":"c"},` +
			`"isError":false}`},
		{"nil in a struct", func(t testing.TB) (string, error) { return answer(t, inside(report{Name: "a"})) },
			`{"name":"a","score":0,"tags":[],"by":{},"null":null}`},
		{"everything", func(t testing.TB) (string, error) {
			n := 5
			return answer(t, inside(report{Name: "é\n", Score: 1e-7, Tags: []string{"x"}, By: map[string]int{"b": 2, "a": 1},
				Next: &report{Score: math.Copysign(0, -1)}, Null: &n,
				At: time.Date(2026, 7, 28, 12, 0, 0, 5e8, time.UTC), Wait: time.Second, Addr: netip.MustParseAddr("::1"),
				Raw: json.RawMessage(`{ "a" : 1 }`), Data: []byte{1}, Any: []any{1, "<"}}))
		}, `{"name":"é\n","score":1e-7,"tags":["x"],"by":{"a":1,"b":2},"next":{"name":"","score":-0,"tags":[],"by":{},` +
			`"null":null},"null":5,"at":"2026-07-28T12:00:00.5Z","wait":"1s","addr":"::1","raw":{"a":1},"data":"AQ==",` +
			`"any":[1,"<"]}`},
		{"map", func(t testing.TB) (string, error) { return answer(t, map[string]int{"b": 1, "a": 2}) },
			`{"content":[{"type":"text","text":"{\"a\":2,\"b\":1}"}],"structuredContent":{"a":2,"b":1},"isError":false}`},
		{"slice", func(t testing.TB) (string, error) {
			return answer(t, []int{1, 2})
		}, `{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":[1,2],"isError":false}`},
		{"nil slice", func(t testing.TB) (string, error) {
			return answer(t, []int(nil))
		}, `{"content":[{"type":"text","text":"[]"}],"structuredContent":[],"isError":false}`},
		{"number", func(t testing.TB) (string, error) {
			return answer(t, 5)
		}, `{"content":[{"type":"text","text":"5"}],"structuredContent":5,"isError":false}`},
		{"any: string", func(t testing.TB) (string, error) {
			return answer[any](t, "x")
		}, `{"content":[{"type":"text","text":"x"}],"isError":false}`},
		{"any: nil", func(t testing.TB) (string, error) { return answer[any](t, nil) }, `{"content":[],"isError":false}`},
		{"any: struct", func(t testing.TB) (string, error) {
			return answer[any](t, weather{"Lyon", 21, "c"})
		}, `{"content":[{"type":"text","text":"Lyon: 21 c"}],"structuredContent":{"city":"Lyon","temp":21,"unit":"c"},` +
			`"isError":false}`},
		{"any: content", func(t testing.TB) (string, error) {
			return answer[any](t, link)
		}, `{"content":[{"type":"resource_link","name":"n","uri":"x://1"}],"isError":false}`},
		{"own schema", func(t testing.TB) (string, error) {
			return answer(t, &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"a":1}`)},
				router.OutputSchema(`{"type":"object","required":["a"]}`))
		}, `{"content":[],"structuredContent":{"a":1},"isError":false}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.run(t)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want && !strings.Contains(got, `"structuredContent":`+tt.want+`,`) {
				t.Errorf("result\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// inside returns the report by pointer.
func inside(r report) *report { return &r }

func TestOutputErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(testing.TB) (string, error)
		want string
	}{
		{"beyond a bound", func(t testing.TB) (string, error) {
			return answer(t, report{Score: 11})
		}, `the answer of tool "t" violates its output schema: score: must be at most 10 (got 11)`},
		{"no number", func(t testing.TB) (string, error) { return answer(t, report{Score: math.NaN()}) },
			`the answer of tool "t" violates its output schema: score: NaN cannot be represented in JSON`},
		{"broken raw", func(t testing.TB) (string, error) { return answer(t, report{Raw: json.RawMessage(`{`)}) },
			`the answer of tool "t" violates its output schema: raw: unexpected end of input at byte 1`},
		{"nothing structured", func(t testing.TB) (string, error) {
			return answer(t, &mcp.CallToolResult{}, router.OutputSchema(`{"type":"object"}`))
		}, `the answer of tool "t" violates its output schema: there is no structured content`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.run(t)
			var e *mcp.Error
			if !errors.As(err, &e) || e.Code != mcp.CodeToolBadOutput || e.Message != tt.want {
				t.Errorf("error = %v, want -31005 %s", err, tt.want)
			}
		})
	}
	if _, err := answer[*report](t, nil); err == nil {
		t.Error("a nil result = nil, want an error")
	}
}

func TestOutputSchema(t *testing.T) {
	schemaOf := func(f router.Feature) string {
		t.Helper()
		r, err := router.New("x", "1", f)
		if err != nil {
			t.Fatal(err)
		}
		c, _ := r.Catalog(context.Background())
		return string(c.Tools[0].OutputSchema)
	}
	for _, tt := range []struct{ name, got, want string }{
		{"string", schemaOf(gives[string]()), ``},
		{"any", schemaOf(gives[any]()), ``},
		{"struct", schemaOf(gives[weather]()),
			`{"type":"object","properties":{"city":{"type":"string"},"temp":{"type":"number"},"unit":{"type":"string"}},` +
				`"required":["city","temp","unit"]}`},
		{"pointer", schemaOf(gives[*spot]()),
			`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`},
		{"slice", schemaOf(gives[[]*int]()), `{"type":"array","items":{"type":["integer","null"]}}`},
		{"map", schemaOf(gives[map[string]spot]()),
			`{"type":"object","additionalProperties":{"type":"object","properties":{"city":{"type":"string"}},` +
				`"required":["city"]}}`},
		{"nil pointers", schemaOf(gives[struct {
			A *string `json:"a"`
			B *spot   `json:"b"`
			C *string `json:"c,omitempty"`
		}]()), `{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"object",` +
			`"properties":{"city":{"type":"string"}},"required":["city"]},{"type":"null"}]},"c":{"type":"string"}},` +
			`"required":["a","b"]}`},
		{"recursive", schemaOf(gives[tree]()),
			`{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array",` +
				`"items":{"$ref":"#/$defs/tree"}}},"required":["name"],"$defs":{"tree":{"type":"object",` +
				`"properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/tree"}}},` +
				`"required":["name"]}}}`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.name, tt.got, tt.want)
		}
	}
}

// TestToolErrors: how a client sees the errors of a tool.
func TestToolErrors(t *testing.T) {
	fails := func(err error) router.Feature {
		return router.Tool("t", "", func(context.Context, router.Void) (string, error) { return "", err })
	}
	connect := func(err error) *mcptest.Client {
		r, e := router.New("x", "1", fails(err))
		if e != nil {
			t.Fatal(e)
		}
		return mcptest.Connect(t, r, mcp.LatestVersion, nil)
	}
	if got := connect(errors.New("no such city")).CallTool("t", nil); !got.IsError ||
		got.Content[0].Text != "no such city" {
		t.Errorf("plain error = %+v, want isError and the bare message", got)
	}
	if _, err := connect(&mcp.Error{Code: -32099, Message: "busy", Data: json.RawMessage(`{"retry":5}`)}).Try("tools/call",
		map[string]string{"name": "t"}); err == nil || err.Code != -32099 || string(err.Data) != `{"retry":5}` {
		t.Errorf("mcp.Error = %+v, want it as it is", err)
	}
	// An error from the tool's own context is an error of the tool: the request continues.
	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	stop()
	canceled, stop := context.WithCancel(t.Context())
	stop()
	for _, own := range []context.Context{late, canceled} {
		if got := connect(fmt.Errorf("ask the depot: %w", own.Err())).CallTool("t", nil); !got.IsError ||
			got.Content[0].Text != "ask the depot: "+own.Err().Error() {
			t.Errorf("own context = %+v, want isError and its words", got)
		}
	}
}

// TestTalk: progress, log lines and questions are sent while a tool runs.
func TestTalk(t *testing.T) {
	r, err := router.New("x", "1", router.Tool("t", "", func(ctx context.Context, _ router.Void) (string, error) {
		request := mcp.RequestFrom(ctx)
		answer, err := request.Elicit(ctx, &mcp.ElicitParams{
			Message:         "sure?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`),
		})
		if err != nil {
			return "", err
		}
		request.Progress(1, 2, "half")
		request.Log(mcp.LogInfo, "t", "working")
		return answer.Action, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []mcp.Version{mcp.LatestLegacyVersion, mcp.LatestVersion} {
		c := mcptest.Connect(t, r, v, &mcptest.ConnectOptions{Answer: func(string, json.RawMessage) (any, error) {
			return mcp.ElicitResult{Action: "accept", Content: json.RawMessage(`{}`)}, nil
		}})
		if got := c.CallTool("t", nil); got.IsError || got.Content[0].Text != "accept" {
			t.Errorf("%v: %+v, want accept", v, got)
		}
	}
}

// TestSameType: a type whose tags describe an input also works as an output.
func TestSameType(t *testing.T) {
	type both struct {
		Wait  time.Duration `json:"wait,omitempty" default:"90s" example:"1h"`
		Unit  string        `json:"unit" enum:"c,f" default:"c" header:"Unit" doc:"which"`
		Color color         `json:"color,omitzero" doc:"which color"`
	}
	r := mustNew(t, router.Tool("t", "", func(_ context.Context, in both) (both, error) { return in, nil }))
	got, err := r.CallTool(context.Background(), &mcp.CallToolParams{Name: "t"})
	if want := `{"wait":"1m30s","unit":"c"}`; err != nil || string(got.StructuredContent) != want {
		t.Errorf("result = %+v, %v, want %s", got, err, want)
	}
	c, _ := r.Catalog(context.Background())
	if got, want := string(c.Tools[0].InputSchema),
		`"unit":{"type":"string","description":"which","enum":["c","f"],"default":"c",`+
			`"x-mcp-header":"Unit"}`; !strings.Contains(got, want) {
		t.Errorf("schema %s, want %s in it", got, want)
	}
	if got, want := string(c.Tools[0].OutputSchema),
		`"wait":{"type":"string","examples":["1h"]},`; !strings.Contains(got, want) {
		t.Errorf("schema %s, want %s in it", got, want)
	}
}
