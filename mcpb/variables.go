package mcpb

import "strings"

// Variables of manifests besides user options.
const (
	varDir       = "__dirname"
	varSeparator = "pathSeparator"
	varSlash     = "/"
	varHome      = "HOME"
	varDesktop   = "DESKTOP"
	varDocuments = "DOCUMENTS"
	varDownloads = "DOWNLOADS"

	userConfigPrefix = "user_config."
	argumentsPrefix  = "arguments."
)

// variables returns all names without a dot.
func variables() []string {
	return []string{varDir, varHome, varDesktop, varDocuments, varDownloads, varSeparator, varSlash}
}

// part is a piece of a string: literal text, or the name of a variable.
type part struct {
	text     string // the literal, or the variable as it is written
	name     string // between ${ and }
	variable bool
	unclosed bool // a literal that begins with ${ and never ends
}

// splitVariables splits s into parts in a single pass. The texts of the parts, joined,
// are s.
func splitVariables(s string) []part {
	var parts []part
	for s != "" {
		i := strings.Index(s, "${")
		if i < 0 {
			return append(parts, part{text: s})
		}
		if i > 0 {
			parts = append(parts, part{text: s[:i]})
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			return append(parts, part{
				text:     s[i:],
				unclosed: true,
			})
		}
		parts = append(parts, part{
			text:     s[i : i+end+1],
			name:     s[i+2 : i+end],
			variable: true,
		})
		s = s[i+end+1:]
	}
	return parts
}

// option returns the key of the option that the part refers to.
func (p part) option() (key string, ok bool) {
	key, ok = strings.CutPrefix(p.name, userConfigPrefix)
	return key, ok && p.variable
}

// onlyOption returns the key of the option if s is exactly one reference to it.
func onlyOption(s string) (key string, ok bool) {
	parts := splitVariables(s)
	if len(parts) != 1 {
		return "", false
	}
	return parts[0].option()
}

// optionsIn returns the keys of the options that s refers to.
func optionsIn(s string) []string {
	var keys []string
	for _, p := range splitVariables(s) {
		if key, ok := p.option(); ok {
			keys = append(keys, key)
		}
	}
	return keys
}
