package data

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/mcp"
)

// Argument is an argument of a tool or prompt: its name, whether it is optional, and any
// keywords of JSON Schema.
type Argument struct {
	Name     string
	Optional bool
	// Values is an expression that returns the values to choose from, which become the
	// enum of the schema.
	Values string
	Schema mcp.Schema
}

// UnmarshalJSON reads the members of an argument next to the keywords of its schema.
func (a *Argument) UnmarshalJSON(text []byte) error {
	var own struct {
		Name, Values string
		Optional     bool
	}
	if err := json.Unmarshal(text, &own); err != nil {
		return err
	}
	a.Name = own.Name
	a.Values = own.Values
	a.Optional = own.Optional
	if err := json.Unmarshal(text, &a.Schema); err != nil {
		return err
	}
	for _, name := range []string{"name", "values", "optional"} {
		delete(a.Schema.Extra, name)
	}
	return nil
}

// errStopped ends a walk whose caller wants no more answers.
var errStopped = errors.New("stopped")

// Site implements [sitewriter.Input]: it reads all files. The answers are rendered while
// they are iterated.
func (in *Input) Site(ctx context.Context) (*sitewriter.Site, error) {
	sets, err := readSets(in.dir)
	if err != nil {
		return nil, err
	}
	base, err := parseTemplates(in.dir, sets, in.opts.Templates)
	if err != nil {
		return nil, err
	}
	b := &builder{
		in:       in,
		renderer: renderer{base},
	}
	site := &sitewriter.Site{Server: mcp.Implementation{Name: "data"}}
	for i := range in.opts.Answers {
		if err := b.define(site, i); err != nil {
			return nil, err
		}
	}
	site.Resources = walk(ctx, b.resources)
	site.Answers = walk(ctx, b.answers)
	return site, nil
}

// walk turns a function that sends values into a sequence.
func walk[T any](ctx context.Context, run func(send func(*T) error) error) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		err := run(func(value *T) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !yield(value, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// builder renders the answers of an input.
type builder struct {
	renderer
	// in is the input whose answers are rendered.
	in *Input
}

// define adds the definition of an item that is not a resource.
func (b *builder) define(site *sitewriter.Site, i int) error {
	item := &b.in.opts.Answers[i]
	if item.Resource != "" {
		return nil
	}
	path := fmt.Sprintf("[%d]", i)
	title, err := b.text(path+".title", item.Title, nil)
	if err != nil {
		return err
	}
	description, err := b.text(path+".description", item.Description, nil)
	if err != nil {
		return err
	}
	switch {
	case item.Tool != "":
		input, err := b.inputSchema(path, item.Arguments)
		if err != nil {
			return err
		}
		no := false
		site.Tools = append(site.Tools, mcp.Tool{
			Name:        item.Tool,
			Title:       title,
			Description: description,
			InputSchema: input,
			// A stored answer changes nothing, and is the same each time.
			Annotations: &mcp.ToolAnnotations{
				ReadOnlyHint:    true,
				DestructiveHint: &no,
				IdempotentHint:  true,
				OpenWorldHint:   &no,
			},
		})
	case item.Prompt != "":
		p := mcp.Prompt{
			Name:        item.Prompt,
			Title:       title,
			Description: description,
		}
		for j, a := range item.Arguments {
			text, err := b.text(fmt.Sprintf("%s.arguments[%d].description", path, j), a.Schema.Description, nil)
			if err != nil {
				return err
			}
			argument := mcp.PromptArgument{
				Name:        a.Name,
				Description: text,
				Required:    !a.Optional,
			}
			p.Arguments = append(p.Arguments, argument)
		}
		raw, err := shortPrompt(&p)
		if err != nil {
			return err
		}
		p.Raw = raw
		site.Prompts = append(site.Prompts, p)
	case item.Template != "":
		site.Templates = append(site.Templates, mcp.ResourceTemplate{
			URITemplate: item.Template,
			Name:        item.Name,
			Title:       title,
			Description: description,
			MIMEType:    item.MIMEType,
		})
	}
	return nil
}

// shortPrompt encodes a prompt without optional members that have their default value, as
// readers expect them in a site.
func shortPrompt(p *mcp.Prompt) (json.RawMessage, error) {
	type argument struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
		Required    bool   `json:"required,omitempty"`
	}
	short := struct {
		Name        string     `json:"name"`
		Title       string     `json:"title,omitempty"`
		Description string     `json:"description,omitempty"`
		Arguments   []argument `json:"arguments,omitempty"`
	}{
		Name:        p.Name,
		Title:       p.Title,
		Description: p.Description,
	}
	for _, a := range p.Arguments {
		short.Arguments = append(short.Arguments, argument{a.Name, a.Description, a.Required})
	}
	return json.Marshal(short)
}

// inputSchema returns the schema of arguments. path is the place of the item, for errors. Other
// arguments are rejected, because no answer is stored for them.
func (b *builder) inputSchema(path string, arguments []Argument) (json.RawMessage, error) {
	s := mcp.Schema{
		Type:     "object",
		Required: []string{},
	}
	for i, a := range arguments {
		if a.Values != "" {
			values, err := b.list(fmt.Sprintf("%s.arguments[%d].values", path, i),
				a.Values, nil)
			if err != nil {
				return nil, err
			}
			a.Schema.Enum = values
		}
		s.Properties = append(s.Properties, mcp.Property{
			Name:   a.Name,
			Schema: a.Schema,
		})
		if !a.Optional {
			s.Required = append(s.Required, a.Name)
		}
	}
	s.Extra = map[string]json.RawMessage{"additionalProperties": json.RawMessage("false")}
	return mcp.Marshal(s)
}

// resources sends the definitions of the resources.
func (b *builder) resources(send func(*mcp.Resource) error) error {
	for i, item := range b.in.opts.Answers {
		if item.Resource == "" {
			continue
		}
		path := fmt.Sprintf("[%d]", i)
		err := b.each(path+".each", item.Each, nil, func(row map[string]any) error {
			r := &mcp.Resource{MIMEType: item.MIMEType}
			err := b.texts(row, path, map[string]textField{
				"resource":    {item.Resource, &r.URI},
				"name":        {item.Name, &r.Name},
				"title":       {item.Title, &r.Title},
				"description": {item.Description, &r.Description},
			})
			if err != nil {
				return err
			}
			return send(r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// textField is a text and the place for its rendered form.
type textField struct {
	// text is a template. to receives what it renders to.
	text string
	to   *string
}

// texts renders several texts, by the names of their members.
func (b *builder) texts(row map[string]any, path string, fields map[string]textField) error {
	for name, f := range fields {
		var err error
		if *f.to, err = b.text(path+"."+name, f.text, row); err != nil {
			return err
		}
	}
	return nil
}

// answers sends the answers.
func (b *builder) answers(send func(*sitewriter.Answer) error) error {
	for i := range b.in.opts.Answers {
		item := &b.in.opts.Answers[i]
		path := fmt.Sprintf("[%d]", i)
		if item.Resource != "" {
			err := b.each(path+".each", item.Each, nil, func(row map[string]any) error {
				a, err := b.contents(path, item, row)
				if err != nil {
					return err
				}
				return send(a)
			})
			if err != nil {
				return err
			}
		}
		for j := range item.Answers {
			answer := &item.Answers[j]
			path := fmt.Sprintf("%s.answers[%d]", path, j)
			err := b.each(path+".each", answer.Each, nil, func(row map[string]any) error {
				a, err := b.answer(path, item, answer, row)
				if err != nil {
					return err
				}
				return send(a)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// contents returns the contents of a resource.
func (b *builder) contents(
	path string,
	item *Item,
	row map[string]any,
) (*sitewriter.Answer, error) {
	r := mcp.ResourceContents{MIMEType: item.MIMEType}
	var file string
	err := b.texts(row, path, map[string]textField{
		"resource": {item.Resource, &r.URI},
		"text":     {item.Text, &r.Text},
		"file":     {item.File, &file},
	})
	if err != nil {
		return nil, err
	}
	if file != "" {
		if r.Blob, err = readFile(b.in.dir, file); err != nil {
			return nil, &Error{path + ".file", err}
		}
	}
	raw, err := mcp.Marshal(r)
	return &sitewriter.Answer{
		URI:    r.URI,
		Result: raw,
	}, err
}

// answer returns the answer of a tool or prompt.
func (b *builder) answer(
	path string,
	item *Item,
	answer *Answer,
	row map[string]any,
) (*sitewriter.Answer, error) {
	with, err := b.arguments(path, item, answer, row)
	if err != nil {
		return nil, err
	}
	var text string
	prompt := mcp.GetPromptResult{}
	err = b.texts(row, path, map[string]textField{
		"text": {answer.Text, &text}, "description": {answer.Description, &prompt.Description},
	})
	if err != nil {
		return nil, err
	}
	if item.Tool != "" {
		return sitewriter.Text(item.Tool, with, text), nil
	}
	if len(answer.Messages) == 0 {
		prompt.Messages = []mcp.PromptMessage{{Role: "user", Content: mcp.Text(text)}}
	}
	for i, m := range answer.Messages {
		message, err := b.message(fmt.Sprintf("%s.messages[%d]", path, i), m, row)
		if err != nil {
			return nil, err
		}
		prompt.Messages = append(prompt.Messages, message)
	}
	raw, err := mcp.Marshal(prompt)
	return &sitewriter.Answer{
		Prompt:    item.Prompt,
		Arguments: with,
		Result:    raw,
	}, err
}

// message renders a message of a prompt for a row. path is its place, for errors.
func (b *builder) message(path string, m Message, row map[string]any) (mcp.PromptMessage, error) {
	r := mcp.ResourceContents{MIMEType: m.MIMEType}
	err := b.texts(row, path,
		map[string]textField{
			"text":     {m.Text, &r.Text},
			"resource": {m.Resource, &r.URI},
		})
	message := mcp.PromptMessage{
		Role:    "user",
		Content: mcp.Text(r.Text),
	}
	if m.Role != "" {
		message.Role = m.Role
	}
	if r.URI != "" {
		message.Content = mcp.EmbeddedResource(r)
	}
	return message, err
}

// arguments returns the arguments of a call as an object, or nil if there are none. The
// values of a tool have the types of its schema.
func (b *builder) arguments(
	path string,
	item *Item,
	answer *Answer,
	row map[string]any,
) (json.RawMessage, error) {
	if len(answer.With) == 0 {
		return nil, nil
	}
	values := make(map[string]any)
	for name, text := range answer.With {
		value, err := b.text(path+".with."+name, text, row)
		if err != nil {
			return nil, err
		}
		values[name] = value
		for _, a := range item.Arguments {
			isText := item.Prompt != "" || a.Schema.Type == "string" || a.Schema.Type == ""
			if a.Name == name && !isText && json.Valid([]byte(value)) {
				values[name] = json.RawMessage(value)
			}
		}
	}
	return mcp.Marshal(values)
}
