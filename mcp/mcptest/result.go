package mcptest

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// block is a content block as a client reads it.
type block struct {
	Type     string           `json:"type"`
	Text     *string          `json:"text"`
	Data     *string          `json:"data"`
	MIMEType *string          `json:"mimeType"`
	Resource *json.RawMessage `json:"resource"`
	URI      *string          `json:"uri"`
	Name     *string          `json:"name"`
}

// contents is an item of a resources/read result as a client reads it.
type contents struct {
	URI  *string `json:"uri"`
	Text *string `json:"text"`
	Blob *string `json:"blob"`
}

// checkToolResult checks the structure of a result, not its values.
func (s *suite) checkToolResult(what string, r *mcp.CallToolResult) {
	s.Helper()
	var result struct {
		Content *[]block        `json:"content"`
		Meta    json.RawMessage `json:"_meta"`
	}
	s.decode(what, r, &result)
	if result.Content == nil {
		s.Errorf("%s: the result has no content", what)
		return
	}
	for _, b := range *result.Content {
		s.checkBlock(what, b)
	}
	s.checkMeta(what, result.Meta)
}

func (s *suite) checkMeta(what string, meta json.RawMessage) {
	s.Helper()
	if meta != nil && meta[0] != '{' {
		s.Errorf("%s: _meta is %s, want an object", what, short(string(meta)))
	}
}

// checkBlock checks a content block. If its type is unknown, nothing else is required.
func (s *suite) checkBlock(what string, b block) {
	s.Helper()
	missing := func(member string, absent bool) {
		s.Helper()
		if absent {
			s.Errorf("%s: content of type %q has no %s", what, b.Type, member)
		}
	}
	switch b.Type {
	case "":
		s.Errorf("%s: content has no type", what)
	case mcp.TypeText:
		missing("text", b.Text == nil)
	case mcp.TypeImage, mcp.TypeAudio:
		missing("mimeType", b.MIMEType == nil || *b.MIMEType == "")
		missing("data", b.Data == nil)
		s.checkBase64(what, b.Data)
	case mcp.TypeResourceLink:
		missing("uri", b.URI == nil || *b.URI == "")
		missing("name", b.Name == nil || *b.Name == "")
	case mcp.TypeResource:
		missing("resource", b.Resource == nil)
		if b.Resource != nil {
			var c contents
			s.decode(what, b.Resource, &c)
			s.checkContents(what, c)
		}
	}
}

func (s *suite) checkBase64(what string, data *string) {
	s.Helper()
	if data == nil {
		return
	}
	if _, err := base64.StdEncoding.DecodeString(*data); err != nil {
		s.Errorf("%s: binary data is not base64: %v", what, err)
	}
}

func (s *suite) checkContents(what string, c contents) {
	s.Helper()
	if c.URI == nil || *c.URI == "" {
		s.Errorf("%s: contents have no uri", what)
	}
	if (c.Text == nil) == (c.Blob == nil) {
		s.Errorf("%s: contents must have either text or blob", what)
	}
	s.checkBase64(what, c.Blob)
}

// checkReadResult checks the structure of a result, and that it contains uri.
func (s *suite) checkReadResult(what, uri string, r *mcp.ReadResourceResult) {
	s.Helper()
	var result struct {
		Contents []contents      `json:"contents"`
		Meta     json.RawMessage `json:"_meta"`
	}
	s.decode(what, r, &result)
	if len(result.Contents) == 0 {
		s.Errorf("%s: the result has no contents; a resource that does not exist is an error", what)
		return
	}
	for _, c := range result.Contents {
		s.checkContents(what, c)
	}
	if !slices.ContainsFunc(result.Contents, func(c contents) bool { return c.URI != nil && *c.URI == uri }) {
		s.Errorf("%s: no contents carry that uri", what)
	}
	s.checkMeta(what, result.Meta)
}

// checkPromptResult checks the structure of a result.
func (s *suite) checkPromptResult(what string, r *mcp.GetPromptResult) {
	s.Helper()
	var result struct {
		Messages []struct {
			Role    string `json:"role"`
			Content block  `json:"content"`
		} `json:"messages"`
		Meta json.RawMessage `json:"_meta"`
	}
	s.decode(what, r, &result)
	if len(result.Messages) == 0 {
		s.Errorf("%s: the result has no messages", what)
	}
	for _, m := range result.Messages {
		switch m.Role {
		case mcp.RoleUser, mcp.RoleAssistant, mcp.RoleSystem:
		default:
			s.Errorf("%s: a message has the role %q", what, m.Role)
		}
		s.checkBlock(what, m.Content)
	}
	s.checkMeta(what, result.Meta)
}

// maxCompletions is the specification's limit for the values of one answer.
const maxCompletions = 100

// suggestions is a completion as a client reads it.
type suggestions struct {
	Completion struct {
		Values  *[]string `json:"values"`
		Total   *int      `json:"total"`
		HasMore *bool     `json:"hasMore"`
	} `json:"completion"`
}

// checkCompleteResult checks the structure of a result.
func (s *suite) checkCompleteResult(what string, r *mcp.CompleteResult) {
	s.Helper()
	var result suggestions
	s.decode(what, r, &result)
	c := result.Completion
	if c.Values == nil {
		s.Errorf("%s: the result has no values", what)
		return
	}
	n := len(*c.Values)
	if n > maxCompletions {
		s.Errorf("%s: %d values, want at most %d", what, n, maxCompletions)
	}
	if c.Total != nil && *c.Total < n {
		s.Errorf("%s: %d values, but a total of %d", what, n, *c.Total)
	}
}

// checkObject reports whether raw is one JSON object, and fails the test if not.
func (s *suite) checkObject(what string, raw []byte) bool {
	s.Helper()
	if err := jsonscan.Valid(raw); err != nil {
		s.Errorf("%s is not valid JSON: %v", what, err)
		return false
	}
	if raw[jsonscan.Space(raw, 0)] != '{' {
		s.Errorf("%s is not an object: %s", what, short(string(raw)))
		return false
	}
	return true
}
