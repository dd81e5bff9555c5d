package edge

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

//go:embed js
var scripts embed.FS

// parts are the scripts that every endpoint has, in the order in which they run. The
// language goes between both lists.
var (
	partsBefore = []string{"tables", "text", "json", "names", "nearest", "snowball"}
	partsAfter  = []string{"words", "search1", "search2", "search", "pattern", "arguments", "site", "page", "protocol"}
)

// noLanguage replaces the stemmer for texts in other languages.
const noLanguage = "const LANGUAGE = { code: '', stops: '', weak: '', related: '', elides: false };\n\n" +
	"const stem = (word) => word;\n"

// config is what the module knows about its host, in a constant.
type config struct {
	// Path is that of the endpoint, and Site the path of the site, such as "/mcp/", or its URL.
	Path string `json:"path"`
	Site string `json:"site"`
	// Folder is the site, and Published what the host publishes, relative to the module.
	Folder    string   `json:"folder,omitempty"`
	Published string   `json:"published,omitempty"`
	Hosts     []string `json:"hosts,omitempty"`
}

// module assembles an endpoint from its parts and the named scripts of a host. others are the
// languages of other indexes than the main one.
func module(language string, others []string, c *config, hosts ...string) ([]byte, error) {
	var b strings.Builder
	b.WriteString(Marker + "\n")
	b.WriteString("// An MCP endpoint for a StaticMCP site, by https://github.com/slipway-mcp/slipway\n\n")
	settings, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	page, err := pageTemplate("page-endpoint.html")
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "const CONFIG = %s;\nconst PAGE = %s;\n", settings, marshal(page))
	for _, name := range partsBefore {
		if err := appendPart(&b, name); err != nil {
			return nil, err
		}
	}
	if err := appendLanguages(&b, language, others); err != nil {
		return nil, err
	}
	for _, name := range partsAfter {
		if err := appendPart(&b, name); err != nil {
			return nil, err
		}
	}
	for _, name := range hosts {
		text, err := scripts.ReadFile("js/hosts/" + name + ".js")
		if err != nil {
			return nil, err
		}
		b.WriteString("\n" + string(text))
	}
	return []byte(b.String()), nil
}

var (
	partImport = lazyregexp.New(`(?m)^import .* from '\./[a-z0-9]+\.js';\n`)
	partExport = lazyregexp.New(`(?m)^export `)
)

// appendPart appends a script without its imports and exports, which serve only tests.
func appendPart(b *strings.Builder, name string) error {
	text, err := scripts.ReadFile("js/" + name + ".js")
	if err != nil {
		return err
	}
	text = partExport().ReplaceAll(partImport().ReplaceAll(text, nil), nil)
	b.WriteString("\n" + strings.TrimSpace(string(text)) + "\n")
	return nil
}

// appendLanguage appends the stop words and the stemmer of a language such as "pt-BR".
func appendLanguage(b *strings.Builder, language string) error {
	text, err := scripts.ReadFile("js/stems/" + baseLanguage(language) + ".js")
	if err != nil {
		if _, isPath := err.(*fs.PathError); !isPath {
			return err
		}
		text = []byte(noLanguage)
	}
	b.WriteString("\n" + string(text))
	return nil
}

// appendLanguages appends the stop words and stemmers of all indexes of a site.
func appendLanguages(b *strings.Builder, language string, others []string) error {
	if err := appendLanguage(b, language); err != nil {
		return err
	}
	b.WriteString("\nconst LANGUAGES = {};\n")
	for _, other := range others {
		fmt.Fprintf(b, "\nLANGUAGES[%s] = (() => {", marshal(other))
		if err := appendLanguage(b, other); err != nil {
			return err
		}
		b.WriteString("\nreturn { ...LANGUAGE, stem };\n})();\n")
	}
	return nil
}

// baseLanguage returns the code under which the words of a language are known.
func baseLanguage(language string) string {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(language, "_", "-")), "-")
	if base == "nb" || base == "nn" {
		return "no"
	}
	return base
}
