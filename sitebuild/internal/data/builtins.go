package data

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/template"
)

// builtins returns the functions that every template of text/template has. "and" and "or" are
// part of the evaluation.
func builtins() map[string]any {
	return map[string]any{
		"and":      func(...any) any { return nil },
		"or":       func(...any) any { return nil },
		"not":      func(value any) bool { return !truth(value) },
		"call":     func(function any, values ...any) (any, error) { return invoke(function, values) },
		"html":     func(values ...any) string { return template.HTMLEscapeString(fmt.Sprint(values...)) },
		"js":       func(values ...any) string { return template.JSEscapeString(fmt.Sprint(values...)) },
		"urlquery": template.URLQueryEscaper,
		"print":    fmt.Sprint,
		"printf":   fmt.Sprintf,
		"println":  fmt.Sprintln,
		"len":      length,
		"index":    index,
		"slice":    slice,
		"eq":       equal,
		"ne": func(a, b any) (bool, error) {
			same, err := equal(a, b)
			return !same, err
		},
		"lt": func(a, b any) (bool, error) {
			order, err := compare(a, b)
			return order < 0, err
		},
		"le": func(a, b any) (bool, error) {
			order, err := compare(a, b)
			return order <= 0, err
		},
		"gt": func(a, b any) (bool, error) {
			order, err := compare(a, b)
			return order > 0, err
		},
		"ge": func(a, b any) (bool, error) {
			order, err := compare(a, b)
			return order >= 0, err
		},
	}
}

// length returns the number of elements of a list or map, or of bytes of a text.
func length(value any) (int, error) {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len(), nil
	case reflect.Invalid:
		return 0, errors.New("len of nil pointer")
	}
	return 0, fmt.Errorf("len of type %T", value)
}

// index returns the element at a place of a list, a map or a text, and so on with the next
// place in that element.
func index(value any, places ...any) (any, error) {
	for _, place := range places {
		v := reflect.ValueOf(value)
		switch v.Kind() {
		case reflect.Array, reflect.Slice, reflect.String:
			at, err := position(place, v.Len())
			if err == nil && at == v.Len() {
				err = fmt.Errorf("index out of range: %d", at)
			}
			if err != nil {
				return nil, err
			}
			value = v.Index(at).Interface()
		case reflect.Map:
			name, ok := place.(string)
			if !ok {
				return nil, fmt.Errorf("value has type %T; should be string", place)
			}
			found := v.MapIndex(reflect.ValueOf(name))
			if value = nil; found.IsValid() {
				value = found.Interface()
			}
		case reflect.Invalid:
			return nil, errors.New("index of untyped nil")
		default:
			return nil, fmt.Errorf("can't index item of type %T", value)
		}
	}
	return value, nil
}

// position returns a place in a list of that length.
func position(place any, length int) (int, error) {
	v := reflect.ValueOf(place)
	switch {
	case !v.IsValid():
		return 0, errors.New("cannot index slice/array with nil")
	case !v.CanInt():
		return 0, fmt.Errorf("cannot index slice/array with type %T", place)
	case v.Int() < 0 || v.Int() > int64(length):
		return 0, fmt.Errorf("index out of range: %d", v.Int())
	}
	return int(v.Int()), nil
}

// slice returns a part of a list or a text.
func slice(value any, places ...any) (any, error) {
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Slice && v.Kind() != reflect.String {
		return nil, fmt.Errorf("can't slice item of type %T", value)
	}
	if len(places) > 3 || v.Kind() == reflect.String && len(places) > 2 {
		return nil, fmt.Errorf("too many slice indexes: %d", len(places))
	}
	at := []int{0, v.Len(), v.Len()}
	for i, place := range places {
		var err error
		if at[i], err = position(place, v.Len()); err != nil {
			return nil, err
		}
	}
	if at[0] > at[1] || at[1] > at[2] {
		return nil, fmt.Errorf("invalid slice index: %d > %d", at[0], at[1])
	}
	if len(places) == 3 {
		return v.Slice3(at[0], at[1], at[2]).Interface(), nil
	}
	return v.Slice(at[0], at[1]).Interface(), nil
}

// equal reports whether a value is one of others.
func equal(value any, others ...any) (bool, error) {
	if len(others) == 0 {
		return false, errors.New("missing argument for comparison")
	}
	for _, other := range others {
		same, err := isEqual(reflect.ValueOf(value), reflect.ValueOf(other))
		if same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// isEqual compares two values.
func isEqual(a, b reflect.Value) (bool, error) {
	switch {
	case !a.IsValid() || !b.IsValid():
		return a.IsValid() == b.IsValid(), nil
	case !a.Comparable():
		return false, fmt.Errorf("non-comparable type %s: %v", a, a.Type())
	case !b.Comparable():
		return false, fmt.Errorf("non-comparable type %s: %v", b, b.Type())
	case a.CanInt() && b.CanInt():
		return a.Int() == b.Int(), nil
	case a.CanFloat() && b.CanFloat():
		return a.Float() == b.Float(), nil
	case a.Kind() == b.Kind():
		return a.Equal(b), nil
	}
	return false, errNotComparable
}

// compare compares two numbers of one kind, or two texts.
func compare(a, b any) (int, error) {
	v := reflect.ValueOf(a)
	w := reflect.ValueOf(b)
	switch {
	case !v.IsValid() || !w.IsValid():
		return 0, errNotComparable
	case v.CanInt() && w.CanInt():
		return order(v.Int(), w.Int()), nil
	case v.CanFloat() && w.CanFloat():
		return order(v.Float(), w.Float()), nil
	case v.Kind() == reflect.String && w.Kind() == reflect.String:
		return strings.Compare(v.String(), w.String()), nil
	}
	return 0, errNotComparable
}

// order compares two numbers.
func order[N int64 | float64](a, b N) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
