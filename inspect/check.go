package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"unicode/utf16"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// Problem is a place in a JSON text that its schema does not allow.
type Problem struct {
	// Pointer is the JSON Pointer of the value, or of the missing member.
	Pointer string `json:"pointer"`
	// At is the range of the value in the text, in UTF-16 code units.
	At   [2]int `json:"at"`
	Text string `json:"text"`
}

// validation is the result of checking a text.
type validation struct {
	// Problems are the first violations, and More how many others exist.
	Problems []Problem `json:"problems"`
	More     int       `json:"more"`
	Valid    bool      `json:"valid"`
}

// validate checks a text against a schema.
func validate(raw, text []byte) (*validation, error) {
	v := &validation{Problems: []Problem{}}
	if offset, reason, bad := schema.SyntaxOffset(text); bad {
		v.add(text, offset, min(offset+1, len(text)), "", reason)
		return v, nil
	}
	compiled, err := schema.Compile(raw)
	if err != nil {
		return nil, failure(http.StatusUnprocessableEntity, "schema", "the schema itself is not valid: %v", err)
	}
	var found *schema.Error
	if !errors.As(compiled.Validate(text), &found) {
		v.Valid = true
		return v, nil
	}
	v.More = found.More
	for _, p := range found.Problems {
		start, end, _ := schema.Locate(text, p.Pointer)
		v.add(text, start, end, p.Pointer, p.Message)
	}
	return v, nil
}

// add adds a problem with the bytes from start to end of text. The page counts in UTF-16 code
// units, as editors do.
func (v *validation) add(text []byte, start, end int, pointer, message string) {
	v.Problems = append(v.Problems, Problem{
		Pointer: pointer,
		At:      [2]int{units(text, start), units(text, end)},
		Text:    message,
	})
}

// units returns how many UTF-16 code units the first bytes of a text are.
func units(text []byte, bytes int) int {
	n := 0
	for _, r := range string(text[:min(bytes, len(text))]) {
		n += utf16.RuneLen(r)
	}
	return n
}

// serveCheck serves POST api/check.
func (in *Inspector) serveCheck(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Source int    `json:"source"`
		Tool   string `json:"tool"`
		Output string `json:"output"`
		Prompt string `json:"prompt"`
		Ask    int    `json:"ask"`
		Text   string `json:"text"`
	}
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	raw, err := in.schemaFor(body.Source, body.Tool, body.Output, body.Prompt, body.Ask)
	if err != nil {
		return err
	}
	v, err := validate(raw, []byte(body.Text))
	if err != nil {
		return err
	}
	return answer(w, v)
}

// schemaFor returns the schema that a text is checked against.
func (in *Inspector) schemaFor(
	source int,
	tool, output, prompt string,
	ask int,
) ([]byte, error) {
	if ask != 0 {
		q := in.asks.get(ask)
		if q == nil {
			return nil, notFound("question %d is no longer open", ask)
		}
		if s := jsonscan.Member(q.Params, "requestedSchema"); s != nil {
			return slices.Clone(s), nil
		}
		return []byte(`{"type":"object"}`), nil
	}
	t, err := in.target(source)
	if err != nil {
		return nil, err
	}
	cat, err := t.catalogNow()
	if err != nil {
		return nil, err
	}
	if prompt != "" {
		p := cat.Prompt(prompt)
		if p == nil {
			return nil, notFound("there is no prompt %q", prompt)
		}
		return promptSchema(p), nil
	}
	found := cat.Tool(tool + output)
	switch {
	case found == nil:
		return nil, notFound("there is no tool %q", tool+output)
	case output == "":
		return inputOf(found), nil
	case found.OutputSchema == nil:
		return []byte(`true`), nil
	}
	return found.OutputSchema, nil
}

// promptSchema returns the arguments of a prompt as a schema.
func promptSchema(p *mcp.Prompt) []byte {
	properties := make(map[string]any)
	required := []string{}
	for _, a := range p.Arguments {
		properties[a.Name] = map[string]string{"type": "string"}
		if a.Required {
			required = append(required, a.Name)
		}
	}
	return mustJSON(map[string]any{
		"type":                 "object",
		"properties":           properties,
		"required":             required,
		"additionalProperties": false,
	})
}

// checkArguments returns why the arguments of a tools/call are invalid, or nil. The server
// decides about tools that are not in the catalog.
func (t *target) checkArguments(_ context.Context, params json.RawMessage) error {
	cat, err := t.catalogNow()
	if err != nil {
		return nil //nolint:nilerr // the call itself says why there is no connection
	}
	name := mcplog.RequestName(params)
	tool := cat.Tool(name)
	if tool == nil {
		return failure(http.StatusUnprocessableEntity, "unknown_tool", "the server lists no tool %q", name)
	}
	arguments := jsonscan.Member(params, "arguments")
	if arguments == nil {
		arguments = []byte(`{}`)
	}
	v, err := validate(inputOf(tool), arguments)
	if err != nil || v.Valid {
		return nil //nolint:nilerr // an invalid schema is a finding, and no reason to refuse a call
	}
	f := failure(http.StatusUnprocessableEntity, "arguments", "%s", problemText(v))
	f.Hint = "correct the arguments, or send them anyway"
	f.problems = v.Problems
	return f
}

// problemText summarizes a validation in one line.
func problemText(v *validation) string {
	if len(v.Problems) == 1 {
		return "the arguments are invalid: " + v.Problems[0].Text
	}
	return fmt.Sprintf("the arguments have %d problems", len(v.Problems)+v.More)
}
