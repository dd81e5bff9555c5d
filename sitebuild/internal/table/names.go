package table

import (
	"slices"
	"strings"
	"unicode"

	"github.com/slipway-mcp/slipway/staticmcp"
)

// snake returns s as a part of the name of a tool: lower case letters, digits and single
// underscores. It is empty if nothing of s remains.
func snake(s string) string {
	var b strings.Builder
	var before rune
	for _, r := range s {
		if unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsDigit(before)) {
			b.WriteByte('_') // userId
		}
		b.WriteRune(r)
		before = r
	}
	words := strings.FieldsFunc(staticmcp.EncodeName(b.String()), func(r rune) bool {
		return r == '_' || r == '-'
	})
	name := strings.Join(words, "_")
	const most = 40
	if len(name) > most {
		name = strings.TrimRight(name[:most], "_")
	}
	return name
}

// generic reports whether the name of a table says nothing about its rows.
func generic(name string) bool {
	return languageCode(name) || slices.Contains([]string{
		"", "data", "db", "database", "main", "all", "file", "dataset", "table", "rows", "row", "export", "list", "output",
		"dump", "input", "test", "sheet", "sheet1", "results", "index",
	}, name)
}

// languageCode reports whether a name is just a language code, such as "zh" or "pt_br",
// as for a file with the texts of one language.
func languageCode(name string) bool {
	const codes = " af ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl he hi hr hu hy id is it ja ka " +
		"kk km kn ko lt lv mk ml mn mr ms nb nl nn no pa pl pt ro ru sk sl sq sr sv sw ta te th tl tr uk ur uz vi zh "
	code, _, _ := strings.Cut(name, "_")
	return len(code) == 2 && len(name) <= len("zh_hant") &&
		strings.Contains(codes, " "+code+" ")
}

// things returns the names for one row and for several.
func things(name string) (one, many string) {
	name = snake(name)
	if generic(name) {
		return "row", "rows"
	}
	head := ""
	last := name
	if i := strings.LastIndexByte(name, '_'); i >= 0 {
		head = name[:i+1]
		last = name[i+1:]
	}
	if s := singular(last); s != last {
		return head + s, head + last
	}
	return head + last, head + plural(last)
}

// irregular returns pairs of singular and irregular plural.
func irregular() [][2]string {
	return [][2]string{
		{"person", "people"},
		{"child", "children"},
		{"man", "men"},
		{"woman", "women"},
		{"mouse", "mice"},
		{"foot", "feet"},
		{"tooth", "teeth"},
		{"goose", "geese"},
		{"ox", "oxen"},
		{"leaf", "leaves"},
		{"life", "lives"},
		{"knife", "knives"},
		{"wolf", "wolves"},
		{"shelf", "shelves"},
		{"index", "indices"},
		{"matrix", "matrices"},
		{"vertex", "vertices"},
		{"criterion", "criteria"},
		{"datum", "data"},
		{"medium", "media"},
		{"analysis", "analyses"},
		{"status", "statuses"}, {"bus", "buses"}, {"virus", "viruses"},
		{"hero", "heroes"}, {"movie", "movies"}, {"cookie", "cookies"},
		{"alias", "aliases"},
		{"lens", "lenses"},
		{"gas", "gases"},
		{"house", "houses"},
		{"case", "cases"},
		{"base", "bases"},
		{"course", "courses"}, {"horse", "horses"}, {"release", "releases"},
		{"purchase", "purchases"}, {"expense", "expenses"},
		{"response", "responses"}, {"license", "licenses"}, {"database", "databases"},
		{"warehouse", "warehouses"}, {"cache", "caches"}, {"axe", "axes"},
	}
}

// constant reports whether a word has the same singular and plural.
func constant(word string) bool {
	return slices.Contains([]string{
		"series", "species", "news", "information", "equipment", "sheep", "fish", "aircraft",
		"staff", "metadata", "feedback", "software", "hardware", "music", "weather",
	}, word)
}

// singular returns the singular of word, or word itself if it is not a plural.
func singular(word string) string {
	if constant(word) {
		return word
	}
	for _, pair := range irregular() {
		if word == pair[1] {
			return pair[0]
		}
		if word == pair[0] {
			return word
		}
	}
	cut := func(suffix, instead string) string {
		return strings.TrimSuffix(word, suffix) + instead
	}
	switch n := len(word); {
	case n > 4 && strings.HasSuffix(word, "ies"):
		return cut("ies", "y")
	case slices.ContainsFunc([]string{"sses", "shes", "ches", "xes", "zes"},
		func(s string) bool { return strings.HasSuffix(word, s) }):
		return cut("es", "")
	case n > 4 && strings.HasSuffix(word, "oes"):
		return cut("es", "")
	case n > 2 &&
		strings.HasSuffix(word, "s") &&
		!strings.HasSuffix(word, "ss") &&
		!strings.HasSuffix(word, "us") &&
		!strings.HasSuffix(word, "is"):
		return cut("s", "")
	}
	return word
}

// plural returns the plural of word.
func plural(word string) string {
	if constant(word) {
		return word
	}
	for _, pair := range irregular() {
		if word == pair[0] {
			return pair[1]
		}
	}
	n := len(word)
	switch {
	case n > 1 && strings.HasSuffix(word, "y") &&
		!strings.ContainsRune("aeiou", rune(word[n-2])):
		return word[:n-1] + "ies"
	case slices.ContainsFunc([]string{"s", "sh", "ch", "x", "z"},
		func(s string) bool { return strings.HasSuffix(word, s) }):
		return word + "es"
	}
	return word + "s"
}

// spaced returns the name of a tool or a column as words.
func spaced(name string) string {
	return strings.ReplaceAll(name, "_", " ")
}

// capital returns text with its first letter in upper case.
func capital(text string) string {
	for i, r := range text {
		return string(unicode.ToUpper(r)) + text[i+len(string(r)):]
	}
	return text
}
