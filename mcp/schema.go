package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Schema is a manually written JSON Schema of a tool's input or output. It has fields for
// the common keywords; all others are in Extra.
//
// Tools carry their schemas as raw JSON ([Tool.InputSchema]), so a schema from elsewhere
// is never rewritten through this type.
type Schema struct {
	// Type is always encoded: "object", "string", "number", and so on.
	Type string `json:"type"`
	// Title and Description explain the value to models and people.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Properties keep their order.
	Properties Properties `json:"properties,omitzero"`
	// Required is omitted if nil; an empty slice is encoded as [].
	Required []string `json:"required,omitzero"`
	// Items is the schema of the elements of an array, or nil.
	Items *Schema `json:"items,omitempty"`
	// Enum lists the permitted values, which are encoded as JSON; nil permits all.
	Enum []any `json:"enum,omitempty"`
	// Default is a JSON value; false and 0 are values, nil means none.
	Default json.RawMessage `json:"default,omitempty"`
	// Extra contains additional keywords by name. It must not contain those of the fields
	// above.
	Extra map[string]json.RawMessage `json:"-"`
}

// Property is one named member of [Properties].
type Property struct {
	// Name is the key of the property in the object.
	Name   string
	Schema Schema
}

// Properties is the properties keyword of a [Schema]: an object whose members keep the
// order in which they were written.
type Properties []Property

// MarshalJSON implements json.Marshaler.
func (p Properties) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, member := range p {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := Marshal(member.Name)
		if err != nil {
			return nil, err
		}
		schema, err := Marshal(member.Schema)
		if err != nil {
			return nil, fmt.Errorf("property %q: %w", member.Name, err)
		}
		out = append(append(append(out, name...), ':'), schema...)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON implements json.Unmarshaler. It keeps the order of the members.
func (p *Properties) UnmarshalJSON(text []byte) error {
	*p = Properties{}
	return eachMember(text, func(name string, dec *json.Decoder) error {
		var s Schema
		if err := dec.Decode(&s); err != nil {
			return fmt.Errorf("property %q: %w", name, err)
		}
		*p = append(*p, Property{
			Name:   name,
			Schema: s,
		})
		return nil
	})
}

// plainSchema has no methods, so Marshal does not recurse.
type plainSchema Schema

// MarshalJSON implements json.Marshaler. It writes the known keywords in a fixed order,
// followed by those of Extra sorted by name.
func (s Schema) MarshalJSON() ([]byte, error) {
	out, err := Marshal(plainSchema(s))
	if err != nil || len(s.Extra) == 0 {
		return out, err
	}
	extra, err := Marshal(s.Extra)
	if err != nil {
		return nil, err
	}
	out[len(out)-1] = ','
	return append(out, extra[1:]...), nil
}

// UnmarshalJSON implements json.Unmarshaler. Numbers in Enum become json.Number, which
// preserves all digits.
func (s *Schema) UnmarshalJSON(text []byte) error {
	*s = Schema{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode((*plainSchema)(s)); err != nil {
		return err
	}
	return eachMember(text, func(name string, dec *json.Decoder) error {
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		switch name {
		case "type", "title", "description", "properties", "required", "items", "enum", "default":
			return nil
		}
		if s.Extra == nil {
			s.Extra = make(map[string]json.RawMessage)
		}
		s.Extra[name] = value
		return nil
	})
}

// eachMember calls member for each member of an object, in order; member must decode the
// value. Package json would lose the order.
func eachMember(text []byte, member func(name string, dec *json.Decoder) error) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if token, err := dec.Token(); err != nil {
		return err
	} else if token != json.Delim('{') {
		return fmt.Errorf("want an object, got %v", token)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		if err := member(name.(string), dec); err != nil {
			return err
		}
	}
	return nil
}
