package lock

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
)

// Drift is one difference between a source and its lock.
type Drift struct {
	// Source is the name of the source in the lock, and Item what differs.
	Source string
	Item   Item
	// Was and Is are the pins before and now. Was is nil for a new item, Is for a removed
	// one. For a Version, only Definition is set.
	Was, Is *Pin
}

// String describes the change to the item.
func (d Drift) String() string {
	what := map[string]string{"changed": "has changed", "new": "is new", "gone": "is gone"}[d.change()]
	switch d.Item.Kind {
	case Whole:
		if d.Was == nil {
			return "it is not in the lock"
		}
		return "it is in the lock, but not among the sources"
	case Origin:
		return "how it is started or reached " + what
	case Server:
		return "what the server calls itself " + what
	case Version:
		return fmt.Sprintf("its version was %s and is now %s", visible.Line(string(d.Was.Definition)),
			visible.Line(string(d.Is.Definition)))
	case Instructions:
		return "instructions " + strings.NewReplacer("has", "have", "is", "are").Replace(what)
	case UI:
		return "the contents of " + visible.Line(d.Item.Name) + " " + strings.Replace(what, "has", "have", 1)
	}
	return visible.Line(d.Item.String()) + " " + what
}

// Informational reports whether the drift is only reported: a new version alone, or a
// locked source that is not offered.
func (d Drift) Informational() bool {
	return d.Item.Kind == Version || d.Item.Kind == Whole && d.Is == nil
}

// MarshalJSON returns the drift for programs. Members may be added.
func (d Drift) MarshalJSON() ([]byte, error) {
	return mcp.Marshal(struct {
		Source string `json:"source"`
		Item   string `json:"item"`
		Change string `json:"change"` // changed, new or gone
		Was    *Pin   `json:"was,omitempty"`
		Is     *Pin   `json:"is,omitempty"`
	}{d.Source, d.Item.String(), d.change(), d.Was, d.Is})
}

// change returns "changed", "new" or "gone".
func (d Drift) change() string {
	switch {
	case d.Was == nil:
		return "new"
	case d.Is == nil:
		return "gone"
	}
	return "changed"
}

// Refused reports whether the drift causes the item to be refused.
func (d Drift) Refused() bool {
	return d.Is != nil && d.Item.Kind != Version
}

// Finding returns the drift as a check finding.
func (d Drift) Finding() check.Finding {
	rule := ruleChanged
	switch {
	case d.Item.Kind == Version:
		rule = ruleVersion
	case d.Item.Kind == Whole && d.Is == nil:
		rule = ruleUnused
	case d.Item.Kind == Whole:
		rule = ruleUnknown
	case d.Item.Kind == Origin:
		rule = ruleOrigin
	case d.Item.Kind == Server:
		rule = ruleServer
	case d.Was == nil:
		rule = ruleNew
	case d.Is == nil:
		rule = ruleGone
	}
	return finding(rule, d.Source, d.Item, d.String())
}

// Compare returns the differences between a locked source and its current state, ordered
// by kind, then by name. was is nil if the source is missing from the lock, is if it is
// missing from the current sources. A renamed item counts as one new and one removed
// item.
func Compare(source string, was, is *Entry) (all []Drift) {
	if was == nil || is == nil {
		d := Drift{
			Source: source,
			Item:   Item{Kind: Whole},
		}
		if was != nil {
			d.Was = &Pin{}
		}
		if is != nil {
			d.Is = &Pin{}
		}
		return []Drift{d}
	}
	items := maps.Clone(was.Items)
	if items == nil {
		items = make(map[Item]Pin)
	}
	maps.Copy(items, is.Items)
	for _, item := range (&Entry{Items: items}).sorted() {
		d := Drift{source, item, was.pin(item), is.pin(item)}
		if !d.isUnchanged() {
			all = append(all, d)
		}
	}
	if was.Version != is.Version {
		all = append(all, versionDrift(source, was.Version, is.Version))
	}
	return all
}

// isUnchanged reports whether an item is as it was locked, or neither locked nor offered.
func (d Drift) isUnchanged() bool {
	if d.Was == nil || d.Is == nil {
		return d.Was == d.Is
	}
	return d.Was.Digest == d.Is.Digest
}

// versionDrift returns the drift for another version of a server, with both as JSON strings.
func versionDrift(source, was, is string) Drift {
	return Drift{
		Source: source,
		Item:   Item{Kind: Version},
		Was:    &Pin{Definition: quoted(was)},
		Is:     &Pin{Definition: quoted(is)},
	}
}

// quoted returns a text as a JSON string.
func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // strings always encode
	return raw
}

// Approve returns a copy of the lock, updated to the current state of the items in
// drifts. A source that is missing from the lock is added whole, from snapshots.
func (f *File) Approve(drifts []Drift, snapshots map[string]*Entry) *File {
	next := &File{
		Sources:     make(map[string]*Entry),
		Definitions: slices.Clone(f.Definitions),
	}
	for name, e := range f.Sources {
		next.Sources[name] = &Entry{e.Version, maps.Clone(e.Items)}
	}
	for _, d := range drifts {
		entry := next.Sources[d.Source]
		now := snapshots[d.Source]
		switch {
		case d.Item.Kind == Whole && now == nil:
			delete(next.Sources, d.Source)
		case d.Item.Kind == Whole:
			next.Sources[d.Source] = now
		case d.Item.Kind == Version:
			entry.Version = now.Version
		case d.Is == nil:
			delete(entry.Items, d.Item)
		default:
			entry.Items[d.Item] = *d.Is
		}
	}
	return next
}
