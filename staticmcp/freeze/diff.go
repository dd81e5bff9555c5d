package freeze

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/internal/canonical"
	"github.com/slipway-mcp/slipway/internal/order"
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
	// Name is that of the item, or the question of an answer.
	Name string `json:"name"`
}

// DiffOptions configure [Diff]. Nil and the zero value are the defaults.
type DiffOptions struct {
	Requests
	// Definitions compares definitions only, and no answers.
	Definitions bool
	// Names are those of the two sources in errors. The defaults are "first source" and "second source".
	Names [2]string
}

// Diff compares the definitions of two sources, and their answers to all questions for
// which one of them, if it is a site, has a stored answer. Tools not marked readOnlyHint
// are called only if they are in opts.Tools.
func Diff(ctx context.Context, a, b mcp.Source, opts *DiffOptions) ([]Difference, error) {
	if opts == nil {
		opts = &DiffOptions{}
	}
	one, err := wholeCatalog(ctx, a, cmp.Or(opts.Names[0], "first source"))
	if err != nil {
		return nil, err
	}
	two, err := wholeCatalog(ctx, b, cmp.Or(opts.Names[1], "second source"))
	if err != nil {
		return nil, err
	}
	list := diffDefinitions(one, two)
	if opts.Definitions {
		return list, nil
	}
	questions, err := storedBy(ctx, a, b)
	if err != nil {
		return nil, err
	}
	left := newComparer(a, one, &opts.Requests)
	right := newComparer(b, two, &opts.Requests)
	found, err := inParallel(ctx, &left.plan.opts.Requests, questions, func(q staticmcp.Question) string {
		return action(left.answersTo(ctx, askable(one, q)),
			right.answersTo(ctx, askable(two, q)))
	})
	for i, action := range found {
		if action != "" {
			list = append(list, Difference{action, "answer", nameOf(questions[i])})
		}
	}
	return list, err
}

// wholeCatalog returns the catalog of a source that returns all of its lists. Errors begin with its name.
func wholeCatalog(ctx context.Context, src mcp.Source, name string) (*mcp.Catalog, error) {
	catalog, err := src.Catalog(ctx)
	if err == nil {
		err = catalog.Incomplete()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return catalog, nil
}

// action returns the action of a difference between two texts, which are nil if they do not
// exist, or "" if they are the same.
func action(before, after []byte) string {
	switch {
	case bytes.Equal(before, after):
		return ""
	case before == nil:
		return "added"
	case after == nil:
		return "removed"
	}
	return "changed"
}

// definition identifies a definition of a catalog. Name is empty for the server and its
// instructions.
type definition struct{ kind, name string }

// definitions returns the definitions of a catalog, in order, each with its canonical text.
func definitions(c *mcp.Catalog) (order []definition, texts map[definition][]byte) {
	texts = make(map[definition][]byte)
	add := func(kind, name string, value any) {
		raw, err := mcp.Marshal(value)
		if err != nil {
			raw = []byte(err.Error())
		}
		if form, err := canonical.Append(nil, raw); err == nil {
			raw = form // independent of the order of members
		}
		order = append(order, definition{kind, name})
		texts[definition{kind, name}] = raw
	}
	add("server", "", c.Server)
	add("instructions", "", c.Instructions)
	for i := range c.Tools {
		add("tool", c.Tools[i].Name, c.Tools[i])
	}
	for i := range c.Resources {
		add("resource", c.Resources[i].URI, c.Resources[i])
	}
	for i := range c.Templates {
		add("template", c.Templates[i].URITemplate, c.Templates[i])
	}
	for i := range c.Prompts {
		add("prompt", c.Prompts[i].Name, c.Prompts[i])
	}
	return order, texts
}

// diffDefinitions compares what two catalogs define, in the order in which a reader
// expects the kinds.
func diffDefinitions(one, two *mcp.Catalog) (list []Difference) {
	all, before := definitions(one)
	more, after := definitions(two)
	for _, d := range more {
		if before[d] == nil {
			all = append(all, d)
		}
	}
	for _, d := range all {
		if action := action(before[d], after[d]); action != "" {
			list = append(list, Difference{
				Action: action,
				Kind:   d.kind,
				Name:   cmp.Or(d.name, one.Server.Name),
			})
		}
	}
	kinds := []string{"server", "instructions", "tool", "resource", "template", "prompt"}
	order.StableBy(list, func(a, b Difference) int {
		return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind)
	})
	return list
}

// answersTo returns the concatenated answers to several questions, or nil if there is none.
func (r *run) answersTo(ctx context.Context, questions []staticmcp.Question) []byte {
	var answers []byte
	for _, q := range questions {
		answers = append(answers, r.answerTo(ctx, q)...)
	}
	return answers
}

// answerTo returns an answer, or nil if there is none.
func (r *run) answerTo(ctx context.Context, q staticmcp.Question) (doc json.RawMessage) {
	if site, ok := r.plan.source.(*staticmcp.Site); ok {
		doc, _ = storedAnswer(ctx, site, q)
	} else if q.Tool == "" || r.plan.refusal(q.Tool) == "" {
		doc, _ = r.fetch(ctx, &outcome{}, q)
	}
	return doc
}

// storedBy returns the questions that the sites among sources have answers for.
func storedBy(ctx context.Context, sources ...mcp.Source) ([]staticmcp.Question, error) {
	var list []staticmcp.Question
	for _, src := range sources {
		site, ok := src.(*staticmcp.Site)
		if !ok {
			continue
		}
		questions, err := site.Questions(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, questions...)
	}
	byKey := func(a, b staticmcp.Question) int {
		return cmp.Compare(keyOf(a), keyOf(b))
	}
	order.StableBy(list, byKey)
	return slices.CompactFunc(list, func(a, b staticmcp.Question) bool {
		return byKey(a, b) == 0
	}), nil
}

// newComparer returns a run that requests answers of src again, to compare them.
func newComparer(src mcp.Source, c *mcp.Catalog, requests *Requests) *run {
	opts := &Options{KeepErrors: true}
	if requests != nil {
		opts.Requests = *requests
	}
	return newRun(&Plan{
		source:  src,
		catalog: c,
		opts:    opts.withDefaults(),
	})
}
