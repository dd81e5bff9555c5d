package mcp

import "encoding/json"

// Decode returns the result with its fields set: r itself, or what [CallToolResult.Raw]
// contains, decoded again for each call. The error is that of malformed JSON.
func (r *CallToolResult) Decode() (*CallToolResult, error) {
	if r.Raw == nil {
		return r, nil
	}
	d := &CallToolResult{}
	return d, json.Unmarshal(r.Raw.Bytes(), d)
}

// Decode returns the result with its fields set, see [CallToolResult.Decode].
func (r *ReadResourceResult) Decode() (*ReadResourceResult, error) {
	if r.Raw == nil {
		return r, nil
	}
	d := &ReadResourceResult{}
	return d, json.Unmarshal(r.Raw.Bytes(), d)
}

// Decode returns the result with its fields set, see [CallToolResult.Decode].
func (r *GetPromptResult) Decode() (*GetPromptResult, error) {
	if r.Raw == nil {
		return r, nil
	}
	d := &GetPromptResult{}
	return d, json.Unmarshal(r.Raw.Bytes(), d)
}

// Decode returns the suggestions of the result.
func (r *CompleteResult) Decode() (*Completion, error) {
	if r.Raw == nil {
		return &r.Completion, nil
	}
	d := &CompleteResult{}
	return &d.Completion, json.Unmarshal(r.Raw.Bytes(), d)
}
