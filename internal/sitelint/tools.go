package sitelint

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/site"
	"github.com/slipway-mcp/slipway/staticmcp"
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
				c.reportFolder(t, place, root+"/"+t.name, b != nil)
			}
			if l != nil && !l.claimed {
				jobs = c.assignAnswer(jobs, t, place+site.Extension, l, nil)
			}
			if b != nil {
				jobs = c.assignFolder(jobs, t, b, nil)
			}
		}
		c.checkEnumNames(t)
	}
	return jobs
}

// reportFolder reports the folder of a tool that does not have the tool's standard name.
func (c *checker) reportFolder(t *listedTool, place, standard string, folder bool) {
	path := place
	if !folder {
		path = place + site.Extension
		standard = standard + site.Extension
	}
	message := fmt.Sprintf("the standard's name for the folder of %q is %s",
		t.name, standard)
	c.reportName(ruleFileName, path, standard, message, !strings.Contains(t.name, "/"))
}

// assignFolder finds the answers in a folder of a tool.
func (c *checker) assignFolder(jobs []job, t *listedTool, b *branch, parts []string) []job {
	for i := range b.leaves {
		l := &b.leaves[i]
		stem, isJSON := strings.CutSuffix(l.name, site.Extension)
		if !isJSON || l.claimed {
			continue
		}
		jobs = c.assignAnswer(jobs, t, b.dir+"/"+l.name, l,
			append(slices.Clip(parts), stem))
	}
	for _, name := range b.dirs {
		below := c.tree.branches[b.dir+"/"+name]
		if below == nil {
			continue
		}
		inside := append(slices.Clip(parts), name)
		encoded := site.EncodeName(name)
		isValue := len(inside) < len(t.params)
		if isValue && encoded != name && encoded != "" {
			c.reportValueName(b, below.dir, name, b.dir+"/"+encoded,
				fmt.Sprintf("the standard's name for the folder of the value %q is %s", name, encoded))
		}
		jobs = c.assignFolder(jobs, t, below, inside)
	}
	return jobs
}

// assignAnswer checks the path of one answer.
func (c *checker) assignAnswer(
	jobs []job,
	t *listedTool,
	path string,
	l *leaf,
	parts []string,
) []job {
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
		c.in(path).Add(ruleEmptyName, "", "use a value with letters or digits: no reader requests this file",
			"the file has no name before .json")
		return jobs
	case site.IsListing(path) && len(parts) > 0:
	case len(parts) < least && !t.isBase64(parts):
		j.short = true
	case len(parts) > len(t.params):
		c.reportDepth(t, path, parts)
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
		c.in(j.path).Add(ruleEmptyName, "", "",
			"the value %q has no character that can name a file", stem)
	case len(stem) > site.MaxName:
		message := fmt.Sprintf("the name has %d characters, the standard allows %d", len(stem), site.MaxName)
		c.misnamed(ruleLongName, j.path, standard, message)
	case encoded != stem && c.tree.find(standard) != nil:
		j.twin = standard
	case encoded != stem:
		b := c.tree.branches[path.Dir(j.path)]
		message := fmt.Sprintf("the standard's name for the value %q is %s", stem,
			encoded+site.Extension)
		c.reportValueName(b, j.path, stem+site.Extension, standard, message)
	case short31().MatchString(stem) && len(stem) == site.MaxName:
		c.checkShortHash(j.path, stem)
	}
}

// reportValueName reports a file or folder named with an unencoded value. If two values
// have the same encoding, neither may get that name, because a call with one would
// receive the answer for the other.
func (c *checker) reportValueName(b *branch, path, name, standard, message string) {
	if other := b.sameName(name); other != "" {
		c.in(path).Add(ruleCollision, "", "store each under a name with a hash, like slipway site build",
			"the standard has the same name for %q and %q", name, other)
		return
	}
	c.misnamed(ruleFileName, path, standard, message)
}

// short31 matches a long name with a 32-bit hash.
var short31 = lazyregexp.New(`_0{8}[0-9a-f]{8}$`)

// checkShortHash reports a long name with a 32-bit hash that is not the second name of an
// answer.
func (c *checker) checkShortHash(file, stem string) {
	b := c.tree.branches[path.Dir(file)]
	if len(b.filesWith(stem[:site.LongPrefix+1])) < 2 {
		c.in(file).Add(ruleLongName, "", "add the same file under the 64-bit hash that published sites use",
			"the name ends in a 32-bit hash, which only one reader uses")
	}
}

// reportDepth reports an answer whose value has slashes that became folders.
func (c *checker) reportDepth(t *listedTool, file string, parts []string) {
	folder := t.root + "/" + t.name
	message := fmt.Sprintf("the path has %s, and %s has %s: only readers that keep the slashes of a value find it",
		counted(len(parts), "part"), t.name, counted(len(t.params), "argument"))
	switch len(t.params) {
	case 0:
		c.in(file).Add(ruleUnreachable, "", "",
			"%s has no arguments, so its only answer is %s%s", t.name, folder, site.Extension)
	case 1:
		standard := folder + "/" + site.EncodeName(strings.Join(parts, "/")) + site.Extension
		c.misnamed(ruleFileName, file, standard, message)
	default:
		c.in(file).Add(ruleFileName, "", "write _ for each slash", "%s", message)
	}
}

// isBase64 reports whether a path encodes all arguments in one name.
func (t *listedTool) isBase64(parts []string) bool {
	const fewest = 3 // arguments of tools for which readers use such names
	if len(parts) != 1 || len(t.params) < fewest {
		return false
	}
	return site.EncodeName(parts[0]) != parts[0] && decodePairs(parts[0]) != nil
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
			c.in(j.path).Add(ruleUnreachable, "", "",
				"the name contains an argument %q, which %s does not have", pair[0], t.name)
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
	const message = "the name contains all arguments, as some readers expect; the standard has a part of the path for each"
	if strings.Contains(strings.TrimRight(j.parts[0], "_"), "_") {
		c.in(j.path).Add(ruleFileName, "",
			"rename it: the arguments are ambiguous, since _ replaces several characters",
			"%s", message)
		return
	}
	c.misnamed(ruleFileName, j.path, standard, message)
}

// checkParts validates the parts of a path against the schema, as far as it is certain
// which argument each part belongs to.
func (c *checker) checkParts(t *listedTool, file string, parts []string) {
	certain := len(parts)
	if len(parts) < len(t.params) {
		certain = slices.IndexFunc(t.params, func(p staticmcp.Argument) bool {
			return !p.Required || p.Default != nil
		})
	}
	parts = parts[:max(0, min(certain, len(parts)))]
	for i, part := range parts {
		c.checkPart(&t.claims[i], t.params[i].Name, file, part)
	}
	t.combinations.add(parts)
}

// checkPart validates one part of a path against the schema of its argument.
func (c *checker) checkPart(claim *claim, argument, file, part string) {
	name := site.EncodeName(part)
	_, long := site.LongNamePrefix(name)
	switch {
	case slices.Contains(claim.names, name):
		claim.seen[name] = true
	case len(claim.names) > 0 && !long && !isDistinct(name):
		wanted := claim.wanted[:min(len(claim.wanted), site.MaxKnown)]
		c.in(file).Add(ruleUnreachable, "", "the values are "+site.Alternatives(wanted),
			"%q is not a value of %s: the schema rejects the call", part, argument)
	case len(claim.names) == 0 && !claim.admits(name) && !site.IsListing(file):
		c.in(file).Add(ruleUnreachable, "", "",
			"%s is of type %s, and %q is not: the schema rejects the call", argument, claim.kind, part)
	}
}

// distinct matches the end of a name that is distinguished by a hash.
var distinct = lazyregexp.New(`_[0-9a-f]{16}$`)

// isDistinct reports whether a name is distinguished by a hash.
func isDistinct(name string) bool { return distinct().MatchString(name) }

// encodedNumber matches the name of a number in the form of RFC 8785.
var encodedNumber = lazyregexp.New(`^-?[0-9]+(_[0-9]+)?(e[_-][0-9]+)?$`)

// admits reports whether a value of the claimed type can have a name.
func (c *claim) admits(name string) bool {
	switch c.kind {
	case "integer", "number":
		return encodedNumber().MatchString(name)
	case "boolean":
		return name == "true" || name == "false"
	}
	return true
}

// checkEnumNames reports values of an enum with the same file name.
func (c *checker) checkEnumNames(t *listedTool) {
	for i := range t.claims {
		claim := &t.claims[i]
		for k, name := range claim.names {
			first := slices.Index(claim.names, name)
			apart := func(k int) bool {
				return c.tree.hasAt(t.root+"/"+t.name, i,
					site.DistinctName(claim.wanted[k]))
			}
			if first < k && !(apart(first) && apart(k)) {
				c.site.fileReport.about(&t.entry).Add(ruleCollision, "/inputSchema",
					"change one of them, or store the answers under names with a hash",
					"tool %q: the values %q and %q of %s have the same file name %q",
					t.name, claim.wanted[first], claim.wanted[k], t.params[i].Name, name)
			}
		}
	}
}

// reportUnanswered reports the tools, prompts and values that have no file.
func (c *checker) reportUnanswered() {
	if c.site == nil {
		return
	}
	for _, t := range append(slices.Clip(c.site.tools), c.site.prompts...) {
		at := c.site.fileReport.about(&t.entry)
		folder := c.opts.Name + t.root + "/" + t.name
		switch {
		case t.answers == 0 && t.template.Load():
		case t.answers == 0 && t.searched && c.site.packs != nil: // readers of packs search
		case t.answers == 0 && t.searched:
			at.Add(ruleSearchOnly, "", "",
				"tool %q has a search index and no files: only slipway answers it", t.name)
		case t.answers == 0 && t.root == site.PromptsDir:
			at.Add(ruleFileMissing, "",
				"write "+folder+site.Extension+", or remove the entry from the manifest",
				"prompt %q has no file", t.name)
		case t.answers == 0 && !fs.ValidPath(t.name):
			at.Add(ruleNoAnswers, "", "rename the tool: no file can have answers of this name",
				"tool %q has no answers", t.name)
		case t.answers == 0:
			at.Add(ruleNoAnswers, "", "write files in "+folder+", or remove the tool from the manifest",
				"tool %q has no answers", t.name)
		default:
			c.reportValues(t)
			if len(c.index) == 0 { // the index lists what should exist
				c.missingCombinations(t)
			}
		}
	}
}

// reportValues reports values that the schema lists but that have no file.
func (c *checker) reportValues(t *listedTool) {
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
			c.site.fileReport.about(&t.entry).Add(ruleAnswerMissing, "/inputSchema",
				"the schema lists the value, so clients will send it",
				"tool %q has no answer for %s %s%s", t.name, t.params[i].Name, site.Alternatives(missing), more)
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
