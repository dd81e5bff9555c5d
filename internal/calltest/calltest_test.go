package calltest_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/calltest"
	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
)

func TestMain(m *testing.M) {
	ruletest.Main(m, calltest.Rules())
}

// source has a tool that answers at once and one that hangs.
type source struct{ mcp.Unimplemented }

func (source) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "s", Version: "1"},
		Tools:  []mcp.Tool{{Name: "echo"}, {Name: "hang"}},
	}, nil
}

func (source) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if p.Name == "hang" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &mcp.CallToolResult{
		IsError: strings.Contains(string(p.Arguments), "fail"),
		Content: []mcp.Content{mcp.Text(string(p.Arguments))},
	}, nil
}

// rulesOf returns the ids of the rules of all findings.
func rulesOf(r *check.Report) string {
	var ids []string
	for _, f := range ruletest.Findings(r) {
		ids = append(ids, f.Rule.ID)
	}
	return strings.Join(ids, " ")
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"calls": []}`:                         "",
		`{"calls": [{"name": "a"}], "more": 1}`: "",
		`{}`:                                    "test/syntax",
		`[]`:                                    "test/syntax",
		`{"calls": [`:                           "test/syntax",
		`{"calls": [1, {}]}`:                    "test/call test/call",
		`{"calls": [{"name": "a", "params": []}]}`:                                             "test/call",
		`{"calls": [{"name": "a", "method": 1}]}`:                                              "test/call",
		`{"calls": [{"name": "a"}, {"name": "a"}]}`:                                            "test/call",
		`{"calls": [{"name": "a", "expect": [1]}]}`:                                            "test/expect",
		`{"calls": [{"name": "a", "expect": [{"error": 1, "exists": true}]}]}`:                 "test/expect",
		`{"calls": [{"name": "a", "expect": [{"error": "x"}]}]}`:                               "test/expect",
		`{"calls": [{"name": "a", "expect": [{"pointer": "x", "exists": 1}]}]}`:                "test/expect test/expect",
		`{"calls": [{"name": "a", "expects": [{"error": 1}]}]}`:                                "test/call",
		`{"calls": [{"name": "a", "param": {}, "namespace": "", "game": "", "resource": ""}]}`: "test/call",
		`{"calls": [{"name": "a", "source": 1}]}`:                                              "test/call",
		`{"calls": [{"name": "a", "expect": {}}]}`:                                             "test/expect",
		`{"calls": [{"name": "a", "expect": [{"matches": "("}]}]}`:                             "test/expect",
		`{"calls": [{"name": "a", "expect": [{"matches": 1}]}]}`:                               "test/expect",
		`{"calls": [{"name": "a", "expect": [{"matches": "\\d+"}]}]}`:                          "",
		`{"calls": [{"name": "a", "expect": [{"schema": {"type": "objct"}}]}]}`:                "test/expect",
		`{"calls": [{"name": "a", "expect": [{"schema": 1}]}]}`:                                "test/expect",
		`{"calls": [{"name": "a", "expect": [{"schema": {"type": "object"}}]}]}`:               "",
		`{"calls": [{"name": "a", "expect": [{"schema": true}]}]}`:                             "",
		`{"calls": [{"name": "a", "expect": [{"contains": 1}]}]}`:                              "test/expect",
		`{"calls": [{"name": "a", "expect": [{"below": "soon"}]}]}`:                            "test/expect",
		`{"calls": [{"name": "a", "expect": [{"below": "1s", "pointre": ""}]}]}`:               "test/expect",
		`{"calls": [{"name": "a", "expect": [{"pointer": "", "equals": null}]}]}`:              "",
	} {
		file, report := calltest.Read("x.calls.json", []byte(text))
		if got := rulesOf(report); got != want || (file == nil) != (want != "") {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestRun(t *testing.T) {
	file, report := calltest.Read("x.calls.yaml", []byte(`calls:
  - name: numbers keep their digits
    params: {name: echo, arguments: {n: 12345678901234567890.10}}
    expect: [{pointer: /content/0/text, contains: "12345678901234567890.10"}]
  - name: reports an error
    params: {name: echo, arguments: {how: fail}}
  - name: reports an error as expected
    params: {name: echo, arguments: {how: fail}}
    expect: [{isError: true}]
  - name: not this error
    params: {name: none}
    expect: [{error: -1}]
  - name: hangs
    params: {name: hang}
  - name: after that
    params: {name: echo, arguments: {}}
    expect: [{pointer: /content, equals: [{text: "{}", type: text}]}]
`))
	if !report.OK(true) {
		t.Fatal(report.Findings())
	}
	servers := []calltest.Server{{Source: source{}}}
	outcomes, err := file.Run(t.Context(), servers, report, &calltest.Options{Timeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	for _, o := range outcomes {
		if !o.OK {
			failed = append(failed, o.Name)
		}
	}
	if got, want := strings.Join(failed, ", "), "reports an error, not this error, hangs"; got != want {
		t.Errorf("failed: %s; want %s", got, want)
	}
	if got, want := rulesOf(report), "test/failed test/failed test/no-answer"; got != want {
		t.Errorf("findings %s, want %s", got, want)
	}
	for _, f := range report.Findings() {
		if f.Line == 0 {
			t.Errorf("%s has no line", f)
		}
	}
}

// Of several servers, each call goes to the one that it names, and to no other.
func TestAssign(t *testing.T) {
	file, _ := calltest.Read("x.calls.json", []byte(`{"calls": [
		{"name": "one", "source": "a"}, {"name": "two", "source": "b"},
		{"name": "three"}, {"name": "four", "source": "c"}]}`))
	for _, c := range []struct {
		names, want, rules string
	}{
		{"x", "x x x x", ""},
		{"a b", "", "test/source test/source"},
		{"a b c", "", "test/source"},
	} {
		var servers []calltest.Server
		for _, name := range strings.Fields(c.names) {
			servers = append(servers, calltest.Server{
				Name:   name,
				Source: source{},
			})
		}
		report := &check.Report{}
		outcomes, err := file.Run(t.Context(), servers, report, &calltest.Options{Timeout: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		var used []string
		for _, o := range outcomes {
			used = append(used, o.Source)
		}
		if got := strings.Join(used, " "); got != c.want {
			t.Errorf("sources %s: used %q, want %q", c.names, got, c.want)
		}
		if got := strings.ReplaceAll(rulesOf(report), "test/failed", ""); strings.TrimSpace(got) != c.rules {
			t.Errorf("sources %s: %q, want %q", c.names, got, c.rules)
		}
	}
}

// TestMalformedResults verifies that a result which clients cannot read is a failure, and that the
// results of all versions are none.
func TestMalformedResults(t *testing.T) {
	for _, c := range []struct{ method, result, want string }{
		{"tools/call", `{"content": "nope"}`, "at /content: "},
		{"tools/call", `{"content": [{"text": "a"}]}`, "at /content/0/type: "},
		{"tools/call", `{"content": [], "isError": "no"}`, "at /isError: "},
		{"tools/call", `[]`, "the result: "},
		{"resources/read", `{"contents": [{"text": "a"}]}`, "at /contents/0/uri: "},
		{"prompts/get", `{"messages": [{"role": "user", "content": "a"}]}`, "at /messages/0/content: "},
		{"completion/complete", `{"completion": {"values": [1]}}`, "at /completion/values/0: "},
		{"tools/call", `{"content": [{"type": "text", "text": "a"}, {"type": "new", "more": 1}]}`, ""},
		{"tools/call", `{"resultType": "input_required", "inputRequests": {}}`, ""},
		{"resources/read", `{"contents": [{"uri": "a:b", "blob": "AAAA"}]}`, ""},
		{"prompts/get", `{"messages": [{"role": "user", "content": {"type": "text", "text": "a"}}]}`, ""},
		{"other", `1`, ""},
	} {
		call := calltest.Call{Method: c.method, Pointer: "/calls/0"}
		problems := call.Verify(&calltest.Answer{Result: json.RawMessage(c.result)})
		if c.want == "" && len(problems) > 0 || c.want != "" &&
			(len(problems) != 1 || !strings.HasPrefix(problems[0].Message, "the answer breaks the protocol: "+c.want)) {
			t.Errorf("%s %s: %v, want %q", c.method, c.result, problems, c.want)
		}
	}
}

// TestEquals verifies that an expected value must be equal in all its parts, whatever the names in it.
func TestEquals(t *testing.T) {
	file, report := calltest.Read("x.calls.json", []byte(`{"calls": [{"name": "a", "expect": [
		{"pointer": "/structuredContent", "equals": {"top": [{"name": "a"}, {"name": "b"}], "_meta": {"n": 1}}}]}]}`))
	if !report.OK(true) {
		t.Fatal(report.Findings())
	}
	for got, want := range map[string]string{
		`{"_meta": {"n": 1}, "top": [{"name": "a"}, {"name": "b"}]}`:                "",
		`{"_meta": {"n": 1}, "top": [{"name": "b"}, {"name": "a"}]}`:                `top/0/name is "b"`,
		`{"_meta": {"n": 1}, "top": [{"name": "a"}, {"name": "b"}, {"name": "b"}]}`: `top/2 is {"name":"b"}, want missing`,
		`{"_meta": {"n": 2}, "top": [{"name": "a"}, {"name": "b"}]}`:                `_meta/n is 2`,
	} {
		problems := file.Calls[0].Verify(&calltest.Answer{
			Result: json.RawMessage(`{"content": [], "structuredContent": ` + got + `}`),
		})
		if want == "" && len(problems) > 0 ||
			want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Message, want)) {
			t.Errorf("%s: %v, want %q", got, problems, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"calls": [{"name": "a", "expect": [{"pointer": "/x", "equals": {}}]}]}`)
	fuzzbound.Fuzz(f, func(t *testing.T, text string) {
		file, report := calltest.Read("x.calls.json", []byte(text))
		if (file == nil) == report.OK(false) {
			t.Errorf("file %v, findings %v", file, report.Findings())
		}
	})
}
