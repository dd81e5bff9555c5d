package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/internal/style"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/open"
)

// answering answers the questions of a server during a command: with the answers of flags,
// or by asking the user on a terminal. Its zero value refuses them.
type answering struct {
	cmd    *cobra.Command
	server string // its name for the user
	// given and object are the answers of the flags by field, and used those that a form had.
	given  map[string][]string
	object map[string]json.RawMessage
	used   map[string]bool
	// defaults accepts forms with their default values, and decline refuses all questions.
	defaults bool
	decline  bool

	one   sync.Mutex // one question at a time
	forms int        // number of forms so far
	// visited are the addresses that the user was sent to, each of which is opened once.
	visited map[string]bool
	ask     *questions // nil without a terminal
	// stop ends the requests of the command with a question that nothing answers.
	stop context.CancelCauseFunc
}

// answerFlags adds the flags that answer the questions of a server.
func answerFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArray("answer", nil, "answer to a field of a form that the server shows, as `KEY=VALUE` (repeatable)")
	flags.String("json-answers", "", "all answers as a JSON `object`; - reads it from stdin")
	flags.Bool("accept-defaults", false, "accept forms with their default values, without being asked")
	flags.Bool("decline", false, "decline all questions of the server")
}

// answersHelp explains questions in the help of commands with [answerFlags].
const answersHelp = `A server may ask for input. The flags answer it; on a terminal, you are asked
otherwise. Without a terminal, and with --json, a question that no flag answers
ends the command with exit code 2.`

// newAnswering returns how the flags of a command answer questions of a source.
func newAnswering(cmd *cobra.Command, source string) (*answering, error) {
	flags := cmd.Flags()
	pairs, _ := flags.GetStringArray("answer") // the flags exist
	text, _ := flags.GetString("json-answers")
	q := &answering{
		cmd:     cmd,
		server:  shownSource(source),
		used:    make(map[string]bool),
		visited: make(map[string]bool),
		ask:     questionsOf(cmd),
	}
	q.defaults, _ = flags.GetBool("accept-defaults")
	q.decline, _ = flags.GetBool("decline")
	if q.decline && (q.defaults || len(pairs) > 0 || text != "") {
		return nil, usage("use one of them", "%s: --decline with flags that answer", cmd.Name())
	}
	var bad string
	if q.given, bad = valuesByKey(pairs); bad != "" {
		return nil, usage("as in --answer name=Ann", "--answer %q is not KEY=VALUE", bad)
	}
	object, err := jsonObject("--json-answers", text, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	if object != nil {
		err = json.Unmarshal(object, &q.object)
	}
	return q, err
}

// withAnswers opens a source as withSource does, for requests during which the server may
// ask.
func withAnswers(cmd *cobra.Command, arg string, do func(c *openSource) error) error {
	q, err := newAnswering(cmd, arg)
	if err != nil {
		return err
	}
	before := cmd.Context()
	ctx, stop := context.WithCancelCause(before)
	defer stop(nil)
	q.stop = stop
	cmd.SetContext(ctx)
	err = withSourceOptions(cmd, arg, q.connect, func(c *openSource) error {
		c.answers = q
		return do(c)
	})
	cmd.SetContext(before)
	var unanswered *failure
	if errors.As(context.Cause(ctx), &unanswered) && before.Err() == nil {
		return unanswered
	}
	q.warnUnused()
	return err
}

// connect makes servers ask q. They receive the same capabilities in all commands that list
// or use what a source offers, so that "slipway ls" shows what "slipway call" finds: form and
// URL elicitation, but neither sampling nor roots, which a command line cannot answer.
func (q *answering) connect(o *open.Options) {
	o.Live.Source.Questions = client.Questions{
		Capabilities: json.RawMessage(client.ElicitationOnly),
		Answer:       q.answer,
	}
}

// answer answers a question of a server, see [client.Questions].
func (q *answering) answer(
	ctx context.Context,
	method string,
	params json.RawMessage,
) (json.RawMessage, error) {
	if method != "elicitation/create" {
		return nil, mcp.MethodNotFound(method)
	}
	if q.cmd == nil {
		return nil, errNotAsked
	}
	var p mcp.ElicitParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "invalid params of %s", method)
	}
	q.one.Lock()
	defer q.one.Unlock()
	if err := ctx.Err(); err != nil { // withdrawn while another was answered
		return nil, err
	}
	answer := &mcp.ElicitResult{Action: "decline"}
	var err error
	switch {
	case p.Mode != "" && p.Mode != "form" && p.Mode != "url":
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "unknown elicitation mode %s", schema.Quote(p.Mode))
	case q.decline:
	case p.Mode == "url":
		answer.Action, err = q.visit(ctx, &p)
	default:
		answer, err = q.fillIn(ctx, &p)
	}
	switch unanswered := (*failure)(nil); {
	case errors.Is(err, io.EOF):
		answer = &mcp.ElicitResult{Action: "cancel"}
	case errors.As(err, &unanswered):
		q.stop(unanswered)
		return nil, errNotAsked
	case err != nil && ctx.Err() != nil && q.ask != nil:
		say(q.ask.out, "\n%s no longer waits for an answer", q.server)
		return nil, err
	case err != nil:
		return nil, err
	}
	if log := verboseLog(q.cmd); log != nil {
		log.Info("question answered", "action", answer.Action) // the content may be a secret
	}
	return mcp.Marshal(answer)
}

// errNotAsked is the answer to a server for a question that the user does not see.
var errNotAsked = &mcp.Error{
	Code:    mcp.CodeInvalidRequest,
	Message: "the user cannot be asked now",
}

// question returns the message of a server for an error: one line, shortened.
func (q *answering) question(message string) string {
	return q.server + " asks " + quotedLine(message)
}

// quotedLine returns a text in quotes on one line, shortened.
func quotedLine(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	return `"` + style.Truncate(visible.Line(line), 200) + `"`
}

// fillIn returns the answer to a form. Flags answer it if they name one of its fields, or
// with --accept-defaults; the user is asked for what is missing.
func (q *answering) fillIn(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	form, err := newElicitForm(p.RequestedSchema)
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "requestedSchema: %v", err)
	}
	q.forms++
	content, err := q.fromFlags(form)
	if err != nil {
		return nil, err
	}
	// Defaults fill in the rest of a form, but do not answer one that no flag is about.
	answered := q.defaults || len(content) > 0
	form.addDefaults(content)
	missing := form.missing(content)
	switch {
	case q.ask != nil && !answered:
		return q.askForm(ctx, p, form, content, form.fields)
	case q.ask != nil && len(missing) > 0:
		return q.askForm(ctx, p, form, content, missing)
	case !answered:
		hint := "--accept-defaults or --decline; on a terminal without --json, you are asked"
		if len(form.fields) > 0 {
			hint = answerHint(form.fields) + ", " + hint
		}
		return nil, usage(hint, "%s, and no flag answers it", q.question(p.Message))
	case len(missing) > 0:
		return nil, usage("add "+answerHint(missing)+", or --decline",
			"%s, and has no answer for the required %s", q.question(p.Message), strings.Join(keysOf(missing), ", "))
	}
	// The form is complete; the server would refuse values that its schema excludes.
	if problems := form.problems(content); len(problems) > 0 {
		return nil, usage("correct the value of --answer or --json-answers", "%s, and the answer is not accepted: %s",
			q.question(p.Message), strings.Join(problems, "; "))
	}
	return acceptForm(content)
}

// acceptForm returns the answer with the content of a form.
func acceptForm(content map[string]json.RawMessage) (*mcp.ElicitResult, error) {
	text, err := mcp.Marshal(content)
	return &mcp.ElicitResult{
		Action:  "accept",
		Content: text,
	}, err
}

// fromFlags returns the answers of the flags to the fields of a form.
func (q *answering) fromFlags(form *elicitForm) (map[string]json.RawMessage, error) {
	content := make(map[string]json.RawMessage)
	for _, f := range form.fields {
		if value, ok := q.object[f.Key]; ok {
			content[f.Key] = value
			q.used[f.Key] = true
		}
		values, ok := q.given[f.Key]
		if !ok {
			continue
		}
		q.used[f.Key] = true
		if f.secret {
			const text = "field %s is a secret, and other users of this machine can read a command line: " +
				"use --json-answers - instead"
			say(q.cmd.ErrOrStderr(), text, f.Key)
		}
		value, err := argument(form.parameters, f.Key, values)
		if err != nil && f.secret {
			err = fmt.Errorf("not a %s", f.kind())
		}
		if err != nil {
			return nil, usage(answerHint([]*formField{f}), "--answer %s: %v", f.Key, err)
		}
		content[f.Key] = value
	}
	return content, nil
}

// answerHint returns how to answer fields with flags. Secrets do not belong on a command
// line.
func answerHint(fields []*formField) string {
	const most = 6
	var words, hidden []string
	for _, f := range fields[:min(len(fields), most)] {
		if f.secret {
			hidden = append(hidden, schema.Quote(f.Key))
			continue
		}
		words = append(words, "--answer "+f.Key+"="+f.placeholder())
	}
	if len(fields) > most {
		words = append(words, "...")
	}
	if len(hidden) > 0 {
		words = append(words, "--json-answers - with "+strings.Join(hidden, ", ")+" on stdin")
	}
	return strings.Join(words, " ")
}

// warnUnused reports answers to fields that no form had, which may be misspelled.
func (q *answering) warnUnused() {
	if q.forms == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(q.given)) {
		if !q.used[key] {
			say(q.cmd.ErrOrStderr(), "--answer %s was not used: no form had such a field", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(q.object)) {
		if !q.used[key] {
			say(q.cmd.ErrOrStderr(), "--json-answers: %s was not used: no form had such a field", key)
		}
	}
}
