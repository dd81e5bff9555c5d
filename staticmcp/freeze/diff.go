package freeze

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Difference is one difference between two sources.
type Difference struct {
	// Action is "added" if only the second source has it, "removed" if only the first has
	// it, otherwise "changed".
	Action string `json:"action"`
	// Kind is "server", "instructions", "tool", "resource", "template", "prompt",
	// or "answer".
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Diff compares the definitions of two sources and, unless definitions is set, their
// answers to all questions for which one of them, if it is a site, has a stored answer.
// Of opts, only the fields about calling and Tools are used, as in [Verify].
func Diff(ctx context.Context, a, b mcp.Source, definitions bool, opts *Options) ([]Difference, error) {
	one, err := a.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	two, err := b.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	list, err := diffDefinitions(one, two)
	if err != nil || definitions {
		return list, err
	}
	answers, err := diffAnswers(ctx, a, b, one, two, opts)
	return append(list, answers...), err
}

func diffDefinitions(one, two *mcp.Catalog) ([]Difference, error) {
	var list []Difference
	infoA, errA := mcp.Marshal(one.Server)
	infoB, errB := mcp.Marshal(two.Server)
	if errA != nil || errB != nil {
		return nil, fmt.Errorf("encode the name of a server: %w", cmpErr(errA, errB))
	}
	if !bytes.Equal(infoA, infoB) {
		list = append(list, Difference{"changed", "server", one.Server.Name})
	}
	if one.Instructions != two.Instructions {
		list = append(list, Difference{"changed", "instructions", one.Server.Name})
	}
	kinds := []struct {
		kind string
		a, b []entry
	}{
		{
			"tool",
			entries(one.Tools, func(t mcp.Tool) string { return t.Name }),
			entries(two.Tools, func(t mcp.Tool) string { return t.Name }),
		},
		{
			"resource",
			entries(one.Resources, func(r mcp.Resource) string { return r.URI }),
			entries(two.Resources, func(r mcp.Resource) string { return r.URI }),
		},
		{
			"template",
			entries(one.Templates, func(t mcp.ResourceTemplate) string { return t.URITemplate }),
			entries(two.Templates, func(t mcp.ResourceTemplate) string { return t.URITemplate }),
		},
		{
			"prompt",
			entries(one.Prompts, func(p mcp.Prompt) string { return p.Name }),
			entries(two.Prompts, func(p mcp.Prompt) string { return p.Name }),
		},
	}
	for _, k := range kinds {
		list = append(list, diffEntries(k.kind, k.a, k.b)...)
	}
	return list, nil
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// entry is one definition.
type entry struct{ name, text string }

func entries[T any](list []T, name func(T) string) []entry {
	found := make([]entry, len(list))
	for i := range list {
		raw, err := mcp.Marshal(list[i])
		if err != nil {
			raw = []byte(err.Error())
		}
		found[i] = entry{name(list[i]), canonical(raw)}
	}
	return found
}

// canonical returns a definition in a form independent of the order of members.
func canonical(raw []byte) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(raw)
	}
	text, err := mcp.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(text)
}

func diffEntries(kind string, a, b []entry) []Difference {
	var list []Difference
	other := make(map[string]string)
	for _, e := range b {
		other[e.name] = e.text
	}
	mine := make(map[string]bool)
	for _, e := range a {
		mine[e.name] = true
		text, there := other[e.name]
		switch {
		case !there:
			list = append(list, Difference{"removed", kind, e.name})
		case text != e.text:
			list = append(list, Difference{"changed", kind, e.name})
		}
	}
	for _, e := range b {
		if !mine[e.name] {
			list = append(list, Difference{"added", kind, e.name})
		}
	}
	return list
}

func diffAnswers(ctx context.Context, a, b mcp.Source, one, two *mcp.Catalog, opts *Options) ([]Difference, error) {
	questions, err := storedBy(ctx, a, b)
	if err != nil {
		return nil, err
	}
	left := newAsker(a, one, opts)
	right := newAsker(b, two, opts)
	var list []Difference
	err = inParallel(ctx, left.plan.opts.Concurrency, questions, func(q staticmcp.Question) *Difference {
		before, after := left.all(ctx, askable(one, q)), right.all(ctx, askable(two, q))
		switch {
		case before == nil && after == nil, bytes.Equal(before, after):
			return nil
		case before == nil:
			return &Difference{"added", "answer", nameOf(q)}
		case after == nil:
			return &Difference{"removed", "answer", nameOf(q)}
		}
		return &Difference{"changed", "answer", nameOf(q)}
	}, func(d *Difference) {
		if d != nil {
			list = append(list, *d)
		}
	})
	return list, err
}

// all returns the concatenated answers to several questions, or nil if there is none.
func (a *asker) all(ctx context.Context, questions []staticmcp.Question) []byte {
	var answers []byte
	for _, q := range questions {
		answers = append(answers, a.get(ctx, q)...)
	}
	return answers
}

// storedBy returns the questions that the sites among sources have answers for.
func storedBy(ctx context.Context, sources ...mcp.Source) ([]staticmcp.Question, error) {
	var list []staticmcp.Question
	seen := make(map[string]bool)
	for _, src := range sources {
		site, ok := src.(*staticmcp.Site)
		if !ok {
			continue
		}
		questions, err := site.Questions(ctx)
		if err != nil {
			return nil, err
		}
		for _, q := range questions {
			if !seen[keyOf(q)] {
				seen[keyOf(q)] = true
				list = append(list, q)
			}
		}
	}
	slices.SortStableFunc(list,
		func(a, b staticmcp.Question) int { return bytes.Compare([]byte(keyOf(a)), []byte(keyOf(b))) })
	return list, nil
}

// asker queries one side of a comparison.
type asker struct {
	*run
	site *staticmcp.Site // nil for a source that is not a site
}

func newAsker(src mcp.Source, c *mcp.Catalog, opts *Options) *asker {
	p := &Plan{source: src, catalog: c, opts: opts.withDefaults()}
	p.opts.KeepErrors = true
	site, _ := src.(*staticmcp.Site)
	return &asker{&run{plan: p, report: &Report{}, pace: pace{every: perSecond(p.opts.Rate)}}, site}
}

// get returns an answer, or nil if there is none.
func (a *asker) get(ctx context.Context, q staticmcp.Question) json.RawMessage {
	if a.site != nil {
		doc, err := storedAnswer(ctx, a.site, q)
		if err != nil {
			return nil
		}
		return doc
	}
	if q.Tool != "" && a.plan.refusal(q.Tool) != "" {
		return nil
	}
	doc, err := a.fetch(ctx, &outcome{}, q)
	if err != nil {
		return nil
	}
	return doc
}
