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
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
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

	// Of the file, if it was opened.
	path string
	text []byte
	snap fsutil.Snap
}

// InvalidError is the error for a file that is not a lock as Slipway writes it.
type InvalidError struct {
	// Path is the lock file, and Err what is wrong with it.
	Path string
	Err  error
}

// Error implements the error interface.
func (e *InvalidError) Error() string {
	return e.Path + ": invalid lock: " + visible.Line(e.Err.Error())
}

// Unwrap returns the reason.
func (e *InvalidError) Unwrap() error { return e.Err }

// Open reads and parses the lock at path. The error is an [*InvalidError] if it can be read
// but is not valid.
func Open(path string) (*File, error) {
	snap := fsutil.Snapshot(path)
	text, err := fsutil.ReadFile(path, MaxBytes)
	if err != nil {
		return nil, err
	}
	f, err := Parse(text)
	if err != nil {
		return nil, &InvalidError{path, err}
	}
	f.path = path
	f.text = text
	f.snap = snap
	return f, nil
}

// Names returns the names of the sources, sorted.
func (f *File) Names() []string {
	return slices.Sorted(maps.Keys(f.Sources))
}

// Entry is one source of a [File].
type Entry struct {
	// Version is the version of the server, for information only: a new version is not
	// drift.
	Version string
	Items   map[Item]Pin
}

// pin returns the pin of an item, or nil. e may be nil.
func (e *Entry) pin(item Item) *Pin {
	if e == nil {
		return nil
	}
	if pin, ok := e.Items[item]; ok {
		return &pin
	}
	return nil
}

// Hints returns the approved hints of a tool, and whether the lock contains the tool.
func (f *File) Hints(source, tool string) (hints mcp.ToolAnnotations, locked bool) {
	pin := f.Sources[source].pin(Item{Tools, tool})
	if pin == nil {
		return hints, false
	}
	var definition struct {
		Annotations *mcp.ToolAnnotations `json:"annotations"`
	}
	if json.Unmarshal(pin.Definition, &definition) != nil {
		return hints, false
	}
	if definition.Annotations != nil {
		hints = *definition.Annotations
	}
	return hints, true
}

// Item identifies one item of a source.
type Item struct {
	// Kind is the kind of item. Origin, Server and Instructions exist once in each source.
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

// ParseItem parses the form of [Item.String], as in tools/get_issue. The error lists the
// valid forms.
func ParseItem(text string) (Item, error) {
	kind, name, named := strings.Cut(text, "/")
	item := Item{Kind(kind), name}
	if !slices.Contains(pinnedKinds(), item.Kind) || named != item.hasName() ||
		named && name == "" {
		return Item{}, fmt.Errorf(
			"%q is not an item: write tools/NAME, prompts/NAME, resources/URI, resourceTemplates/TEMPLATE, ui/URI, "+
				"instructions, server or origin",
			text)
	}
	return item, nil
}

// hasName reports whether a source may have several items of the kind.
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

// form returns the lock in its file format, as canonical JSON.
func (f *File) form() ([]byte, error) {
	sources := make(map[string]any, len(f.Sources))
	for name, entry := range f.Sources {
		members := make(map[string]any)
		if entry.Version != "" {
			members[string(Version)] = entry.Version
		}
		for item, pin := range entry.Items {
			kind := string(item.Kind)
			if !item.hasName() {
				members[kind] = pin
				continue
			}
			if members[kind] == nil {
				members[kind] = make(map[string]Pin)
			}
			members[kind].(map[string]Pin)[item.Name] = pin
		}
		sources[name] = members
	}
	members := map[string]any{"lockVersion": lockVersion, "sources": sources}
	if len(f.Definitions) > 0 {
		members["definitions"] = f.Definitions
	}
	text, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	return canonical.Append(nil, text)
}

// Write writes the lock as indented JSON with members in a fixed order, so that reviewers
// see only real changes. Invisible characters are written as escapes.
func (f *File) Write(w io.Writer) error {
	text, err := f.form()
	if err != nil {
		return fmt.Errorf("encode the lock: %w", err)
	}
	var out bytes.Buffer
	_ = json.Indent(&out, text, "", "  ") // canonical JSON is valid
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
	var members struct {
		LockVersion int
		Definitions []string
		Sources     map[string]map[Kind]json.RawMessage
	}
	if err := json.Unmarshal(form, &members); err != nil {
		return nil, err
	}
	if members.LockVersion != lockVersion {
		return nil, fmt.Errorf("lockVersion is %d, and this program reads %d",
			members.LockVersion, lockVersion)
	}
	f := &File{
		Sources:     make(map[string]*Entry),
		Definitions: members.Definitions,
	}
	for _, name := range slices.Sorted(maps.Keys(members.Sources)) {
		if members.Sources[name] == nil {
			return nil, fmt.Errorf("source %q is null", name)
		}
		if f.Sources[name], err = parseEntry(members.Sources[name]); err != nil {
			return nil, fmt.Errorf("source %q: %w", name, err)
		}
	}
	again, err := f.form()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, form) {
		return nil, fmt.Errorf("unknown member near %q",
			difference(form, again))
	}
	return f, nil
}

// difference returns an excerpt of a where it starts to differ from b.
func difference(a, b []byte) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	start := max(0, i-20)
	end := min(len(a), i+30)
	return strings.ToValidUTF8(string(a[start:end]), "")
}

// parseEntry parses the members of a source. Unknown members are ignored here.
func parseEntry(members map[Kind]json.RawMessage) (*Entry, error) {
	e := &Entry{Items: make(map[Item]Pin)}
	if text := members[Version]; text != nil {
		if err := json.Unmarshal(text, &e.Version); err != nil {
			return nil, err
		}
	}
	for _, kind := range pinnedKinds() {
		text := members[kind]
		if text == nil {
			continue
		}
		if !(Item{Kind: kind}).hasName() {
			text = slices.Concat([]byte(`{"":`), text, []byte{'}'})
		}
		var pins map[string]Pin
		if err := json.Unmarshal(text, &pins); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		for name, pin := range pins {
			e.Items[Item{kind, name}] = pin
		}
	}
	for _, item := range e.sorted() {
		if err := e.Items[item].check(item); err != nil {
			return nil, fmt.Errorf("%s: %w", item, err)
		}
	}
	return e, nil
}

// check verifies the form of a pin, and its digest.
func (p Pin) check(item Item) error {
	digits, ok := strings.CutPrefix(p.Digest, digestPrefix)
	switch {
	case !ok || len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "":
		return fmt.Errorf("%.80q is not a digest: %s and 64 hexadecimal digits", p.Digest, digestPrefix)
	case item.Kind == Origin || item.Kind == UI:
		if p.Definition != nil {
			return fmt.Errorf("it has a definition, want only a digest")
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
		return fmt.Errorf("its digest is not that of its definition: the lock was edited manually or merged incorrectly")
	}
	if key := nameMember(item.Kind); key != "" {
		var name string
		if json.Unmarshal(jsonscan.Member(p.Definition, key), &name) != nil ||
			name != item.Name {
			return fmt.Errorf("its definition is that of %.80q", name)
		}
	}
	return nil
}

// nameMember returns the member of a definition that contains its name, or "".
func nameMember(kind Kind) string {
	return map[Kind]string{
		Tools:     "name",
		Prompts:   "name",
		Resources: "uri",
		Templates: "uriTemplate",
	}[kind]
}

// sorted returns the items of a source in report order.
func (e *Entry) sorted() []Item {
	return slices.SortedFunc(maps.Keys(e.Items), compareItems)
}

// compareItems sorts by kind, in the order of the file, then by name.
func compareItems(a, b Item) int {
	if a.Kind != b.Kind {
		return slices.Index(pinnedKinds(), a.Kind) - slices.Index(pinnedKinds(), b.Kind)
	}
	return strings.Compare(a.Name, b.Name)
}
