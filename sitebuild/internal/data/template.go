package data

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// functions are what templates can call besides the functions of text/template and the
// sets of data.
func functions(dir string) map[string]any {
	return map[string]any{
		"column":   column,
		"join":     join,
		"lower":    strings.ToLower,
		"match":    match,
		"replace":  replace,
		"sentence": sentence,
		"sort":     sortRows,
		"where":    where,
		"read": func(name string) (string, error) {
			text, err := readFile(dir, name)
			return string(text), err
		},
	}
}

// column returns the values of one column.
func column(name string, rows []any) ([]any, error) {
	var values []any
	for _, row := range rows {
		value, err := cell(name, row)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// cell is the function of templates that returns a column whose name is not an identifier.
func cell(name string, row any) (any, error) {
	members, _ := row.(map[string]any)
	value, ok := members[name]
	if !ok {
		return nil, fmt.Errorf("no column %q", name)
	}
	return value, nil
}

// where returns the rows with a value in a column. A number equals its text.
func where(name string, value any, rows []any) ([]any, error) {
	var found []any
	for _, row := range rows {
		v, err := cell(name, row)
		if err != nil {
			return nil, err
		}
		if fmt.Sprint(v) == fmt.Sprint(value) {
			found = append(found, row)
		}
	}
	return found, nil
}

// sortRows sorts rows by a column: numbers by value, texts without regard to case.
func sortRows(name string, rows []any) ([]any, error) {
	if _, err := column(name, rows); err != nil {
		return nil, err
	}
	return slices.SortedStableFunc(slices.Values(rows), func(a, b any) int {
		x, _ := cell(name, a)
		y, _ := cell(name, b)
		m, isNumber := x.(int64)
		n, areNumbers := y.(int64)
		if isNumber && areNumbers {
			return cmp.Compare(m, n)
		}
		return strings.Compare(strings.ToLower(fmt.Sprint(x)),
			strings.ToLower(fmt.Sprint(y)))
	}), nil
}

// join is the function of templates that joins values of any kind.
func join(separator string, values []any) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, fmt.Sprint(v))
	}
	return strings.Join(texts, separator)
}

// match returns the first match of a regular expression, or its first group, or "".
func match(pattern, text string) (string, error) {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	groups := expression.FindStringSubmatch(text)
	if groups == nil {
		return "", nil
	}
	return groups[min(1, len(groups)-1)], nil
}

// replace is the function of templates that replaces all matches of a regular expression. $1 in
// with is a group.
func replace(pattern, with, text string) (string, error) {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	return expression.ReplaceAllString(text, with), nil
}

// sentence returns the text up to the first full stop that ends a sentence. Those in
// "e.g. x" and "HTTP/1.1" do not.
func sentence(text string) string {
	for i := 0; i+2 < len(text); i++ {
		next, _ := utf8.DecodeRuneInString(text[i+2:])
		if text[i] == '.' && text[i+1] == ' ' && !unicode.IsLower(next) {
			return text[:i+1]
		}
	}
	return text
}

// parseTemplates returns the templates of a folder by file name, with the functions and
// sets that they and the texts of answers can call.
func parseTemplates(dir string, sets map[string]any, folder string) (*templates, error) {
	calls := functions(dir)
	for name, value := range sets {
		if _, taken := calls[name]; taken {
			return nil, fmt.Errorf("%s: templates have a function called %q; rename the file", dir, name)
		}
		calls[name] = func() any { return value }
	}
	base := newTemplates(calls)
	if folder == "" {
		return base, nil
	}
	names, err := fileNames(folder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := readFile(folder, name)
		if err != nil {
			return nil, err
		}
		if err := base.parse(name, string(text)); err != nil {
			return nil, err
		}
	}
	return base, nil
}

// limited collects a text up to maxFileBytes.
type limited struct{ strings.Builder }

// Write implements [io.Writer]. It fails before the text exceeds maxFileBytes.
func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxFileBytes {
		return 0, fmt.Errorf("the text is larger than %d bytes", maxFileBytes)
	}
	return l.Builder.Write(p)
}

// renderer executes the templates in the texts of answers.
type renderer struct{ base *templates }

// text renders a text. path is its place in the answers, and the name of its template.
func (r renderer) text(path, text string, row map[string]any) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	if !r.base.has(path) {
		if err := r.base.parse(path, text); err != nil {
			return "", &Error{path, err}
		}
	}
	var out limited
	if err := r.base.execute(&out, path, row); err != nil {
		return "", &Error{path, err}
	}
	return out.String(), nil
}

// list evaluates an expression that returns a list.
func (r renderer) list(path, expression string, row map[string]any) ([]any, error) {
	row = maps.Clone(row)
	if row == nil {
		row = make(map[string]any)
	}
	var result any
	row["return"] = func(value any) string {
		result = value
		return ""
	}
	if _, err := r.text(path, "{{call .return ("+expression+")}}", row); err != nil {
		return nil, err
	}
	list, ok := result.([]any)
	if !ok {
		return nil, &Error{path, fmt.Errorf("%s is not a list", expression)}
	}
	return list, nil
}

// each calls do for each combination of rows. The variables are members of row.
func (r renderer) each(path string, loops []map[string]string, row map[string]any,
	do func(map[string]any) error) error {
	if len(loops) == 0 {
		return do(row)
	}
	for name, expression := range loops[0] {
		list, err := r.list(path+"."+name, expression, row)
		if err != nil {
			return err
		}
		for _, value := range list {
			inner := maps.Clone(row)
			if inner == nil {
				inner = make(map[string]any)
			}
			inner[name] = value
			err := r.each(path+"."+name, loops[1:], inner, do)
			if err != nil {
				return err
			}
		}
	}
	return nil
}
