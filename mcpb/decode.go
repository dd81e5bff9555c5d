package mcpb

import (
	"encoding/json"
	"fmt"
	"slices"
)

// manifest checks the document as a manifest and decodes it. It returns nil if the
// document is not an object.
func (d *document) manifest() *Manifest {
	if d.root == nil {
		return nil
	}
	if d.root.kind != kindObject {
		d.At(d.root.at).Add(ruleType, "", "", "the manifest must be an object and is %s", d.root.kind.String())
		return nil
	}
	version, known := d.version()
	j := judge{d, version}
	shape := manifestShape(version)
	if !known { // an invalid version is already reported
		for i := range shape.fields {
			if name := shape.fields[i].name; name == "manifest_version" || name == "dxt_version" {
				shape.fields[i].shape = anyShape
			}
		}
	}
	j.value(d.root, shape, "")
	m := d.decode(shape)
	m.SpecVersion = version
	return m
}

// version chooses the version as the reference does: manifest_version if it is known,
// otherwise dxt_version. If neither is, version reports that and returns the newest, so
// that the rest can still be checked.
func (d *document) version() (version string, known bool) {
	written := [2]*jsonNode{d.root.member("manifest_version"), d.root.member("dxt_version")}
	for i, n := range written {
		if n.is(kindString) && slices.Contains(Versions(), n.text) {
			if i == 1 && written[0] == nil {
				d.Add(ruleDXT, "/dxt_version", "slipway bundle validate --fix renames it",
					`"dxt_version" is the old name of "manifest_version"`)
			}
			return n.text, true
		}
	}
	newest := Versions()[len(Versions())-1]
	pointer, message := "/manifest_version", `"manifest_version" is missing`
	if n := written[0]; n != nil {
		message = fmt.Sprintf("no version of the manifest is called %s", d.text[n.at:n.end])
	} else if n := written[1]; n != nil {
		pointer, message = "/dxt_version", fmt.Sprintf("no version of the manifest is called %s", d.text[n.at:n.end])
	}
	hint := "the versions are the strings " + oneOf(Versions())
	d.Add(ruleVersion, pointer, hint, "%s", message)
	return newest, false
}

// decode copies the values of the right type; the others are already reported.
func (d *document) decode(s *shape) *Manifest {
	r := d.root
	text := func(name string) string { return r.member(name).str() }
	m := &Manifest{
		source:          d.text,
		Schema:          text("$schema"),
		Name:            text("name"),
		DisplayName:     text("display_name"),
		Version:         text("version"),
		Description:     text("description"),
		LongDescription: text("long_description"),
		Author: Author{
			r.member("author").member("name").str(),
			r.member("author").member("email").str(),
			r.member("author").member("url").str(),
		},
		Homepage:         text("homepage"),
		Documentation:    text("documentation"),
		Support:          text("support"),
		Keywords:         r.member("keywords").strings(),
		License:          text("license"),
		PrivacyPolicies:  r.member("privacy_policies").strings(),
		Icon:             text("icon"),
		Screenshots:      r.member("screenshots").strings(),
		ToolsGenerated:   r.member("tools_generated").yes(),
		PromptsGenerated: r.member("prompts_generated").yes(),
		Meta:             d.raw(r.member("_meta"), nil),
		Unknown:          d.raw(r, s.fields),
	}
	if n := r.member("repository"); n.is(kindObject) {
		m.Repository = &Repository{n.member("type").str(), n.member("url").str()}
	}
	if n := r.member("localization"); n.is(kindObject) {
		m.Localization = &Localization{n.member("resources").str(), n.member("default_locale").str()}
	}
	for _, n := range r.member("icons").list() {
		m.Icons = append(m.Icons, Icon{n.member("src").str(), n.member("size").str(), n.member("theme").str()})
	}
	for _, n := range r.member("tools").list() {
		m.Tools = append(m.Tools, Tool{n.member("name").str(), n.member("description").str()})
	}
	for _, n := range r.member("prompts").list() {
		m.Prompts = append(m.Prompts, Prompt{
			n.member("name").str(),
			n.member("description").str(),
			n.member("arguments").strings(),
			n.member("text").str(),
		})
	}
	m.Server = decodeServer(r.member("server"))
	m.Compatibility = decodeCompatibility(r.member("compatibility"))
	m.UserConfig = decodeOptions(r.member("user_config"))
	return m
}

func decodeServer(n *jsonNode) Server {
	s := Server{Type: n.member("type").str(), EntryPoint: n.member("entry_point").str()}
	c := n.member("mcp_config")
	if !c.is(kindObject) {
		return s
	}
	s.Config = &Config{Command: c.member("command").str(), Args: c.member("args").strings(), Env: c.member("env").texts()}
	for _, m := range c.member("platform_overrides").each() {
		if s.Config.Overrides == nil {
			s.Config.Overrides = map[string]Override{}
		}
		s.Config.Overrides[m.name] = Override{
			m.value.member("command").str(),
			m.value.member("args").strings(),
			m.value.member("env").texts(),
		}
	}
	return s
}

func decodeCompatibility(n *jsonNode) *Compatibility {
	if !n.is(kindObject) {
		return nil
	}
	c := &Compatibility{Platforms: n.member("platforms").strings(), Runtimes: n.member("runtimes").texts()}
	for _, m := range n.each() {
		if m.name != "platforms" && m.name != "runtimes" && m.value.is(kindString) {
			if c.Clients == nil {
				c.Clients = map[string]string{}
			}
			c.Clients[m.name] = m.value.text
		}
	}
	return c
}

func decodeOptions(n *jsonNode) []Option {
	var options []Option
	for _, m := range n.each() {
		v := m.value
		options = append(options, Option{
			Key:         m.name,
			Type:        v.member("type").str(),
			Title:       v.member("title").str(),
			Description: v.member("description").str(),
			Required:    v.member("required").yes(),
			Default:     v.member("default").value(),
			Multiple:    v.member("multiple").yes(),
			Sensitive:   v.member("sensitive").yes(),
			Min:         v.member("min").bound(),
			Max:         v.member("max").bound(),
		})
	}
	return options
}

// raw returns the members that fields does not name, as written.
func (d *document) raw(n *jsonNode, fields []field) map[string]json.RawMessage {
	var found map[string]json.RawMessage
	for _, m := range n.each() {
		if slices.ContainsFunc(fields, func(f field) bool { return f.name == m.name }) {
			continue
		}
		if found == nil {
			found = map[string]json.RawMessage{}
		}
		found[m.name] = json.RawMessage(d.text[m.value.at:m.value.end:m.value.end])
	}
	return found
}

func (n *jsonNode) yes() bool { return n.is(kindBool) && n.truth }

// list returns the items of an array, or none for other values.
func (n *jsonNode) list() []*jsonNode {
	if n.is(kindArray) {
		return n.items
	}
	return nil
}

// each returns the members of an object in order. If a name is repeated, the last one
// wins.
func (n *jsonNode) each() []member {
	if !n.is(kindObject) {
		return nil
	}
	seen := map[string]int{}
	var members []member
	for _, m := range n.members {
		if at, ok := seen[m.name]; ok {
			members[at] = m
			continue
		}
		seen[m.name] = len(members)
		members = append(members, m)
	}
	return members
}

// strings returns the strings of an array. It is nil only for values that are not arrays.
func (n *jsonNode) strings() []string {
	if !n.is(kindArray) {
		return nil
	}
	all := make([]string, 0, len(n.items))
	for _, item := range n.items {
		all = append(all, item.str())
	}
	return all
}

// texts returns the string members of an object. It is nil only for values that are not
// objects.
func (n *jsonNode) texts() map[string]string {
	if !n.is(kindObject) {
		return nil
	}
	all := make(map[string]string, len(n.members))
	for _, m := range n.members {
		if m.value.is(kindString) {
			all[m.name] = m.value.text
		}
	}
	return all
}

// value returns the default of an option.
func (n *jsonNode) value() any {
	switch {
	case n == nil:
		return nil
	case n.kind == kindString:
		return n.text
	case n.kind == kindNumber:
		return n.number
	case n.kind == kindBool:
		return n.truth
	case n.kind == kindArray:
		return n.strings()
	}
	return nil
}

func (n *jsonNode) bound() *float64 {
	if !n.is(kindNumber) {
		return nil
	}
	return &n.number
}
