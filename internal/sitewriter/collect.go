package sitewriter

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/packs"
	"github.com/slipway-mcp/slipway/internal/schema"
	"github.com/slipway-mcp/slipway/internal/search"
	"github.com/slipway-mcp/slipway/internal/site"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// file is a file of the new site. There may be very many.
type file struct {
	// path is slash-separated, and sum the SHA-256 of the contents.
	path string
	sum  [sha256.Size]byte
	// at is the spool offset of the contents, which are followed by the question they
	// answer.
	at, size int64
	question int32 // length of the question, 0 if the file is not an answer
	// spare marks an alternative path to an answer, which yields to any regular file.
	spare bool
}

// question identifies the call that an answer is for, in the form of the index.
type question struct {
	// Tool, URI and Prompt say what is asked; one is set.
	Tool      string          `json:"tool,omitempty"`
	URI       string          `json:"uri,omitempty"`
	Prompt    string          `json:"prompt,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`

	Title string `json:"title,omitempty"`
	From  string `json:"from,omitempty"`
}

// String formats the question for messages.
func (q *question) String() string {
	switch {
	case q.URI != "":
		return q.URI
	case q.Tool != "":
		return q.Tool + " " + string(q.Arguments)
	}
	return q.Prompt + " " + string(q.Arguments)
}

// toolPlan is the data needed to store answers of a tool.
type toolPlan struct {
	// layout determines the path of an answer.
	layout          *staticmcp.ToolLayout
	input, output   *schema.Schema // nil if there is none
	interchangeable bool
	searches        bool // the tool has a search index
}

// collect reads all answers.
func (w *writer) collect(ctx context.Context) error {
	if err := w.definitions(); err != nil {
		return err
	}
	if w.site.Answers == nil {
		return nil
	}
	for a, err := range w.site.Answers {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if err := w.take(a); err != nil {
			return err
		}
		w.result.Answers++
		if w.result.Answers%progressStep == 0 {
			w.opts.Progress(Progress{
				Stage: "reading",
				Done:  w.result.Answers,
				Bytes: w.spool.size,
			})
		}
	}
	w.opts.Progress(Progress{
		Stage: "reading",
		Done:  w.result.Answers,
		Bytes: w.spool.size,
	})
	return nil
}

const progressStep = 64

// definitions prepares the tools and prompts.
func (w *writer) definitions() error {
	if w.site.Server.Name == "" {
		return errors.New("the site has no name: Server.Name is empty")
	}
	w.tools = make(map[string]*toolPlan)
	folded := make(map[string]string)
	for i := range w.site.Tools {
		t := &w.site.Tools[i]
		if err := toolName(t.Name); err != nil {
			w.in("").Add(ruleToolName, "", "rename the tool", "%s", err.Error())
			continue
		}
		if w.tools[t.Name] != nil {
			w.in("").Add(ruleDuplicateTool, "", "rename one; in a slipway.site.yaml, give an input a prefix",
				"duplicate tool %q", t.Name)
		}
		other := folded[strings.ToLower(t.Name)]
		if other != "" && other != t.Name {
			w.in("").Add(ruleCase, "", "rename one of them",
				"the folders of the tools %q and %q are one where upper and lower case are the same", other, t.Name)
		}
		folded[strings.ToLower(t.Name)] = t.Name
		p := &toolPlan{layout: staticmcp.NewToolLayout(t.Name, t.InputSchema)}
		p.interchangeable = slices.Contains(w.site.Interchangeable, t.Name) &&
			len(p.layout.Arguments()) == 2
		p.searches = jsonscan.Member(t.Meta, staticmcp.MetaSearch) != nil
		p.input, _ = schema.Compile(t.InputSchema)
		if t.OutputSchema != nil {
			p.output, _ = schema.Compile(t.OutputSchema)
		}
		w.tools[t.Name] = p
	}
	w.prompts = make(map[string]*mcp.Prompt)
	for i := range w.site.Prompts {
		p := &w.site.Prompts[i]
		if err := toolName(p.Name); err != nil {
			w.in("").Add(rulePromptName, "", "rename the prompt", "%s", err.Error())
			continue
		}
		w.prompts[p.Name] = p
	}
	return nil
}

// toolName returns an error if a name is not valid as a folder name.
func toolName(name string) error {
	if name == "" || len(name) > 128 || !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("the name %q is not one that a folder can have", name)
	}
	for _, c := range name {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
			'0' <= c && c <= '9' || strings.ContainsRune("_-./", c)) {
			return fmt.Errorf("the name %q has characters outside of letters, digits, \"_\", \"-\" and \".\"", name)
		}
	}
	return nil
}

// refusal is the reason an answer cannot be written.
type refusal struct {
	// rule is the rule of the finding, with text as its message.
	rule       check.Rule
	text, hint string
}

func (r *refusal) Error() string { return r.text }

func refuse(rule check.Rule, hint, format string, args ...any) error {
	return &refusal{rule, fmt.Sprintf(format, args...), hint}
}

// take stores one answer. A refused answer becomes a finding; only fatal problems are
// errors.
func (w *writer) take(a *Answer) error {
	err := w.takeAnswer(a)
	var r *refusal
	if errors.As(err, &r) {
		w.in(a.From).Add(r.rule, "", r.hint, "%s", r.text)
		return nil
	}
	return errors.Join(err, w.takeTwin(a.Twin))
}

// takeAnswer stores one answer. A refused one is a finding, and the others are stored.
func (w *writer) takeAnswer(a *Answer) error {
	switch {
	case a.Path != "":
		return w.takeFile(a)
	case a.Completion != nil:
		return w.takeValues(a.Completion)
	case a.Tool != "":
		return w.takeTool(a)
	case a.URI != "":
		return w.takeResource(a)
	case a.Prompt != "":
		return w.takePrompt(a)
	}
	return refuse(ruleEmptyAnswer, "", "an answer has neither a question nor a path")
}

// takeFile stores a file that is not an answer.
func (w *writer) takeFile(a *Answer) error {
	first, _, _ := strings.Cut(a.Path, "/")
	switch {
	case !fs.ValidPath(a.Path) || a.Path == "." || strings.ContainsAny(a.Path, "\\\x00"):
		return refuse(rulePath, "", "%q is not a path below the site", a.Path)
	case a.Path == manifestName ||
		a.Path == staticmcp.IndexPath ||
		first == "tools" ||
		first == "resources" ||
		first == packs.Dir ||
		first == "prompts":
		return refuse(rulePath, "provide it as an answer", "the path %q is reserved", a.Path)
	case w.taken[a.Path]:
		return refuse(rulePath, "", "duplicate file %q", a.Path)
	}
	w.taken[a.Path] = true
	return w.keep(file{path: a.Path}, a.Data, nil)
}

// takeValues stores the suggestions for an argument.
func (w *writer) takeValues(c *Completion) error {
	path := staticmcp.CompletionPath(c.Prompt, c.URITemplate, c.Argument)
	if w.taken[path] {
		return refuse(ruleCompletion, "",
			"duplicate completions of %q, or two names with the same encoding", c.Argument)
	}
	w.taken[path] = true
	values := c.Values
	if values == nil {
		values = []string{}
	}
	doc, err := mcp.Marshal(values)
	if err != nil {
		return err
	}
	return w.keep(file{path: path}, w.document(path, doc), nil)
}

// takeTool stores the answer of a tool. Arguments and result are validated, because
// readers would refuse what the schemas do not permit.
func (w *writer) takeTool(a *Answer) error {
	t := w.tools[a.Tool]
	if t == nil {
		return refuse(ruleUnknownTool, "add its definition", "there is an answer of the tool %q, which is not defined",
			a.Tool)
	}
	if w.opts.Layout == Packed && t.searches {
		w.note(&question{Tool: a.Tool})
		return nil
	}
	ordered, err := t.layout.Ordered(a.Arguments)
	if err != nil {
		return refuse(ruleArguments, "", "an answer of %s: %v", a.Tool, err)
	}
	address, err := t.layout.Address(ordered)
	if err != nil {
		return refuse(ruleArguments, "", "an answer of %s: %v", a.Tool, err)
	}
	q := &question{
		Tool:      a.Tool,
		Arguments: ordered,
		Title:     a.Title,
		From:      a.From,
	}
	if t.input != nil {
		if err := t.input.Validate(ordered); err != nil {
			return refuse(ruleArguments, "readers check a call first: they never ask for this answer",
				"%s: the arguments do not follow the inputSchema: %v", q, err)
		}
	}
	raw, err := mcp.ParseRaw(a.Result)
	if err != nil {
		return refuse(ruleResult, "", "%s: the result: %v", q, err)
	}
	if err := t.checkResult(raw.Bytes()); err != nil {
		return refuse(ruleResult, "", "%s: %v", q, err)
	}
	if err := w.keepAnswer(address, q, raw.Bytes()); err != nil {
		return err
	}
	if len(address.Texts) == 2 && t.interchangeable {
		slices.Reverse(address.Texts)
		path := address.Path()
		return w.keep(file{
			path:  path,
			spare: true,
		}, w.document(path, raw.Bytes()), q)
	}
	return nil
}

// checkResult returns an error if a result is not a valid tools/call result, or does not
// match the tool's outputSchema.
func (t *toolPlan) checkResult(doc []byte) error {
	if t.output == nil && isPlain(doc, textHead, textTail) {
		return nil
	}
	var r struct {
		Content []struct {
			Type *string `json:"type"`
		} `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		IsError           bool            `json:"isError"`
	}
	if err := json.Unmarshal(doc, &r); err != nil {
		return fmt.Errorf("the result: %w", err)
	}
	if r.Content == nil {
		return errors.New("the result has no content")
	}
	for i := range r.Content {
		if r.Content[i].Type == nil {
			return fmt.Errorf("content %d has no type", i)
		}
	}
	if t.output == nil || r.IsError {
		return nil
	}
	if r.StructuredContent == nil {
		return errors.New("the tool has an outputSchema, but the result has no structuredContent")
	}
	if err := t.output.Validate(r.StructuredContent); err != nil {
		return fmt.Errorf("the structuredContent does not follow the outputSchema: %w", err)
	}
	return nil
}

const (
	textHead = `{"content":[{"type":"text","text":`
	textTail = "}]}"
)

// isPlain reports whether doc, which is valid JSON, is a string between head and tail, as
// [Text] and [TextResource] write it. Most answers are, and need no decoding.
func isPlain(doc []byte, head, tail string) bool {
	if !bytes.HasPrefix(doc, []byte(head+`"`)) {
		return false
	}
	end, err := jsonscan.Value(doc, len(head))
	return err == nil && string(doc[end:]) == tail
}

// takeResource stores the contents of a resource.
func (w *writer) takeResource(a *Answer) error {
	raw, err := mcp.ParseRaw(a.Result)
	if err != nil {
		return refuse(ruleResult, "", "%s: the contents: %v", a.URI, err)
	}
	doc, err := flat(a.URI, raw.Bytes())
	if err != nil {
		return refuse(ruleResult, "", "%s: %v", a.URI, err)
	}
	return w.keepAnswer(staticmcp.ResourceAddress(a.URI), &question{
		URI:   a.URI,
		Title: a.Title,
		From:  a.From,
	}, doc)
}

// flat returns the contents of a resource in the standard's form, the single item itself.
// A result with several items or additional members stays as it is; Slipway's reader
// supports that, the standard does not.
func flat(uri string, doc []byte) ([]byte, error) {
	const markdown = `,"mimeType":"text/markdown","text":` // the type of most resources
	if isPlain(doc, `{"uri":`+string(quote(uri))+markdown, "}") {
		return doc, nil
	}
	var r struct {
		Contents []json.RawMessage `json:"contents"`
	}
	if err := json.Unmarshal(doc, &r); err != nil {
		return nil, err
	}
	single := r.Contents == nil
	if !single && len(r.Contents) == 0 {
		return nil, errors.New("the result has no contents")
	}
	item := doc
	if !single {
		item = r.Contents[0]
	}
	var c struct{ URI, Text, Blob *string }
	if err := json.Unmarshal(item, &c); err != nil {
		return nil, err
	}
	switch {
	case c.Text == nil && c.Blob == nil:
		return nil, errors.New("the contents have neither text nor blob")
	case c.URI == nil || *c.URI != uri && (single || len(r.Contents) == 1):
		return nil, errors.New("the contents name another URI, or none")
	case single, len(r.Contents) == 1 && onlyMember(doc):
		return item, nil
	}
	return doc, nil
}

// onlyMember reports whether the object doc has exactly one member.
func onlyMember(doc []byte) bool {
	n := 0
	_, err := jsonscan.Object(doc, 0, 0, func(_ []byte, i int) (int, error) {
		n++
		return jsonscan.Value(doc, i)
	})
	return err == nil && n == 1
}

// takePrompt stores a prompt, which may contain placeholders for its arguments.
func (w *writer) takePrompt(a *Answer) error {
	p := w.prompts[a.Prompt]
	if p == nil {
		return refuse(ruleUnknownPrompt, "add its definition",
			"answer of the undefined prompt %q", a.Prompt)
	}
	arguments := make(map[string]string)
	if len(a.Arguments) > 0 {
		if err := json.Unmarshal(a.Arguments, &arguments); err != nil {
			return refuse(ruleArguments, "", "prompt %s: the arguments: %v", a.Prompt, err)
		}
	}
	q := &question{
		Prompt:    a.Prompt,
		Arguments: promptArguments(p, arguments),
		Title:     a.Title,
		From:      a.From,
	}
	raw, err := mcp.ParseRaw(a.Result)
	if err != nil {
		return refuse(ruleResult, "", "%s: the result: %v", q, err)
	}
	doc := raw.Bytes()
	var r struct {
		Messages []json.RawMessage          `json:"messages"`
		Meta     map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(doc, &r); err != nil || r.Messages == nil {
		return refuse(ruleResult, "", "%s: the result has no messages", q)
	}
	if a.Template {
		if doc, err = withMeta(doc, staticmcp.MetaTemplate, json.RawMessage("true")); err != nil {
			return refuse(ruleResult, "", "%s: %v", q, err)
		}
	}
	return w.keepAnswer(staticmcp.PromptAddress(p, arguments), q, doc)
}

// promptArguments returns the arguments in the prompt's declared order, or nil if there
// are none.
func promptArguments(p *mcp.Prompt, arguments map[string]string) json.RawMessage {
	var doc []byte
	for _, a := range p.Arguments {
		value, ok := arguments[a.Name]
		if !ok {
			continue
		}
		doc = append(append(doc, ','), quote(a.Name)...)
		doc = append(append(doc, ':'), quote(value)...)
	}
	if doc == nil {
		return nil
	}
	doc[0] = '{'
	return append(doc, '}')
}

// withMeta returns the object doc with a member added to its _meta.
func withMeta(doc []byte, name string, value json.RawMessage) ([]byte, error) {
	added := append(append(quote(name), ':'), value...)
	at := -1
	end := 0
	_, err := jsonscan.Object(doc, 0, 0, func(key []byte, i int) (int, error) {
		e, err := jsonscan.Value(doc, i)
		if string(key) == "_meta" {
			at = i
			end = e
		}
		return e, err
	})
	switch {
	case err != nil:
		return nil, err
	case at < 0:
		separator := ""
		if len(doc) > len(`{}`) {
			separator = ","
		}
		head := append(bytes.Clone(doc[:len(doc)-1]), separator+`"_meta":{`...)
		return append(append(head, added...), "}}"...), nil
	case doc[at] != '{':
		return nil, errors.New("_meta is not an object")
	}
	if end-at > len(`{}`) {
		added = append(added, ',')
	}
	out := append(bytes.Clone(doc[:at+1]), added...)
	return append(out, doc[at+1:]...), nil
}

// keepAnswer stores an answer under the standard's name, and, if that name is a long one,
// also under the alias used by other readers.
func (w *writer) keepAnswer(address staticmcp.Address, q *question, doc []byte) error {
	if err := address.Valid(); err != nil {
		return refuse(ruleUnnameable, "the standard has no file name for it", "%s: %v", q, err)
	}
	path := address.Path()
	data := w.document(path, doc)
	switch size := int64(len(data)); {
	case size > w.opts.MaxAnswerBytes:
		return refuse(ruleSize, "split it into pages", "%s: the answer has %d bytes, and readers take %d", q, size,
			w.opts.MaxAnswerBytes)
	case size > largeAnswer:
		w.in(q.From).Add(ruleLargeAnswer, "", "split it into pages", "%s: no model can use an answer of %d bytes",
			q, size)
	}
	if err := w.keep(file{path: path}, data, q); err != nil {
		return err
	}
	w.note(q)
	alias := address.AliasPath()
	if alias != path && !w.opts.NoAliases && !w.packs(path) {
		return w.keep(file{
			path:  alias,
			spare: true,
		}, data, q)
	}
	return nil
}

// note records that a tool, a prompt or a resource has an answer.
func (w *writer) note(q *question) {
	if w.answered != nil {
		w.answered[nameSum(q.Tool, q.Prompt, q.URI)] = true
	}
}

// nameSum returns a hash that identifies a tool, a prompt or a URI.
func nameSum(tool, prompt, uri string) [16]byte {
	sum := sha256.Sum256([]byte(tool + "\x00" + prompt + "\x00" + uri))
	return [16]byte(sum[:])
}

// omitted reports whether a definition is omitted from the manifest.
func (w *writer) omitted(tool, prompt, uri string) bool {
	return w.answered != nil && !w.answered[nameSum(tool, prompt, uri)]
}

// searched reports whether the site has a search index that answers a tool.
func (w *writer) searched(t *mcp.Tool) bool {
	plan := w.tools[t.Name]
	if plan == nil || !plan.searches {
		return false
	}
	var names []string
	for _, a := range plan.layout.Arguments() {
		names = append(names, a.Name)
	}
	s, err := site.SearchesOf(names, t.Meta)
	if err != nil || s == nil {
		return false
	}
	return w.taken[s.Folder+"/"+search.HeadName] || slices.ContainsFunc(s.Variants, func(v site.SearchVariant) bool {
		return w.taken[v.Index+"/"+search.HeadName]
	})
}

// document formats doc, which is compact, for the output at path.
func (w *writer) document(path string, doc []byte) []byte {
	if w.packs(path) {
		return doc
	}
	if w.opts.Compact {
		return append(bytes.Clone(doc), '\n')
	}
	w.scratch.Reset()
	if err := json.Indent(&w.scratch, doc, "", "  "); err != nil {
		return append(bytes.Clone(doc), '\n') // cannot happen: doc is valid
	}
	w.scratch.WriteByte('\n')
	return w.scratch.Bytes()
}

// keep adds a file to the spool.
func (w *writer) keep(f file, data []byte, q *question) (err error) {
	f.sum = sha256.Sum256(data)
	f.size = int64(len(data))
	if f.at, err = w.spool.write(data); err != nil {
		return err
	}
	if q != nil {
		text, err := mcp.Marshal(q)
		if err != nil {
			return err
		}
		f.question = int32(len(text))
		if _, err := w.spool.write(text); err != nil {
			return err
		}
	}
	w.files = append(w.files, f)
	return nil
}

// questionOf returns the question of an answer.
func (w *writer) questionOf(f *file) (*question, error) {
	text, err := w.spool.view(f.at+f.size, int64(f.question))
	if err != nil {
		return nil, err
	}
	q := &question{}
	return q, json.Unmarshal(text, q)
}

// in returns a reporter for a file.
func (w *writer) in(file string) check.Reporter {
	return check.Reporter{
		Report: &w.result.Report,
		File:   file,
	}
}
