package lock

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// Drift is one difference between a source and its lock.
type Drift struct {
	Source string
	Item   Item
	// Was and Is are the pins before and now. Was is nil for a new item, Is for a removed
	// one. For a Version, only Definition is set.
	Was, Is *Pin
}

// String describes the change to the item.
func (d Drift) String() string {
	what := "has changed"
	switch {
	case d.Was == nil:
		what = "is new"
	case d.Is == nil:
		what = "is gone"
	}
	switch d.Item.Kind {
	case Whole:
		if d.Was == nil {
			return "the lock does not know it"
		}
		return "it is in the lock, and none of the sources"
	case Origin:
		return "how it is started or reached " + what
	case Server:
		return "what the server calls itself " + what
	case Version:
		return fmt.Sprintf("its version was %s, and is %s", visible.Line(string(d.Was.Definition)),
			visible.Line(string(d.Is.Definition)))
	case Instructions:
		return "instructions " + strings.NewReplacer("has", "have", "is", "are").Replace(what)
	case UI:
		return "the contents of " + visible.Line(d.Item.Name) + " " + strings.Replace(what, "has", "have", 1)
	}
	return visible.Line(d.Item.String()) + " " + what
}

// Refused reports whether the drift causes the item to be refused.
func (d Drift) Refused() bool { return d.Is != nil && d.Item.Kind != Version }

// Finding returns the drift as a check finding.
func (d Drift) Finding() check.Finding {
	rule := "changed"
	switch {
	case d.Item.Kind == Version:
		return finding(check.Note, "version", d.Source, d.Item, d.String(), "")
	case d.Item.Kind == Whole && d.Is == nil:
		return finding(check.Note, "unused", d.Source, d.Item, d.String(),
			"slipway lock verify compares the sources that it is given")
	case d.Item.Kind == Whole:
		rule = "unknown"
	case d.Item.Kind == Origin:
		rule = "origin"
	case d.Item.Kind == Server:
		rule = "server"
	case d.Was == nil:
		rule = "new"
	case d.Is == nil:
		rule = "gone"
	}
	return finding(check.Error, rule, d.Source, d.Item, d.String(), "")
}

// Compare returns the differences between a locked source and its current state, ordered
// by kind, then by name. was is nil if the source is missing from the lock, is if it is
// missing from the current sources. A renamed item counts as one new and one removed
// item.
func Compare(source string, was, is *Entry) (all []Drift) {
	if was == nil || is == nil {
		d := Drift{Source: source, Item: Item{Kind: Whole}}
		if was != nil {
			d.Was = &Pin{}
		}
		if is != nil {
			d.Is = &Pin{}
		}
		return []Drift{d}
	}
	items := make(map[Item]Pin, len(is.Items))
	maps.Copy(items, was.Items)
	maps.Copy(items, is.Items)
	for _, item := range (&Entry{Items: items}).sorted() {
		d := Drift{Source: source, Item: item}
		if pin, ok := was.Items[item]; ok {
			d.Was = &pin
		}
		if pin, ok := is.Items[item]; ok {
			d.Is = &pin
		}
		if d.Was == nil || d.Is == nil || d.Was.Digest != d.Is.Digest {
			all = append(all, d)
		}
	}
	if was.Version != is.Version {
		all = append(all, Drift{
			source,
			Item{Kind: Version},
			&Pin{Definition: quoted(was.Version)},
			&Pin{Definition: quoted(is.Version)},
		})
	}
	return all
}

func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // strings always encode
	return raw
}

// Approve returns a copy of the lock, updated to the current state of the items in
// drifts. A source that is missing from the lock is added whole, from snapshots.
func (l *File) Approve(drifts []Drift, snapshots map[string]*Entry) *File {
	next := &File{Sources: maps.Clone(l.Sources), Definitions: slices.Clone(l.Definitions)}
	if next.Sources == nil {
		next.Sources = make(map[string]*Entry)
	}
	cloned := make(map[string]bool)
	for _, d := range drifts {
		if d.Item.Kind == Whole {
			if s := snapshots[d.Source]; s != nil {
				next.Sources[d.Source] = s
			} else {
				delete(next.Sources, d.Source)
			}
			continue
		}
		if !cloned[d.Source] {
			cloned[d.Source] = true
			next.Sources[d.Source] = next.Sources[d.Source].clone()
		}
		s := next.Sources[d.Source]
		switch {
		case d.Item.Kind == Version:
			s.Version = snapshots[d.Source].Version
		case d.Is == nil:
			delete(s.Items, d.Item)
		default:
			s.Items[d.Item] = *d.Is
		}
	}
	return next
}
