package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/serve"
)

// TestPolicyArguments calls a tool with arguments of every form, alone and between others: a rule
// reads those of its call, and denies a call whose arguments another program may read in another way.
func TestPolicyArguments(t *testing.T) {
	o := &serve.Options{}
	o.Policy = policyOf(t, `permit (principal, action, resource);
@id("no-danger") forbid (principal, action == Action::"call", resource == Tool::"a/run")
when { context.arguments has mode && context.arguments.mode == "danger" };`, nil)
	h := companyHandler(t, o)
	const ran, denied, invalid = "ran a_run", "rule no-danger", "params.arguments must be an object"
	filled := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":[%d],`, i, i)
		}
		return b.String()
	}
	for name, tt := range map[string]struct{ arguments, want string }{
		"none":                        {`{}`, ran},
		"null":                        {`null`, ran},
		"another":                     {`{"text":"mode"}`, ran},
		"harmless":                    {`{ "mode" : "safe" }`, ran},
		"dangerous":                   {`{ "mode" : "danger" }`, denied},
		"escaped value":               {`{"mode":"d\u0061nger"}`, denied},
		"escaped name":                {`{"m\u006fde":"danger"}`, denied},
		"escaped name, harmless":      {`{"m\u006fde":"safe"}`, ran},
		"repeated":                    {`{"mode":"safe","mode":"safe"}`, denied},
		"repeated, escaped":           {`{"mode":"safe","\u006dode":"safe"}`, denied},
		"in another case":             {`{"Mode":"safe"}`, denied},
		"only in an object":           {`{"a":{"mode":"danger"},"b":[{"mode":"danger"}]}`, ran},
		"after an object":             {`{"a":{"mode":"safe"},"mode":"danger"}`, denied},
		"an object":                   {`{"mode":{"mode":"danger"}}`, denied},
		"of another type":             {`{"mode":1}`, denied},
		"eighth":                      {`{` + filled(7) + `"mode":"danger"}`, denied},
		"ninth":                       {`{` + filled(8) + `"mode":"danger"}`, denied},
		"ninth, harmless":             {`{` + filled(8) + `"mode":"safe"}`, ran},
		"repeated far away":           {`{"mode":"safe",` + filled(100) + `"mode":"safe"}`, denied},
		"after a long text":           {`{"text":"` + strings.Repeat("x", 70_000) + `","mode":"danger"}`, denied},
		"after a long text, harmless": {`{"text":"` + strings.Repeat("x", 70_000) + `","mode":"safe"}`, ran},
		"a list":                      {`["mode","danger"]`, invalid},
		"a string":                    {`"danger"`, invalid},
	} {
		call := func(id int, arguments string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"a_run","arguments":%s}}`,
				id, arguments)
		}
		send := func(body string) string {
			return exchange(h, http.MethodPost, "/mcp", body, "Authorization", "Bearer token-of-ann-0000",
				"Mcp-Protocol-Version", "2025-03-26").Body.String()
		}
		for range 2 { // the second time it is decided from memory
			if got := send(call(7, tt.arguments)); !strings.Contains(got, tt.want) {
				t.Errorf("%s: %.300s, want %q", name, got, tt.want)
			}
		}
		batch := "[" + call(6, `{"mode":"safe"}`) + "," + call(7, tt.arguments) + "," + call(8, `{"mode":"danger"}`) + "]"
		got := send(batch)
		for id, want := range map[int]string{6: ran, 7: tt.want, 8: denied} {
			_, answer, _ := strings.Cut(got, fmt.Sprintf(`"id":%d,`, id))
			answer, _, _ = strings.Cut(answer, `"id":`)
			if !strings.Contains(answer, want) {
				t.Errorf("%s: request %d of a batch: %.300s, want %q", name, id, answer, want)
			}
		}
	}
}

// TestPolicyArgumentIndex: rules find an argument by the index of an operation, where a scan does not.
func TestPolicyArgumentIndex(t *testing.T) {
	p := policyOf(t, companyRules, nil)
	op := server.Operation{
		Method:    "tools/call",
		Name:      "a_run",
		Arguments: json.RawMessage(`{"mode":"danger"}`),
		Catalog:   companyCatalog("a b"),
		Index:     &jsonscan.Index{},
	}
	if _, err := op.Index.ValueAt(op.Arguments, 0, 0); err != nil {
		t.Fatal(err)
	}
	op.Arguments[0] = '-'
	ctx := mcp.WithPrincipal(t.Context(), &mcp.Principal{Name: "ann"})
	for range 2 { // the second time it is decided from memory
		if err := p.Enter(ctx, op); err == nil || !strings.Contains(err.Error(), "no-danger") {
			t.Errorf("Enter = %v, want a denial by no-danger", err)
		}
	}
}
