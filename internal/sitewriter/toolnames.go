package sitewriter

import "strings"

// ToolNames returns the name that the tool of an input gets later, or "" if the site omits the tool. Texts of
// the input mention tools by these names. Nil means that all keep their names.
type ToolNames func(tool string) string

// Of returns the later name of a tool, or "" if the site omits it.
func (f ToolNames) Of(tool string) string {
	if f == nil {
		return tool
	}
	return f(tool)
}

// List returns the later names of those of some tools that the site has.
func (f ToolNames) List(tools ...string) (names []string) {
	for _, tool := range tools {
		if name := f.Of(tool); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// If returns text with each %s replaced by the later name of a tool, or "" if the site omits it.
func (f ToolNames) If(tool, text string) string {
	name := f.Of(tool)
	if name == "" {
		return ""
	}
	return strings.ReplaceAll(text, "%s", name)
}

// Clauses joins texts that are not empty, with last before the last one.
func Clauses(last string, texts ...string) string {
	var list []string
	for _, text := range texts {
		if text != "" {
			list = append(list, text)
		}
	}
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	end := len(list) - 1
	return strings.Join(list[:end], ", ") + last + list[end]
}
