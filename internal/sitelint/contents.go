package sitelint

import (
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/internal/site"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// resourceFile checks the file of a resource.
func (c *checker) resourceFile(f *contents) {
	list := f.members.get("contents")
	isFlat := !f.members.get("text").missing() || !f.members.get("blob").missing()
	f.job.traits = f.members.traits()
	switch {
	case isFlat:
		c.flatResource(f)
	case list.is('['):
		f.At(f.root.at).Add(ruleResourceShape, "", "write the resource itself",
			"the file has contents, like a result; the standard has uri, mimeType and text")
		c.resourceItems(f, list, "/contents")
	case f.root.is('['):
		f.At(f.root.at).Add(ruleResourceShape, "", "write the resource itself",
			"the file is an array; the standard has one object with uri, mimeType and text")
		c.resourceItems(f, f.root, "")
	case f.isListing() && f.resource == 0:
		return // a listing
	default:
		f.At(f.root.at).Add(ruleResourceShape, "", `write {"uri":"...","mimeType":"...","text":"..."}`,
			"the file has no text: readers return the whole file as text, or reject it")
	}
	if f.isListing() {
		f.At(0).Add(ruleReservedName, "", "some readers treat it as a listing",
			"the resource is named %q", f.listingName())
	}
	c.checkShared(f)
}

// traits returns what the checks for other readers need.
func (list members) traits() (traits trait) {
	set := func(t trait, names ...string) {
		if !slices.ContainsFunc(names, func(name string) bool {
			return list.get(name).missing()
		}) {
			traits |= t
		}
	}
	set(traitFlat, "text", "uri", "mimeType")
	set(traitMeta, "_meta")
	if list.get("contents").is('[') {
		traits |= traitContents
	}
	return traits
}

// flatResource checks a file in the standard's form.
func (c *checker) flatResource(f *contents) {
	uri := f.members.get("uri")
	mimeType := f.members.get("mimeType")
	f.textOrBlob(f.root, f.members, "")
	want := c.resourceOf(f)
	switch {
	case !uri.is('"'):
		f.requireString("uri", want.name)
	case c.site != nil:
		c.resourceURI(f, uri)
	}
	if !mimeType.is('"') {
		f.requireString("mimeType", want.mimeType)
		return
	}
	f.compareType(want, mimeType)
	if f.resource > 0 && want.mimeType == "" && mimeType.text() != "" && f.fixing {
		// The manifest lacks a member that the file has; the finding is already reported.
		text := c.site.fileReport.text
		f.repairs = append(f.repairs, repair{
			does:  fmt.Sprintf("add the MIME type %s to resource %q", mimeType.text(), want.name),
			file:  site.ManifestName,
			size:  len(text),
			edits: []edit{insertMember(text, want.at, "mimeType", string(site.Quote(mimeType.text())))},
		})
	}
}

// resourceOf returns the manifest entry of the resource in a file.
func (c *checker) resourceOf(f *contents) listedResource {
	if f.resource == 0 {
		return listedResource{}
	}
	return c.site.resources[f.resource-1]
}

// requireString reports a required member that is missing or not a string. want is its
// value if it is known.
func (f *contents) requireString(name, want string) {
	if m := f.members.get(name); !m.missing() {
		f.requireKind(ruleMemberType, m, "/"+name, name, "a string")
		return
	}
	f.At(f.root.at).Add(ruleMemberMissing, "/"+name, "the standard requires it",
		"the file has no %s", name)
	if want != "" {
		f.fileReport.repair(repair{
			does:  fmt.Sprintf("add the %s %s", name, want),
			edits: []edit{insertMember(f.fileReport.text, f.root.at, name, string(site.Quote(want)))},
		})
	}
}

// resourceURI compares the URI in a file with the one that leads to the file.
func (c *checker) resourceURI(f *contents, m located) {
	uri := m.text()
	switch at := f.At(m.at); {
	case f.others() != nil:
		// The file represents several resources.
	case f.resource > 0:
		f.compareURI(m, "/uri", c.resourceOf(f).name)
	case c.listed()[uri]:
		// The file is a copy for another reader.
	case !slices.Contains(pathsOf(uri), f.job.path):
		at.Add(ruleUnreachable, "/uri", "its name in the standard is "+staticmcp.ResourceAddress(uri).Path(),
			"no reader looks for %q in this file", site.Shorten(uri))
	case !slices.ContainsFunc(c.site.templates, func(t listedTemplate) bool {
		_, ok := t.parsed.Match(uri)
		return ok
	}):
		at.Add(ruleUnlisted, "/uri", "add it, so that clients list it",
			"the manifest has no resource %q", site.Shorten(uri))
	}
}

// compareURI reports a URI other than the one that leads to the file.
func (f *contents) compareURI(m located, pointer, want string) {
	if uri := m.text(); uri != want {
		f.At(m.at).Add(ruleURIMismatch, pointer, "readers reject a file with another URI",
			"the file has the URI %q, and the manifest leads to it as %q", site.Shorten(uri), site.Shorten(want))
	}
}

// pathsOf returns all paths under which readers look for a resource.
func pathsOf(uri string) (paths []string) {
	for _, candidate := range site.ResourcePaths(uri, false) {
		paths = append(paths, candidate.Path)
	}
	if len(staticmcp.ResourceAddress(uri).Texts) > 0 {
		paths = append(paths, distinctPaths(uri)...)
	}
	return paths
}

// compareType reports a MIME type other than that in the manifest.
func (f *contents) compareType(want listedResource, m located) {
	if f.resource > 0 && want.mimeType != "" && m.text() != want.mimeType && f.others() == nil {
		f.At(m.at).Add(ruleMIMEType, "/mimeType", "clients rely on the type in the manifest",
			"the file has the type %q, the manifest %q", m.text(), want.mimeType)
	}
}

// resourceItems checks the contents in a file that is not in the standard's form.
func (c *checker) resourceItems(f *contents, list located, pointer string) {
	want := c.resourceOf(f).name
	list.each(func(i int, v located) {
		pointer := fmt.Sprintf("%s/%d", pointer, i)
		if !f.requireKind(ruleContentItem, v, pointer, "the contents", "an object") {
			return
		}
		item := v.members()
		f.textOrBlob(v, item, pointer)
		uri := item.get("uri")
		if uri.is('"') && i == 0 && want != "" && f.others() == nil {
			f.compareURI(uri, pointer+"/uri", want)
		}
	})
}
