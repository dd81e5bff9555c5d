package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
)

// askForm asks the user for some fields of a form, whose other fields have the values in
// content, and whether to send the answer. The error is [io.EOF] if the user cancels.
func (q *answering) askForm(
	ctx context.Context, p *mcp.ElicitParams, form *elicitForm, content map[string]json.RawMessage, fields []*formField,
) (*mcp.ElicitResult, error) {
	out := q.ask.out
	defer prompting(out)()
	say(out, "%s asks:\n%s", q.server, p.Message)
	if len(fields) > 0 {
		fmt.Fprintln(out, "  Enter takes the value in brackets, or skips an optional field. Ctrl-D cancels.")
	}
	for {
		for _, f := range fields {
			value, err := q.askField(ctx, form, f, content[f.Key])
			switch {
			case err != nil:
				return nil, err
			case value == nil:
				delete(content, f.Key)
			default:
				content[f.Key] = value
			}
		}
		fields = form.fields // when it is edited
		problems := form.problems(content)
		if len(problems) > 0 && len(fields) > 0 {
			fmt.Fprintf(out, "not accepted: %s\n", visible.Line(strings.Join(problems, "; ")))
			continue
		}
		switch action, err := q.review(ctx, form, content); {
		case err != nil:
			return nil, err
		case action == "accept":
			return acceptForm(content)
		case action != "edit":
			return &mcp.ElicitResult{Action: action}, nil
		}
	}
}

// askField asks the user for the value of a field until it is valid. It returns nil for an
// optional field that is skipped. now is its value so far, or nil.
func (q *answering) askField(
	ctx context.Context, form *elicitForm, f *formField, now json.RawMessage,
) (json.RawMessage, error) {
	prompt := q.introduce(f, now)
	read := q.ask.line
	if f.secret {
		read = q.ask.secret
	}
	for {
		text, err := read(ctx, prompt)
		if err != nil {
			return nil, err
		}
		// Spaces at the ends of a secret may belong to it.
		if !f.secret {
			text = strings.TrimSpace(text)
		}
		switch {
		case text == "" && (now != nil || !f.Required):
			return now, nil
		case text == "":
			fmt.Fprintln(q.ask.out, "  required")
			continue
		}
		value, err := form.parse(f, text)
		problem := ""
		switch {
		// The error quotes the value, which must not be shown.
		case err != nil && f.secret:
			problem = "want " + f.kind()
		case err != nil:
			problem = err.Error()
		default:
			problem = form.problem(f, value)
		}
		if problem == "" {
			return value, nil
		}
		fmt.Fprintf(q.ask.out, "  %s\n", visible.Line(problem))
	}
}

// introduce prints what a field is for and its options, and returns its prompt.
func (q *answering) introduce(f *formField, now json.RawMessage) (prompt string) {
	out := q.ask.out
	fmt.Fprintln(out)
	for _, text := range []string{f.Label, f.Help} {
		if text != "" && text != f.Key {
			fmt.Fprintf(out, "  %s\n", visible.Line(text))
		}
	}
	if f.secret {
		fmt.Fprintf(out, "  %s receives what you type, which is not shown.\n", visible.Line(q.server))
	}
	for i, o := range f.choices() {
		value := typed(o.Value)
		label := ""
		if o.Label != value {
			label = " (" + o.Label + ")"
		}
		fmt.Fprintf(out, "  %d  %s\n", i+1, visible.Line(value+label))
	}
	about := f.kind() + prefixed(", ", f.limits())
	if !f.Required {
		about += ", optional"
	}
	prompt = fmt.Sprintf("%s (%s)", f.Key, about)
	switch {
	case now != nil && f.secret:
		prompt += " [hidden]"
	case now != nil:
		prompt += " [" + answerText(now) + "]"
	}
	return visible.Line(prompt) + ": "
}

// answerText returns a value of a form as the user types it.
func answerText(value json.RawMessage) string {
	switch {
	case string(value) == "true":
		return "yes"
	case string(value) == "false":
		return "no"
	case len(value) > 0 && value[0] == '[':
		words := names(jsonscan.Elements(value), func(item []byte) string {
			return typed(item)
		})
		return strings.Join(words, ", ")
	}
	return typed(value)
}

// review shows the answer to a form, and returns what to do with it: accept, edit, decline or
// cancel.
func (q *answering) review(
	ctx context.Context, form *elicitForm, content map[string]json.RawMessage,
) (action string, err error) {
	out := q.ask.out
	fmt.Fprintf(out, "\nYour answer to %s:\n", visible.Line(q.server))
	for _, f := range form.fields {
		value, ok := content[f.Key]
		switch {
		case !ok:
			continue
		case f.secret:
			value = json.RawMessage(`"(hidden)"`)
		}
		fmt.Fprintf(out, "  %s: %s\n", visible.Line(f.Key), visible.Line(answerText(value)))
	}
	if len(form.fields) == 0 {
		action, err = q.ask.choose(ctx, "[a]ccept, [d]ecline or [c]ancel? ", "", "accept", "decline", "cancel")
		return action, err
	}
	action, err = q.ask.choose(ctx, "[S]end, [e]dit, [d]ecline or [c]ancel? ", "send", "send", "edit", "decline", "cancel")
	if action == "send" {
		action = "accept"
	}
	return action, err
}
