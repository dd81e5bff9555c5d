package lint

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/internal/site"
)

// assignTools finds the files of tools, or of prompts.
func (c *checker) assignTools(jobs []job, list []*listedTool, root string) []job {
	dirs := make(map[string][]string, len(list))
	for _, t := range list {
		dirs[t.name] = t.dirs
	}
	site.SeparateFolders(dirs)
	for _, t := range list {
		t.dirs = dirs[t.name]
		for _, dir := range t.dirs {
			place := root + "/" + dir
			l := c.tree.find(place + site.Extension)
			b := c.tree.branches[place]
			if l == nil && b == nil {
				continue
			}
			if dir != t.name {
				c.otherDir(t, place, root+"/"+t.name, b != nil)
			}
			if l != nil && !l.claimed {
				jobs = c.assignAnswer(jobs, t, place+site.Extension, l, nil)
			}
			if b != nil {
				jobs = c.assignFolder(jobs, t, b, nil)
			}
		}
		c.sameEnumNames(t)
	}
	return jobs
}

// otherDir reports the folder of a tool that does not have the tool's standard name.
func (c *checker) otherDir(t *listedTool, place, standard string, folder bool) {
	path := place
	if !folder {
		path = place + site.Extension
		standard = standard + site.Extension
	}
	s := c.sheet(path, nil)
	s.At(0).Add(ruleFileName, "", "rename it to "+standard, "the standard's name for the folder of %q is %s",
		t.name, standard)
	if free := c.tree.find(standard) == nil && !c.tree.has(standard); free &&
		!strings.Contains(t.name, "/") &&
		site.IsSafePath(standard) {
		s.repair(repair{
			does:   "rename it to " + standard,
			rename: standard,
		})
	}
	c.take(s)
}

// assignFolder finds the answers in a folder of a tool.
func (c *checker) assignFolder(jobs []job, t *listedTool, b *branch, parts []string) []job {
	for i := range b.leaves {
		l := &b.leaves[i]
		stem, isJSON := strings.CutSuffix(l.name, site.Extension)
		if !isJSON || l.claimed {
			continue
		}
		jobs = c.assignAnswer(jobs, t, b.dir+"/"+l.name, l, append(slices.Clip(parts), stem))
	}
	for _, name := range b.dirs {
		below := c.tree.branches[b.dir+"/"+name]
		if below == nil {
			continue
		}
		inside := append(slices.Clip(parts), name)
		if encoded := site.EncodeName(name); encoded != name && encoded != "" && len(inside) < len(t.params) {
			c.misnamedValue(b, below.dir, name, b.dir+"/"+encoded,
				fmt.Sprintf("the standard's name for the folder of the value %q is %s", name, encoded))
		}
		jobs = c.assignFolder(jobs, t, below, inside)
	}
	return jobs
}

// assignAnswer checks the path of one answer.
func (c *checker) assignAnswer(jobs []job, t *listedTool, path string, l *leaf, parts []string) []job {
	l.claimed = true
	j := job{
		path:  path,
		leaf:  l,
		tool:  t,
		parts: parts,
	}
	stem := ""
	if len(parts) > 0 {
		stem = parts[len(parts)-1]
	}
	switch least := t.leastParts(); {
	case len(parts) > 0 && stem == "":
		c.in(path).Add(ruleEmptyName, "", "no reader asks for it: give the value a name that leaves something",
			"the file has no name before .json")
		return jobs
	case site.IsListing(path) && len(parts) > 0:
	case len(parts) < least && !t.isBase64(parts):
		j.short = true
	case len(parts) > len(t.params):
		c.tooDeep(t, path, parts)
	case len(parts) > 0:
		c.answerName(&j, t, stem)
		c.checkParts(t, path, parts)
	}
	if !j.short {
		t.answers++
	}
	return append(jobs, j)
}

// leastParts returns how many arguments every call has in its path.
func (t *listedTool) leastParts() int {
	n := 0
	for _, p := range t.params {
		if p.Required && p.Default == nil {
			n++
		}
	}
	return n
}

// answerName checks that the last part of a path is encoded.
func (c *checker) answerName(j *job, t *listedTool, stem string) {
	encoded := site.EncodeName(stem)
	standard := strings.TrimSuffix(j.path, stem+site.Extension) + encoded + site.Extension
	switch {
	case t.isBase64(j.parts):
		c.base64Name(t, j, decodePairs(stem))
	case encoded == "":
		c.in(j.path).Add(ruleEmptyName, "", "", "the value %q leaves nothing to name a file by", stem)
	case len(stem) > site.MaxName:
		c.misnamed(ruleLongName, j.path, standard,
			fmt.Sprintf("the name has %d characters, the standard allows %d", len(stem), site.MaxName))
	case encoded != stem && c.tree.find(standard) != nil:
		j.twin = standard
	case encoded != stem:
		dir := j.path[:len(j.path)-len(stem+site.Extension)-1]
		c.misnamedValue(c.tree.branches[dir], j.path, stem+site.Extension, standard,
			fmt.Sprintf("the standard's name for the value %q is %s", stem, encoded+site.Extension))
	case short31.MatchString(stem) && len(stem) == site.MaxName:
		c.shortHash(j.path, stem)
	}
}

// misnamedValue reports a file or folder named with an unencoded value. If two values
// have the same encoding, neither may get that name, because a call with one would
// receive the answer for the other.
func (c *checker) misnamedValue(b *branch, path, name, standard, message string) {
	if other := b.sameName(name); other != "" {
		c.in(path).Add(ruleCollision, "", "store each under a name with a hash, as slipway site build does",
			"%q and %q have the same name in the standard", name, other)
		return
	}
	c.misnamed(ruleFileName, path, standard, message)
}

// short31 matches a long name with a 32-bit hash.
var short31 = regexp.MustCompile(`_0{8}[0-9a-f]{8}$`)

// shortHash reports a long name with a 32-bit hash that is not the second name of an
// answer.
func (c *checker) shortHash(path, stem string) {
	b := c.tree.branches[path[:strings.LastIndexByte(path, '/')]]
	if len(b.filesWith(stem[:site.LongPrefix+1])) < 2 {
		c.in(path).Add(ruleLongName, "", "add the same file under the 64-bit hash that published sites use",
			"the name ends in a hash of 32 bits, as one reader makes it")
	}
}

// tooDeep reports an answer whose value has slashes that became folders.
func (c *checker) tooDeep(t *listedTool, path string, parts []string) {
	message := fmt.Sprintf("the path has %s, and %s has %s: only readers that keep the slashes of a value find it",
		counted(len(parts), "part"), t.name, counted(len(t.params), "argument"))
	switch {
	case len(t.params) == 0:
		c.in(path).Add(ruleUnreachable, "", "", "%s has no arguments, so its only answer is %s/%s%s", t.name,
			t.root, t.name, site.Extension)
	case len(t.params) == 1:
		standard := t.root + "/" + t.name + "/" + site.EncodeName(strings.Join(parts, "/")) + site.Extension
		c.misnamed(ruleFileName, path, standard, message)
	default:
		c.in(path).Add(ruleFileName, "", "write _ for each slash", "%s", message)
	}
}

// isBase64 reports whether a path encodes all arguments in one name.
func (t *listedTool) isBase64(parts []string) bool {
	return len(parts) == 1 && len(t.params) >= 3 && site.EncodeName(parts[0]) != parts[0] && decodePairs(parts[0]) != nil
}

// decodePairs decodes the name that some readers build from all arguments, as far as
// possible: "/", "+" and "=" all became "_".
func decodePairs(stem string) [][2]string {
	body := strings.TrimRight(stem, "_")
	for _, spare := range []string{"/", "+"} {
		text, err := base64.RawStdEncoding.DecodeString(strings.ReplaceAll(body, "_", spare))
		if err != nil {
			continue
		}
		var pairs [][2]string
		for pair := range strings.SplitSeq(string(text), "&") {
			name, value, ok := strings.Cut(pair, "=")
			if !ok {
				return nil
			}
			pairs = append(pairs, [2]string{name, value})
		}
		return pairs
	}
	return nil
}

// base64Name reports the standard's name for an answer whose name encodes all arguments.
func (c *checker) base64Name(t *listedTool, j *job, pairs [][2]string) {
	names := make([]string, len(t.params))
	for _, pair := range pairs {
		i := t.param(pair[0])
		if i < 0 {
			c.in(j.path).Add(ruleUnreachable, "", "", "the name stands for an argument %q, which %s does not have",
				pair[0], t.name)
			return
		}
		names[i] = site.EncodeName(pair[1])
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return name == ""
	})
	standard := t.root + "/" + t.name + "/" + strings.Join(names, "/") + site.Extension
	if c.tree.find(standard) != nil {
		j.twin = standard
		return
	}
	const message = "all arguments are in one name, as some readers have it; the standard has a part of the path for each"
	if strings.Contains(strings.TrimRight(j.parts[0], "_"), "_") {
		c.in(j.path).Add(ruleFileName, "",
			"what stood for _ in the name is not known, so its arguments are not either", "%s", message)
		return
	}
	c.misnamed(ruleFileName, j.path, standard, message)
}

// checkParts validates the parts of a path against the schema, as far as it is certain
// which argument each part belongs to.
func (c *checker) checkParts(t *listedTool, path string, parts []string) {
	certain := len(parts)
	if len(parts) < len(t.params) {
		certain = slices.IndexFunc(t.params, func(p staticmcp.Argument) bool {
			return !p.Required || p.Default != nil
		})
	}
	parts = parts[:max(0, min(certain, len(parts)))]
	for i, part := range parts {
		claim := &t.claims[i]
		name := site.EncodeName(part)
		switch {
		case len(claim.names) > 0 && !slices.Contains(claim.names, name):
			if _, long := site.LongNamePrefix(name); !long && !isDistinct(name) {
				c.in(path).Add(ruleUnreachable, "", "there are "+site.Alternatives(claim.wanted[:min(len(claim.wanted),
					site.MaxKnown)]), "%q is none of the values of %s: the schema refuses the call", part,
					t.params[i].Name)
			}
		case len(claim.names) > 0:
			claim.seen[name] = true
		case !claim.admits(name) && !site.IsListing(path):
			c.in(path).Add(ruleUnreachable, "", "", "%s is of type %s, and %q is none: the schema refuses the call",
				t.params[i].Name, claim.kind, part)
		}
	}
	t.combinations.add(parts)
}

// distinct matches the end of a name that is distinguished by a hash.
var distinct = regexp.MustCompile(`_[0-9a-f]{16}$`)

func isDistinct(name string) bool { return distinct.MatchString(name) }

// encodedNumber matches the name of a number in the form of RFC 8785.
var encodedNumber = regexp.MustCompile(`^-?[0-9]+(_[0-9]+)?(e[_-][0-9]+)?$`)

// admits reports whether a value of the claimed type can have a name.
func (c *claim) admits(name string) bool {
	switch c.kind {
	case "integer", "number":
		return encodedNumber.MatchString(name)
	case "boolean":
		return name == "true" || name == "false"
	}
	return true
}

// sameEnumNames reports values of an enum with the same file name.
func (c *checker) sameEnumNames(t *listedTool) {
	for i := range t.claims {
		claim := &t.claims[i]
		for k, name := range claim.names {
			first := slices.Index(claim.names, name)
			apart := func(k int) bool {
				return c.tree.hasAt(t.root+"/"+t.name, i, site.DistinctName(claim.wanted[k]))
			}
			if first < k && !(apart(first) && apart(k)) {
				c.site.sheet.At(t.entry.at).Add(ruleCollision, t.entry.path()+"/inputSchema",
					"change one of them, or store the answers under names with a hash",
					"tool %q: the values %q and %q of %s have the same file name %q", t.name, claim.wanted[first],
					claim.wanted[k], t.params[i].Name, name)
			}
		}
	}
}

// concludeTools reports the tools, prompts and values that have no file.
func (c *checker) concludeTools() {
	if c.site == nil {
		return
	}
	for _, t := range append(slices.Clip(c.site.tools), c.site.prompts...) {
		switch {
		case t.answers == 0 && t.template.Load():
		case t.answers == 0 && t.searched:
			c.site.sheet.At(t.entry.at).Add(ruleSearchOnly, t.entry.path(), "",
				"tool %q has a search index and no files: only slipway answers it", t.name)
		case t.answers == 0 && t.root == site.PromptsDir:
			c.site.sheet.At(t.entry.at).Add(ruleFileMissing, t.entry.path(),
				fmt.Sprintf("write %s%s/%s%s, or take the entry out of the manifest", c.opts.Name, site.PromptsDir,
					t.name, site.Extension), "there is no file for prompt %q", t.name)
		case t.answers == 0:
			c.site.sheet.At(t.entry.at).Add(ruleNoAnswers, t.entry.path(),
				fmt.Sprintf("write files in %s%s/%s, or take the tool out of the manifest", c.opts.Name, site.ToolsDir,
					t.name), "tool %q has no answers", t.name)
		default:
			c.missingAnswers(t)
			if len(c.index) == 0 { // the index lists what should exist
				c.missingCombinations(t)
			}
		}
	}
}

// missingAnswers reports values that the schema lists but that have no file.
func (c *checker) missingAnswers(t *listedTool) {
	for i := range t.claims {
		claim := &t.claims[i]
		if !t.params[i].Required && len(t.params) > 1 {
			continue // it can be omitted in more than one way
		}
		var missing []string
		for k, name := range claim.names {
			if !claim.seen[name] {
				missing = append(missing, claim.wanted[k])
			}
		}
		if len(missing) > 0 {
			missing, more := fewKnown(missing)
			c.site.sheet.At(t.entry.at).Add(ruleAnswerMissing, t.entry.path()+"/inputSchema",
				"the schema lists the value, so clients will send it", "tool %q has no answer for %s %s%s", t.name,
				t.params[i].Name, site.Alternatives(missing), more)
		}
	}
}

// fewKnown returns the first of the values, and a phrase for the number of the rest.
func fewKnown(values []string) (first []string, more string) {
	if n := len(values) - site.MaxKnown; n > 0 {
		return values[:site.MaxKnown], fmt.Sprintf(" and %d more", n)
	}
	return values, ""
}
