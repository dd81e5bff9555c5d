package lock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
)

// CheckShadowing reports tool shadowing, with the rule lock/mentions: definitions of one
// source that name a tool of another. Such a text can change how models use a tool whose
// own definition is approved. Only names that are not ordinary words count, such as
// send_mail or readFile. Findings are ordered by source, then by item.
func CheckShadowing(sources map[string]*Entry) (found []check.Finding) {
	names := (&File{Sources: sources}).Names()
	owners := make(map[string][]string)
	for _, source := range names {
		for _, item := range sources[source].sorted() {
			if item.Kind == Tools && distinctive(item.Name) {
				owners[item.Name] = append(owners[item.Name], source)
			}
		}
	}
	for _, source := range names {
		for _, item := range sources[source].sorted() {
			for _, tool := range mentioned(sources[source].Items[item].Definition, owners) {
				if of := owners[tool]; !slices.Contains(of, source) {
					found = append(found,
						finding(ruleMentions, source, item,
							fmt.Sprintf("%s mentions %s, a tool of %q", item, tool, of[0])))
				}
			}
		}
	}
	return found
}

// distinctive reports whether a tool name is unlikely to occur as an ordinary word.
func distinctive(name string) bool {
	return len(name) >= 6 &&
		(strings.ContainsAny(name, "_-./0123456789") ||
			strings.ToLower(name[1:]) != name[1:])
}

// mentioned returns the tools named in the texts of a definition, each once.
func mentioned(definition json.RawMessage, owners map[string][]string) (tools []string) {
	var v any
	if definition == nil || json.Unmarshal(definition, &v) != nil {
		return nil
	}
	for _, at := range texts(v, "") {
		for _, word := range strings.FieldsFunc(at.text, isNoName) {
			word = strings.Trim(word, "./-")
			if owners[word] != nil && !slices.Contains(tools, word) {
				tools = append(tools, word)
			}
		}
	}
	return tools
}

// isNoName reports whether a character cannot occur in a tool name.
func isNoName(r rune) bool {
	return (r < 'a' || r > 'z') &&
		(r < 'A' || r > 'Z') &&
		(r < '0' || r > '9') &&
		!strings.ContainsRune("_-./", r)
}
