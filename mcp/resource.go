package mcp

import (
	"encoding/json"
)

// Resource is the definition of a resource with a fixed URI.
type Resource struct {
	// Name identifies the resource for programs; Title, sent from 2025-06-18 on, is for
	// display.
	Name string `json:"name"`
	// URI identifies the resource in requests.
	URI   string `json:"uri"`
	Title string `json:"title,omitempty"`
	// Description explains the resource to a model, or is empty.
	Description string `json:"description,omitempty"`
	// MIMEType is the media type of the contents, or empty if it is unknown.
	MIMEType string `json:"mimeType,omitempty"`
	Size     *int64 `json:"size,omitempty"` // bytes before encoding
	// Annotations state the audience and importance; nil means none.
	Annotations *Annotations `json:"annotations,omitempty"`
	// Icons are sent from 2025-11-25 on.
	Icons []Icon `json:"icons,omitempty"`
	// Meta is the _meta object, or nil, sent from 2025-06-18 on.
	Meta json.RawMessage `json:"_meta,omitempty"`

	// Raw and Origins are as in [Tool].
	Raw     json.RawMessage `json:"-"`
	Origins []Origin        `json:"-"`
}

// ResourceTemplate is the definition of a family of resources whose URIs match an RFC
// 6570 template.
type ResourceTemplate struct {
	// Name identifies the template for programs; Title, sent from 2025-06-18 on, is for
	// display.
	Name string `json:"name"`
	// URITemplate is a template as in RFC 6570.
	URITemplate string `json:"uriTemplate"`
	Title       string `json:"title,omitempty"`
	// Description explains to a model which values the variables take, or is empty.
	Description string `json:"description,omitempty"`
	// MIMEType is the media type if all resources of the template have the same, otherwise
	// empty.
	MIMEType string `json:"mimeType,omitempty"`
	// Annotations apply to all resources of the template; nil means none.
	Annotations *Annotations `json:"annotations,omitempty"`
	// Icons are sent from 2025-11-25 on.
	Icons []Icon `json:"icons,omitempty"`
	// Meta is the _meta object, or nil, sent from 2025-06-18 on.
	Meta json.RawMessage `json:"_meta,omitempty"`

	// Raw and Origins are as in [Tool].
	Raw     json.RawMessage `json:"-"`
	Origins []Origin        `json:"-"`
}

// Annotations describe the intended audience of content, and its importance.
type Annotations struct {
	Audience     []string `json:"audience,omitempty"` // "user", "assistant"
	Priority     *float64 `json:"priority,omitempty"` // 0 to 1
	LastModified string   `json:"lastModified,omitempty"`
}

// plainResource has no methods, so Marshal does not recurse.
type plainResource Resource

// plainResourceTemplate has no methods, so Marshal does not recurse.
type plainResourceTemplate ResourceTemplate

// MarshalJSON implements json.Marshaler. It encodes for the latest version.
func (r Resource) MarshalJSON() ([]byte, error) {
	return r.wire(LatestVersion)
}

// MarshalJSON implements json.Marshaler. It encodes for the latest version.
func (t ResourceTemplate) MarshalJSON() ([]byte, error) {
	return t.wire(LatestVersion)
}

// wire encodes the resource as version v knows it. Raw, if set, is returned as is.
func (r Resource) wire(v Version) (json.RawMessage, error) {
	if r.Raw != nil {
		return r.Raw, nil
	}
	trim(v, &r.Title, &r.Icons, &r.Meta)
	r.Annotations = r.Annotations.since(v)
	return Marshal(plainResource(r))
}

// wire encodes the template as version v knows it. Raw, if set, is returned as is.
func (t ResourceTemplate) wire(v Version) (json.RawMessage, error) {
	if t.Raw != nil {
		return t.Raw, nil
	}
	trim(v, &t.Title, &t.Icons, &t.Meta)
	t.Annotations = t.Annotations.since(v)
	return Marshal(plainResourceTemplate(t))
}

// trim clears the members of an entry that version v does not know.
func trim(v Version, title *string, icons *[]Icon, meta *json.RawMessage) {
	if v < Version20251125 {
		*icons = nil
	}
	if v < Version20250618 {
		*title = ""
		*meta = nil
	}
}

// since returns a as version v knows it.
func (a *Annotations) since(v Version) *Annotations {
	if a == nil || v >= Version20250618 || a.LastModified == "" {
		return a
	}
	copied := *a
	copied.LastModified = ""
	return &copied
}
