package freeze

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// Verification is the result of [Verify].
type Verification struct {
	// Compared counts the answers that were requested again, Different those that have
	// changed, Failed those that the source no longer gives.
	Compared, Different, Failed int
	// Report has a finding for each answer that differs or failed.
	Report check.Report

	// secrets finds secrets in answers, which must not appear in the report.
	secrets *secrets.Scanner
}

// OK reports whether the source still gives every answer of the site.
func (v *Verification) OK() bool { return v.Different+v.Failed == 0 }

// Verify requests every answer of site from src and compares them, byte for byte except
// for white space between tokens. Tools not marked readOnlyHint are skipped unless they
// are in opts.Tools.
func Verify(
	ctx context.Context,
	site *staticmcp.Site,
	src mcp.Source,
	opts *Requests,
) (*Verification, error) {
	catalog, err := src.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	if err := catalog.Incomplete(); err != nil {
		return nil, err
	}
	questions, err := site.Questions(ctx)
	if err != nil {
		return nil, err
	}
	r := newComparer(src, catalog, opts)
	r.plan.secrets = secrets.New(r.plan.opts.Environ)
	v := &Verification{secrets: r.plan.secrets}
	var asked []staticmcp.Question
	for _, q := range questions {
		why := r.plan.refusal(q.Tool)
		if q.Tool != "" && why != "" {
			v.Failed++
			v.found(ruleNotAsked, q, "%s", why)
			continue
		}
		list := askable(catalog, q)
		prompt := catalog.Prompt(q.Prompt)
		if prompt != nil && q.Arguments == nil && list[0].Arguments == nil &&
			len(prompt.Arguments) > 0 {
			list = append(list, storedTemplate(ctx, site, prompt)...)
		}
		asked = append(asked, list...)
	}
	v.Compared = len(asked)
	errs, err := inParallel(ctx, &r.plan.opts.Requests, asked, func(q staticmcp.Question) error {
		return r.compare(ctx, site, q)
	})
	for i, err := range errs {
		switch {
		case errors.Is(err, errDifferent):
			v.Different++
			v.found(ruleDrift, asked[i], "%s", err.Error())
		case err != nil:
			v.Failed++
			v.found(ruleFailed.As(check.Error), asked[i], "%s", err.Error())
		}
	}
	return v, err
}

// askable returns the questions to ask for q: a prompt stored as a template is requested
// with values for each combination of its arguments.
func askable(c *mcp.Catalog, q staticmcp.Question) []staticmcp.Question {
	prompt := c.Prompt(q.Prompt)
	if q.Prompt == "" || q.Arguments != nil || prompt == nil ||
		!slices.ContainsFunc(prompt.Arguments, func(a mcp.PromptArgument) bool {
			return a.Required
		}) {
		// Without required arguments, the file may be the answer without any.
		return []staticmcp.Question{q}
	}
	return withArguments(prompt)
}

// storedTemplate returns the questions for a prompt without required arguments, if it is
// stored as a template.
func storedTemplate(
	ctx context.Context,
	site *staticmcp.Site,
	prompt *mcp.Prompt,
) []staticmcp.Question {
	return slices.DeleteFunc(withArguments(prompt), func(q staticmcp.Question) bool {
		doc, err := storedAnswer(ctx, site, q)
		return err != nil || doc == nil || len(q.Arguments) == len(`{}`)
	})
}

// withArguments returns the questions for a prompt with each combination of arguments.
func withArguments(prompt *mcp.Prompt) []staticmcp.Question {
	sets, err := argumentSets(prompt)
	if err != nil {
		return nil // such a prompt is never stored
	}
	var list []staticmcp.Question
	for _, names := range sets {
		values := make([]json.RawMessage, len(names))
		for i, name := range names {
			values[i] = quote(filler + name)
		}
		list = append(list, staticmcp.Question{
			Prompt:    prompt.Name,
			Arguments: object(names, values),
		})
	}
	return list
}

// errDifferent is the outcome of a question whose answer has changed.
var errDifferent = errors.New("the source now gives a different answer")

// compare requests an answer again. The error is errDifferent if it differs from the stored
// one.
func (r *run) compare(ctx context.Context, site *staticmcp.Site, q staticmcp.Question) error {
	kept, err := storedAnswer(ctx, site, q)
	if err == nil && kept == nil {
		err = errors.New("no file")
	}
	if err != nil {
		return fmt.Errorf("the site does not have it: %w", err)
	}
	now, err := r.fetch(ctx, &outcome{}, q)
	if err == nil && !bytes.Equal(kept, now) {
		err = errDifferent
	}
	return err
}

// found reports a finding about a question.
func (v *Verification) found(rule check.Rule, q staticmcp.Question, format string, args ...any) {
	in := check.Reporter{
		Report: &v.Report,
		Redact: v.secrets.Redact,
	}
	in.Add(rule, "", "", "%s: %s", nameOf(q), fmt.Sprintf(format, args...))
}
