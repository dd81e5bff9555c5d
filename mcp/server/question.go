package server

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/mcp"
)

// question is a [mcp.Question] as the server uses it. It is read-only.
type question struct {
	mcp.Question // *mcp.ElicitParams, *mcp.CreateMessageParams or *mcp.ListRootsParams

	key       string          // identifies the question within its request; may be empty
	forwarded json.RawMessage // the params as another server has encoded them, or nil
}

// questionOf returns q as the server uses it.
func questionOf(q mcp.Question) (*question, error) {
	switch q := q.(type) {
	case *mcp.ElicitParams:
		return &question{
			Question: q,
			key:      q.Key,
		}, nil
	case *mcp.CreateMessageParams:
		return &question{
			Question: q,
			key:      q.Key,
		}, nil
	case *mcp.ListRootsParams:
		return &question{
			Question: q,
			key:      q.Key,
		}, nil
	case *question:
		return q, nil
	}
	return nil, fmt.Errorf("unknown type of question: %T", q)
}

// Forward returns a question of another server as a question to the client. It is for a
// Source that forwards requests to that server. params is an object, which is sent to the
// client unchanged, including unknown members; only its _meta is removed, and the id of an
// elicitation is added or removed if the versions differ. key is as in [mcp.ElicitParams].
// method is elicitation/create, sampling/createMessage or roots/list. For other methods,
// and for params that do not fit the method, the error is an [*mcp.Error].
func Forward(key, method string, params json.RawMessage) (mcp.Question, error) {
	q := &question{
		key:       key,
		forwarded: params,
	}
	switch method {
	case "elicitation/create":
		q.Question = new(mcp.ElicitParams)
	case "sampling/createMessage":
		q.Question = new(mcp.CreateMessageParams)
	case "roots/list":
		q.Question = new(mcp.ListRootsParams)
	default:
		return nil, mcp.MethodNotFound(method)
	}
	if params == nil {
		q.forwarded = json.RawMessage(`{}`)
	}
	err := json.Unmarshal(q.forwarded, q.Question)
	if err != nil || !jsonscan.IsObject(q.forwarded) {
		return nil, invalidParams("invalid params of %s", method)
	}
	return q, nil
}

// missing returns the capability that the client would have to declare, as a path for
// clientCapabilities. It is empty if the client can be asked in version v.
func (q *question) missing(v mcp.Version, caps clientCapabilities) (capability string) {
	since := mcp.Version20241105
	switch p := q.Question.(type) {
	case *mcp.ElicitParams:
		capability = "elicitation"
		since = mcp.Version20250618
		switch {
		case p.Mode == "url":
			capability = "elicitation/url"
			since = mcp.Version20251125
		case caps.has("elicitation/url") && !caps.has("elicitation/form"):
			// An empty elicitation object declares forms only.
			capability = "elicitation/form"
		}
	case *mcp.CreateMessageParams:
		capability = "sampling"
		if len(p.Tools) > 0 {
			capability = "sampling/tools"
			since = mcp.Version20251125
		}
	default:
		capability = "roots"
	}
	if v >= since && caps.has(capability) {
		return ""
	}
	return capability
}

// params returns the params in the form of version v. The id of an elicitation is set
// where it is required, and removed elsewhere.
func (q *question) params(v mcp.Version) (json.RawMessage, error) {
	elicit, ok := q.Question.(*mcp.ElicitParams)
	byURL := ok && elicit.Mode == "url"
	id := ""
	if byURL && v == mcp.Version20251125 {
		id = cmp.Or(elicit.ElicitationID, rand.Text())
	}
	switch {
	case q.forwarded != nil:
		// The other server sent _meta to us only, such as its progress token.
		if jsonscan.Member(q.forwarded, "_meta") == nil &&
			(!byURL || id == elicit.ElicitationID) {
			return q.forwarded, nil
		}
		return edited(q.forwarded, func(members map[string]any) {
			delete(members, "_meta")
			switch {
			case byURL && id == "":
				delete(members, "elicitationId")
			case byURL:
				members["elicitationId"] = id
			}
		})
	case !ok:
		return mcp.Marshal(q.Question)
	}
	copied := *elicit
	copied.ElicitationID = id
	return mcp.Marshal(&copied)
}

// edited returns a copy of a JSON object with changed members.
func edited(object json.RawMessage, edit func(members map[string]any)) (json.RawMessage, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(object, &raw); err != nil {
		return nil, err
	}
	members := make(map[string]any, len(raw))
	for name, value := range raw {
		members[name] = value
	}
	edit(members)
	return mcp.Marshal(members)
}

// withNote returns the question for another attempt after a wrong answer: below the message
// of an elicitation, a note explains to the user why the previous answer was rejected.
func (q *question) withNote(why error) *question {
	elicit, ok := q.Question.(*mcp.ElicitParams)
	if !ok || errors.Is(why, errMalformed) {
		return q
	}
	copied := *elicit
	copied.Message = strings.TrimSpace(elicit.Message + "\n\nThe previous answer was not accepted: " + why.Error())
	again := &question{
		Question: &copied,
		key:      q.key,
	}
	if q.forwarded != nil {
		again.forwarded, _ = edited(q.forwarded, func(members map[string]any) {
			members["message"] = copied.Message
		}) // Forward has decoded the object
	}
	return again
}

// maxAttempts is the number of wrong answers to one question after which the question
// fails.
const maxAttempts = 3

// errMalformed is the error for an answer that does not have the structure of its
// method's result. It is a mistake of the client, not of the user.
var errMalformed = errors.New("the answer is malformed")

// check validates an answer. The error is errMalformed, or a [*schema.Error] that lists
// the fields that do not match the RequestedSchema.
func (q *question) check(raw json.RawMessage) error {
	if !jsonscan.IsObject(raw) {
		return errMalformed
	}
	content := jsonscan.Member(raw, "content")
	valid := false
	switch p := q.Question.(type) {
	case *mcp.CreateMessageParams:
		isContent := jsonscan.IsObject(content) || isArray(content)
		valid = isContent && jsonscan.Member(raw, "role") != nil
	case *mcp.ListRootsParams:
		valid = isArray(jsonscan.Member(raw, "roots"))
	case *mcp.ElicitParams:
		switch string(jsonscan.Member(raw, "action")) {
		case `"accept"`:
			if p.Mode != "url" && jsonscan.IsObject(content) {
				return checkForm(p, content)
			}
			valid = p.Mode == "url"
		case `"decline"`, `"cancel"`:
			valid = true
		}
	}
	if !valid {
		return errMalformed
	}
	return nil
}

func isArray(raw []byte) bool {
	return bytes.HasPrefix(raw, []byte{'['})
}

// compileForm returns the compiled RequestedSchema, or nil if there is none.
func compileForm(p *mcp.ElicitParams) (*schema.Schema, error) {
	if p.Mode == "url" || p.RequestedSchema == nil {
		return nil, nil
	}
	return schema.Compile(p.RequestedSchema)
}

// checkForm validates a filled-in form. Only a schema of another server may fail to
// compile, because [mcp.Request.Ask] rejects such schemas from a Source; then the other
// server has to validate the form itself.
func checkForm(p *mcp.ElicitParams, content json.RawMessage) error {
	form, err := compileForm(p)
	if err != nil || form == nil {
		return nil
	}
	if err := form.Validate(content); err != nil {
		return err
	}
	return schema.CheckFormats(p.RequestedSchema, content)
}

// refusedAnswer returns the error for a question with only wrong answers. It contains the
// names of the fields but not their values: the model reads the error, but the user's
// answers were for the server only.
func refusedAnswer(q *question, why error) error {
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
