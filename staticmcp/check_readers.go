package staticmcp

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// reader describes what is known about another program that reads sites.
type reader struct {
	name string
	// resource returns where it looks for a resource; where describes that in words.
	resource func(uri string) string
	where    string
	// raw reports whether it uses values as they are, without encoding them.
	raw bool
	// byName and byValue select the order in which it takes arguments; if neither is set, it
	// is the declared order.
	byName, byValue bool
	// joins turns three or more arguments into the single name it uses for them; nil if each
	// argument is a part of the path.
	joins func(encoded string) string
	// sanitizes reports whether it changes the names of tools, for clients as well.
	sanitizes bool
	// hash31 reports whether its long names end in a different hash.
	hash31 bool
	// untyped reports whether it drops arguments whose schema has no type.
	untyped bool
	// needs are the shapes of resources that it can read; zero if it reads all.
	needs trait
	// loses lists what it drops when reading.
	loses []string
}

// trait is a property of the file of a resource.
type trait uint8

const (
	traitFlat     trait = 1 << iota // in the standard's form
	traitContents                   // with contents
	traitMeta                       // with _meta
)

func knownReaders() []reader {
	underscores := strings.NewReplacer("/", "_", "+", "_", "=", "_")
	bare := strings.NewReplacer("/", "_", "+", "_", "=", "")
	rust := reader{name: "sse-bridge", resource: rawResource,
		where: "it takes the URI behind :// as it is, without encoding it",
		raw:   true, byValue: true, joins: underscores.Replace,
		needs: traitFlat | traitContents, loses: []string{"prompts", "resource templates", "_meta of resources"}}
	stdio := rust
	stdio.name = "stdio-bridge"
	// Only the paths of the last one are known: the tests of a generator treat it as a
	// reader. It looks for resources where that generator writes them.
	docs := rust
	docs.resource = func(uri string) string { return rawResource(replaced(uri)) }
	docs.name, docs.joins, docs.needs, docs.loses = "docusaurus-smg", bare.Replace, 0, nil
	return []reader{
		{name: "claude-web-bridge", resource: fileResource,
			where: "it cuts off no other scheme than file://, and encodes nothing", byName: true,
			sanitizes: true, hash31: true, untyped: true, needs: traitContents,
			loses: []string{"prompts", "resource templates", "annotations, outputSchema and most of inputSchema"}},
		rust, stdio, docs,
	}
}

// rawResource returns the path of a resource for readers that cut off the scheme and
// encode nothing.
func rawResource(uri string) string {
	if _, rest, ok := strings.Cut(uri, "://"); ok && !strings.Contains(rest, "://") {
		return resourcesDir + "/" + rest + extension
	}
	return strings.TrimSuffix(uri, extension) + extension
}

// fileResource returns the path of a resource for a reader that cuts off only the scheme
// file.
func fileResource(uri string) string {
	return resourcesDir + "/" + strings.Replace(uri, "file://", "", 1) + extension
}

// Readers returns the names of the other known readers.
func Readers() []string {
	var names []string
	for _, r := range knownReaders() {
		names = append(names, r.name)
	}
	return names
}

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
		if slices.Contains(c.opts.Readers, r.name) {
			c.readerResources(r)
			for _, t := range c.site.tools {
				c.readerTool(r, t, answers[t])
			}
			c.readerLosses(r)
		}
	}
}

// unread counts the files that a reader does not find.
type unread struct {
	count, of int
	example   string
}

func (u *unread) note(missed bool, example string) {
	u.of++
	if !missed {
		return
	}
	if u.count++; u.count == 1 {
		u.example = example
	}
}

func (u *unread) String() string {
	return fmt.Sprintf("%d of %d, such as %s", u.count, u.of, u.example)
}

// readerResources checks the resources against the behaviour of a reader.
func (c *checker) readerResources(r reader) {
	var places, shapes unread
	for i := range c.jobs {
		j := &c.jobs[i]
		if j.resource == 0 {
			continue
		}
		uri := c.site.resources[j.resource-1].name
		places.note(!c.exists(r.resource(uri)), shown(uri))
		shapes.note(r.needs != 0 && j.traits&r.needs == 0, j.path)
	}
	s := c.site.sheet
	if places.count > 0 {
		s.At(0).Add(ruleReaderPath, "/capabilities/resources", r.where, "%s looks elsewhere for resources: %s",
			r.name, &places)
	}
	if shapes.count > 0 {
		s.At(0).Add(ruleReaderShape, "/capabilities/resources", r.shapeHint(),
			"%s cannot use the files of resources: %s", r.name, &shapes)
	}
}

func (r *reader) shapeHint() string {
	if r.needs&traitFlat == 0 {
		return `it passes the file on as a result, which needs {"contents":[...]}; the standard has no contents`
	}
	return "it makes a text of the whole file"
}

// exists reports whether a file exists at a path that another reader computed.
func (c *checker) exists(path string) bool { return safePath(path) && c.tree.find(path) != nil }

// readerTool checks the answers of a tool against the behaviour of a reader.
func (c *checker) readerTool(r reader, t *listedTool, answers []*job) {
	s := c.site.sheet
	if name := sanitized(t.name); r.sanitizes && name != t.name {
		s.At(t.entry.at).Add(ruleReaderPath, t.entry.path()+"/name", "",
			"%s calls tool %q %q and looks for its answers under that name", r.name, t.name, name)
		return
	}
	var dropped []string
	for i := range t.params {
		if r.untyped && !t.claims[i].typed {
			dropped = append(dropped, t.params[i].name)
		}
	}
	if len(dropped) > 0 {
		s.At(t.entry.at).Add(ruleReaderPath, t.entry.path()+"/inputSchema", `give each property a "type"`,
			"%s leaves %s of tool %q out of the path: the schema has no type", r.name, alternatives(dropped), t.name)
	}
	var missed unread
	for _, j := range answers {
		if j.short || len(j.parts) == 0 || j.twin != "" || t.isBase64(j.parts) {
			continue
		}
		missed.note(!c.readerFinds(r, t, j.parts), j.path)
	}
	if missed.count > 0 {
		s.At(t.entry.at).Add(ruleReaderPath, t.entry.path(), r.pathHint(len(t.params)),
			"%s looks elsewhere for answers of %q: %s", r.name, t.name, &missed)
	}
}

func (r *reader) pathHint(arguments int) string {
	switch {
	case arguments > 2 && r.joins != nil:
		return "it makes one name of all arguments, in base64; store the answer under that name as well"
	case arguments > 1 && r.byName:
		return "it sorts the arguments by their names: declare them in that order"
	case arguments > 1 && r.byValue:
		return "it takes values as they are and sorts two of them: store the answer under that name as well"
	case r.hash31:
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
			if k := slices.Index(t.claims[i].names, part); k >= 0 && r.raw {
				values[i] = t.claims[i].wanted[k]
			}
		}
	}
	dir := toolsDir + "/" + t.name
	switch {
	case len(parts) > 2 && len(parts) == len(t.params) && r.joins != nil:
		return c.exists(dir + "/" + r.joined(t, values) + extension)
	case len(parts) == 2 && r.byValue:
		slices.Sort(values)
	case len(parts) == len(t.params) && r.byName:
		values = sortedByName(t, values)
	}
	if last := parts[len(parts)-1]; r.hash31 &&
		len(last) == maxName &&
		!short31.MatchString(last) &&
		!c.hasShortTwin(dir, parts) {
		return false
	}
	return c.exists(dir + "/" + strings.Join(values, "/") + extension)
}

// joined returns the single name for three or more arguments.
func (r *reader) joined(t *listedTool, values []string) string {
	pairs := make([]string, len(values))
	for i, v := range values {
		pairs[i] = t.params[i].name + "=" + v
	}
	slices.Sort(pairs)
	return r.joins(base64.StdEncoding.EncodeToString([]byte(strings.Join(pairs, "&"))))
}

// sortedByName returns values in the order of the names of their arguments.
func sortedByName(t *listedTool, values []string) []string {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(compareNames(t.params[a].name, t.params[b].name), cmp.Compare(a, b))
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
	b := c.tree.branches[strings.Join(append([]string{dir}, parts[:last]...), "/")]
	return b != nil && slices.ContainsFunc(b.filesWith(parts[last][:longPrefix+1]), short31.MatchString)
}

// readerLosses reports what a reader drops when reading the site.
func (c *checker) readerLosses(r reader) {
	s := c.site.sheet
	text := slices.ContainsFunc(c.site.tools, func(t *listedTool) bool {
		return slices.ContainsFunc(t.claims, func(c claim) bool { return c.kind == "" && c.names == nil })
	})
	if r.raw && text {
		s.At(0).Add(ruleReaderLoss, "", "",
			"%s takes values as they are: it finds only answers to values that are their own names, such as rust",
			r.name)
	}
	have := map[string]bool{
		"prompts":            len(c.site.prompts) > 0,
		"resource templates": len(c.site.templates) > 0,
		"annotations, outputSchema and most of inputSchema": len(c.site.tools) > 0,
		"_meta of resources": slices.ContainsFunc(c.jobs,
			func(j job) bool { return j.resource > 0 && j.traits&traitMeta != 0 }),
	}
	for _, what := range r.loses {
		if have[what] {
			s.At(0).Add(ruleReaderLoss, "", "", "%s leaves out %s", r.name, what)
		}
	}
}
