package fuzzbound

import (
	"flag"
	"reflect"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/race"
)

// maxFragment is the maximum length of texts that are also repeated.
const maxFragment = 32

// Fuzz calls f.Fuzz with fn, which takes a *testing.T and arguments supported by f.Fuzz,
// including at least one string or byte slice. It seeds the corpus with [Fragments] and
// limits the time and memory of every call. It also calls fn with short texts repeated,
// to verify that the cost is linear. While fuzzing, it does not repeat fragments, since
// the test without fuzzing does.
func Fuzz(f *testing.F, fn any) {
	f.Helper()
	call := reflect.ValueOf(fn)
	typ := call.Type()
	seed(f, typ)
	if !fuzzing() {
		collectRarely(f)
	}
	known := map[string]bool{}
	if fuzzing() {
		for _, text := range Fragments() {
			known[text] = true
		}
	}
	bounded := reflect.MakeFunc(typ, func(args []reflect.Value) []reflect.Value {
		t := args[0].Interface().(*testing.T)
		t.Helper()
		within(t, size(args), func() { call.Call(args) })
		for i, arg := range args {
			if text, ok := textOf(arg); ok && text != "" && len(text) <= maxFragment && !known[text] && !t.Failed() {
				grow(t, call, args, i, text)
			}
		}
		return nil
	})
	f.Fuzz(bounded.Interface())
}

// fuzzing reports whether the toolchain is generating inputs, each of which has a limit
// of ten seconds.
func fuzzing() bool {
	set := flag.Lookup("test.fuzz")
	return set != nil && set.Value.String() != ""
}

// grow compares the cost of calls whose argument i repeats text.
func grow(t *testing.T, call reflect.Value, args []reflect.Value, i int, text string) {
	t.Helper()
	args = append([]reflect.Value(nil), args...)
	kind := args[i].Type()
	parse := func(long string) {
		args[i] = reflect.ValueOf(long).Convert(kind)
		call.Call(args)
	}
	if race.Enabled {
		parse(repeat(text, raceSize))
		return
	}
	if report := superlinear(func(n int) string {
		return repeat(text, n)
	}, measured(parse)); report != "" {
		t.Errorf("%q repeated: %s", text, report)
	}
}

// textOf returns the text of a string or byte slice.
func textOf(v reflect.Value) (string, bool) {
	switch {
	case v.Kind() == reflect.String:
		return v.String(), true
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return string(v.Bytes()), true
	}
	return "", false
}

// size returns the total length of the texts among the arguments.
func size(args []reflect.Value) int {
	n := 0
	for _, arg := range args {
		if text, ok := textOf(arg); ok {
			n += len(text)
		}
	}
	return n
}

// seed adds each fragment, and some repeated ones, as each text argument in turn. If
// there are many text arguments, each gets a share of the fragments. The other texts are
// empty; numbers and booleans vary.
func seed(f *testing.F, typ reflect.Type) {
	f.Helper()
	texts := Fragments()
	const size = 1 << 10
	for _, u := range pairs() {
		texts = append(texts, u.text(size))
	}
	const thorough = 2 // text arguments that get all fragments
	var places []int
	for at := 1; at < typ.NumIn(); at++ {
		if _, ok := textOf(reflect.Zero(typ.In(at))); ok {
			places = append(places, at)
		}
	}
	n := 0
	for _, at := range places {
		for i, text := range texts {
			if n++; len(places) > thorough && i%len(places) != at%len(places) {
				continue
			}
			args := make([]any, 0, typ.NumIn())
			for i := 1; i < typ.NumIn(); i++ {
				v := reflect.New(typ.In(i)).Elem()
				switch {
				case i == at:
					v = reflect.ValueOf(strings.Clone(text)).Convert(typ.In(i))
				case v.CanInt():
					v.SetInt(int64(n % 4))
				case v.CanUint():
					v.SetUint(uint64(n % 4))
				case v.Kind() == reflect.Bool:
					v.SetBool(n%2 == 0)
				}
				args = append(args, v.Interface())
			}
			f.Add(args...)
		}
	}
}
