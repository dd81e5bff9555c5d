package server

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// maxAttempts is the number of wrong answers to one question after which the question
// fails.
const maxAttempts = 3

// errMalformed is the error for an answer that does not have the structure of its
// method's result. It is a mistake of the client, not of the user.
var errMalformed = errors.New("the answer is malformed")

// check validates an answer. The error is errMalformed, or lists the fields that do not
// match RequestedSchema.
func (p *elicitation) check(raw json.RawMessage) error {
	if !jsonscan.IsObject(raw) {
		return errMalformed
	}
	content := jsonscan.Member(raw, "content")
	switch string(jsonscan.Member(raw, "action")) {
	case `"accept"`:
		if p.Mode == "url" {
			return nil
		}
		if !jsonscan.IsObject(content) {
			return errMalformed
		}
		return p.checkForm(content)
	case `"decline"`, `"cancel"`:
		return nil
	}
	return errMalformed
}

// checkForm validates a filled-in form. Only a schema of another server may fail to
// compile, because [mcp.Request.Ask] rejects such schemas from a Source; then the other
// server has to validate the form itself.
func (p *elicitation) checkForm(content json.RawMessage) error {
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
func (p *elicitation) compileForm() (*schema.Schema, error) {
	if p.Mode == "url" || p.RequestedSchema == nil {
		return nil, nil
	}
	return schema.Compile(p.RequestedSchema)
}

// checkFormats validates the formats of the fields, which the schema treats as
// annotations. Forms are flat, so all fields are properties of the root.
func (p *elicitation) checkFormats(content json.RawMessage) error {
	properties := jsonscan.Member(p.RequestedSchema, "properties")
	if !jsonscan.IsObject(properties) {
		return nil
	}
	formats := schema.Formats()
	wrong := &schema.Error{}
	_, err := jsonscan.Object(properties, 0, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(properties, i)
		if err != nil || !jsonscan.IsObject(properties[i:end]) {
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
func (p *elicitation) noted(why error) question {
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
func refusedAnswer(q question, why error) error {
	var invalid *schema.Error
	if !errors.As(why, &invalid) {
		return mcp.InvalidArguments(fmt.Sprintf("the client's answer to %s is malformed", q.Method()))
	}
	var fields []string
	for _, p := range invalid.Problems {
		if p.Path != "" {
			fields = append(fields, p.Path)
		}
	}
	text := fmt.Sprintf("the client's answer to %s does not match requestedSchema, after %d attempts",
		q.Method(), maxAttempts)
	if len(fields) > 0 {
		text += "; wrong fields: " + strings.Join(fields, ", ")
	}
	return mcp.InvalidArguments(text)
}

func (p *sampling) check(raw json.RawMessage) error {
	if !jsonscan.IsObject(raw) {
		return errMalformed
	}
	content := jsonscan.Member(raw, "content")
	if jsonscan.Member(raw, "role") == nil || len(content) == 0 || content[0] != '{' && content[0] != '[' {
		return errMalformed
	}
	return nil
}

func (p *rootsQuestion) check(raw json.RawMessage) error {
	roots := []byte(nil)
	if jsonscan.IsObject(raw) {
		roots = jsonscan.Member(raw, "roots")
	}
	if len(roots) == 0 || roots[0] != '[' {
		return errMalformed
	}
	return nil
}

func (p *sampling) noted(error) question      { return p }
func (p *rootsQuestion) noted(error) question { return p }

func (p *elicitation) key() string   { return p.Key }
func (p *sampling) key() string      { return p.Key }
func (p *rootsQuestion) key() string { return p.Key }

// wire sets the id of the elicitation where it is required, and removes it elsewhere.
func (p *elicitation) wire(v mcp.Version) any {
	copied := *p
	switch {
	case v != mcp.Version20251125 || p.Mode != "url":
		copied.ElicitationID = ""
	case p.ElicitationID == "":
		copied.ElicitationID = rand.Text()
	}
	return &copied
}

func (p *sampling) wire(mcp.Version) any      { return p }
func (p *rootsQuestion) wire(mcp.Version) any { return p }

// missing treats an empty elicitation object as declaring forms only.
func (p *elicitation) missing(v mcp.Version, caps clientCapabilities) json.RawMessage {
	switch {
	case p.Mode == "url":
		if v < mcp.Version20251125 || !caps.has("elicitation/url") {
			return capabilityObject("elicitation/url")
		}
	case v < mcp.Version20250618, !caps.has("elicitation"):
		return capabilityObject("elicitation")
	case caps.has("elicitation/url") && !caps.has("elicitation/form"):
		return capabilityObject("elicitation/form")
	}
	return nil
}

func (p *sampling) missing(v mcp.Version, caps clientCapabilities) json.RawMessage {
	switch {
	case len(p.Tools) > 0:
		if v < mcp.Version20251125 || !caps.has("sampling/tools") {
			return capabilityObject("sampling/tools")
		}
	case !caps.has("sampling"):
		return capabilityObject("sampling")
	}
	return nil
}

func (p *rootsQuestion) missing(_ mcp.Version, caps clientCapabilities) json.RawMessage {
	if !caps.has("roots") {
		return capabilityObject("roots")
	}
	return nil
}

func (p *elicitation) Method() string { return (*mcp.ElicitParams)(p).Method() }

func (p *sampling) Method() string { return (*mcp.CreateMessageParams)(p).Method() }

func (p *rootsQuestion) Method() string { return (*mcp.ListRootsParams)(p).Method() }
