package staticmcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Address is the location of one stored answer under the standard: the folder, and the
// texts that the rest of the path encodes.
type Address struct {
	// Dir is "resources", or the folder of a tool or a prompt such as
	// "tools/get_country".
	Dir string
	// Texts are the unencoded parts of the path: the segments of a URI, or the arguments of
	// a call in path order. Without any, the answer is the file Dir + ".json".
	Texts []string
	// URI is the whole URI of a resource, or empty.
	URI string
}

// Path returns the path of the file under the standard's naming rule, with slashes.
func (a Address) Path() string { return a.path(site.EncodeName) }

// AliasPath returns the path under which a widely copied bridge for web clients looks for
// an answer with a name over 200 characters: it ends in a 32-bit hash. For all other
// answers it equals [Address.Path].
func (a Address) AliasPath() string { return a.path(site.EncodeName31) }

// path joins the folder and the encoded parts. A call without arguments has its file next
// to the folder.
func (a Address) path(encode func(string) string) string {
	if len(a.Texts) == 0 {
		return a.Dir + site.Extension
	}
	names := make([]string, len(a.Texts))
	for i, text := range a.Texts {
		names[i] = encode(text)
	}
	return a.Dir + "/" + strings.Join(names, "/") + site.Extension
}

// DistinctPath returns the path that distinguishes this answer from others with the same
// [Address.Path]. places are the indexes of the Texts that differ: their names get the
// hashed form that the standard gives to long names, whatever their length. For a
// resource, places is ignored and the last name is hashed from the whole URI.
func (a Address) DistinctPath(places ...int) string {
	names := a.DistinctNames(places...)
	if len(names) == 0 {
		return a.Dir + site.Extension
	}
	return a.Dir + "/" + strings.Join(names, "/") + site.Extension
}

// DistinctNames returns the parts of [Address.DistinctPath] after Dir.
func (a Address) DistinctNames(places ...int) []string {
	names := make([]string, len(a.Texts))
	for i, text := range a.Texts {
		names[i] = site.EncodeName(text)
		if a.URI == "" && slices.Contains(places, i) {
			names[i] = site.DistinctName(text)
		}
	}
	last := len(names) - 1
	if last >= 0 && a.URI != "" {
		names[last] = site.DistinctURIName(a.Texts[last], a.URI)
	}
	return names
}

// Valid returns an error if the standard cannot name the file: a part encodes to nothing,
// the path is too long, or the folder leads outside the site.
func (a Address) Valid() error {
	for _, text := range a.Texts {
		if site.EncodeName(text) == "" {
			return fmt.Errorf("%q leaves nothing to name a file by", text)
		}
		if len(text) > site.MaxText {
			return fmt.Errorf("a text of %d bytes is too long to be looked for", len(text))
		}
	}
	if a.Dir == site.ResourcesDir && len(a.Texts) == 0 {
		return fmt.Errorf("the URI %q leaves nothing to name a file by", a.URI)
	}
	if !site.IsSafePath(a.Dir) || !site.IsSafePath(a.Path()) {
		return fmt.Errorf("%q is not a valid path on every system", a.Path())
	}
	return nil
}

// ResourceAddress returns where the resource at uri is stored.
func ResourceAddress(uri string) Address {
	return Address{
		Dir:   site.ResourcesDir,
		Texts: site.SplitSlashes(site.URIRest(uri)),
		URI:   uri,
	}
}

// PromptAddress returns where a prompt filled in with arguments is stored. Arguments that
// encode to an empty name count as omitted.
func PromptAddress(p *mcp.Prompt, arguments map[string]string) Address {
	a := Address{Dir: site.PromptsDir + "/" + p.Name}
	for _, arg := range p.Arguments {
		if text := arguments[arg.Name]; site.EncodeName(text) != "" {
			a.Texts = append(a.Texts, text)
		}
	}
	return a
}

// CompletionPath returns the path of the file with the values of an argument of
// a prompt, or of a variable of a resource template. One of prompt and
// uriTemplate is empty.
func CompletionPath(prompt, uriTemplate, argument string) string {
	place := site.CompletionsDir + "/resources"
	if prompt != "" {
		place = site.CompletionsDir + "/prompts/" + site.EncodeName(prompt)
	} else {
		for _, part := range site.SplitSlashes(site.URIRest(uriTemplate)) {
			place += "/" + site.EncodeName(part)
		}
	}
	return place + "/" + site.EncodeName(argument) + site.Extension
}

// ToolLayout determines where the answers of one tool are stored. It is immutable and
// safe for concurrent use.
type ToolLayout struct{ tool *tool }

// NewToolLayout derives the layout from the definition of a tool. A schema that is not a
// JSON object declares no arguments.
func NewToolLayout(name string, inputSchema json.RawMessage) *ToolLayout {
	i := jsonscan.Space(inputSchema, 0)
	if jsonscan.Valid(inputSchema) != nil || inputSchema[i] != '{' {
		inputSchema = site.AnyObject
	}
	return &ToolLayout{newTool(name, site.Compact(inputSchema))}
}

// Argument is a declared argument of a tool.
type Argument struct {
	// Name is that of the property, and Required reports whether the schema requires it.
	Name     string
	Required bool
	Default  json.RawMessage // nil if it has none
}

// Arguments returns the declared arguments in path order: the required ones as the schema
// lists them, then the others in the order of the schema's text.
func (l *ToolLayout) Arguments() []Argument {
	list := make([]Argument, len(l.tool.params))
	for i, p := range l.tool.params {
		list[i] = Argument{p.name, p.required, p.fallback}
	}
	return list
}

// Address returns where the answer to a call with arguments, a JSON object or nil, is
// stored. Arguments that are null count as omitted. It fails if an argument is undeclared
// or repeated; otherwise the arguments are not validated against the schema.
func (l *ToolLayout) Address(arguments json.RawMessage) (Address, error) {
	values, err := l.values(arguments)
	a := Address{Dir: site.ToolsDir + "/" + l.tool.name}
	for _, v := range values {
		a.Texts = append(a.Texts, v.texts[0])
	}
	return a, err
}

// Ordered returns arguments in path order, without white space and null values. Two calls
// that mean the same yield the same text, unless their numbers are spelled differently.
func (l *ToolLayout) Ordered(arguments json.RawMessage) (json.RawMessage, error) {
	values, err := l.values(arguments)
	if err != nil {
		return nil, err
	}
	for i := range values {
		values[i].raw = site.Compact(values[i].raw)
	}
	return l.tool.withoutNulls(values), nil
}

// Paths returns the paths under which a [Site] looks for the answer to a call with
// arguments, the standard's first. It fails like [ToolLayout.Address].
func (l *ToolLayout) Paths(arguments json.RawMessage) ([]string, error) {
	values, err := l.values(arguments)
	if err != nil {
		return nil, err
	}
	values = slices.DeleteFunc(values, func(v value) bool {
		return v.absent()
	})
	var list []string
	for _, c := range l.tool.paths(values, &Options{}) {
		list = append(list, c.Path)
	}
	return list, nil
}

// values returns the given arguments in path order. A null counts as absent, as models
// send it for that.
func (l *ToolLayout) values(arguments json.RawMessage) ([]value, error) {
	i := jsonscan.Space(arguments, 0)
	if i == len(arguments) {
		return nil, nil
	}
	if arguments[i] != '{' || jsonscan.Valid(arguments) != nil {
		return nil, fmt.Errorf("the arguments are not a JSON object")
	}
	var values []value
	for _, m := range jsonscan.Members(arguments) {
		place := l.tool.param(m.Name)
		if place < 0 {
			return nil, fmt.Errorf("the tool %q declares no argument %q",
				l.tool.name, m.Name)
		}
		if slices.ContainsFunc(values, func(v value) bool {
			return v.param == place
		}) {
			return nil, fmt.Errorf("duplicate argument %q", m.Name)
		}
		if string(m.Value) != "null" {
			values = append(values, value{place, m.Value, spellings(m.Value)[:1]})
		}
	}
	sortByParam(values)
	return values, nil
}

// EncodeName returns the file name, without ".json", that section 3 of the StaticMCP
// standard gives to s, one segment of a resource URI or one argument of a tool call. It
// matches the standard's reference function exactly: accents are removed, letters are
// lowercased, and every other character that is not a-z, 0-9, "-" or "_" becomes one
// underscore per UTF-16 code unit, so an emoji becomes two. Normalization follows Unicode
// 17, independent of the Go release.
//
// The result has at most 200 characters. A longer one is cut to 183 and followed by "_"
// and the SipHash-1-3 of s in 16 hexadecimal digits. The standard leaves the choice of
// the hash open; this is the one published sites use (key zero, over the UTF-8 of s and a
// final byte 0xff).
//
// Different strings can have the same name ("東京" and "北京" are both "__"), and the name is
// empty if s is empty or consists only of combining marks; neither is an error here. A
// byte of s that is not valid UTF-8 counts as U+FFFD. If s is its own name, it is
// returned unchanged, without allocating.
func EncodeName(s string) string { return site.EncodeName(s) }
