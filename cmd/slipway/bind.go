package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Commands bind their flags directly to the fields of a library's option struct, so that an
// option is declared once:
//
//	var o freeze.Options
//	flags.StringArrayVar(&o.Only, "only", nil, "freeze only the tool `NAME` (repeatable)")
//	flags.Var(eachOf(&o.Expand, freeze.ParseExpansion), "expand", "...")
//
// pflag binds texts and lists of texts; atLeast, within and longerThanZero bind numbers and
// durations, and the functions below the other fields. Where 0 is a valid value of a flag but
// means the default of the option, the command replaces it before it calls the library:
// cmp.Or(o.Retries, -1).

// binding is a flag value that reads and sets a field through functions.
type binding struct {
	kind string // shown in the help unless the usage names a value in backquotes
	get  func() string
	set  func(text string) error

	words []string // the only values, or nil
	list  bool     // of words, separated by commas
}

var _ pflag.Value = (*binding)(nil)

func (b *binding) Type() string          { return b.kind }
func (b *binding) String() string        { return b.get() }
func (b *binding) Set(text string) error { return b.set(text) }
func (b *binding) choices() []string     { return b.words }
func (b *binding) separated() bool       { return b.list }

// eachOf binds a repeatable flag: each use appends a value parsed from its text.
func eachOf[T any](list *[]T, parse func(text string) (T, error)) pflag.Value {
	return eachUse(func(text string) error {
		value, err := parse(text)
		if err == nil {
			*list = append(*list, value)
		}
		return err
	})
}

// eachUse binds a repeatable flag: set is called with the text of each use.
func eachUse(set func(text string) error) *binding {
	return &binding{
		kind: "value",
		get:  func() string { return "" },
		set:  set,
	}
}

// oneOf binds a field that accepts a few words. If the field is empty, it means the first.
func oneOf[T ~string](field *T, words ...string) pflag.Value {
	choice := optional(field, words...)
	get := func() string { return cmp.Or(choice.String(), words[0]) }
	set := func(text string) error {
		err := choice.Set(text)
		if text == words[0] {
			*field = ""
		}
		return err
	}
	return &binding{
		kind:  "string",
		get:   get,
		set:   set,
		words: words,
	}
}

// optional binds a field that accepts a few words, and is empty by default.
func optional[T ~string](field *T, words ...string) pflag.Value {
	set := func(text string) error {
		if !slices.Contains(words, text) {
			return errors.New("want " + orList(words))
		}
		*field = T(text)
		return nil
	}
	return &binding{
		kind:  "string",
		get:   func() string { return string(*field) },
		set:   set,
		words: words,
	}
}

// orList joins words as "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// someOf binds a repeatable flag whose values, also separated by commas, are known words.
func someOf(list *[]string, known ...string) pflag.Value {
	value := each(list, func(word string) error {
		if slices.Contains(known, word) {
			return nil
		}
		return usage(didYouMean(word, known, "want "+orList(known)), "unknown %q", word)
	})
	value.words = known
	return value
}

// each binds a repeatable flag whose values, also separated by commas, pass a check.
func each(list *[]string, check func(word string) error) *binding {
	value := eachUse(func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			if err := check(word); err != nil {
				return err
			}
			*list = append(*list, word)
		}
		return nil
	})
	value.list = true
	return value
}
