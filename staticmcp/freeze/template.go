package freeze

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// filler is the argument value sent to a prompt to see where it appears in the text.
const filler = "x7f3slipway"

// maxOptional is how many optional arguments a template can have: the prompt is requested
// with each combination of them.
const maxOptional = 4

// requestTemplate requests a prompt with placeholders, once for each combination of optional
// arguments, because a prompt may word its text differently without one.
func (r *run) requestTemplate(ctx context.Context, o *outcome) {
	prompt := r.plan.catalog.Prompt(o.q.Prompt)
	sets, err := argumentSets(prompt)
	if err != nil {
		o.err = err
		return
	}
	var variants []staticmcp.PromptVariant
	for i, names := range sets {
		doc, err := r.templateOf(ctx, o, prompt.Name, names)
		if err != nil {
			o.err = err
			return
		}
		if i == 0 {
			o.doc = doc
			continue
		}
		variants = append(variants, staticmcp.PromptVariant{
			Arguments: names,
			Result:    doc,
		})
	}
	if len(variants) > 0 {
		o.doc, o.err = staticmcp.WithPromptVariants(o.doc, variants)
	}
	o.template = o.err == nil
}

// argumentSets returns the possible combinations of a prompt's arguments, the one with
// all arguments first.
func argumentSets(prompt *mcp.Prompt) ([][]string, error) {
	optional := 0
	for _, a := range prompt.Arguments {
		if !a.Required {
			optional++
		}
	}
	if optional > maxOptional {
		return nil, fmt.Errorf("it has %d optional arguments, and a text with places can have %d",
			optional, maxOptional)
	}
	var sets [][]string
	for missing := range 1 << optional {
		names := []string{}
		at := 0
		for _, a := range prompt.Arguments {
			if !a.Required {
				at++
			}
			if a.Required || missing&(1<<(at-1)) == 0 {
				names = append(names, a.Name)
			}
		}
		sets = append(sets, names)
	}
	return sets, nil
}

// templateOf requests a prompt with its own placeholders as arguments, and again with
// other values. If nothing else differs, the answer is a template.
func (r *run) templateOf(
	ctx context.Context,
	o *outcome,
	prompt string,
	names []string,
) (json.RawMessage, error) {
	places := make(map[string]string)
	others := make(map[string]string)
	for _, name := range names {
		places[name] = "{{" + name + "}}"
		others[name] = filler + name
	}
	first, err := r.filled(ctx, o, prompt, places)
	if err != nil {
		return nil, fmt.Errorf("the prompt does not take every text, so it cannot be stored for all arguments: %w", err)
	}
	second, err := r.filled(ctx, o, prompt, others)
	if err != nil {
		return nil, fmt.Errorf("the prompt does not take every text, so it cannot be stored for all arguments: %w", err)
	}
	expected := mapTexts(first, skippedTexts, func(text string) string {
		for name, place := range places {
			text = strings.ReplaceAll(text, place, others[name])
		}
		return text
	})
	if !bytes.Equal(expected, second) {
		return nil, errors.New("the prompt is not a text with placeholders, so it cannot be stored for arbitrary arguments")
	}
	return first, nil
}

// filled requests a prompt with given arguments.
func (r *run) filled(
	ctx context.Context, o *outcome, prompt string, arguments map[string]string,
) (json.RawMessage, error) {
	raw, err := mcp.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	return r.fetch(ctx, o, staticmcp.Question{
		Prompt:    prompt,
		Arguments: raw,
	})
}
