package lint

import (
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// resourceFile checks the file of a resource.
func (c *checker) resourceFile(f *contents) {
	_, hasText := named(f.members, "text")
	_, hasBlob := named(f.members, "blob")
	contents, hasContents := f.array("contents")
	f.job.note(hasText, hasContents, f.members)
	switch {
	case hasText || hasBlob:
		c.flatResource(f)
	case hasContents:
		f.At(f.at).Add(ruleResourceShape, "", "write the one resource itself",
			"the file has contents, as a result has; the standard has uri, mimeType and text")
		c.resourceItems(f, contents, "/contents")
	case f.sheet.text[f.at] == '[':
		f.At(f.at).Add(ruleResourceShape, "", "write the one resource itself",
			"the file is an array; the standard has one object with uri, mimeType and text")
		c.resourceItems(f, located{at: f.at}, "")
	case f.isListing() && f.resource == 0:
		return // a listing
	default:
		f.At(f.at).Add(ruleResourceShape, "", `write {"uri":"...","mimeType":"...","text":"..."}`,
			"the file has no text: readers make a text of the whole, or refuse it")
	}
	if f.isListing() {
		f.At(0).Add(ruleReservedName, "", "some readers take it for a listing", "the resource is called %q",
			f.listingName())
	}
	c.besides(f)
}

// note records what the checks for other readers need.
func (j *job) note(text, contents bool, members []located) {
	set := func(t trait, is bool) {
		if is {
			j.traits |= t
		}
	}
	_, uri := named(members, "uri")
	_, mimeType := named(members, "mimeType")
	_, meta := named(members, "_meta")
	set(traitFlat, text && uri && mimeType)
	set(traitContents, contents)
	set(traitMeta, meta)
}

// flatResource checks a file in the standard's form.
func (c *checker) flatResource(f *contents) {
	uri, hasURI := f.string("uri")
	mimeType, hasType := f.string("mimeType")
	f.textOrBlob(f.members, f.at, "")
	want := c.resourceOf(f)
	switch {
	case !hasURI:
		f.missing("uri", want.name)
	case c.site != nil:
		c.resourceURI(f, uri)
	}
	if !hasType {
		f.missing("mimeType", want.mimeType)
		return
	}
	c.sameType(f, want, mimeType)
	if f.resource > 0 && want.mimeType == "" && mimeType != "" && f.fixing {
		// The manifest lacks a member that the file has; the finding is already reported.
		f.repairs = append(f.repairs,
			repair{
				does:  fmt.Sprintf("add the MIME type %s to resource %q", mimeType, want.name),
				file:  site.ManifestName,
				size:  len(c.site.sheet.text),
				edits: []edit{insertMember(c.site.sheet.text, want.at, "mimeType", string(site.Quote(mimeType)))},
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

// missing reports a required member that is absent or not a string.
func (f *contents) missing(name, want string) {
	if m, ok := named(f.members, name); ok {
		f.At(m.at).Add(ruleMemberType, "/"+name, "", "%s is %s, not a string", name, kindOf(m.value))
		return
	}
	f.At(f.at).Add(ruleMemberMissing, "/"+name, "it is required", "the file has no %s", name)
	if want != "" {
		f.sheet.repair(repair{
			does:  fmt.Sprintf("add the %s %s", name, want),
			edits: []edit{insertMember(f.sheet.text, f.at, name, string(site.Quote(want)))},
		})
	}
}

// resourceURI compares the URI in a file with the one that leads to the file.
func (c *checker) resourceURI(f *contents, uri string) {
	at, _ := named(f.members, "uri")
	switch {
	case f.others() != nil:
		return // it represents several resources
	case f.resource > 0 && uri != c.site.resources[f.resource-1].name:
		f.At(at.at).Add(ruleURIMismatch, "/uri", "readers refuse a file that says that it is another",
			"the file says %q, and the manifest leads to it as %q", site.Shorten(uri),
			site.Shorten(c.site.resources[f.resource-1].name))
	case f.resource > 0 || c.listed()[uri]:
		// The second is a copy for another reader.
	case !slices.ContainsFunc(site.ResourcePaths(uri, false),
		func(p site.Candidate) bool { return p.Path == f.job.path }) &&
		!slices.Contains(distinctOf(uri), f.job.path):
		f.At(at.at).Add(ruleUnreachable, "/uri", "its name in the standard is "+staticmcp.ResourceAddress(uri).Path(),
			"no reader looks here for %q", site.Shorten(uri))
	case slices.ContainsFunc(c.site.templates, func(t listedTemplate) bool {
		_, ok := t.parsed.Match(uri)
		return ok
	}):
	default:
		f.At(at.at).Add(ruleUnlisted, "/uri", "add it, so that clients see it",
			"resource %q is not in the manifest", site.Shorten(uri))
	}
}

// distinctOf returns the distinct names of a URI that has any.
func distinctOf(uri string) []string {
	if len(staticmcp.ResourceAddress(uri).Texts) == 0 {
		return nil
	}
	return distinctPaths(uri)
}

func (c *checker) sameType(f *contents, want listedResource, mimeType string) {
	if f.resource > 0 && want.mimeType != "" && mimeType != want.mimeType {
		m, _ := named(f.members, "mimeType")
		f.At(m.at).Add(ruleMIMEType, "/mimeType", "clients choose by what the manifest says",
			"the file says %q, the manifest %q", mimeType, want.mimeType)
	}
}

// resourceItems checks the contents in a file that is not in the standard's form.
func (c *checker) resourceItems(f *contents, list located, pointer string) {
	each(f.sheet.text, list.at, func(place, at, end int) {
		pointer := fmt.Sprintf("%s/%d", pointer, place)
		if f.sheet.text[at] != '{' {
			f.At(at).Add(ruleContentItem, pointer, "", "the contents are %s, not an object",
				kindOf(f.sheet.text[at:]))
			return
		}
		item := locate(f.sheet.text, at)
		f.textOrBlob(item, at, pointer)
		m, ok := named(item, "uri")
		uri := ""
		isText := false
		if ok {
			uri, isText = jsonscan.Unquote(m.value)
		}
		if want := c.resourceOf(f).name; isText && place == 0 && want != "" && uri != want && f.others() == nil {
			f.At(m.at).Add(ruleURIMismatch, pointer+"/uri", "readers refuse a file that says that it is another",
				"the file says %q, and the manifest leads to it as %q", site.Shorten(uri), site.Shorten(want))
		}
	})
}
