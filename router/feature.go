package router

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

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

// String returns the place as compilers print it, so that editors link it.
func (p place) String() string {
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

// mistake is an error in a feature, with the place where the author wrote it.
type mistake struct {
	place
	text string
}

// Error implements the error interface.
func (m *mistake) Error() string { return m.place.String() + ": " + m.text }

// Kind is the kind of an item.
type Kind string

// The kinds of items.
const (
	KindTool     Kind = "tool"
	KindResource Kind = "resource"
	KindTemplate Kind = "template"
	KindPrompt   Kind = "prompt"
)

// kindApp is the kind of an [App] in messages; its item is a resource.
const kindApp Kind = "app"

// Item identifies something that a [Router] offers.
type Item struct {
	// Kind and Name identify the feature as clients see it, with the prefix of its groups.
	Kind Kind
	Name string
	// URI is set for resources and templates.
	URI string
}

// feature is a tool, resource, template, prompt or app before it is compiled.
type feature struct {
	place
	// kind selects the list that the item belongs to.
	kind        Kind
	name        string // in messages; of items other than apps, with the prefix of the groups
	uri         string // of a resource or app, or the text of a template
	description string
	options     []option
	// compile checks the feature and adds its entry to the builder. It runs in [New], so that all
	// mistakes of a program are reported at once.
	compile func(*feature, *builder)
	// faults are the mistakes found so far; any of them keeps the feature out of the
	// Router.
	faults []error

	settings
}

// newFeature returns a feature with its options, which register applies to a copy.
func newFeature[T option](at place, kind Kind, name string, options []T) *feature {
	f := &feature{
		place: at,
		kind:  kind,
		name:  name,
	}
	for _, o := range options {
		f.options = append(f.options, o)
	}
	return f
}

// register compiles a copy, so that a feature may be added to several routers.
func (f *feature) register(b *builder) {
	own := *f
	own.faults = slices.Clip(f.faults)
	own.strict = b.options == nil || !b.options.Lenient
	if own.kind != kindApp {
		own.name = b.prefix + f.name
	}
	defer func() {
		if p := recover(); p != nil { // in an author's method that describes a type
			own.fault("panic: %v", p)
			b.add(&own, nil)
		}
	}()
	for _, o := range f.options {
		if o == nil {
			own.fault("an option is nil")
			continue
		}
		o.apply(&own)
	}
	f.compile(&own, b)
}

// fault records a mistake in the feature.
func (f *feature) fault(format string, args ...any) {
	text := fmt.Sprintf("%s %q: %s", f.kind, f.name, fmt.Sprintf(format, args...))
	f.faults = append(f.faults, &mistake{f.place, text})
}

// faultIf records a mistake if wrong is true.
func (f *feature) faultIf(wrong bool, text string) {
	if wrong {
		f.fault("%s", text)
	}
}

// addFaults records mistakes that a compiler found.
func (f *feature) addFaults(prefix string, faults []string) {
	for _, text := range faults {
		f.fault("%s%s", prefix, text)
	}
}

// encodedMeta returns the _meta object, or nil if there is none.
func (f *feature) encodedMeta() []byte {
	if len(f.meta) == 0 {
		return nil
	}
	members := make(map[string]any, len(f.meta))
	for _, m := range f.meta {
		switch _, twice := members[m.Key]; {
		case m.Key == "":
			f.fault("a member of Meta has no key")
		case twice:
			f.fault("duplicate Meta %q", m.Key)
		}
		members[m.Key] = m.Value
	}
	encoded, err := mcp.Marshal(members)
	if err != nil {
		f.fault("Meta: %v", err)
		return nil
	}
	return encoded
}

// checkName checks the name of a tool or prompt.
func (f *feature) checkName() {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"
	switch {
	case f.name == "":
		f.fault("the name is empty")
	case len(f.name) > 128:
		f.fault("the name is longer than 128 characters")
	case strings.ContainsFunc(f.name, func(r rune) bool {
		return !strings.ContainsRune(allowed, r)
	}):
		f.fault("the name may contain only letters, digits and _ - . /")
	}
}
