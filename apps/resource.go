package apps

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/slipway-mcp/slipway/mcp"
)

// ResourceUI is the "ui" entry in the _meta of a user interface: what its
// document wants from the host. A host may grant less.
type ResourceUI struct {
	// CSP names the origins that the document needs. Nil, like an empty CSP,
	// means none: then everything must be in the document itself.
	CSP *CSP `json:"csp,omitempty"`
	// Permissions are those of the browser that the document asks for.
	Permissions *Permissions `json:"permissions,omitempty"`
	// Domain asks for an origin of the document's own that stays the same, for
	// CORS and the like. Its form is the host's to define.
	Domain string `json:"domain,omitempty"`
	// PrefersBorder asks for a border and a background, or for none. Nil leaves
	// that to the host.
	PrefersBorder *bool `json:"prefersBorder,omitempty"`
}

// CSP names origins, as in https://api.example.com or https://*.example.com.
// They are passed on as they are written.
type CSP struct {
	// ConnectDomains are for fetch, XMLHttpRequest and WebSocket (connect-src).
	ConnectDomains []string `json:"connectDomains,omitempty"`
	// ResourceDomains are for scripts, styles, images, fonts and media.
	ResourceDomains []string `json:"resourceDomains,omitempty"`
	// FrameDomains are for frames inside the document (frame-src).
	FrameDomains []string `json:"frameDomains,omitempty"`
	// BaseURIDomains are for its base element (base-uri).
	BaseURIDomains []string `json:"baseUriDomains,omitempty"`
}

func (c *CSP) empty() bool {
	return c == nil || len(c.ConnectDomains)+len(c.ResourceDomains)+len(c.FrameDomains)+len(c.BaseURIDomains) == 0
}

// Permissions are features of the browser. On the wire one that is asked for is
// an empty object, and one that is not is absent.
type Permissions struct {
	Camera         bool
	Microphone     bool
	Geolocation    bool
	ClipboardWrite bool
}

// asked is an entry of Permissions on the wire: {} or absent.
type asked bool

type wirePermissions struct {
	Camera         asked `json:"camera,omitempty"`
	Microphone     asked `json:"microphone,omitempty"`
	Geolocation    asked `json:"geolocation,omitempty"`
	ClipboardWrite asked `json:"clipboardWrite,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (asked) MarshalJSON() ([]byte, error) { return []byte(`{}`), nil }

// UnmarshalJSON implements json.Unmarshaler. Some servers write a boolean.
func (a *asked) UnmarshalJSON(text []byte) error {
	switch {
	case text[0] == '{', bytes.Equal(text, []byte("true")):
		*a = true
	case bytes.Equal(text, []byte("false")), bytes.Equal(text, []byte("null")):
		*a = false
	default:
		return fmt.Errorf("a permission is {} or absent, not %.40s", text)
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (p Permissions) MarshalJSON() ([]byte, error) {
	return mcp.Marshal(wirePermissions{
		asked(p.Camera), asked(p.Microphone), asked(p.Geolocation), asked(p.ClipboardWrite),
	})
}

// UnmarshalJSON implements json.Unmarshaler. It takes a boolean for what should
// be {} or absent.
func (p *Permissions) UnmarshalJSON(text []byte) error {
	var wire wirePermissions
	if err := json.Unmarshal(text, &wire); err != nil {
		return err
	}
	*p = Permissions{bool(wire.Camera), bool(wire.Microphone), bool(wire.Geolocation), bool(wire.ClipboardWrite)}
	return nil
}

// trimmed returns u without an empty csp or empty permissions, which mean the
// same as none.
func (u ResourceUI) trimmed() ResourceUI {
	if u.CSP.empty() {
		u.CSP = nil
	}
	if u.Permissions != nil && *u.Permissions == (Permissions{}) {
		u.Permissions = nil
	}
	return u
}

// ResourceMeta returns a _meta object with ui in it, or nil if ui asks for
// nothing.
func ResourceMeta(ui ResourceUI) json.RawMessage {
	meta, err := AddResourceMeta(nil, ui)
	if err != nil {
		panic(err) // strings always encode, and there is nothing to merge with
	}
	return meta
}

// AddResourceMeta returns the _meta object meta, which may be nil, with ui in
// it. What meta has of its own stays, member by member. The error says that
// meta, or its "ui", is not a JSON object.
func AddResourceMeta(meta json.RawMessage, ui ResourceUI) (json.RawMessage, error) {
	ui = ui.trimmed()
	if ui == (ResourceUI{}) {
		return meta, nil
	}
	encoded, err := mcp.Marshal(ui)
	if err != nil {
		return nil, err
	}
	return addUI(meta, encoded)
}

// ReadResourceMeta returns what a user interface asks for, or nil if that is
// nothing. contents is the _meta object of what reading the resource yields,
// listed that of its entry in the list; each may be nil. What contents says
// replaces what listed says.
func ReadResourceMeta(contents, listed json.RawMessage) (*ResourceUI, error) {
	for _, meta := range []json.RawMessage{contents, listed} {
		if meta == nil {
			continue
		}
		var wire struct {
			UI *ResourceUI `json:"ui"`
		}
		if err := json.Unmarshal(meta, &wire); err != nil {
			return nil, fmt.Errorf("read _meta of a resource: %w", err)
		}
		if wire.UI != nil {
			return wire.UI, nil
		}
	}
	return nil, nil
}
