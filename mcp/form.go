package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
)

// maxAttempts is the number of wrong answers to one question after which the question
// fails.
const maxAttempts = 3

// errMalformed is the error for an answer that does not have the structure of its
// method's result. It is a mistake of the client, not of the user.
var errMalformed = errors.New("the answer is malformed")

// check validates an answer. The error is errMalformed, or lists the fields that do not
// match RequestedSchema.
func (p *ElicitParams) check(raw json.RawMessage) error {
	if !isObject(raw) {
		return errMalformed
	}
	content := jsonscan.Member(raw, "content")
	switch string(jsonscan.Member(raw, "action")) {
	case `"accept"`:
		if p.Mode == "url" {
			return nil
		}
		if !isObject(content) {
			return errMalformed
		}
		return p.checkForm(content)
	case `"decline"`, `"cancel"`:
		return nil
	}
	return errMalformed
}

// checkForm validates a filled-in form. Only a schema of another server may fail to
// compile, because [Request.Ask] rejects such schemas from a Source; then the other
// server has to validate the form itself.
func (p *ElicitParams) checkForm(content json.RawMessage) error {
	form, err := p.compileForm()
	if err != nil || form == nil {
		return nil
	}
	if err := form.Validate(content); err != nil {
		return err
	}
	return p.checkFormats(content)
}

// compileForm returns the compiled RequestedSchema, or nil if there is none.
func (p *ElicitParams) compileForm() (*schema.Schema, error) {
	if p.Mode == "url" || p.RequestedSchema == nil {
		return nil, nil
	}
	return schema.Compile(p.RequestedSchema)
}

// checkFormats validates the formats of the fields, which the schema treats as
// annotations. Forms are flat, so all fields are properties of the root.
func (p *ElicitParams) checkFormats(content json.RawMessage) error {
	properties := jsonscan.Member(p.RequestedSchema, "properties")
	if !isObject(properties) {
		return nil
	}
	formats := schema.Formats()
	wrong := &schema.Error{}
	_, err := jsonscan.Object(properties, 0, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(properties, i)
		if err != nil || !isObject(properties[i:end]) {
			return end, err
		}
		name, _ := jsonscan.Unquote(jsonscan.Member(properties[i:end], "format"))
		format, known := formats[name]
		text, isText := jsonscan.Unquote(jsonscan.Member(content, string(key)))
		if known && isText && format.Accepts != nil && !format.Accepts(text) {
			wrong.Problems = append(wrong.Problems, schema.Problem{Path: string(key), Message: "must be " + format.Text})
		}
		return end, nil
	})
	if err != nil || len(wrong.Problems) == 0 {
		return nil
	}
	return wrong
}

// noted returns the question with a note below its message that explains to the user why
// the previous answer was rejected.
func (p *ElicitParams) noted(why error) Question {
	copied := *p
	copied.Message = withNote(p.Message, why)
	return &copied
}

func withNote(message string, why error) string {
	if errors.Is(why, errMalformed) {
		return message
	}
	return strings.TrimSpace(message + "\n\nThe previous answer was not accepted: " + why.Error())
}

// refusedAnswer returns the error for a question with only wrong answers. It contains the
// names of the fields but not their values: the model reads the error, but the user's
// answers were for the server only.
func refusedAnswer(q Question, why error) error {
	var invalid *schema.Error
	if !errors.As(why, &invalid) {
		return InvalidArguments(fmt.Sprintf("the client's answer to %s is malformed", q.method()))
	}
	var fields []string
	for _, p := range invalid.Problems {
		if p.Path != "" {
			fields = append(fields, p.Path)
		}
	}
	text := fmt.Sprintf("the client's answer to %s does not match requestedSchema, after %d attempts",
		q.method(), maxAttempts)
	if len(fields) > 0 {
		text += "; wrong fields: " + strings.Join(fields, ", ")
	}
	return InvalidArguments(text)
}

func (p *CreateMessageParams) check(raw json.RawMessage) error {
	if !isObject(raw) {
		return errMalformed
	}
	content := jsonscan.Member(raw, "content")
	if jsonscan.Member(raw, "role") == nil || len(content) == 0 || content[0] != '{' && content[0] != '[' {
		return errMalformed
	}
	return nil
}

func (p *ListRootsParams) check(raw json.RawMessage) error {
	roots := []byte(nil)
	if isObject(raw) {
		roots = jsonscan.Member(raw, "roots")
	}
	if len(roots) == 0 || roots[0] != '[' {
		return errMalformed
	}
	return nil
}

func (p *CreateMessageParams) noted(error) Question { return p }
func (p *ListRootsParams) noted(error) Question     { return p }
