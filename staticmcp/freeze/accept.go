package freeze

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// acceptable reports whether an answer may be published, and adds a finding for each
// secret and each kind of personal data in it.
func (r *run) acceptable(o *outcome) bool {
	ok := true
	file := r.plan.pathOf(o.q)
	name := r.plan.secrets.Redact(nameOf(o.q))
	asked, _ := mcp.Marshal(o.q) // texts and valid JSON
	if list := r.plan.secrets.FindDocument(asked); len(list) > 0 {
		// The secret is in the question, so it is also in the file name.
		ok = r.acceptSecret(name+": the question", "", "", list[0].Match)
		file = ""
	}
	for _, s := range suspicions(r.plan.secrets, o.doc) {
		rule := rulePersonal
		hint := ""
		switch {
		case s.kind == "secret":
			pointer := s.pointer
			if o.q.URI != "" {
				pointer = strings.TrimPrefix(pointer, "/contents/0") // as in the file
			}
			ok = r.acceptSecret(name+": the answer", file, pointer, s.match) && ok
			continue
		case s.kind == "personal" && !r.plan.opts.Allow.Personal:
			ok = false
			rule = rule.As(check.Error)
			hint = "change the source, use --replace, or accept it with --allow personal"
		case s.kind == "email":
			rule = ruleEmail
		}
		check.Reporter{
			Report: &r.report.Report,
			File:   file,
		}.Add(rule, "", hint,
			"%s: the answer seems to contain %s", name, s.about)
	}
	if !ok {
		r.refused++
	}
	return ok
}

// acceptSecret adds a finding for a secret and reports whether it is allowed.
func (r *run) acceptSecret(where, file, pointer string, m secrets.Match) bool {
	fingerprint := secrets.Fingerprint(file, pointer, m)
	allowed := secrets.Accepted(r.plan.opts.Allow.Secrets, fingerprint, m)
	f := check.Reporter{File: file}.Finding(ruleSecret, pointer, "",
		"%s contains %s (%s)", where, m.What, m.Kind)
	if !allowed {
		f.Severity = check.Error
		f.Hint = "remove it from the source or with --replace, or accept it with --allow-secret " + fingerprint
	}
	r.report.Report.Add(f)
	return allowed
}

// scanDefinitions scans the definitions in the manifest for secrets.
func (r *run) scanDefinitions() {
	p := r.plan
	c := r.plan.catalog
	scan := func(pointer, name string, definition any) {
		doc, err := mcp.Marshal(definition)
		if err != nil {
			return // the build reports it
		}
		for _, f := range p.secrets.FindDocument(doc) {
			if !r.acceptSecret(p.secrets.Redact(name), "mcp.json",
				pointer+f.Pointer, f.Match) {
				r.refused++
			}
		}
	}
	scan("/serverInfo", "the server's name", c.Server)
	scan("/instructions", "the instructions", c.Instructions)
	tools := 0
	prompts := 0
	for i := range p.Subjects {
		s := &p.Subjects[i]
		switch {
		case s.Skipped:
		case s.Kind == "tool":
			scan("/capabilities/tools/"+strconv.Itoa(tools), "the tool "+s.Name,
				c.Tool(s.Name))
			tools++
		case s.Kind == "prompt":
			scan("/capabilities/prompts/"+strconv.Itoa(prompts),
				"the prompt "+s.Name, c.Prompt(s.Name))
			prompts++
		}
	}
	if p.opts.NoResources {
		return
	}
	for i := range c.Resources {
		scan("/capabilities/resources/"+strconv.Itoa(i),
			"the resource "+c.Resources[i].URI, c.Resources[i])
	}
	for i := range c.Templates {
		scan("/capabilities/resourceTemplates/"+strconv.Itoa(i),
			"the template "+c.Templates[i].URITemplate, c.Templates[i])
	}
}

// scanCompletion scans the suggested values of an argument for secrets, and reports
// whether they may be published.
func (r *run) scanCompletion(c *completed) bool {
	doc, err := mcp.Marshal(c.values)
	if err != nil {
		return true // the build reports it
	}
	ok := true
	file := staticmcp.CompletionPath(c.prompt, c.uriTemplate, c.argument)
	for _, f := range r.plan.secrets.FindDocument(doc) {
		ok = r.acceptSecret("the list of suggestions for "+c.argument, file,
			f.Pointer, f.Match) &&
			ok
	}
	return ok
}

// pathOf returns the path of the file of an answer, or "" if it has none. Answers that
// share a path are separated later.
func (p *Plan) pathOf(q staticmcp.Question) string {
	switch {
	case q.URI != "":
		return staticmcp.ResourceAddress(q.URI).Path()
	case q.Prompt != "":
		arguments := make(map[string]string)
		prompt := p.catalog.Prompt(q.Prompt)
		if prompt != nil &&
			(q.Arguments == nil || json.Unmarshal(q.Arguments, &arguments) == nil) {
			return staticmcp.PromptAddress(prompt, arguments).Path()
		}
	default:
		if address, err := p.layouts[q.Tool].Address(q.Arguments); err == nil {
			return address.Path()
		}
	}
	return ""
}
