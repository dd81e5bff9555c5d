package mcp

import (
	"encoding/json"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// Tool is the definition of a callable tool. A Tool in a [Catalog] is read-only.
type Tool struct {
	// Name identifies the tool in requests: 1 to 128 characters of A-Z, a-z, 0-9, "_",
	// "-", "." and "/". A check warns about names that some clients refuse.
	Name string `json:"name"`
	// Title is for display, sent from 2025-06-18 on.
	Title string `json:"title,omitempty"`
	// Description explains to a model what the tool does and when to use it.
	Description string `json:"description"`
	// InputSchema is a JSON Schema of type object, sent unchanged. Nil means an object of
	// any shape.
	InputSchema json.RawMessage `json:"inputSchema"`
	// OutputSchema describes structuredContent, sent from 2025-06-18 on; before
	// 2026-07-28 only if its type is object.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Annotations are hints about the effects of the tool; nil means none are sent.
	Annotations *ToolAnnotations `json:"annotations,omitempty"`
	// Icons are sent from 2025-11-25 on.
	Icons []Icon `json:"icons,omitempty"`
	// Execution is sent to 2025-11-25 clients only.
	Execution json.RawMessage `json:"execution,omitempty"`
	// Meta is the _meta object, or nil.
	Meta json.RawMessage `json:"_meta,omitempty"`

	// Raw is the whole definition as written by its author: a valid JSON object without
	// whitespace between tokens. If set, every client receives exactly these bytes, and the
	// fields above are only used for lookups.
	Raw json.RawMessage `json:"-"`

	// Origins record where the tool comes from, innermost layer first: a Source that joins
	// or renames tools appends the tool's previous name. Nil for a tool that no layer has
	// changed. Clients never see it.
	Origins []Origin `json:"-"`
}

// Origin is one step of a tool's path through layers of Sources.
type Origin struct {
	// Source is the name of the joined source that the tool came from. It is empty if a
	// layer only renamed the tool.
	Source string
	// Name is the tool's name in that source.
	Name string
	// Prefixed is Name prefixed with the name of the source, as used to resolve a name
	// collision, or empty.
	Prefixed string
}

// After returns before with o appended. The result does not share memory with before.
func (o Origin) After(before []Origin) []Origin {
	return append(before[:len(before):len(before)], o)
}

// ToolAnnotations are hints about the effects of a tool. All four hints are always
// encoded; a nil pointer means the specification's default, true.
type ToolAnnotations struct {
	// Title is for clients from before 2025-06-18, which have no other title.
	Title string
	// ReadOnlyHint reports that the tool changes nothing. A call that was interrupted may
	// then be repeated.
	ReadOnlyHint bool
	// DestructiveHint reports that the tool may delete or overwrite.
	DestructiveHint *bool
	// IdempotentHint reports that a repeated call with the same arguments has no additional
	// effect.
	IdempotentHint bool
	// OpenWorldHint reports that the tool interacts with systems outside the server, such
	// as the web.
	OpenWorldHint *bool
}

// wireToolAnnotations are ToolAnnotations with the defaults filled in.
type wireToolAnnotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    bool   `json:"readOnlyHint"`
	DestructiveHint bool   `json:"destructiveHint"`
	IdempotentHint  bool   `json:"idempotentHint"`
	OpenWorldHint   bool   `json:"openWorldHint"`
}

// MarshalJSON implements json.Marshaler.
func (a ToolAnnotations) MarshalJSON() ([]byte, error) {
	return Marshal(wireToolAnnotations{
		Title:           a.Title,
		ReadOnlyHint:    a.ReadOnlyHint,
		DestructiveHint: a.DestructiveHint == nil || *a.DestructiveHint,
		IdempotentHint:  a.IdempotentHint,
		OpenWorldHint:   a.OpenWorldHint == nil || *a.OpenWorldHint,
	})
}

// UnmarshalJSON implements json.Unmarshaler. Absent hints get their defaults.
func (a *ToolAnnotations) UnmarshalJSON(text []byte) error {
	wire := wireToolAnnotations{
		DestructiveHint: true,
		OpenWorldHint:   true,
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return err
	}
	*a = ToolAnnotations{
		Title:           wire.Title,
		ReadOnlyHint:    wire.ReadOnlyHint,
		DestructiveHint: &wire.DestructiveHint,
		IdempotentHint:  wire.IdempotentHint,
		OpenWorldHint:   &wire.OpenWorldHint,
	}
	return nil
}

var emptyInputSchema = json.RawMessage(`{"type":"object"}`)

// plainTool has no methods, so Marshal does not recurse.
type plainTool Tool

// MarshalJSON implements json.Marshaler. It encodes for the latest version.
func (t Tool) MarshalJSON() ([]byte, error) { return t.wire(LatestVersion) }

// wire encodes t with the fields that version v knows. Execution only exists in
// 2025-11-25.
func (t Tool) wire(v Version) (json.RawMessage, error) {
	if t.Raw != nil {
		return t.Raw, nil
	}
	if t.InputSchema == nil {
		t.InputSchema = emptyInputSchema
	}
	trim(v, &t.Title, &t.Icons, &t.Meta)
	if v != Version20251125 {
		t.Execution = nil
	}
	if !v.Modern() && !describesObject(t.OutputSchema) {
		t.OutputSchema = nil // before 2026-07-28, structuredContent is an object
	}
	if v < Version20250618 {
		t.OutputSchema = nil
	}
	if v < Version20250326 {
		t.Annotations = nil
	}
	return Marshal(plainTool(t))
}

// describesObject reports whether a schema has the type object.
func describesObject(schema json.RawMessage) bool {
	return jsonscan.IsObject(schema) &&
		string(jsonscan.Member(schema, "type")) == `"object"`
}
