package sitelint

import (
	"cmp"
	_ "embed" // for the table
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/site"
)

// reader describes what is known about another program that reads sites.
type reader struct {
	// Name identifies the reader in options.
	Name string `json:"name"`
	// Resource names the rule by which it looks for a resource, of [resourceRules]; Where
	// describes that in words.
	Resource string `json:"resource"`
	Where    string `json:"where"`
	// Raw reports whether it uses values as they are, without encoding them.
	Raw bool `json:"raw"`
	// Order is the order in which it takes arguments: by "name", by "value", or as declared.
	Order string `json:"order"`
	// Joins names the characters that replace those of base64 in the single name it uses
	// for three or more arguments, of [base64Names]; "" if each argument is a part of the path.
	Joins string `json:"joins"`
	// Sanitizes reports whether it changes the names of tools, for clients as well.
	Sanitizes bool `json:"sanitizes"`
	// Hash31 reports whether its long names end in a different hash.
	Hash31 bool `json:"hash31"`
	// Untyped reports whether it drops arguments whose schema has no type.
	Untyped bool `json:"untyped"`
	// Needs are the shapes of resources that it can read; empty if it reads all.
	Needs []string `json:"needs"`
	// Loses lists what it drops when reading.
	Loses []string `json:"loses"`
}

// trait is a property of the file of a resource.
type trait uint8

const (
	traitFlat     trait = 1 << iota // in the standard's form
	traitContents                   // with contents
	traitMeta                       // with _meta
)

// needs returns the traits that a reader needs one of, or zero.
func (r *reader) needs() trait {
	var needs trait
	for _, name := range r.Needs {
		needs |= map[string]trait{"flat": traitFlat, "contents": traitContents}[name]
	}
	return needs
}

// readersText is the table of readers; readers.schema.json explains its members.
//
//go:embed readers.json
var readersText []byte

// knownReaders returns the embedded table. It is parsed once, on first use, and a malformed
// table is a mistake of the build.
var knownReaders = sync.OnceValue(func() []reader {
	var table struct{ Readers []reader }
	if err := json.Unmarshal(readersText, &table); err != nil {
		panic(fmt.Errorf("readers.json: %w", err))
	}
	return table.Readers
})

// resourceRules are the rules by which readers look for a resource.
var resourceRules = map[string]func(uri string) string{
	"raw": rawResource,
	// The rule of a generator, whose tests treat it as a reader.
	"replaced": func(uri string) string {
		return rawResource(site.ReplaceReserved(uri))
	},
	"file": fileResource,
}

// base64Names are the forms of base64 in names of files.
var base64Names = map[string]*strings.Replacer{
	"underscores": strings.NewReplacer("/", "_", "+", "_", "=", "_"),
	"unpadded":    strings.NewReplacer("/", "_", "+", "_", "=", ""),
}

// rawResource returns the path of a resource for readers that cut off the scheme and
// encode nothing.
func rawResource(uri string) string {
	_, rest, ok := strings.Cut(uri, "://")
	if ok && !strings.Contains(rest, "://") {
		return site.ResourcesDir + "/" + rest + site.Extension
	}
	return strings.TrimSuffix(uri, site.Extension) + site.Extension
}

// fileResource returns the path of a resource for a reader that cuts off only the scheme
// file.
func fileResource(uri string) string {
	return site.ResourcesDir + "/" + strings.Replace(uri, "file://", "", 1) + site.Extension
}

// Readers returns the names of the other known readers.
func Readers() []string { return site.TableNames(readersText, "readers") }

// checkReaders reports what other readers will fail to read.
func (c *checker) checkReaders() {
	if c.site == nil {
		return
	}
	answers := make(map[*listedTool][]*job)
	for i := range c.jobs {
		if j := &c.jobs[i]; j.tool != nil {
			answers[j.tool] = append(answers[j.tool], j)
		}
	}
	for _, r := range knownReaders() {
		if slices.Contains(c.opts.Readers, r.Name) {
			c.readerResources(r)
			if c.site.packs != nil {
				c.site.fileReport.At(0).Add(ruleReaderPath, "/_meta", "build the site with --layout standard",
					"%s cannot read packs, which contain the answers of tools", r.Name)
			}
			for _, t := range c.site.tools {
				c.readerTool(r, t, answers[t])
			}
			c.readerLosses(r)
		}
	}
}

// unread counts the files that a reader does not find.
type unread struct {
	// count of the of questions cannot be answered by a reader, such as example.
	count, of int
	example   string
}

// note counts a file. The first one that the reader does not find is the example.
func (u *unread) note(missed bool, example string) {
	u.of++
	if !missed {
		return
	}
	if u.count++; u.count == 1 {
		u.example = example
	}
}

// String returns the count with the example.
func (u *unread) String() string {
	return fmt.Sprintf("%d of %d, such as %s", u.count, u.of, u.example)
}

// readerResources checks the resources against the behaviour of a reader.
func (c *checker) readerResources(r reader) {
	var places, shapes unread
	needs := r.needs()
	for i := range c.jobs {
		j := &c.jobs[i]
		if j.resource == 0 {
			continue
		}
		uri := c.site.resources[j.resource-1].name
		places.note(!c.exists(resourceRules[r.Resource](uri)), site.Shorten(uri))
		shapes.note(needs != 0 && j.traits&needs == 0, j.path)
	}
	s := c.site.fileReport
	if places.count > 0 {
		s.At(0).Add(ruleReaderPath, "/capabilities/resources", r.Where,
			"%s looks elsewhere for resources: %s", r.Name, &places)
	}
	if shapes.count > 0 {
		s.At(0).Add(ruleReaderShape, "/capabilities/resources", r.shapeHint(),
			"%s cannot use the files of resources: %s", r.Name, &shapes)
	}
}

// shapeHint describes what the reader does with the file of a resource.
func (r *reader) shapeHint() string {
	if r.needs()&traitFlat == 0 {
		return `it passes the file on as a result, which needs {"contents":[...]}; the standard has no contents`
	}
	return "it returns the whole file as text"
}

// exists reports whether a file exists at a path that another reader computed.
func (c *checker) exists(path string) bool {
	return site.IsSafePath(path) && c.tree.find(path) != nil
}

// readerTool checks the answers of a tool against the behaviour of a reader.
func (c *checker) readerTool(r reader, t *listedTool, answers []*job) {
	s := c.site.fileReport
	if name := site.SanitizedName(t.name); r.Sanitizes && name != t.name {
		s.At(t.entry.at).Add(ruleReaderPath, t.entry.path()+"/name", "",
			"%s calls tool %q %q and looks for its answers under that name", r.Name, t.name, name)
		return
	}
	var dropped []string
	for i := range t.params {
		if r.Untyped && !t.claims[i].typed {
			dropped = append(dropped, t.params[i].Name)
		}
	}
	if len(dropped) > 0 {
		s.At(t.entry.at).Add(ruleReaderPath, t.entry.path()+"/inputSchema", `give each property a "type"`,
			"%s leaves %s of tool %q out of the path: the schema has no type",
			r.Name, site.Alternatives(dropped), t.name)
	}
	var missed unread
	for _, j := range answers {
		if j.short ||
			len(j.parts) == 0 ||
			j.twin != "" ||
			t.isBase64(j.parts) {
			continue
		}
		missed.note(!c.readerFinds(r, t, j.parts), j.path)
	}
	if missed.count > 0 {
		s.At(t.entry.at).Add(ruleReaderPath, t.entry.path(), r.pathHint(len(t.params)),
			"%s looks elsewhere for answers of %q: %s", r.Name, t.name, &missed)
	}
}

// pathHint describes where the reader looks for the answers of a tool with a number of
// arguments.
func (r *reader) pathHint(arguments int) string {
	switch {
	case arguments > 2 && r.Joins != "":
		return "it makes one name of all arguments, in base64; store the answer under that name as well"
	case arguments > 1 && r.Order == "name":
		return "it sorts the arguments by their names: declare them in that order"
	case arguments > 1 && r.Order == "value":
		return "it takes values as they are and sorts two of them: store the answer under that name as well"
	case r.Hash31:
		return "it ends long names in a 32-bit hash: store the answer under that name as well"
	}
	return "it takes values as they are, without encoding them"
}

// readerFinds reports whether a reader finds an answer. Only the encoded names of values
// are known, except that a value of an enum is known itself.
func (c *checker) readerFinds(r reader, t *listedTool, parts []string) bool {
	values := make([]string, len(parts))
	for i, part := range parts {
		values[i] = part
		if len(parts) == len(t.params) {
			k := slices.Index(t.claims[i].names, part)
			if k >= 0 && r.Raw {
				values[i] = t.claims[i].wanted[k]
			}
		}
	}
	dir := site.ToolsDir + "/" + t.name
	switch {
	case len(parts) > 2 && len(parts) == len(t.params) && r.Joins != "":
		return c.exists(dir + "/" + r.joined(t, values) + site.Extension)
	case len(parts) == 2 && r.Order == "value":
		slices.Sort(values)
	case len(parts) == len(t.params) && r.Order == "name":
		values = sortedByName(t, values)
	}
	if last := parts[len(parts)-1]; r.Hash31 &&
		len(last) == site.MaxName &&
		!short31().MatchString(last) &&
		!c.hasShortTwin(dir, parts) {
		return false
	}
	return c.exists(dir + "/" + strings.Join(values, "/") + site.Extension)
}

// joined returns the single name for three or more arguments.
func (r *reader) joined(t *listedTool, values []string) string {
	pairs := make([]string, len(values))
	for i, v := range values {
		pairs[i] = t.params[i].Name + "=" + v
	}
	slices.Sort(pairs)
	encoded := base64.StdEncoding.EncodeToString([]byte(strings.Join(pairs, "&")))
	return base64Names[r.Joins].Replace(encoded)
}

// sortedByName returns values in the order of the names of their arguments.
func sortedByName(t *listedTool, values []string) []string {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(site.CompareNames(t.params[a].Name, t.params[b].Name),
			cmp.Compare(a, b))
	})
	sorted := make([]string, len(values))
	for i, k := range order {
		sorted[i] = values[k]
	}
	return sorted
}

// hasShortTwin reports whether a long name also exists with a 32-bit hash.
func (c *checker) hasShortTwin(dir string, parts []string) bool {
	last := len(parts) - 1
	steps := append([]string{dir}, parts[:last]...)
	b := c.tree.branches[strings.Join(steps, "/")]
	return b != nil &&
		slices.ContainsFunc(b.filesWith(parts[last][:site.LongPrefix+1]),
			short31().MatchString)
}

// readerLosses reports what a reader drops when reading the site.
func (c *checker) readerLosses(r reader) {
	s := c.site.fileReport
	text := slices.ContainsFunc(c.site.tools, func(t *listedTool) bool {
		return slices.ContainsFunc(t.claims, func(c claim) bool {
			return c.kind == "" && c.names == nil
		})
	})
	if r.Raw && text {
		s.At(0).Add(ruleReaderLoss, "", "",
			"%s takes values as they are: it finds only answers to values that are their own names, such as rust",
			r.Name)
	}
	have := map[string]bool{
		"prompts":            len(c.site.prompts) > 0,
		"resource templates": len(c.site.templates) > 0,
		"annotations, outputSchema and most of inputSchema": len(c.site.tools) > 0,
		"_meta of resources": slices.ContainsFunc(c.jobs,
			func(j job) bool { return j.resource > 0 && j.traits&traitMeta != 0 }),
	}
	for _, what := range r.Loses {
		if have[what] {
			s.At(0).Add(ruleReaderLoss, "", "", "%s ignores %s", r.Name, what)
		}
	}
}
