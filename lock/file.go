package lock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/canonical"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// FileName is the file name of a lock.
const FileName = "slipway.lock"

// MaxBytes is the maximum size of a lock.
const MaxBytes = 64 << 20

// lockVersion is the version of the lock file format.
const lockVersion = 1

// File records the approved definitions of sources. A File returned by [Parse] or
// [Guard.File] is read-only.
type File struct {
	Sources map[string]*Entry // by name
	// Definitions names the definition files the lock was created for, in the folder of
	// the lock. Empty means all of them.
	Definitions []string
}

// Names returns the names of the sources, sorted.
func (l *File) Names() []string { return slices.Sorted(maps.Keys(l.Sources)) }

// Entry is one source of a [File].
type Entry struct {
	// Version is the version of the server, for information only: a new version is not
	// drift.
	Version string
	Items   map[Item]Pin
}

// Item identifies one item of a source.
type Item struct {
	Kind Kind
	Name string // of a tool or prompt, or the URI or URI template; otherwise empty
}

// String returns the item in the form used on the command line: tools/get_issue,
// instructions.
func (i Item) String() string {
	if i.Name == "" {
		return string(i.Kind)
	}
	return string(i.Kind) + "/" + i.Name
}

// ParseItem is the inverse of [Item.String].
func ParseItem(text string) (Item, error) {
	kind, name, named := strings.Cut(text, "/")
	item := Item{Kind(kind), name}
	if !slices.Contains(pinnedKinds(), item.Kind) || named != item.hasName() || named && name == "" {
		return Item{}, fmt.Errorf(
			"%q is no item: write tools/NAME, prompts/NAME, resources/URI, resourceTemplates/TEMPLATE, ui/URI, instructions, server or origin",
			text)
	}
	return item, nil
}

func (i Item) hasName() bool {
	return i.Kind != Origin && i.Kind != Server && i.Kind != Instructions
}

// Pin is the approved state of an item.
type Pin struct {
	// Digest is the digest of the definition, as returned by [Digest].
	Digest string `json:"digest"`
	// Definition is the full definition in canonical form, so that people can see what
	// was approved and what has changed. It is omitted for an Origin, which may contain
	// secrets, and for the contents of UI resources.
	Definition json.RawMessage `json:"definition,omitempty"`
	// Bytes is the size of the contents of a UI resource, as JSON.
	Bytes int `json:"bytes,omitempty"`
}

// lockForm is the file format of a lock.
type lockForm struct {
	LockVersion int                    `json:"lockVersion"`
	Definitions []string               `json:"definitions,omitempty"`
	Sources     map[string]*sourceForm `json:"sources"`
}

type sourceForm struct {
	Version      string         `json:"version,omitempty"`
	Origin       *Pin           `json:"origin,omitempty"`
	Server       *Pin           `json:"server,omitempty"`
	Instructions *Pin           `json:"instructions,omitempty"`
	Tools        map[string]Pin `json:"tools,omitempty"`
	Prompts      map[string]Pin `json:"prompts,omitempty"`
	Resources    map[string]Pin `json:"resources,omitempty"`
	Templates    map[string]Pin `json:"resourceTemplates,omitempty"`
	UI           map[string]Pin `json:"ui,omitempty"`
}

// single and lists return the members of a sourceForm by kind.
func (f *sourceForm) single() map[Kind]**Pin {
	return map[Kind]**Pin{Origin: &f.Origin, Server: &f.Server, Instructions: &f.Instructions}
}

func (f *sourceForm) lists() map[Kind]*map[string]Pin {
	return map[Kind]*map[string]Pin{
		Tools:     &f.Tools,
		Prompts:   &f.Prompts,
		Resources: &f.Resources,
		Templates: &f.Templates,
		UI:        &f.UI,
	}
}

// form returns the lock in its file format, as canonical JSON.
func (l *File) form() ([]byte, error) {
	f := lockForm{LockVersion: lockVersion, Definitions: l.Definitions,
		Sources: make(map[string]*sourceForm, len(l.Sources))}
	for name, s := range l.Sources {
		sf := &sourceForm{Version: s.Version}
		single, lists := sf.single(), sf.lists()
		for item, pin := range s.Items {
			if into, ok := single[item.Kind]; ok {
				*into = &pin
				continue
			}
			list := lists[item.Kind]
			if *list == nil {
				*list = make(map[string]Pin)
			}
			(*list)[item.Name] = pin
		}
		f.Sources[name] = sf
	}
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	return canonical.Append(nil, text)
}

// Write writes the lock as indented JSON with members in a fixed order, so that reviewers
// see only real changes. Invisible characters are written as escapes.
func (l *File) Write(w io.Writer) error {
	text, err := l.form()
	if err != nil {
		return fmt.Errorf("encode the lock: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return fmt.Errorf("encode the lock: %w", err)
	}
	out.WriteByte('\n')
	_, err = w.Write(visible.JSON(out.Bytes()))
	return err
}

// Parse parses a lock strictly. Except for white space and escapes, the text must be
// what [File.Write] would produce, and each digest must match its definition. Otherwise
// the lock was edited manually or merged incorrectly, and is an error.
func Parse(text []byte) (*File, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the lock has more than %d bytes", MaxBytes)
	}
	form, err := canonical.Append(nil, text)
	if err != nil {
		return nil, err
	}
	var f lockForm
	if err := json.Unmarshal(form, &f); err != nil {
		return nil, err
	}
	if f.LockVersion != lockVersion {
		return nil, fmt.Errorf("lockVersion is %d, and this program reads %d", f.LockVersion, lockVersion)
	}
	l := &File{Sources: make(map[string]*Entry, len(f.Sources)), Definitions: f.Definitions}
	for _, name := range slices.Sorted(maps.Keys(f.Sources)) {
		if f.Sources[name] == nil {
			return nil, fmt.Errorf("source %q is null", name)
		}
		s, err := f.Sources[name].read()
		if err != nil {
			return nil, fmt.Errorf("source %q: %w", name, err)
		}
		l.Sources[name] = s
	}
	again, err := l.form()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, form) {
		return nil, fmt.Errorf("it has members that a lock does not have, near %q", difference(form, again))
	}
	return l, nil
}

// difference returns an excerpt of a where it starts to differ from b.
func difference(a, b []byte) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return strings.ToValidUTF8(string(a[max(0, i-20):min(len(a), i+30)]), "")
}

func (f *sourceForm) read() (*Entry, error) {
	s := &Entry{Version: f.Version, Items: make(map[Item]Pin)}
	single, lists := f.single(), f.lists()
	for _, kind := range pinnedKinds() {
		if pin, ok := single[kind]; ok {
			if *pin != nil {
				s.Items[Item{Kind: kind}] = **pin
			}
			continue
		}
		for name, pin := range *lists[kind] {
			s.Items[Item{kind, name}] = pin
		}
	}
	for _, item := range s.sorted() {
		if err := s.Items[item].check(item); err != nil {
			return nil, fmt.Errorf("%s: %w", item, err)
		}
	}
	return s, nil
}

// check verifies the form of a pin, and its digest.
func (p Pin) check(item Item) error {
	digits, ok := strings.CutPrefix(p.Digest, digestPrefix)
	switch {
	case !ok || len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "":
		return fmt.Errorf("%.80q is no digest: %s and 64 hexadecimal digits", p.Digest, digestPrefix)
	case item.Kind == Origin || item.Kind == UI:
		if p.Definition != nil {
			return fmt.Errorf("it has a definition, where only a digest belongs")
		}
		return nil
	case p.Definition == nil:
		return fmt.Errorf("it has no definition")
	}
	digest, err := Digest(item.Kind, p.Definition)
	if err != nil {
		return err
	}
	if digest != p.Digest {
		return fmt.Errorf("its digest is not that of its definition: the lock was edited by hand, or merged wrongly")
	}
	if key := nameMember(item.Kind); key != "" {
		var name string
		if json.Unmarshal(jsonscan.Member(p.Definition, key), &name) != nil || name != item.Name {
			return fmt.Errorf("its definition is that of %.80q", name)
		}
	}
	return nil
}

// nameMember returns the member of a definition that contains its name, or "".
func nameMember(kind Kind) string {
	return map[Kind]string{Tools: "name", Prompts: "name", Resources: "uri", Templates: "uriTemplate"}[kind]
}

// sorted returns the items of a source in report order.
func (s *Entry) sorted() []Item {
	return slices.SortedFunc(maps.Keys(s.Items), compareItems)
}

func compareItems(a, b Item) int {
	if a.Kind != b.Kind {
		return slices.Index(pinnedKinds(), a.Kind) - slices.Index(pinnedKinds(), b.Kind)
	}
	return strings.Compare(a.Name, b.Name)
}

// clone returns a copy with its own Items map.
func (s *Entry) clone() *Entry {
	return &Entry{Version: s.Version, Items: maps.Clone(s.Items)}
}
