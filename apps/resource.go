package apps

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/slipway-mcp/slipway/mcp"
)

// ResourceUI is the "ui" entry in the _meta of a user interface: the document's requests
// to the host. A host may grant less.
type ResourceUI struct {
	// CSP lists the origins that the document needs. Nil or an empty CSP means none: then
	// the document must be self-contained.
	CSP *CSP `json:"csp,omitempty"`
	// Permissions are the browser permissions that the document requests.
	Permissions *Permissions `json:"permissions,omitempty"`
	// Domain requests a stable, dedicated origin for the document, such as for CORS. Its
	// format is defined by the host.
	Domain string `json:"domain,omitempty"`
	// PrefersBorder requests a border and background, or none. Nil leaves that to the
	// host.
	PrefersBorder *bool `json:"prefersBorder,omitempty"`
}

// Permissions are browser features. On the wire, a requested permission is an empty
// object; others are absent.
type Permissions struct {
	// Camera, Microphone, Geolocation and ClipboardWrite request the browser feature of
	// that name. Hosts may refuse them, and users are asked as on any page.
	Camera         bool
	Microphone     bool
	Geolocation    bool
	ClipboardWrite bool
}

// asked is a permission on the wire: {} or absent.
type asked bool

type wirePermissions struct {
	Camera         asked `json:"camera,omitempty"`
	Microphone     asked `json:"microphone,omitempty"`
	Geolocation    asked `json:"geolocation,omitempty"`
	ClipboardWrite asked `json:"clipboardWrite,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (asked) MarshalJSON() ([]byte, error) { return []byte(`{}`), nil }

// UnmarshalJSON implements json.Unmarshaler. It also accepts booleans, which some servers
// send.
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

// UnmarshalJSON implements json.Unmarshaler. It accepts booleans in place of {} or an
// absent member.
func (p *Permissions) UnmarshalJSON(text []byte) error {
	var wire wirePermissions
	if err := json.Unmarshal(text, &wire); err != nil {
		return err
	}
	*p = Permissions{bool(wire.Camera), bool(wire.Microphone), bool(wire.Geolocation), bool(wire.ClipboardWrite)}
	return nil
}

// trimmed returns u without an empty csp or empty permissions, which mean the same as
// none.
func (u ResourceUI) trimmed() ResourceUI {
	if u.CSP.empty() {
		u.CSP = nil
	}
	if u.Permissions != nil && *u.Permissions == (Permissions{}) {
		u.Permissions = nil
	}
	return u
}

// ResourceMeta returns a _meta object with ui, or nil if ui is empty.
func ResourceMeta(ui ResourceUI) json.RawMessage {
	meta, err := AddResourceMeta(nil, ui)
	if err != nil {
		panic(err) // strings always encode, and there is nothing to merge with
	}
	return meta
}

// AddResourceMeta returns the _meta object meta, which may be nil, merged with ui.
// Existing members of meta are kept. It returns an error if meta or its "ui" is not a
// JSON object.
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

// ReadResourceMeta returns the UI settings of a user interface, or nil if there are none.
// contents is the _meta object of the resource's contents, listed that of its list entry;
// each may be nil. If contents has settings, listed is ignored.
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
