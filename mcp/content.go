package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// The types of [Content].
const (
	TypeText         = "text"
	TypeImage        = "image"
	TypeAudio        = "audio"         // from 2025-03-26
	TypeResource     = "resource"      // an embedded resource
	TypeResourceLink = "resource_link" // from 2025-06-18
)

// Content is one block of a tool result or of a prompt message. Type determines which of
// the other fields are used. The constructors are [Text], [Image], [Audio],
// [EmbeddedResource] and [ResourceLink].
//
// If the client's version does not know a type, the client receives a text block instead.
type Content struct {
	// Type is one of the constants such as [TypeText]. It is ignored if Raw is set.
	Type string
	// Text is used by "text".
	Text string
	// Data and MIMEType are used by "image" and "audio". Data is binary; on the wire it is
	// base64.
	Data     []byte
	MIMEType string
	// Resource is used by "resource".
	Resource *ResourceContents
	// Link is used by "resource_link".
	Link *Resource

	// Annotations state the audience and importance of the block; nil means none.
	Annotations *Annotations
	// Meta is the _meta object of the block, or nil. It is sent from 2025-06-18 on.
	Meta json.RawMessage

	// Raw is the whole block, as received, of a type that is not listed above. If set, it is
	// sent as is.
	Raw json.RawMessage
}

// Text returns a text block.
func Text(s string) Content {
	return Content{
		Type: TypeText,
		Text: s,
	}
}

// Image returns an image block; data is the content of the image file.
func Image(data []byte, mimeType string) Content {
	return Content{
		Type:     TypeImage,
		Data:     data,
		MIMEType: mimeType,
	}
}

// Audio returns an audio block; data is the content of the audio file.
func Audio(data []byte, mimeType string) Content {
	return Content{
		Type:     TypeAudio,
		Data:     data,
		MIMEType: mimeType,
	}
}

// EmbeddedResource returns a block that contains a resource and its contents.
func EmbeddedResource(r ResourceContents) Content {
	return Content{
		Type:     TypeResource,
		Resource: &r,
	}
}

// ResourceLink returns a block that links to a resource without its contents.
func ResourceLink(r Resource) Content {
	return Content{
		Type: TypeResourceLink,
		Link: &r,
	}
}

// ResourceContents is the result of reading a resource: text, or binary data if Blob is
// not nil. Exactly one of the two is encoded, even if it is empty.
type ResourceContents struct {
	Name string // display name; not part of the specification's schema
	// URI is that of the contents, which for a folder may differ from the URI that was
	// read.
	URI string
	// MIMEType is the media type; it is omitted if empty.
	MIMEType string
	// Text is sent unless Blob is set, even if it is empty.
	Text  string
	Blob  []byte // binary; base64 on the wire
	Title string // not part of the specification's schema
	// Meta is the _meta object, or nil, such as the settings of an MCP App.
	Meta json.RawMessage
}

// Form determines how a value is encoded for a client.
type Form struct {
	Version Version
	// KeepSystemRole keeps the prompt role "system". Otherwise it becomes "user", because no
	// version of the specification defines it.
	KeepSystemRole bool
	// Private means that shared caches must not keep a result, whatever its [CacheHint].
	Private bool
}

var authored = Form{
	Version:        LatestVersion,
	KeepSystemRole: true,
}

// MarshalJSON implements json.Marshaler in the form of the latest version.
func (c Content) MarshalJSON() ([]byte, error) {
	return c.appendJSON(nil, authored)
}

// MarshalJSON implements json.Marshaler.
func (r ResourceContents) MarshalJSON() ([]byte, error) {
	return r.appendJSON(nil, authored)
}

// appendJSON appends the block as clients of f.Version can read it: audio before
// 2025-03-26 and links before 2025-06-18 become a text that names them.
func (c *Content) appendJSON(dst []byte, f Form) ([]byte, error) {
	if c.Raw != nil {
		return appendValid(dst, c.Raw, "a content block")
	}
	var err error
	switch c.Type {
	case TypeText:
		dst = append(dst, `{"type":"text","text":`...)
		dst = jsonscan.AppendQuote(dst, c.Text)
	case TypeImage:
		dst = appendMedia(dst, TypeImage, c)
	case TypeAudio:
		if f.Version < Version20250326 {
			return appendSubstitute(dst,
				fmt.Sprintf("[audio, %s, %d bytes]", c.MIMEType, len(c.Data))), nil
		}
		dst = appendMedia(dst, TypeAudio, c)
	case TypeResource:
		if c.Resource == nil {
			return dst, fmt.Errorf("content of type %q has no resource", c.Type)
		}
		dst = append(dst, `{"type":"resource","resource":`...)
		dst, err = c.Resource.appendJSON(dst, f)
	case TypeResourceLink:
		if c.Link == nil {
			return dst, fmt.Errorf("content of type %q has no link", c.Type)
		}
		if f.Version < Version20250618 {
			return appendSubstitute(dst,
				fmt.Sprintf("[resource %s: %s]", c.Link.Name, c.Link.URI)), nil
		}
		return appendLink(dst, c, f)
	default:
		return dst, fmt.Errorf("unknown content type %q", c.Type)
	}
	if err != nil {
		return dst, err
	}
	return appendTail(dst, c.Annotations.since(f.Version), c.Meta, f)
}

func appendSubstitute(dst []byte, text string) []byte {
	dst = append(dst, `{"type":"text","text":`...)
	return append(jsonscan.AppendQuote(dst, text), '}')
}

func appendMedia(dst []byte, kind string, c *Content) []byte {
	dst = append(append(append(dst, `{"type":"`...), kind...), `","data":`...)
	dst = appendBase64(dst, c.Data)
	dst = append(dst, `,"mimeType":`...)
	return jsonscan.AppendQuote(dst, c.MIMEType)
}

// appendLink writes a link as a list entry, in which the annotations and _meta of the
// block replace those of the resource.
func appendLink(dst []byte, c *Content, f Form) ([]byte, error) {
	link := *c.Link
	if c.Annotations != nil {
		link.Annotations = c.Annotations
	}
	if c.Meta != nil {
		link.Meta = c.Meta
	}
	entry, err := link.wire(f.Version)
	if err != nil {
		return dst, err
	}
	dst = append(dst, `{"type":"resource_link",`...)
	return append(dst, entry[1:]...), nil
}

// appendValid appends JSON from a Source. It rejects invalid JSON, which would break the
// whole message.
func appendValid(dst []byte, raw json.RawMessage, what string) ([]byte, error) {
	if err := jsonscan.Valid(raw); err != nil {
		return dst, fmt.Errorf("%s: %w", what, err)
	}
	return append(dst, raw...), nil
}

// appendTail appends the members common to all types and closes the block.
func appendTail(dst []byte, a *Annotations, meta json.RawMessage, f Form) ([]byte, error) {
	if a != nil {
		encoded, err := Marshal(a)
		if err != nil {
			return dst, err
		}
		dst = append(append(dst, `,"annotations":`...), encoded...)
	}
	if meta != nil && f.Version >= Version20250618 {
		var err error
		if dst, err = appendValid(append(dst, `,"_meta":`...), meta, "_meta of a content block"); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendBase64(dst, data []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, data)
	return append(dst, '"')
}

// appendJSON appends the contents, with either text or blob, as the specification
// requires.
func (r *ResourceContents) appendJSON(dst []byte, f Form) ([]byte, error) {
	dst = append(dst, '{')
	if r.Name != "" {
		dst = append(dst, `"name":`...)
		dst = append(jsonscan.AppendQuote(dst, r.Name), ',')
	}
	dst = append(dst, `"uri":`...)
	dst = jsonscan.AppendQuote(dst, r.URI)
	if r.MIMEType != "" {
		dst = append(dst, `,"mimeType":`...)
		dst = jsonscan.AppendQuote(dst, r.MIMEType)
	}
	if r.Blob != nil {
		dst = append(dst, `,"blob":`...)
		dst = appendBase64(dst, r.Blob)
	} else {
		dst = append(dst, `,"text":`...)
		dst = jsonscan.AppendQuote(dst, r.Text)
	}
	if r.Title != "" {
		dst = append(dst, `,"title":`...)
		dst = jsonscan.AppendQuote(dst, r.Title)
	}
	return appendTail(dst, nil, r.Meta, f)
}

// wireContent has all members that a content block can have.
type wireContent struct {
	Type        string           `json:"type"`
	Text        string           `json:"text"`
	Data        []byte           `json:"data"`
	MIMEType    string           `json:"mimeType"`
	Resource    *json.RawMessage `json:"resource"`
	Annotations *Annotations     `json:"annotations"`
	Meta        json.RawMessage  `json:"_meta"`
}

// UnmarshalJSON implements json.Unmarshaler. A block of an unknown type is kept in Raw.
func (c *Content) UnmarshalJSON(text []byte) error {
	var w wireContent
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*c = Content{
		Type:        w.Type,
		Text:        w.Text,
		Data:        w.Data,
		MIMEType:    w.MIMEType,
		Annotations: w.Annotations,
		Meta:        w.Meta,
	}
	switch w.Type {
	case TypeText, TypeImage, TypeAudio:
		return nil
	case TypeResource:
		if w.Resource == nil {
			return fmt.Errorf(`content of type "resource" has no resource`)
		}
		c.Resource = new(ResourceContents)
		return json.Unmarshal(*w.Resource, c.Resource)
	case TypeResourceLink:
		c.MIMEType = ""
		c.Annotations = nil
		c.Meta = nil
		c.Link = new(Resource)
		return json.Unmarshal(text, c.Link)
	case "":
		return fmt.Errorf("content has no type")
	}
	*c = Content{
		Type: w.Type,
		Raw:  append(json.RawMessage(nil), text...),
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *ResourceContents) UnmarshalJSON(text []byte) error {
	var w struct {
		Name     string          `json:"name"`
		URI      string          `json:"uri"`
		MIMEType string          `json:"mimeType"`
		Text     *string         `json:"text"`
		Blob     *string         `json:"blob"`
		Title    string          `json:"title"`
		Meta     json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*r = ResourceContents{
		Name:     w.Name,
		URI:      w.URI,
		MIMEType: w.MIMEType,
		Title:    w.Title,
		Meta:     w.Meta,
	}
	switch {
	case w.Blob != nil && w.Text != nil:
		return fmt.Errorf("resource %s has both text and blob", strconv.Quote(w.URI))
	case w.Text != nil:
		r.Text = *w.Text
	case w.Blob != nil:
		blob, err := base64.StdEncoding.DecodeString(*w.Blob)
		if err != nil {
			return fmt.Errorf("blob of resource %s: %w", strconv.Quote(w.URI), err)
		}
		r.Blob = blob
		if r.Blob == nil {
			r.Blob = []byte{}
		}
	}
	return nil
}
