package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/slipway-mcp/slipway/mcp"
)

// Feature is something that a [Router] offers, or a setting of it. [Tool], [Resource],
// [Folder], [Template], [Prompt], [App], [Group] and [Filter] return features; [Options]
// is one. A feature does nothing, and reports no mistakes, until it is passed to [New] or
// [Router.Add].
type Feature interface {
	register(b *builder)
}

// Void is the input of a tool or prompt without arguments, or the output of a tool
// without a result.
type Void struct{}

// Title is a name for display. It is an option of every kind of feature.
type Title string

// Description states the purpose of a feature whose constructor has no parameter for it:
// an option of resources, templates and apps.
type Description string

// MIMEType is the type of the contents: an option of resources and templates.
type MIMEType string

// Icon is an image to show next to a feature; Src is an https or data URI. It is an
// option of every kind of feature, and may be repeated.
type Icon mcp.Icon

// Meta is a member of a feature's _meta object: an option of every kind of feature. Value
// is encoded as JSON.
type Meta struct {
	Key   string
	Value any
}

// place is the position in the author's program where a feature was created.
type place struct {
	file string
	line int
}

// caller returns the place from which the exported function that calls it was called.
func caller() place {
	_, file, line, _ := runtime.Caller(2)
	return place{filepath.Base(file), line}
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// settings are the values set by options that several kinds of features share.
type settings struct {
	place
	kind  Kind
	label string // the quoted name in messages

	title, description, mimeType string
	icons                        []mcp.Icon
	meta                         []Meta
	completers                   []Completer
	faults                       []error
}

// fault records a mistake in the feature.
func (s *settings) fault(format string, args ...any) {
	s.faults = append(s.faults, &mistake{s.place, fmt.Sprintf("%s %q: %s", s.kind, s.label, fmt.Sprintf(format, args...))})
}

// mistake is an error in a feature, with the place where the author wrote it.
type mistake struct {
	place
	text string
}

// Error implements the error interface.
func (m *mistake) Error() string { return m.place.String() + ": " + m.text }

func (s *settings) encodedMeta() []byte {
	if len(s.meta) == 0 {
		return nil
	}
	members := make(map[string]any, len(s.meta))
	for _, m := range s.meta {
		switch _, twice := members[m.Key]; {
		case m.Key == "":
			s.fault("a member of Meta has no key")
		case twice:
			s.fault("Meta %q is given twice", m.Key)
		}
		members[m.Key] = m.Value
	}
	encoded, err := mcp.Marshal(members)
	if err != nil {
		s.fault("Meta: %v", err)
		return nil
	}
	return encoded
}

// Kind is the kind of an item.
type Kind string

// The kinds of items.
const (
	KindTool     Kind = "tool"
	KindResource Kind = "resource"
	KindTemplate Kind = "template"
	KindPrompt   Kind = "prompt"
)

// Item identifies something that a [Router] offers.
type Item struct {
	Kind Kind
	Name string
	// URI is set for resources and templates.
	URI string
}

// entry is one item in a state of the router, where it is read-only.
type entry struct {
	Item
	place
	filters []func(context.Context, Item) bool
	deps    []dependency

	tool     *tool
	prompt   *prompt
	resource *resource
	template *template
}

// dependency is a resource that an entry needs.
type dependency struct {
	uri    string
	reason string // the error if it does not exist
}

// visible reports whether all filters allow ctx to see the entry.
func (e *entry) visible(ctx context.Context) bool {
	for _, f := range e.filters {
		if !f(ctx, e.Item) {
			return false
		}
	}
	return true
}

// builder collects the features of one call of New or Add.
type builder struct {
	options    *Options
	mayOptions bool
	prefix     string
	filters    []func(context.Context, Item) bool
	entries    []*entry
	faults     []error
	wrong      []*settings // features omitted because of mistakes
}

// take registers features. A panic in an author's method that describes a type becomes a
// fault like any other.
func (b *builder) take(where string, features []Feature) {
	for i, f := range features {
		if f == nil {
			b.faults = append(b.faults, fmt.Errorf("%s: feature %d is nil", where, i+1))
			continue
		}
		b.takeOne(f)
	}
}

func (b *builder) takeOne(f Feature) {
	defer func() {
		if p := recover(); p != nil {
			at := ""
			if s, ok := f.(interface{ settled() *settings }); ok {
				at = fmt.Sprintf("%s: %s %q: ", s.settled().place, s.settled().kind, s.settled().label)
			}
			b.faults = append(b.faults, fmt.Errorf("%spanic: %v", at, p))
		}
	}()
	f.register(b)
}

// add stores a compiled entry, or its faults.
func (b *builder) add(s *settings, e *entry) {
	b.faults = append(b.faults, s.faults...)
	if len(s.faults) > 0 {
		b.wrong = append(b.wrong, s)
		return
	}
	e.place = s.place
	e.filters = slices.Concat(b.filters, e.filters)
	b.entries = append(b.entries, e)
}

func (b *builder) strict() bool { return b.options == nil || !b.options.Lenient }

func (b *builder) settingsOf() Options {
	if b.options == nil {
		return Options{}
	}
	return *b.options
}

// err returns all faults as one error, a line each: first those without a place, then the
// others in source order.
func (b *builder) err() error {
	b.compareWrong()
	at := func(err error) place {
		if m, ok := err.(*mistake); ok {
			return m.place
		}
		return place{}
	}
	slices.SortStableFunc(b.faults, func(x, y error) int {
		one, other := at(x), at(y)
		return cmp.Or(cmp.Compare(one.file, other.file), cmp.Compare(one.line, other.line))
	})
	return errors.Join(b.faults...)
}

// compareWrong finds duplicate names among the features that already have another
// mistake, so that fixing one mistake does not uncover the next.
func (b *builder) compareWrong() {
	for i, s := range b.wrong {
		for _, e := range b.entries {
			if e.Kind == s.kind && e.Name == s.label {
				s.faults = nil
				s.fault("is already the name of a %s at %s", e.Kind, e.place)
				b.faults = append(b.faults, s.faults...)
			}
		}
		for _, other := range b.wrong[:i] {
			if other.kind == s.kind && other.label == s.label && other.place != s.place {
				s.faults = nil
				s.fault("is already the name of a %s at %s", other.kind, other.place)
				b.faults = append(b.faults, s.faults...)
				break
			}
		}
	}
	b.wrong = nil
}

// checkName checks the name of a tool or prompt.
func (s *settings) checkName(name string) {
	switch {
	case name == "":
		s.fault("the name is empty")
	case len(name) > 128:
		s.fault("the name is longer than 128 characters")
	default:
		for _, c := range []byte(name) {
			if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' || c == '/') {
				s.fault("the name may hold only letters, digits and _ - . /")
				return
			}
		}
	}
}
