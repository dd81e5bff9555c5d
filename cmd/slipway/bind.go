package main

import (
	"fmt"
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
// pflag binds texts, numbers, durations and lists of texts; the functions below bind the
// other fields. Where 0 is a valid value of a flag but means the default of the option,
// the command replaces it before it calls the library: cmp.Or(o.Retries, -1).

// binding is a flag value that reads and sets a field through functions.
type binding struct {
	kind string // shown in the help unless the usage names a value in backquotes
	get  func() string
	set  func(text string) error
}

var _ pflag.Value = (*binding)(nil)

func (b *binding) Type() string          { return b.kind }
func (b *binding) String() string        { return b.get() }
func (b *binding) Set(text string) error { return b.set(text) }

// eachOf binds a repeatable flag: each use appends a value parsed from its text.
func eachOf[T any](list *[]T, parse func(text string) (T, error)) pflag.Value {
	return &binding{"value", func() string { return "" }, func(text string) error {
		value, err := parse(text)
		if err == nil {
			*list = append(*list, value)
		}
		return err
	}}
}

// oneOf binds a field that accepts a few words. If the field is empty, it means the first.
func oneOf[T ~string](field *T, words ...string) pflag.Value {
	get := func() string {
		if *field == "" {
			return words[0]
		}
		return string(*field)
	}
	return &binding{"string", get, func(text string) error {
		if !slices.Contains(words, text) {
			last := len(words) - 1
			return fmt.Errorf("want %s or %s", strings.Join(words[:last], ", "), words[last])
		}
		*field = T(text)
		if text == words[0] {
			*field = ""
		}
		return nil
	}}
}
