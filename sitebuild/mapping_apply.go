package sitebuild

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/nearest"
	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/internal/tree"
)

// searchDir is the prefix of search index folders.
const searchDir = search.Dir

// apply applies the settings of the file at path to an input's site. before lists the
// kinds of the preceding inputs.
func (p *part) apply(site *Site, path string, before []string) error {
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
	site.Interchangeable = slices.DeleteFunc(site.Interchangeable, func(name string) bool {
		return name == ""
	})
	noResources := p.node.Get("resources").Is(tree.Bool) && !p.node.Get("resources").True()
	if noResources {
		site.Resources = nil
		site.Templates = nil
	}
	answers := site.Answers
	site.Answers = func(yield func(*Answer, error) bool) {
		for a, err := range answers {
			if err == nil && (a.Tool != "" || a.Path != "") {
				renamed := *a
				renamed.Tool, renamed.Path = names[a.Tool], ownPath(a.Path, before)
				a = &renamed
			}
			if err == nil &&
				(a.Tool == "" && a.URI == "" && a.Prompt == "" &&
					a.Completion == nil && a.Path == "" ||
					noResources && a.URI != "") {
				continue // belongs to an omitted tool or resource
			}
			if !yield(a, err) {
				return
			}
		}
	}
	return nil
}

// ownDir returns the prefix of an input's search index folders, which is distinct for
// each input.
func ownDir(before []string) string {
	if len(before) == 0 {
		return searchDir
	}
	return fmt.Sprintf("%s-%d", searchDir, len(before)+1)
}

// ownPath returns the path of a file that is not an answer, or "" to omit it. A site has
// only one llms.txt, with those that it leads to: that of the first docs input.
func ownPath(path string, before []string) string {
	if rest, ok := strings.CutPrefix(path, searchDir); ok {
		return ownDir(before) + rest
	}
	list := strings.HasSuffix(path, ".txt") && (path == "llms.txt" || strings.HasPrefix(path, "llms-"))
	if list && slices.Contains(before, "docs") {
		return ""
	}
	return path
}

// renames returns the new name of each tool, or "" for an omitted one.
func (p *part) renames(site *Site, path string) (map[string]string, error) {
	names := make(map[string]string)
	var own []string
	for _, t := range site.Tools {
		names[t.Name] = p.renamed(t.Name)
		own = append(own, t.Name)
	}
	for _, m := range p.node.Get("tools").Fields() {
		if names[m.Key] == "" {
			return nil, &MappingError{[]check.Finding{check.Reporter{File: path}.AtLine(m.Line,
				m.Column).Finding(ruleTool, "", "", "%s", noTool(m.Key, own))}}
		}
		if m.Value.Is(tree.Bool) && !m.Value.True() {
			names[m.Key] = ""
		}
	}
	return names, nil
}

// toolName returns the new name of a tool, or "" for an omitted one.
func (p *part) toolName(tool string) string {
	if wanted := p.node.Get("tools", tool); wanted.Is(tree.Bool) && !wanted.True() {
		return ""
	}
	return p.renamed(tool)
}

// renamed returns the new name of a tool that is not omitted.
func (p *part) renamed(tool string) string {
	return cmp.Or(p.node.Get("tools", tool, "name").String(), p.node.Get("prefix").String()+tool)
}

func noTool(name string, own []string) string {
	if near := nearest.DidYouMean(name, own); near != "" {
		return fmt.Sprintf("the input has no tool %q; did you mean %q?", name, near)
	}
	return fmt.Sprintf("the input has no tool %q; it has %s", name, strings.Join(own, ", "))
}
