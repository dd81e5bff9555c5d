package mcp

import (
	"encoding/json"
)

// Prompt is the definition of a prompt that a user can choose.
type Prompt struct {
	// Name identifies the prompt in requests.
	Name string `json:"name"`
	// Title is for display, sent from 2025-06-18 on.
	Title string `json:"title,omitempty"`
	// Description explains the prompt to users. It is encoded even if empty.
	Description string `json:"description"`
	// Arguments is encoded as [] if there are none.
	Arguments []PromptArgument `json:"arguments"`
	// Icons are sent from 2025-11-25 on.
	Icons []Icon `json:"icons,omitempty"`
	// Meta is the _meta object, or nil, sent from 2025-06-18 on.
	Meta json.RawMessage `json:"_meta,omitempty"`

	// Raw and Origins are as in [Tool].
	Raw     json.RawMessage `json:"-"`
	Origins []Origin        `json:"-"`
}

// PromptArgument is one argument of a [Prompt]. Its value is always a string.
type PromptArgument struct {
	// Name is the key of the argument in prompts/get and in completion requests.
	Name string `json:"name"`
	// Title is for display, sent from 2025-06-18 on.
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	// Required reports whether a request without the argument fails.
	Required bool `json:"required"`
}

// plainPrompt has no methods, so Marshal does not recurse.
type plainPrompt Prompt

// MarshalJSON implements json.Marshaler. It encodes for the latest version.
func (p Prompt) MarshalJSON() ([]byte, error) {
	return p.wire(LatestVersion)
}

// wire encodes the prompt as version v knows it. Raw, if set, is returned as is.
func (p Prompt) wire(v Version) (json.RawMessage, error) {
	if p.Raw != nil {
		return p.Raw, nil
	}
	if p.Arguments == nil {
		p.Arguments = []PromptArgument{}
	}
	trim(v, &p.Title, &p.Icons, &p.Meta)
	if v < Version20250618 {
		arguments := make([]PromptArgument, len(p.Arguments))
		for i, a := range p.Arguments {
			a.Title = ""
			arguments[i] = a
		}
		p.Arguments = arguments
	}
	return Marshal(plainPrompt(p))
}
