package router_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/mcptest"
	"github.com/slipway-mcp/slipway/router"
)

// picky has its own UnmarshalJSON, whose error is meant for the caller.
type picky struct{}

func (*picky) UnmarshalJSON([]byte) error { return errors.New("only on Sundays") }

// stubborn always fails to encode.
type stubborn struct{}

func (*stubborn) MarshalJSON() ([]byte, error) { return nil, errors.New("out of ink") }

// TestExactNumbers: in a field of type any, integers keep their digits, and other numbers
// are what encoding/json makes of them.
func TestExactNumbers(t *testing.T) {
	type input struct {
		Any any            `json:"any"`
		Map map[string]any `json:"map"`
	}
	var got input
	r, err := router.New("x", "1", router.Tool("echo", "Echoes", func(_ context.Context, in input) (any, error) {
		got = in
		return in, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	c := mcptest.ConnectStdio(t, r, mcp.LatestLegacyVersion, nil)
	const args = `{"any":[12345678901234567890,-9007199254740993,7,0.5],"map":{"n":12345678901234567890,` +
		`"m":{"k":9007199254740993}}}`
	result := c.CallTool("echo", json.RawMessage(args))
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"12345678901234567890", "-9007199254740993", "9007199254740993"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("result %s has no %s", text, want)
		}
	}
	list, _ := got.Any.([]any)
	if len(list) != 4 {
		t.Fatalf("the function got %#v", got.Any)
	}
	for i, want := range []string{"json.Number", "json.Number", "float64", "float64"} {
		if kind := fmt.Sprintf("%T", list[i]); kind != want {
			t.Errorf("value %d is a %s, want %s", i, kind, want)
		}
	}
}

// tried returns the result of a call, or its error.
func tried(t *testing.T, c *mcptest.Client, tool, args string) string {
	t.Helper()
	result, failed := c.Try("tools/call", map[string]any{"name": tool, "arguments": json.RawMessage(args)})
	if failed != nil {
		return failed.Message
	}
	return string(result)
}

// TestNoGoTypes: messages contain no names of Go types, and keep the author's own
// wording.
func TestNoGoTypes(t *testing.T) {
	type point struct {
		At  [2]float64 `json:"at"`
		Own *picky     `json:"own,omitempty"`
	}
	r, err := router.New("x", "1",
		router.Tool("at", "Takes a point", func(context.Context, point) (string, error) { return "ok", nil }),
		router.Tool("write", "Writes", func(context.Context, router.Void) (any, error) { return &stubborn{}, nil }))
	if err != nil {
		t.Fatal(err)
	}
	c := mcptest.ConnectStdio(t, r, mcp.LatestLegacyVersion, nil)
	for _, test := range []struct{ tool, args, want string }{
		{"at", `{"at":"x"}`, "at: "},
		{"at", `{"at":["x",1]}`, "at"},
		{"at", `{"at":[1,2],"own":1}`, "only on Sundays"},
		{"write", `{}`, "out of ink"},
	} {
		text := tried(t, c, test.tool, test.args)
		if !strings.Contains(text, test.want) {
			t.Errorf("%s %s: %s, want %q in it", test.tool, test.args, text, test.want)
		}
		for _, leak := range []string{"router_test", "float64", "Go value", "json: ", "MarshalJSON"} {
			if strings.Contains(text, leak) {
				t.Errorf("%s %s: %s holds %q", test.tool, test.args, text, leak)
			}
		}
	}
}

// TestMoreProblems: a truncated message reports how many problems were omitted.
func TestMoreProblems(t *testing.T) {
	r, err := router.New("x", "1", router.Tool("sum", "Sums", func(_ context.Context, in struct {
		N []int `json:"n"`
	}) (string, error) {
		return "ok", nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	c := mcptest.ConnectStdio(t, r, mcp.LatestLegacyVersion, nil)
	args := `{"n":[` + strings.TrimSuffix(strings.Repeat(`"x",`, 501), ",") + `]}`
	text := tried(t, c, "sum", args)
	if !strings.Contains(text, "and 485 more") {
		t.Errorf("%s does not say that there are 485 more", text)
	}
}
