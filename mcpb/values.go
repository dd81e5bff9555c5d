package mcpb

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
)

// ThisPlatform returns the current system's name in the format: "darwin", "linux" or
// "win32", and Go's own name for other systems.
func ThisPlatform() string {
	if runtime.GOOS == "windows" {
		return "win32"
	}
	return runtime.GOOS
}

// resolve determines the value of every option.
func (e *expansion) resolve() {
	for _, key := range sortedKeys(e.opts.Values) {
		if e.options[key] != nil {
			continue
		}
		var keys []string
		for _, o := range e.m.UserConfig {
			keys = append(keys, o.Key)
		}
		e.Add(ruleValueKey, pointerTo("/user_config", key), didYouMean(key, keys),
			"the bundle has no option %q", key)
	}
	for i := range e.m.UserConfig {
		e.resolveOption(&e.m.UserConfig[i])
	}
}

// resolveOption sets the value of an option: that of the user, or else its default.
func (e *expansion) resolveOption(o *Option) {
	pointer := pointerTo("/user_config", o.Key)
	given, ok := normalize(o, e.opts.Values[o.Key])
	if ok {
		if texts, why := e.convert(o, given); why != "" {
			e.Add(ruleValue, pointer, "", "option %q (%s) %s", o.Key, o.Title, why)
		} else {
			e.values[o.Key] = value{texts, o.Sensitive}
		}
		return
	}
	preset, ok := normalize(o, o.Default)
	if !ok {
		if o.Required {
			e.Add(ruleMissing, pointer, "", "option %q (%s) is required", o.Key, o.Title)
		}
		return
	}
	e.useDefault(o, preset, pointer)
}

// normalize converts a value to a string, float64, bool or []string. Values of other types,
// such as objects, stay as they are. ok is false if v means no value.
func normalize(o *Option, v any) (any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, false
	case string:
		return fromText(o, v), v != ""
	case bool, float64:
		return v, true
	case []string:
		list := slices.DeleteFunc(slices.Clone(v), func(s string) bool {
			return s == ""
		})
		return list, len(list) > 0
	case []any:
		return normalizeList(o, v)
	}
	r := reflect.ValueOf(v)
	switch {
	case r.CanConvert(reflect.TypeFor[float64]()):
		return r.Convert(reflect.TypeFor[float64]()).Float(), true
	case r.Kind() == reflect.Bool:
		return r.Bool(), true
	case r.Kind() == reflect.String: // such as json.Number
		return normalize(o, r.String())
	}
	return v, true
}

// normalizeList is [normalize] for a list from JSON.
func normalizeList(o *Option, list []any) (any, bool) {
	all := make([]string, 0, len(list))
	for _, item := range list {
		switch item := item.(type) {
		case nil:
		case string, bool, float64:
			all = append(all, formatValues(item)...)
		default:
			return list, true
		}
	}
	return normalize(o, all)
}

// fromText parses text for options of type number and boolean.
func fromText(o *Option, text string) any {
	switch o.Type {
	case OptionNumber:
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) { // NaN passes every bound
			return f
		}
	case OptionBoolean:
		if b, err := strconv.ParseBool(strings.TrimSpace(text)); err == nil {
			return b
		}
	}
	return text
}

// formatValues formats a value for the server. A single one is a list of one.
func formatValues(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case bool:
		return []string{strconv.FormatBool(v)}
	case float64:
		return []string{formatNumber(v)}
	case []string:
		return v
	}
	return nil
}

// convert converts a user's value. why is worded to follow the name of the option, and
// never contains the value of a sensitive option.
func (e *expansion) convert(o *Option, v any) (all []string, why string) {
	if n, ok := v.(float64); ok && o.Type == OptionString { // typed without quotes
		v = formatNumber(n)
	}
	if list, ok := v.([]string); ok && !o.Multiple && len(list) == 1 {
		v = list[0]
	}
	if why := explainMisfit(o, v); why != "" {
		return nil, why
	}
	all = formatValues(v)
	if !o.isPath() || !e.here {
		return all, ""
	}
	all = slices.Clone(all)
	for i, name := range all {
		if !filepath.IsAbs(name) { // the server runs in another folder
			abs, err := filepath.Abs(filepath.Join(e.opts.WorkDir, name))
			if err != nil {
				return nil, fmt.Sprintf("is the relative path %q, and there is no working directory", name)
			}
			all[i] = abs
		}
		if why := existing(o.Type, all[i]); why != "" && !e.opts.NoFiles {
			return nil, fmt.Sprintf("is %s, which %s", name, why)
		}
	}
	return all, ""
}

// useDefault sets a default, the only value in which variables are expanded.
func (e *expansion) useDefault(o *Option, v any, pointer string) {
	if why := explainMisfit(o, v); why != "" {
		e.Add(ruleOption, pointer+"/default", "", "option %q: the default %s", o.Key, why)
	}
	var all []string
	for _, text := range formatValues(v) {
		var b strings.Builder
		for _, p := range splitVariables(text) {
			known, ok := e.system[p.name]
			if ok && p.variable {
				p.text = known
			}
			b.WriteString(p.text)
		}
		all = append(all, b.String())
	}
	if o.isPath() && e.here && !e.opts.NoFiles {
		for _, name := range all {
			if why := existing(o.Type, name); why != "" {
				e.Add(ruleValue.As(check.Warning), pointer+"/default", "", "option %q: the default %s %s",
					o.Key, name, why)
			}
		}
	}
	e.values[o.Key] = value{all, o.Sensitive}
}
