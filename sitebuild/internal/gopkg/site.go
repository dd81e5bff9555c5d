package gopkg

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
)

// book holds all packages.
type book struct {
	// module is the module of the folder, or empty without a go.mod.
	module   module
	packages []*pkg
	names    sitewriter.ToolNames
}

// instructions returns the default text that tells a model which tool does what.
func (b *book) instructions() string {
	what := b.packages[0].path
	if len(b.packages) > 1 {
		what = fmt.Sprintf("%d packages", len(b.packages))
		if b.module.path != "" {
			what += " of the module " + b.module.path
		}
	}
	text := "Documentation of Go code: " + what + "."
	tools := sitewriter.Clauses(", and ",
		b.names.If("list_packages", "%s names the packages"),
		b.names.If("get_package", "%s describes one with all that it exports"),
		b.names.If("get_symbol", "%s has the declaration, comment and examples of a constant, variable, function, "+
			"type or method such as Client.Do"),
		b.names.If("find_symbols", "%s tells where a name is"))
	if tools == "" {
		return text
	}
	return text + " " + tools + "."
}

const (
	// The output schemas of the tools, which the answers follow.
	packagesOutput = `{"type":"object","properties":{"page":{"type":"integer"},
		"pages":{"type":"integer"},"total":{"type":"integer"},"packages":{"type":"array",
		"items":{"type":"object","properties":{"importPath":{"type":"string"},
		"name":{"type":"string"},"synopsis":{"type":"string"}},"required":["importPath","name"]}}},
		"required":["packages"]}`
	packageOutput = `{"type":"object","properties":{"part":{"type":"integer"},
		"parts":{"type":"integer"},"importPath":{"type":"string"},"name":{"type":"string"},
		"doc":{"type":"string"},"symbols":{"type":"array","items":{"type":"object",
		"properties":{"name":{"type":"string"},"kind":{"type":"string"},
		"signature":{"type":"string"},"synopsis":{"type":"string"}},"required":["name",
		"signature"]}},"constants":{"type":"array","items":{"type":"string"},
		"description":"Constants of which only the name is known"}},
		"required":["importPath","name"]}`
	symbolOutput = `{"type":"object","properties":{"part":{"type":"integer"},"parts":{"type":"integer"},
		"importPath":{"type":"string"},"symbol":{"type":"string"},"kind":{"type":"string"},
		"declaration":{"type":"string"},"doc":{"type":"string"},"file":{"type":"string"},
		"line":{"type":"integer"},"examples":{"type":"array","items":{"type":"object",
		"properties":{"name":{"type":"string"},"doc":{"type":"string"},"code":{"type":"string"},
		"output":{"type":"string"}},"required":["code"]}}},"required":["importPath","symbol",
		"kind"]}`
	findOutput = `{"type":"object","properties":{"page":{"type":"integer"},"pages":{"type":"integer"},
		"total":{"type":"integer"},"symbols":{"type":"array","items":{"type":"object",
		"properties":{"importPath":{"type":"string"},"symbol":{"type":"string"},
		"kind":{"type":"string"}},"required":["importPath","symbol","kind"]}}},
		"required":["symbols"]}`
)

// tools returns the definitions. Arguments for pages and parts exist only if some answer needs
// them, and the packages are an enum if there are few.
func (b *book) tools() []mcp.Tool {
	importPath := mcp.Property{
		Name: "import_path",
		Schema: mcp.Schema{
			Type:        "string",
			Description: "The import path of the package",
		},
	}
	const few = 50
	if len(b.packages) <= few {
		for _, p := range b.packages {
			importPath.Schema.Enum = append(importPath.Schema.Enum, p.path)
		}
	}
	name := mcp.Property{
		Name: "symbol",
		Schema: mcp.Schema{
			Type:        "string",
			Description: "The name, of a method with its type: Client.Do",
		},
	}
	pages := func(long bool, argument mcp.Property, more ...mcp.Property) []mcp.Property {
		if long {
			more = append(more, argument)
		}
		return more
	}
	page := sitewriter.PageArgument()
	part := sitewriter.PartArgument()
	longPackage := slices.ContainsFunc(b.packages, func(p *pkg) bool {
		return sitewriter.NeedsParts(p.describe())
	})
	longSymbol := slices.ContainsFunc(b.packages, func(p *pkg) bool {
		return slices.ContainsFunc(p.symbols, func(s *symbol) bool {
			return sitewriter.NeedsParts(p.symbolText(s))
		})
	})
	// More answers than names means that some name occurs in so many packages that its
	// answer has pages.
	finds, names := b.finds()
	symbol := mcp.Property{
		Name: "name",
		Schema: mcp.Schema{
			Type:        "string",
			Description: "The name, of a method without its type",
		},
	}
	return []mcp.Tool{
		sitewriter.NewTool("list_packages", "List packages",
			fmt.Sprintf("The %d packages with what each is for.", len(b.packages)),
			packagesOutput, 0, pages(len(b.listing()) > 1, page)...),
		sitewriter.NewTool("get_package", "Get package",
			"One package: its comment, and all that it exports on a line each.",
			packageOutput, 1, pages(longPackage, part, importPath)...),
		sitewriter.NewTool("get_symbol", "Get symbol",
			"One exported name: declaration, comment, place and examples; of a type also its methods.",
			symbolOutput, 2, pages(longSymbol, part, importPath, name)...),
		sitewriter.NewTool("find_symbols", "Find symbols", "In which packages a name is exported.",
			findOutput, 1, pages(len(finds) > names, page, symbol)...),
	}
}

// uri returns the URI of the resource with the documentation of a package.
func (p *pkg) uri() string { return "godoc://" + p.path }

// resources lists the packages as resources.
func (b *book) resources() iter.Seq2[*mcp.Resource, error] {
	return func(yield func(*mcp.Resource, error) bool) {
		for _, p := range b.packages {
			about := cmp.Or(p.synopsis, "The Go package "+p.path)
			if !yield(&mcp.Resource{
				URI:         p.uri(),
				Name:        p.path,
				Description: about,
				MIMEType:    "text/plain",
			}, nil) {
				return
			}
		}
	}
}

// answers yields all answers.
func (b *book) answers() iter.Seq2[*sitewriter.Answer, error] {
	return func(yield func(*sitewriter.Answer, error) bool) {
		send := func(answers ...*sitewriter.Answer) bool {
			for _, a := range answers {
				if !yield(a, nil) {
					return false
				}
			}
			return true
		}
		if !send(b.listing()...) {
			return
		}
		for _, p := range b.packages {
			text := p.describe()
			head := value(packageHead{p.path, p.name, p.synopsis})
			parts := sitewriter.Parts(b.names, "get_package",
				map[string]any{"import_path": p.path}, text, p.json(2*len(text)), head)
			if !send(parts...) ||
				!send(sitewriter.TextResource(p.uri(), "text/plain", text)) {
				return
			}
			seen := map[string]bool{}
			for _, s := range p.symbols {
				if seen[s.name] {
					continue // declared once per platform
				}
				seen[s.name] = true
				args := map[string]any{"import_path": p.path, "symbol": s.name}
				head := value(place{p.path, s.name, s.kind})
				if !send(sitewriter.Parts(b.names, "get_symbol", args, p.symbolText(s),
					p.symbolJSON(s), head)...) {
					return
				}
			}
		}
		finds, _ := b.finds()
		send(finds...)
	}
}

// value encodes v, which contains only strings and numbers.
func value(v any) json.RawMessage {
	raw, _ := mcp.Marshal(v)
	return raw
}

// packageHead identifies a package in structured content.
type packageHead struct {
	ImportPath string `json:"importPath"`
	Name       string `json:"name"`
	Synopsis   string `json:"synopsis,omitempty"`
}

// listing returns the answers of list_packages, in pages.
func (b *book) listing() []*sitewriter.Answer {
	items := make([]sitewriter.PageItem, 0, len(b.packages))
	for _, p := range b.packages {
		line := p.path
		if p.synopsis != "" {
			line += " — " + p.synopsis
		}
		items = append(items, sitewriter.PageItem{
			Text: line + "\n",
			JSON: value(packageHead{p.path, p.name, p.synopsis}),
		})
	}
	return sitewriter.Pages(b.names, "list_packages", nil, "packages", items)
}

// describe returns the text of a package.
func (p *pkg) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s // import %q\n", p.name, p.path)
	if p.text != "" {
		b.WriteString("\n" + p.text + "\n")
	}
	b.WriteByte('\n')
	member := map[*symbol]bool{}
	for _, s := range p.symbols {
		if !member[s] {
			b.WriteString(s.signature + "\n")
		}
		for _, m := range s.members {
			member[m] = true
			b.WriteString("    " + m.signature + "\n")
		}
	}
	writeExamples(&b, p.examples)
	return b.String()
}

// symbolHead identifies a symbol of a package in structured content.
type symbolHead struct {
	Name      string `json:"name"`
	Kind      kind   `json:"kind,omitempty"`
	Signature string `json:"signature"`
	Synopsis  string `json:"synopsis,omitempty"`
}

// smallContent is the size up to which structured content may be larger than a multiple of its
// text: that of a few lines has more names of members than text.
const smallContent = 1000

// json returns the structured content of a package. If it were larger than most, symbols have
// neither a kind, which their signatures begin with, nor a synopsis, which get_symbol tells, and
// the names of constants without more are a list.
func (p *pkg) json(most int) json.RawMessage {
	out := struct {
		ImportPath string       `json:"importPath"`
		Name       string       `json:"name"`
		Doc        string       `json:"doc,omitempty"`
		Symbols    []symbolHead `json:"symbols"`
		Constants  []string     `json:"constants,omitempty"`
	}{p.path, p.name, p.text, []symbolHead{}, nil}
	for _, s := range p.symbols {
		out.Symbols = append(out.Symbols, symbolHead{
			Name:      s.name,
			Kind:      s.kind,
			Signature: s.signature,
			Synopsis:  s.synopsis(),
		})
	}
	full := value(out)
	if len(full) <= max(smallContent, most) {
		return full
	}
	out.Symbols = []symbolHead{}
	for _, s := range p.symbols {
		if s.signature == "const "+s.name {
			out.Constants = append(out.Constants, s.name)
		} else {
			out.Symbols = append(out.Symbols, symbolHead{Name: s.name, Signature: s.signature})
		}
	}
	return value(out)
}

// symbolText returns the text of a symbol: its declaration, comment, members and examples, and
// where it is declared.
func (p *pkg) symbolText(s *symbol) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s // import %q\n\n%s\n", p.name, p.path, s.declaration)
	if s.text != "" {
		b.WriteString("\n" + s.text + "\n")
	}
	if len(s.members) > 0 {
		b.WriteByte('\n')
		for _, m := range s.members {
			b.WriteString(m.signature + "\n")
		}
	}
	writeExamples(&b, s.examples)
	fmt.Fprintf(&b, "\nDeclared in %s:%d\n", s.file, s.line)
	return b.String()
}

// writeExamples writes examples as indented code with the expected output.
func writeExamples(b *strings.Builder, list []example) {
	for _, e := range list {
		b.WriteString("\nExample")
		if e.name != "" {
			b.WriteString(" (" + e.name + ")")
		}
		b.WriteString(":\n")
		if e.text != "" {
			b.WriteString(e.text + "\n")
		}
		b.WriteString("\n" + indent(e.code) + "\n")
		if e.output != "" {
			b.WriteString("\nOutput:\n\n" + indent(e.output) + "\n")
		}
	}
}

// indent puts a tab before each line that is not empty.
func indent(text string) string {
	return strings.ReplaceAll("\t"+strings.ReplaceAll(text, "\n", "\n\t"), "\t\n", "\n")
}

// exampleJSON is an example in structured content.
type exampleJSON struct {
	Name   string `json:"name,omitempty"`
	Doc    string `json:"doc,omitempty"`
	Code   string `json:"code"`
	Output string `json:"output,omitempty"`
}

// symbolJSON returns the structured content of a symbol.
func (p *pkg) symbolJSON(s *symbol) json.RawMessage {
	out := struct {
		ImportPath  string        `json:"importPath"`
		Symbol      string        `json:"symbol"`
		Kind        kind          `json:"kind"`
		Declaration string        `json:"declaration"`
		Doc         string        `json:"doc,omitempty"`
		File        string        `json:"file"`
		Line        int           `json:"line"`
		Examples    []exampleJSON `json:"examples,omitempty"`
	}{p.path, s.name, s.kind, s.declaration, s.text, s.file, s.line, nil}
	for _, e := range s.examples {
		out.Examples = append(out.Examples, exampleJSON{
			Name:   e.name,
			Doc:    e.text,
			Code:   e.code,
			Output: e.output,
		})
	}
	return value(out)
}

// search returns the tool that finds packages and symbols by words.
func (b *book) search() (*sitewriter.Search, error) {
	entries := func(yield func(sitewriter.SearchEntry) bool) {
		for _, p := range b.packages {
			if !yield(sitewriter.SearchEntry{
				ID:       p.path,
				Title:    "package " + p.name,
				Keywords: []string{p.synopsis},
				Text:     p.text,
			}) {
				return
			}
			for _, s := range p.symbols {
				if !yield(sitewriter.SearchEntry{
					ID:       p.path + " " + s.name,
					Title:    s.signature,
					Keywords: []string{s.name, p.name},
					Text:     s.text,
				}) {
					return
				}
			}
		}
	}
	return sitewriter.NewSearch("search_docs", entries, &sitewriter.SearchOptions{
		Title:       "Search documentation",
		Description: "Packages and what they export, by words of their names and comments, the best first.",
		Hint:        b.searchHint(),
	})
}

// searchHint returns the text below search results, or "".
func (b *book) searchHint() string {
	how := sitewriter.Clauses("; or ",
		b.names.If("get_symbol", "with %s: the path named here is its import_path and symbol"),
		b.names.If("get_package", "with %s"))
	if how == "" {
		return ""
	}
	return "Read one " + how + "."
}

// place is where find_symbols finds a name.
type place struct {
	ImportPath string `json:"importPath"`
	Symbol     string `json:"symbol"`
	Kind       kind   `json:"kind"`
}

// finds returns the answers of find_symbols, and the number of distinct names. Names are
// lower-cased, like the file names that answers are stored under.
func (b *book) finds() (answers []*sitewriter.Answer, names int) {
	places := map[string][]place{}
	for _, p := range b.packages {
		for _, s := range p.symbols {
			name := strings.ToLower(s.name[strings.LastIndexByte(s.name, '.')+1:])
			at := (place{p.path, s.name, s.kind})
			if !slices.Contains(places[name], at) {
				places[name] = append(places[name], at)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		items := make([]sitewriter.PageItem, 0, len(places[name]))
		for _, at := range places[name] {
			text := fmt.Sprintf("%s %s in package %s\n", at.Kind, at.Symbol, at.ImportPath)
			items = append(items, sitewriter.PageItem{
				Text: text,
				JSON: value(at),
			})
		}
		answers = append(answers, sitewriter.Pages(b.names, "find_symbols",
			map[string]any{"name": name}, "symbols", items)...)
	}
	return answers, len(places)
}
