package sitelint

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/site"
	"github.com/slipway-mcp/slipway/staticmcp"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/packs"
)

// manifest is the content of a manifest that a check needs.
type manifest struct {
	fileReport *fileReport // of the manifest, kept open until the end
	version    string      // protocolVersion
	// resources, tools, prompts and templates are the entries of the lists, in order, without those
	// that are too broken to be used.
	resources []listedResource
	tools     []*listedTool
	prompts   []*listedTool
	templates []listedTemplate
	packs     packs.Table // nil if every answer is a file
}

// entryAt is a definition in a list of the manifest.
type entryAt struct {
	name    string // or its URI
	at      int    // where it begins in the manifest
	pointer string // of the list
	place   int    // in the list
}

// path returns the JSON pointer of the entry.
func (e *entryAt) path() string {
	return e.pointer + "/" + strconv.Itoa(e.place)
}

// about returns a reporter for an entry; pointers are relative to it.
func (s *fileReport) about(e *entryAt) check.Reporter {
	return s.At(e.at).Under(e.path())
}

// manifest checks the text of a manifest. It returns nil if the manifest is unusable for
// checking the site.
func (s *fileReport) manifest(text []byte) *manifest {
	s.setText(text)
	root, ok := s.whole()
	if !ok || !s.requireKind(ruleMemberType, root, "", "the manifest", "an object") {
		return nil
	}
	mf := &manifest{fileReport: s}
	top := root.members()
	mf.checkHead(root, top)
	if meta := top.get("_meta"); meta.is('{') {
		mf.readPacks(meta)
	}
	lists := top
	pointer := ""
	if capabilities := top.get("capabilities"); capabilities.is('{') {
		mf.requireLists(capabilities)
		lists = capabilities.members()
		pointer = "/capabilities"
	}
	for kind, name := range site.ListNames {
		if list := lists.get(name); list.is('[') {
			mf.checkList(kind, list, pointer+"/"+name)
		} else if misplaced := top.get(name); misplaced.is('[') {
			s.reportPlace(misplaced, "capabilities")
			mf.checkList(kind, misplaced, "/"+name)
		}
	}
	return mf
}

// readPacks reads the table of packs from the _meta of the manifest.
func (mf *manifest) readPacks(meta located) {
	raw := jsonscan.Member(meta.value, packs.MetaName)
	if raw == nil {
		return
	}
	var err error
	if mf.packs, err = packs.Parse(raw); err != nil {
		mf.fileReport.At(meta.at).Add(rulePack, "/_meta", "build the site again", "%s", err.Error())
	}
}

// reportPlace reports a member at the top that belongs into another one.
func (s *fileReport) reportPlace(m located, parent string) {
	s.At(m.at).Add(ruleListPlace, "/"+m.name, fmt.Sprintf("move it into %q", parent),
		"%q is at the top of the manifest", m.name)
}

// memberSpec is what a member of an object must be.
type memberSpec struct {
	// name is the key of the member.
	name     string
	kind     string // as returned by [located.kind]
	required bool   // by the standard, or by the protocol
}

// headMembers are the members of a manifest outside its lists.
var headMembers = []memberSpec{
	{"protocolVersion", "a string", true},
	{"serverInfo", "an object", true},
	{"capabilities", "an object", true},
	{"instructions", "a string", false},
}

// serverMembers are the members of serverInfo (Implementation in the MCP schema).
var serverMembers = []memberSpec{
	{"name", "a string", true},
	{"version", "a string", true},
	{"title", "a string", false},
	{"description", "a string", false},
	{"websiteUrl", "a string", false},
	{"icons", "an array", false},
}

// checkMembers checks the members of an object. what names the object in messages.
func (s *fileReport) checkMembers(
	object located,
	list members,
	specs []memberSpec,
	what, pointer string,
) {
	for _, spec := range specs {
		m := list.get(spec.name)
		pointer := pointer + "/" + spec.name
		switch {
		case m.missing() && spec.required:
			s.At(object.at).Add(ruleMemberMissing, pointer, "the member is required",
				"%s has no %q", what, spec.name)
		case m.missing():
		case !s.requireKind(ruleMemberType, m, pointer, strconv.Quote(spec.name), spec.kind):
		case spec.required && spec.name == "description" &&
			strings.TrimSpace(m.text()) == "":
			s.At(m.at).Add(ruleMemberMissing, pointer,
				"describe its purpose: models choose by the description",
				"%s has an empty description", what)
		}
	}
}

// generatorSyntax matches what documentation generators replace in their own output:
// admonitions, attribute lists, statements and expressions of templates, shortcodes, icons, emoji
// by name, modules, badges and entities.
var generatorSyntax = lazyregexp.New(`^(?:\?\?\?|!!!|:::|/// ?[a-z]|=== "|\[TOC\]|\[\[_?TOC_?\]\]|<no title>)` +
	`|^(?:import|export) [^"']* from ["'][^"']*["']` +
	`|^:[a-z][a-z0-9_+-]*: ` +
	`|\{\{[<%#][^{}]*\}\}` +
	`|\[?!\[[^\[\]]*\]\([^()]*\)` +
	`|&(?:amp|lt|gt|quot|apos|nbsp|#\d{2,5}|#x[0-9A-Fa-f]{2,5});` +
	`|(?:^|[^{])\{:?\s*[#.][A-Za-z][\w-]*(?:\s[^{}]*)?\}` +
	`|(?:^|[^{])\{:?\s*(?:width|height|align|target|rel|data-[\w-]+)=[^{}]*\}` +
	`|\{%[^{}]*%\}` +
	`|\{\{-?\s*[A-Za-z_][\w.]*(?:\([^(){}]*\))?\s*-?\}\}` +
	`|:(?:material|fontawesome|octicons|simple)-[a-z0-9-]+:`)

// pageFurniture matches a description that is what stands around the content of a page. A page may have
// such a title, and a description may begin so.
var pageFurniture = lazyregexp.New(`^(?i:edit this page|edit on [a-z]+|table of contents|on this page)(?:\.|:.*)?$`)

// checkWording warns of generator syntax in the texts of an object by which models choose, and of
// descriptions that say nothing.
func (s *fileReport) checkWording(list members, what, pointer string) {
	for _, member := range []string{"name", "title", "description"} {
		m := list.get(member)
		found := generatorSyntax().FindString(m.text())
		if found == "" && member == "description" {
			found = pageFurniture().FindString(strings.TrimSpace(m.text()))
		}
		if found != "" {
			s.At(m.at).Add(ruleGeneratorSyntax, pointer+"/"+member, "write it as plain text",
				"the %s of %s has the markup %q", member, what, strings.TrimSpace(found))
		}
	}
	description := list.get("description")
	said := strings.TrimRight(strings.TrimSpace(description.text()), ".")
	for _, member := range []string{"name", "title"} {
		if said != "" && strings.EqualFold(said, strings.TrimSpace(list.get(member).text())) {
			s.At(description.at).Add(ruleDescriptionRepeats, pointer+"/description",
				"say what it contains or does: models choose by the description",
				"the description of %s only repeats its %s", what, member)
			return
		}
	}
}

// checkHead checks everything but the lists.
func (mf *manifest) checkHead(root located, top members) {
	s := mf.fileReport
	s.checkMembers(root, top, headMembers, "the manifest", "")
	if m := top.get("protocolVersion"); !m.missing() {
		mf.version = m.text()
		_, err := time.Parse(time.DateOnly, mf.version)
		if err != nil && m.is('"') {
			s.At(m.at).Add(ruleProtocolVersion, "/protocolVersion",
				"write the date of a version of the protocol, such as 2025-11-25",
				"protocolVersion %q is not a date", mf.version)
		}
	}
	info := top.get("serverInfo")
	if info.missing() {
		for _, name := range []string{"name", "version"} {
			if m := top.get(name); !m.missing() {
				s.reportPlace(m, "serverInfo")
			}
		}
		return
	}
	if !info.is('{') {
		return
	}
	inner := info.members()
	s.checkMembers(info, inner, serverMembers, "serverInfo", "/serverInfo")
	if m := inner.get("version"); m.is('"') && !semver().MatchString(m.text()) {
		s.At(m.at).Add(ruleServerVersion, "/serverInfo/version", "write three numbers, such as 1.0.0",
			"version %q is not a semantic version", m.text())
	}
}

// semver is the form of semver.org, version 2.0.0.
var semver = lazyregexp.New(
	`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// requireLists checks that the two lists of the standard exist and that every list is an
// array.
func (mf *manifest) requireLists(capabilities located) {
	s := mf.fileReport
	inner := capabilities.members()
	for kind, name := range site.ListNames {
		m := inner.get(name)
		pointer := "/capabilities/" + name
		standard := kind == site.ListResources || kind == site.ListTools
		switch {
		case !m.missing() && !m.is('['):
			s.At(m.at).Add(ruleMemberType, pointer, "list the definitions themselves",
				"%q is %s, not an array", name, m.kind())
		case m.missing() && standard:
			s.At(capabilities.at).Add(ruleMemberMissing, pointer,
				"the standard requires it; write an empty array if there are none",
				"capabilities has no %q", name)
			s.repair(repair{
				does:  fmt.Sprintf("add an empty %q to capabilities", name),
				edits: []edit{insertMember(s.text, capabilities.at, name, "[]")},
			})
		}
	}
}

// checkList checks the definitions in a list.
func (mf *manifest) checkList(kind int, list located, pointer string) {
	s := mf.fileReport
	seen := make(map[string]seenEntry)
	last := 0 // where the previous element ends
	list.each(func(i int, v located) {
		before := last
		last = v.at + len(v.value)
		e := entryAt{
			at:      v.at,
			pointer: pointer,
			place:   i,
		}
		if !s.requireKind(ruleMemberType, v, e.path(), "the entry", "an object") {
			return
		}
		list := v.members()
		if !s.nameEntry(kind, &e, list) {
			return
		}
		if first, twice := seen[e.name]; twice {
			s.reportDuplicate(kind, &e, first, before, last)
			return
		}
		seen[e.name] = seenEntry{i, v.at, last}
		mf.addEntry(kind, v, e, list)
	})
}

// seenEntry is the first entry with some name.
type seenEntry struct{ place, at, end int }

// reportDuplicate reports an entry whose name is already in use.
func (s *fileReport) reportDuplicate(kind int, e *entryAt, first seenEntry, before, end int) {
	was := site.Compact(s.text[first.at:first.end])
	is := site.Compact(s.text[e.at:end])
	same := string(was) == string(is)
	hint := "readers use the first of them"
	if same {
		hint = "the two are equal: remove one"
	}
	s.about(e).Add(ruleDuplicate, "", hint,
		"%s %q is already entry %d", entryNames[kind], e.name, first.place)
	if same {
		s.repair(repair{
			does:  fmt.Sprintf("remove the second entry of %s %q", entryNames[kind], e.name),
			edits: []edit{{before, end, nil}},
		})
	}
}

// entryNames are what messages call an entry of each list, in the order of the lists.
var entryNames = [site.ManifestLists]string{"resource", "tool", "resource template", "prompt"}

// identities are the members that identify the entries of the lists.
var identities = [site.ManifestLists]string{"uri", "name", "uriTemplate", "name"}

// nameEntry fills in the name of an entry and reports whether it has one. An entry
// without a name is not checked any deeper.
func (s *fileReport) nameEntry(kind int, e *entryAt, list members) bool {
	member := identities[kind]
	m := list.get(member)
	pointer := e.path() + "/" + member
	switch e.name = m.text(); {
	case m.missing():
		s.At(e.at).Add(ruleMemberMissing, pointer, "readers skip the entry",
			"the %s has no %q", entryNames[kind], member)
	case !s.requireKind(ruleMemberType, m, pointer, strconv.Quote(member), "a string"):
	case e.name == "" && kind != site.ListTools:
		s.At(m.at).Add(ruleMemberMissing, pointer, "readers skip the entry",
			"the %q of the %s is empty", member, entryNames[kind])
	default:
		return true
	}
	return false
}

// entryMembers are the members of the entries of the lists, besides the one that
// identifies them. Those that the standard does not require are defined by the protocol.
var entryMembers = [site.ManifestLists][]memberSpec{
	site.ListResources: append([]memberSpec{
		{"name", "a string", true},
		{"description", "a string", true},
		{"mimeType", "a string", true},
		{"size", "a number", false},
	}, ornaments...),
	site.ListTools: append([]memberSpec{
		{"description", "a string", true},
		{"inputSchema", "an object", true},
		{"outputSchema", "an object", false},
	}, ornaments...),
	site.ListTemplates: append([]memberSpec{
		{"name", "a string", true},
		{"description", "a string", false},
		{"mimeType", "a string", false},
	}, ornaments...),
	site.ListPrompts: append([]memberSpec{{"description", "a string", false}, {"arguments", "an array", false}},
		ornaments...),
}

// ornaments are the members that every kind of entry may have.
var ornaments = []memberSpec{
	{"title", "a string", false},
	{"annotations", "an object", false},
	{"icons", "an array", false},
	{"_meta", "an object", false},
}

// addEntry checks one definition and adds it to the manifest.
func (mf *manifest) addEntry(kind int, v located, e entryAt, list members) {
	what := fmt.Sprintf("%s %q", entryNames[kind], e.name)
	mf.fileReport.checkMembers(v, list, entryMembers[kind], what, e.path())
	if kind != site.ListPrompts { // which may describe their placeholders
		mf.fileReport.checkWording(list, what, e.path())
	}
	switch kind {
	case site.ListResources:
		mf.addResource(e, list)
	case site.ListTools:
		mf.addTool(e, list)
	case site.ListTemplates:
		mf.addTemplate(e)
	case site.ListPrompts:
		mf.addPrompt(e, list)
	}
}

// listedResource is a resource in the manifest.
type listedResource struct {
	entryAt
	// mimeType is that of the list, or empty.
	mimeType string
}

// addResource checks the URI of a resource and adds it.
func (mf *manifest) addResource(e entryAt, list members) {
	address := staticmcp.ResourceAddress(e.name)
	scheme, _, ok := strings.Cut(e.name, ":")
	switch at := mf.fileReport.about(&e); {
	case len(address.Texts) == 0 || address.Valid() != nil:
		at.Add(ruleURI, "/uri", "add a path with a name: no reader can find the file",
			"the URI %q has no part that can name a file", site.Shorten(e.name))
	case !ok || !uriScheme().MatchString(scheme):
		at.Add(ruleURI, "/uri", "write a URI, such as file://"+site.Shorten(e.name),
			"%q has no scheme", site.Shorten(e.name))
	}
	mf.resources = append(mf.resources, listedResource{e, list.get("mimeType").text()})
}

// uriScheme is the scheme of RFC 3986, section 3.1.
var uriScheme = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*$`)
