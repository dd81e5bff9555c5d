package mcp

import (
	"encoding/json"
)

// Prompt is the definition of a prompt that a user can choose.
type Prompt struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	// Arguments is encoded as [] if there are none.
	Arguments []PromptArgument `json:"arguments"`
	Icons     []Icon           `json:"icons,omitempty"`
	Meta      json.RawMessage  `json:"_meta,omitempty"`

	// Raw is as in [Tool].
	Raw json.RawMessage `json:"-"`
}

// PromptArgument is one argument of a [Prompt]. Its value is always a string.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// plainPrompt has no methods, so Marshal does not recurse.
type plainPrompt Prompt

// MarshalJSON implements json.Marshaler. It encodes for the latest version.
func (p Prompt) MarshalJSON() ([]byte, error) {
	return p.wire(LatestVersion)
}

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
