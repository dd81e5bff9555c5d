package mapping

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/staticmcp/build"
	"github.com/slipway-mcp/slipway/staticmcp/build/tree"
	"github.com/slipway-mcp/slipway/staticmcp/search"
)

// searchDir is what the folders of search indexes begin with.
const searchDir = search.Dir

// apply changes what an input has made of itself into what the file at path wants.
// before are the kinds of the inputs before it.
func (p *part) apply(site *build.Site, path string, before []string) error {
	names, err := p.renames(site, path)
	if err != nil {
		return err
	}
	tools := slices.Clone(site.Tools)
	site.Tools = nil
	for _, t := range tools {
		if names[t.Name] == "" {
			continue
		}
		wanted := p.node.Get("tools", t.Name)
		if s := wanted.Get("title").String(); s != "" {
			t.Title = s
		}
		if s := wanted.Get("description").String(); s != "" {
			t.Description = s
		}
		t.Name = names[t.Name]
		t.Meta = bytes.ReplaceAll(t.Meta, []byte(`"`+searchDir), []byte(`"`+ownDir(before)))
		site.Tools = append(site.Tools, t)
	}
	for i, name := range site.Interchangeable {
		site.Interchangeable[i] = names[name]
	}
	site.Interchangeable = slices.DeleteFunc(site.Interchangeable, func(name string) bool { return name == "" })
	noResources := p.node.Get("resources").Is(tree.Bool) && !p.node.Get("resources").True()
	if noResources {
		site.Resources, site.Templates = nil, nil
	}
	answers := site.Answers
	site.Answers = func(yield func(*build.Answer, error) bool) {
		for a, err := range answers {
			if err == nil && (a.Tool != "" || a.Path != "") {
				renamed := *a
				renamed.Tool, renamed.Path = names[a.Tool], ownPath(a.Path, before)
				a = &renamed
			}
			if err == nil && (a.Tool == "" && a.URI == "" && a.Prompt == "" && a.Completion == nil && a.Path == "" || noResources && a.URI != "") {
				continue // of a tool or a resource that is left out
			}
			if !yield(a, err) {
				return
			}
		}
	}
	return nil
}

// ownDir is what the folders of an input's search indexes begin with: two inputs
// of one kind have one each.
func ownDir(before []string) string {
	if len(before) == 0 {
		return searchDir
	}
	return fmt.Sprintf("%s-%d", searchDir, len(before)+1)
}

// ownPath is the path of a file that is no answer; "" leaves it out. A site has one
// llms.txt: the first.
func ownPath(path string, before []string) string {
	if rest, ok := strings.CutPrefix(path, searchDir); ok {
		return ownDir(before) + rest
	}
	if path == "llms.txt" && slices.Contains(before, "docs") {
		return ""
	}
	return path
}

// renames returns the new name of each tool, "" for one that is left out.
func (p *part) renames(site *build.Site, path string) (map[string]string, error) {
	names := make(map[string]string)
	var own []string
	for _, t := range site.Tools {
		names[t.Name] = p.node.Get("prefix").String() + t.Name
		own = append(own, t.Name)
	}
	for _, m := range p.node.Get("tools").Fields() {
		if names[m.Name] == "" {
			return nil, &InvalidError{[]check.Finding{{Rule: "mapping/tool", File: path, Line: m.Line, Column: m.Column, Message: noTool(m.Name, own)}}}
		}
		switch {
		case m.Value.Is(tree.Bool) && !m.Value.True():
			names[m.Name] = ""
		case m.Value.Get("name").String() != "":
			names[m.Name] = m.Value.Get("name").String()
		}
	}
	return names, nil
}

func noTool(name string, own []string) string {
	if near := nearest.DidYouMean(name, own); near != "" {
		return fmt.Sprintf("the input has no tool %q; did you mean %q?", name, near)
	}
	return fmt.Sprintf("the input has no tool %q; it has %s", name, strings.Join(own, ", "))
}
