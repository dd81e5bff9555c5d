package apps

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
)

// Visibility is a kind of caller that can see and call a tool.
type Visibility string

// The kinds of caller.
const (
	// VisibleToModel is the client's model.
	VisibleToModel Visibility = "model"
	// VisibleToApp is a user interface of the same server.
	VisibleToApp Visibility = "app"
)

// ToolUI is the "ui" entry in the _meta of a tool.
type ToolUI struct {
	// ResourceURI is the user interface that shows the tool's results. It is empty for a
	// tool that user interfaces can call but that has none itself.
	ResourceURI string
	// Visibility lists who can see and call the tool. Nil means all callers, and is
	// encoded as ["model","app"].
	Visibility []Visibility
	// LegacyKey makes [ToolMeta] also write ResourceURI under the deprecated key
	// "ui/resourceUri", for hosts from before 2026.
	LegacyKey bool
}

type wireToolUI struct {
	// ResourceURI is absent in tools that only set their visibility.
	ResourceURI string       `json:"resourceUri,omitempty"`
	Visibility  []Visibility `json:"visibility"`
}

// everybody returns the visibility of a tool without an explicit one.
func everybody() []Visibility {
	return []Visibility{VisibleToModel, VisibleToApp}
}

// MarshalJSON implements json.Marshaler. The visibility is always emitted.
func (u ToolUI) MarshalJSON() ([]byte, error) {
	wire := wireToolUI{u.ResourceURI, u.Visibility}
	if wire.Visibility == nil {
		wire.Visibility = everybody()
	}
	return mcp.Marshal(wire)
}

// UnmarshalJSON implements json.Unmarshaler. An absent visibility becomes the default, so
// Visibility is never nil afterwards.
func (u *ToolUI) UnmarshalJSON(text []byte) error {
	var wire wireToolUI
	if err := json.Unmarshal(text, &wire); err != nil {
		return err
	}
	if wire.Visibility == nil {
		wire.Visibility = everybody()
	}
	*u = ToolUI{
		ResourceURI: wire.ResourceURI,
		Visibility:  wire.Visibility,
	}
	return nil
}

// VisibleTo reports whether who can see and call the tool.
func (u ToolUI) VisibleTo(who Visibility) bool {
	return u.Visibility == nil || slices.Contains(u.Visibility, who)
}

// legacyKey is the key for a tool's user interface before "ui" was introduced.
const legacyKey = "ui/resourceUri"

// ToolMeta returns a _meta object with ui.
func ToolMeta(ui ToolUI) json.RawMessage {
	meta, err := AddToolMeta(nil, ui)
	if err != nil {
		panic(err) // strings always encode, and there is nothing to merge with
	}
	return meta
}

// AddToolMeta returns the _meta object meta, which may be nil, merged with ui. Existing
// members of meta are kept. It returns an error if meta or its "ui" is not a JSON object.
func AddToolMeta(meta json.RawMessage, ui ToolUI) (json.RawMessage, error) {
	encoded, err := mcp.Marshal(ui)
	if err != nil {
		return nil, err
	}
	merged, err := addUI(meta, encoded)
	if err != nil || !ui.LegacyKey || ui.ResourceURI == "" {
		return merged, err
	}
	uri, err := mcp.Marshal(ui.ResourceURI)
	if err != nil {
		return nil, err
	}
	return addMember(merged, legacyKey, uri)
}

// ReadToolMeta returns the UI settings in the _meta object of a tool, or nil if there are
// none. It also supports the deprecated key. It returns an error if the settings are
// malformed or link to something other than a user interface.
func ReadToolMeta(meta json.RawMessage) (*ToolUI, error) {
	if meta == nil {
		return nil, nil
	}
	var wire struct {
		UI     *ToolUI `json:"ui"`
		Legacy string  `json:"ui/resourceUri"`
	}
	if err := json.Unmarshal(meta, &wire); err != nil {
		return nil, fmt.Errorf("read _meta of a tool: %w", err)
	}
	ui := wire.UI
	if ui == nil {
		if wire.Legacy == "" {
			return nil, nil
		}
		ui = &ToolUI{Visibility: everybody()}
	}
	if ui.ResourceURI == "" {
		ui.ResourceURI = wire.Legacy
	}
	if ui.ResourceURI != "" {
		if err := checkURI(ui.ResourceURI); err != nil {
			return nil, fmt.Errorf("read _meta of a tool: %w", err)
		}
	}
	return ui, nil
}

// ToolUIOf is [ReadToolMeta] for the _meta of a tool, that in Raw if Raw is set. Raw that
// is not a JSON object is an error.
func ToolUIOf(t *mcp.Tool) (*ToolUI, error) {
	meta, err := metaOf(t.Raw, t.Meta)
	if err != nil {
		return nil, err
	}
	return ReadToolMeta(meta)
}

// metaOf returns the _meta of an entry: that in raw if raw is set, else meta.
func metaOf(raw, meta json.RawMessage) (json.RawMessage, error) {
	if raw == nil {
		return meta, nil
	}
	var wire struct {
		Meta json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return nil, fmt.Errorf("read the definition: %w", err)
	}
	return wire.Meta, nil
}

// checkURI returns an error if uri is not valid for a user interface.
func checkURI(uri string) error {
	rest, ok := strings.CutPrefix(uri, Scheme)
	switch {
	case !ok:
		return fmt.Errorf("the URI of a user interface begins with %s, not so %q", Scheme, uri)
	case rest == "":
		return errors.New("nothing follows " + Scheme)
	case strings.ContainsFunc(uri, func(r rune) bool {
		return r <= ' ' || r == 0x7f
	}):
		return fmt.Errorf("URI %q has a space or a control character", uri)
	}
	return nil
}
