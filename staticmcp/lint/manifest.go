package lint

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/staticmcp/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// manifest is the content of a manifest that a check needs.
type manifest struct {
	sheet     *sheet // of the manifest, kept open until the end
	version   string // protocolVersion
	resources []listedResource
	tools     []*listedTool
	prompts   []*listedTool
	templates []listedTemplate
}

// entryAt is a definition in a list of the manifest.
type entryAt struct {
	name    string // or its URI
	at      int    // where it begins in the manifest
	pointer string // of the list
	place   int    // in the list
}

func (e *entryAt) path() string {
	return e.pointer + "/" + strconv.Itoa(e.place)
}

// manifest checks the text of a manifest. It returns nil if the manifest is unusable for
// checking the site.
func (s *sheet) manifest(text []byte) *manifest {
	s.setText(text)
	begin, ok := s.whole()
	if !ok {
		return nil
	}
	if text[begin] != '{' {
		s.At(begin).Add(ruleMemberType, "", "", "the manifest is %s, not an object", kindOf(text[begin:]))
		return nil
	}
	mf := &manifest{sheet: s}
	top := locate(text, begin)
	mf.head(begin, top)
	lists := top
	pointer := ""
	if capabilities, ok := named(top, "capabilities"); ok && capabilities.value[0] == '{' {
		mf.requireLists(capabilities)
		lists, pointer = locate(text, capabilities.at), "/capabilities"
	}
	for kind, name := range site.ListNames {
		if list, ok := named(lists, name); ok && list.value[0] == '[' {
			mf.list(kind, list.at, pointer+"/"+name)
		} else if misplaced, ok := named(top, name); ok && misplaced.value[0] == '[' {
			s.At(misplaced.at).Add(ruleListPlace, "/"+name, `move it into "capabilities"`,
				"%q is at the top of the manifest", name)
			mf.list(kind, misplaced.at, "/"+name)
		}
	}
	return mf
}

// memberSpec is what a member of an object must be.
type memberSpec struct {
	name     string
	kind     string // as returned by kindOf
	required bool   // by the standard, or by the protocol
}

var headMembers = []memberSpec{
	{"protocolVersion", "a string", true},
	{"serverInfo", "an object", true},
	{"capabilities", "an object", true},
	{"instructions", "a string", false},
}

var serverMembers = []memberSpec{
	{"name", "a string", true},
	{"version", "a string", true},
	{"title", "a string", false},
	{"description", "a string", false},
	{"websiteUrl", "a string", false},
	{"icons", "an array", false},
}

// members checks the members of the object at text[at].
func (s *sheet) members(at int, list []located, specs []memberSpec, what, pointer string) {
	for _, spec := range specs {
		m, ok := named(list, spec.name)
		switch {
		case !ok && spec.required:
			s.At(at).Add(ruleMemberMissing, pointer+"/"+spec.name, "it is required", "%s has no %q", what, spec.name)
		case ok && kindOf(m.value) != spec.kind:
			s.At(m.at).Add(ruleMemberType, pointer+"/"+spec.name, "", "%q is %s, not %s", spec.name,
				kindOf(m.value), spec.kind)
		case ok && spec.required && spec.name == "description" && isBlank(m.value):
			s.At(m.at).Add(ruleMemberMissing, pointer+"/"+spec.name, "say what it is for: models choose by it",
				"%s has an empty description", what)
		}
	}
}

// isBlank reports whether a JSON string contains only white space.
func isBlank(text []byte) bool {
	value, _ := jsonscan.Unquote(text)
	return strings.TrimSpace(value) == ""
}

// head checks everything but the lists.
func (mf *manifest) head(begin int, top []located) {
	s := mf.sheet
	s.members(begin, top, headMembers, "the manifest", "")
	if m, ok := named(top, "protocolVersion"); ok {
		mf.version, _ = jsonscan.Unquote(m.value)
		if _, err := time.Parse(time.DateOnly, mf.version); err != nil && m.value[0] == '"' {
			s.At(m.at).Add(ruleProtocolVersion, "/protocolVersion",
				"write the date of a version of the protocol, such as 2025-11-25",
				"protocolVersion %q is not a date", mf.version)
		}
	}
	info, ok := named(top, "serverInfo")
	if !ok {
		for _, name := range []string{"name", "version"} {
			if m, ok := named(top, name); ok {
				s.At(m.at).Add(ruleListPlace, "/"+name, `move it into "serverInfo"`,
					"%q is at the top of the manifest", name)
			}
		}
		return
	}
	if info.value[0] != '{' {
		return
	}
	inner := locate(s.text, info.at)
	s.members(info.at, inner, serverMembers, "serverInfo", "/serverInfo")
	if m, ok := named(inner, "version"); ok && m.value[0] == '"' {
		if version, _ := jsonscan.Unquote(m.value); !semver.MatchString(version) {
			s.At(m.at).Add(ruleServerVersion, "/serverInfo/version", "write three numbers, such as 1.0.0",
				"version %q is not a semantic version", version)
		}
	}
}

// semver is the form of semver.org, version 2.0.0.
var semver = regexp.MustCompile(
	`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// requireLists checks that the two lists of the standard exist and that every list is an
// array.
func (mf *manifest) requireLists(capabilities located) {
	s := mf.sheet
	inner := locate(s.text, capabilities.at)
	for kind, name := range site.ListNames {
		m, ok := named(inner, name)
		standard := kind == site.ListResources || kind == site.ListTools
		switch {
		case ok && m.value[0] != '[':
			s.At(m.at).Add(ruleMemberType, "/capabilities/"+name, "a manifest lists the definitions themselves",
				"%q is %s, not an array", name, kindOf(m.value))
		case !ok && standard:
			s.At(capabilities.at).Add(ruleMemberMissing, "/capabilities/"+name,
				"the standard requires it; write an empty array if there are none", "capabilities has no %q", name)
			s.repair(repair{
				does:  fmt.Sprintf("add an empty %q to capabilities", name),
				edits: []edit{insertMember(s.text, capabilities.at, name, "[]")},
			})
		}
	}
}

// list checks the definitions in the list at text[at].
func (mf *manifest) list(kind, at int, pointer string) {
	s := mf.sheet
	seen := make(map[string]seenEntry)
	last := 0 // where the previous element ends
	each(s.text, at, func(place, at, end int) {
		before := last
		last = end
		e := entryAt{
			at:      at,
			pointer: pointer,
			place:   place,
		}
		if s.text[at] != '{' {
			s.At(at).Add(ruleMemberType, e.path(), "", "the entry is %s, not an object", kindOf(s.text[at:]))
			return
		}
		members := locate(s.text, at)
		if !s.nameEntry(kind, &e, members) {
			return
		}
		if first, twice := seen[e.name]; twice {
			s.duplicate(kind, &e, first, before, end)
			return
		}
		seen[e.name] = seenEntry{place, at, end}
		mf.entry(kind, e, members)
	})
}

// seenEntry is the first entry with some name.
type seenEntry struct{ place, at, end int }

// duplicate reports an entry whose name is already in use.
func (s *sheet) duplicate(kind int, e *entryAt, first seenEntry, before, end int) {
	same := string(site.Compact(s.text[first.at:first.end])) == string(site.Compact(s.text[e.at:end]))
	hint := "readers take the first of them"
	if same {
		hint = "the two are the same: remove one"
	}
	s.At(e.at).Add(ruleDuplicate, e.path(), hint, "%s %q is already entry %d", entryNames[kind], e.name, first.place)
	if same {
		s.repair(repair{
			does:  fmt.Sprintf("remove the second entry of %s %q", entryNames[kind], e.name),
			edits: []edit{{before, end, nil}},
		})
	}
}

var entryNames = [site.ManifestLists]string{"resource", "tool", "resource template", "prompt"}

// identities are the members that identify the entries of the lists.
var identities = [site.ManifestLists]string{"uri", "name", "uriTemplate", "name"}

// nameEntry fills in the name of an entry and reports whether it has one. An entry
// without a name is not checked further.
func (s *sheet) nameEntry(kind int, e *entryAt, members []located) bool {
	member := identities[kind]
	m, ok := named(members, member)
	text := ""
	isText := false
	if ok {
		text, isText = jsonscan.Unquote(m.value)
	}
	switch {
	case !ok:
		s.At(e.at).Add(ruleMemberMissing, e.path()+"/"+member, "readers leave the entry out", "the %s has no %q",
			entryNames[kind], member)
	case !isText:
		s.At(m.at).Add(ruleMemberType, e.path()+"/"+member, "", "%q is %s, not a string", member, kindOf(m.value))
	case text == "" && kind != site.ListTools:
		s.At(m.at).Add(ruleMemberMissing, e.path()+"/"+member, "readers leave the entry out",
			"the %q of the %s is empty", member, entryNames[kind])
	default:
		e.name = text
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

var ornaments = []memberSpec{
	{"title", "a string", false},
	{"annotations", "an object", false},
	{"icons", "an array", false},
	{"_meta", "an object", false},
}

// entry checks one definition and adds it to the manifest.
func (mf *manifest) entry(kind int, e entryAt, members []located) {
	mf.sheet.members(e.at, members, entryMembers[kind], fmt.Sprintf("%s %q", entryNames[kind], e.name), e.path())
	switch kind {
	case site.ListResources:
		mf.resource(e, members)
	case site.ListTools:
		mf.tool(e, members)
	case site.ListTemplates:
		mf.template(e)
	case site.ListPrompts:
		mf.prompt(e, members)
	}
}

// listedResource is a resource in the manifest.
type listedResource struct {
	entryAt
	mimeType string
}

func (mf *manifest) resource(e entryAt, members []located) {
	r := listedResource{entryAt: e}
	if m, ok := named(members, "mimeType"); ok {
		r.mimeType, _ = jsonscan.Unquote(m.value)
	}
	s := mf.sheet
	switch scheme, _, ok := strings.Cut(e.name, ":"); {
	case len(staticmcp.ResourceAddress(e.name).Texts) == 0 || staticmcp.ResourceAddress(e.name).Valid() != nil:
		s.At(e.at).Add(ruleURI, e.path()+"/uri", "no reader can find it: give it a name",
			"the URI %q leaves nothing to name a file by", site.Shorten(e.name))
	case !ok || !uriScheme.MatchString(scheme):
		s.At(e.at).Add(ruleURI, e.path()+"/uri", "write a URI, such as file://"+site.Shorten(e.name), "%q has no scheme",
			site.Shorten(e.name))
	}
	mf.resources = append(mf.resources, r)
}

// uriScheme is the scheme of RFC 3986, section 3.1.
var uriScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
