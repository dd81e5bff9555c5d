package sitelint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/site"
	"github.com/slipway-mcp/slipway/staticmcp"

	"github.com/slipway-mcp/slipway/check"
)

// job is a file whose content is to be checked.
type job struct {
	// path is the file in the site.
	path string
	// leaf is the file in the tree, or nil for a web host.
	leaf *leaf
	// resource is the index in the manifest plus one, or 0.
	resource int
	// tool is the tool or the prompt that the file answers for, or nil.
	tool *listedTool
	// parts are the parts of the path between the folder of the tool and the extension.
	parts []string
	// short reports whether the path has fewer parts than every call has arguments.
	short bool
	// twin is the standard's own name for the same answer, which also exists.
	twin string
	// traits are those of a resource, set once it has been read.
	traits trait
}

// assign finds the files of every entry of the manifest and returns the files to read.
func (c *checker) assign() []job {
	var jobs []job
	if c.site != nil {
		jobs = c.assignResources(jobs)
		jobs = c.assignTools(jobs, c.site.tools, site.ToolsDir)
		jobs = c.assignTools(jobs, c.site.prompts, site.PromptsDir)
	}
	return c.assignRest(jobs)
}

// assignResources finds the files of the resources. Files with the standard's names come
// first, so that no other resource claims them.
func (c *checker) assignResources(jobs []job) []job {
	var lost []int
	for i := range c.site.resources {
		r := &c.site.resources[i]
		path := staticmcp.ResourceAddress(r.name).Path()
		switch l := c.tree.find(path); {
		case staticmcp.ResourceAddress(r.name).Valid() != nil:
		case l == nil:
			lost = append(lost, i)
		case l.resource == 0:
			jobs = c.claimResource(jobs, path, l, i)
		default:
			jobs = c.shareResource(jobs, path, l, i)
		}
	}
	for _, i := range lost {
		jobs = c.searchResource(jobs, i)
	}
	return jobs
}

// listedURIs returns the URIs of the manifest. Many sites never need them, so they are
// collected on first use.
func (c *checker) listedURIs() map[string]bool {
	uris := make(map[string]bool, len(c.site.resources))
	for i := range c.site.resources {
		uris[c.site.resources[i].name] = true
	}
	return uris
}

// claimResource assigns a file to the resource with index i.
func (c *checker) claimResource(jobs []job, path string, l *leaf, i int) []job {
	l.claimed = true
	l.resource = i + 1
	return append(jobs, job{
		path:     path,
		leaf:     l,
		resource: i + 1,
	})
}

// shareResource handles a second resource with the same file: each can have its own file
// next to it.
func (c *checker) shareResource(jobs []job, path string, l *leaf, i int) []job {
	first := l.resource - 1
	for _, owner := range []int{first, i} {
		uri := c.site.resources[owner].name
		own := slices.IndexFunc(distinctPaths(uri), func(p string) bool {
			return c.tree.find(p) != nil
		})
		if own >= 0 {
			path := distinctPaths(uri)[own]
			if l := c.tree.find(path); l.resource == 0 {
				jobs = c.claimResource(jobs, path, l, owner)
			}
		} else if owner == i {
			c.site.fileReport.about(&c.site.resources[i].entryAt).Add(ruleCollision, "/uri",
				"change one of the URIs",
				"resource %q has the same file as %q: %s",
				site.Shorten(uri), site.Shorten(c.site.resources[first].name), path)
			for _, candidate := range site.ResourcePaths(uri, false)[1:] {
				if l := c.tree.find(candidate.Path); l != nil && l.resource == 0 {
					return c.claimResource(jobs, candidate.Path, l, i)
				}
			}
		}
	}
	return jobs
}

// distinctPaths returns the possible paths of a resource that shares its name with
// others: names with a hash of the last segment or of the whole URI.
func distinctPaths(uri string) []string {
	a := staticmcp.ResourceAddress(uri)
	names := a.DistinctNames()
	last := len(names) - 1
	whole := site.ResourcesDir + "/" + strings.Join(names, "/") + site.Extension
	names[last] = site.DistinctName(a.Texts[last])
	return []string{whole, site.ResourcesDir + "/" + strings.Join(names, "/") + site.Extension}
}

// searchResource looks for the file of a resource under the names of other generators.
func (c *checker) searchResource(jobs []job, i int) []job {
	r := &c.site.resources[i]
	standard := staticmcp.ResourceAddress(r.name).Path()
	for _, candidate := range site.ResourcePaths(r.name, false)[1:] {
		l := c.tree.find(candidate.Path)
		if l == nil || l.resource != 0 {
			continue
		}
		c.misnamed(ruleFileName, candidate.Path, standard,
			fmt.Sprintf("the standard's name for the file of %s is %s",
				site.Shorten(r.name), standard))
		return c.claimResource(jobs, candidate.Path, l, i)
	}
	if twin := c.tree.longTwin(standard); twin != "" {
		c.misnamed(ruleLongName, twin, standard, "the name ends in a hash that published sites do not use")
		return c.claimResource(jobs, twin, c.tree.find(twin), i)
	}
	c.site.fileReport.about(&r.entryAt).Add(ruleFileMissing, "/uri",
		"write "+c.opts.Name+standard+", or remove the entry from the manifest",
		"resource %q has no file", site.Shorten(r.name))
	return jobs
}

// misnamed reports a file that only tolerant readers find, and the name it should have.
func (c *checker) misnamed(r check.Rule, path, standard, message string) {
	c.reportName(r, path, standard, message, true)
}

// reportName is misnamed for a file that [Fix] renames only if renames is set.
func (c *checker) reportName(r check.Rule, path, standard, message string, renames bool) {
	s := c.newFileReport(path, nil)
	s.At(0).Add(r, "", "rename it to "+standard, "%s", message)
	free := c.tree.find(standard) == nil && !c.tree.has(standard)
	if renames && free && site.IsSafePath(standard) {
		s.repair(repair{
			does:   "rename it to " + standard,
			rename: standard,
		})
	}
	c.take(s)
}

// assignRest adds the files that are still unclaimed.
func (c *checker) assignRest(jobs []job) []job {
	if c.site != nil {
		c.unlistedFolders(site.ToolsDir, "tool", c.site.tools)
		c.unlistedFolders(site.PromptsDir, "prompt", c.site.prompts)
	}
	for _, dir := range []string{site.ResourcesDir, site.ToolsDir, site.PromptsDir, site.CompletionsDir} {
		jobs = c.assignBelow(jobs, dir)
	}
	return jobs
}

// unlistedFolders reports, once each, the folders of tools or prompts that are not in the
// manifest.
func (c *checker) unlistedFolders(root, what string, listed []*listedTool) {
	known := make(map[string]bool) // the first part of a folder's name
	for _, t := range listed {
		for _, dir := range t.dirs {
			first, _, _ := strings.Cut(dir, "/")
			known[first] = true
		}
	}
	b := c.tree.branches[root]
	if b == nil {
		return
	}
	for _, name := range b.dirs {
		if known[name] {
			continue
		}
		hint := "add it to the manifest"
		definition := site.SchemaName + site.Extension
		if what == "tool" && c.tree.find(root+"/"+name+"/"+definition) != nil {
			hint = "copy the definition in its " + definition + " into the manifest: only some readers use that file"
		}
		c.in(root+"/"+name).Add(ruleUnlisted, "", hint,
			"the manifest has no %s %q", what, name)
	}
	for _, l := range b.leaves {
		stem, isJSON := strings.CutSuffix(l.name, site.Extension)
		if isJSON && !l.claimed && stem != site.IndexName {
			c.in(root+"/"+l.name).Add(ruleUnlisted, "", "add it to the manifest",
				"the manifest has no %s %q", what, stem)
		}
	}
}

// assignBelow adds the unclaimed files in a folder and below it.
func (c *checker) assignBelow(jobs []job, dir string) []job {
	b := c.tree.branches[dir]
	if b == nil {
		return jobs
	}
	for i := range b.leaves {
		l := &b.leaves[i]
		path := dir + "/" + l.name
		switch {
		case l.claimed, c.tree.compressed(path):
		case !strings.HasSuffix(l.name, site.Extension):
			c.in(path).Add(ruleStrayFile, "", "",
				"readers ignore files that do not end in .json")
		default:
			jobs = append(jobs, job{
				path: path,
				leaf: l,
			})
		}
	}
	for _, name := range b.dirs {
		jobs = c.assignBelow(jobs, dir+"/"+name)
	}
	return jobs
}
