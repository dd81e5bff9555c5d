package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// frontMatter is the metadata at the start of a document.
type frontMatter struct {
	// title, description and lang override what is found in the text.
	title, description, lang string
	label                    string // in the navigation
	// id and slug replace the name of the file in the page's address, as Docusaurus
	// defines them.
	id, slug string
	// position orders the page among its siblings, if positioned.
	position   float64
	positioned bool
	// hidden keeps the page out of the navigation, unsearched out of the search index.
	hidden, unsearched bool
	keywords           []string
	aliases            []string
	menus              map[string]menuEntry // of Hugo
	// rendered is true for a page whose text is not that of its file: an HTML page, whose own
	// address is address, and that of the page after it next, or a converted document.
	rendered      bool
	address, next string
	// fetched is what the links of a page that was fetched are relative to, or nil. If that is not the
	// address of the page, fetchedAt is.
	fetched, fetchedAt *url.URL
}

// menuEntry is the position of a page in a Hugo menu.
type menuEntry struct {
	// weight orders the entry; parent is the id of another one.
	weight float64
	name   string
	parent string
	id     string
}

// frontError is the reason why front matter cannot be parsed; line counts from 1 at its
// opening mark.
type frontError struct {
	// line counts from the start of the file.
	line int
	text string
	// prose means that there is no front matter: the lines between the marks are text. large means
	// that it is too long to be parsed.
	prose, large bool
}

// Error implements the error interface.
func (e *frontError) Error() string { return e.text }

// splitFrontMatter separates the front matter from text. lines is how many lines of text
// precede body. values is nil if there is no front matter.
func splitFrontMatter(text string) (values map[string]any, body string, lines int, err error) {
	for _, kind := range []struct {
		mark   string
		decode func(string) (map[string]any, error)
	}{{"---", decodeYAML}, {"+++", decodeTOML}} {
		first, rest, ok := strings.Cut(text, "\n")
		if !ok || strings.TrimRight(first, " \t\r") != kind.mark {
			continue
		}
		front, body, n, ok := upTo(rest, kind.mark)
		if !ok {
			if kind.mark == "---" {
				return nil, text, 0, nil // a horizontal rule
			}
			return nil, text, 0, &frontError{line: 1, text: "the front matter has no end"}
		}
		values, err := kind.decode(front)
		if err != nil {
			values = plainLines(front)
		}
		if fe := (*frontError)(nil); errors.As(err, &fe) && !fe.large && kind.mark == "---" && !beginsWithName(front) {
			return values, text, 0, &frontError{
				line:  1,
				text:  "the text between two lines of --- is not front matter and stays on the page",
				prose: true,
			}
		}
		return values, body, n + 1, err
	}
	if strings.HasPrefix(text, "{\n") || strings.HasPrefix(text, "{\r\n") {
		return splitJSON(text)
	}
	return nil, text, 0, nil
}

// nameLine matches a line that begins with a name of front matter.
var nameLine = lazyregexp.New(`^["']?[\w.-]+["']?[ \t]*:`)

// beginsWithName reports whether the first line of front matter, without comments, has a name.
func beginsWithName(front string) bool {
	for line := range strings.Lines(front) {
		if bare := strings.TrimSpace(line); bare != "" && bare[0] != '#' && bare[0] != '{' {
			return nameLine().MatchString(bare)
		}
	}
	return true
}

// plainLine matches a line of front matter with a name and a text.
var plainLine = lazyregexp.New(`(?m)^([A-Za-z_]+)[ \t]*[:=][ \t]*(.*?)[ \t\r]*$`)

// plainLines extracts single-line values from front matter that cannot be parsed, so that
// a draft stays a draft and a page keeps its title.
func plainLines(front string) map[string]any {
	values := map[string]any{}
	for _, m := range plainLine().FindAllStringSubmatch(front[:min(len(front), maxFront)], -1) {
		value := m[2]
		n := len(value)
		if n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		switch {
		case value == "true", value == "false":
			values[m[1]] = value == "true"
		case value != "" && !strings.ContainsAny(value[:1], "[{\"'|>&*!@`"):
			values[m[1]] = value
		}
	}
	return values
}

// upTo splits text before and after the line that equals mark.
func upTo(text, mark string) (before, after string, lines int, ok bool) {
	at := 0
	for at < len(text) {
		line, _, more := strings.Cut(text[at:], "\n")
		lines++
		next := at + len(line) + 1
		if !more {
			next = len(text)
		}
		if strings.TrimRight(line, " \t\r") == mark {
			return text[:at], text[next:], lines, true
		}
		at = next
	}
	return "", "", 0, false
}

// splitJSON is splitFrontMatter for front matter in JSON, which ends with its brace.
func splitJSON(text string) (map[string]any, string, int, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	var values map[string]any
	if err := dec.Decode(&values); err != nil {
		return nil, text, 0, nil // a document that begins with a brace
	}
	at := int(dec.InputOffset())
	rest := strings.TrimLeft(text[at:], " \t\r")
	rest = strings.TrimPrefix(rest, "\n")
	return values, rest, strings.Count(text[:len(text)-len(rest)], "\n"), nil
}

// decodeFile decodes a configuration file; its extension is that of the format.
func decodeFile(name, text string) (values map[string]any, err error) {
	switch path.Ext(name) {
	case ".toml":
		return decodeTOML(text)
	case ".json":
		err = json.Unmarshal([]byte(text), &values)
		return values, err
	}
	return decodeYAML(text)
}

// maxFront bounds front matter in bytes, to limit the work of the parsers.
const maxFront = 256 << 10

// decodeYAML decodes front matter in YAML. The error is a *frontError.
func decodeYAML(text string) (values map[string]any, err error) {
	if len(text) > maxFront {
		return nil, &frontError{
			line:  1,
			text:  fmt.Sprintf("the front matter is longer than %d bytes", maxFront),
			large: true,
		}
	}
	if strings.TrimSpace(text) == "" {
		return map[string]any{}, nil
	}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		line, what := yamlError(err)
		if errors.As(err, new(*yaml.TypeError)) {
			return nil, &frontError{line: line + 1, text: "the front matter has no names: want lines such as title: Text"}
		}
		return nil, &frontError{line: line + 1, text: "the front matter is not YAML: " + what}
	}
	return values, nil
}

// yamlLine matches the line in an error of the YAML library.
var yamlLine = lazyregexp.New(`^(?:unmarshal errors:\s+)?line (\d+): `)

// yamlError returns the line and the message of an error of the YAML library.
func yamlError(err error) (line int, text string) {
	text = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine().FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	text, _, _ = strings.Cut(text, "\n")
	return line, text
}

// decodeTOML decodes front matter in TOML. The error is a *frontError.
func decodeTOML(text string) (values map[string]any, err error) {
	if len(text) > maxFront {
		return nil, &frontError{
			line:  1,
			text:  fmt.Sprintf("the front matter is longer than %d bytes", maxFront),
			large: true,
		}
	}
	if err := toml.NewDecoder(bytes.NewReader([]byte(text))).Decode(&values); err != nil {
		line := 0
		var e *toml.DecodeError
		if errors.As(err, &e) {
			line, _ = e.Position()
		}
		return nil, &frontError{
			line: line + 1,
			text: "the front matter is not TOML: " + strings.TrimPrefix(err.Error(), "toml: "),
		}
	}
	return values, nil
}

// readFront reads the supported fields.
func readFront(v map[string]any) *frontMatter {
	f := &frontMatter{}
	f.title = str(v["title"])
	f.description = cmp.Or(str(v["description"]), str(v["summary"]))
	f.lang = cmp.Or(str(v["lang"]), str(v["language"]))
	f.label = cmp.Or(str(v["sidebar_label"]), str(v["linkTitle"]),
		str(v["linktitle"]), str(v["nav_title"]))
	f.id = str(v["id"])
	f.slug = cmp.Or(str(v["slug"]), str(v["permalink"]), str(v["url"]))
	for _, key := range []string{"sidebar_position", "weight", "order", "nav_order"} {
		n, ok := number(v[key])
		if ok && !f.positioned {
			f.position = n
			f.positioned = true
		}
	}
	for _, key := range []string{"draft", "hidden", "unlisted", "headless"} {
		f.hidden = f.hidden || truth(v[key])
	}
	if b, ok := v["published"].(bool); ok && !b {
		f.hidden = true
	}
	if list, ok := v["build"].(map[string]any); ok && str(list["render"]) == "never" {
		f.hidden = true
	}
	if b, ok := v["search"].(bool); ok && !b {
		f.unsearched = true
	}
	if m, ok := v["search"].(map[string]any); ok && truth(m["exclude"]) {
		f.unsearched = true
	}
	for _, key := range []string{"keywords", "tags", "categories"} {
		f.keywords = append(f.keywords, texts(v[key])...)
	}
	f.aliases = texts(v["aliases"])
	f.menus = readMenus(v)
	return f
}

// readMenus reads the menus in the front matter of a Hugo page.
func readMenus(v map[string]any) map[string]menuEntry {
	menus := make(map[string]menuEntry)
	for _, key := range []string{"menu", "menus"} {
		switch m := v[key].(type) {
		case map[string]any:
			for name, entry := range m {
				e, _ := entry.(map[string]any)
				weight, _ := number(e["weight"])
				menus[name] = menuEntry{weight, str(e["name"]), str(e["parent"]), str(e["identifier"])}
			}
		default:
			for _, name := range texts(m) {
				menus[name] = menuEntry{}
			}
		}
	}
	return menus
}

// str returns a scalar as text, and "" for other values.
func str(v any) string {
	switch t := v.(type) {
	case string:
		return strings.TrimSpace(t)
	case int, int64, uint64, float64, bool:
		return fmt.Sprint(t)
	}
	return ""
}

// truth reports whether a value is true, also as text.
func truth(v any) bool {
	b, ok := v.(bool)
	return ok && b || v == "true"
}

// number returns a number, also from a text.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case float64:
		return n, true
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
		return f, err == nil
	}
	return 0, false
}

// texts returns a string or a list of strings as a list.
func texts(v any) []string {
	switch t := v.(type) {
	case string:
		if t = strings.TrimSpace(t); t != "" {
			return []string{t}
		}
	case []any:
		var list []string
		for _, e := range t {
			if s := str(e); s != "" {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}
