package mcpb

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/mcp"
)

// Update returns the text of a manifest with the tools and prompts of its server, src. It
// keeps lists that the manifest declares as generated, and the texts of existing prompts.
// The text of a new prompt is requested from the server with variables as arguments; if
// the server refuses these, the description is used instead. Existing static responses
// get the server's definitions. All other bytes stay the same.
func Update(ctx context.Context, m *Manifest, src mcp.Source) ([]byte, error) {
	cat, err := src.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	u := &updater{document: readDocument(m.JSON(), "", &check.Report{}), ctx: ctx, m: m, cat: cat, src: src}
	if u.root == nil || u.root.kind != kindObject {
		return nil, fmt.Errorf("the manifest is no JSON object")
	}
	if !m.ToolsGenerated {
		if err := u.tools(); err != nil {
			return nil, err
		}
	}
	if !m.PromptsGenerated {
		if err := u.prompts(); err != nil {
			return nil, err
		}
	}
	if err := u.static(); err != nil {
		return nil, err
	}
	return u.written(), nil
}

type updater struct {
	*document
	ctx     context.Context
	m       *Manifest
	cat     *mcp.Catalog
	src     mcp.Source
	splices []splice // in any order; they do not overlap
}

// splice replaces some bytes.
type splice struct {
	at, end int
	text    string
}

func (u *updater) written() []byte {
	slices.SortStableFunc(u.splices, func(a, b splice) int { return b.at - a.at })
	text := bytes.Clone(u.text)
	for _, s := range u.splices {
		text = slices.Replace(text, s.at, s.end, []byte(s.text)...)
	}
	return text
}

func (u *updater) tools() error {
	var list []Tool
	for i := range u.cat.Tools {
		t := &u.cat.Tools[i]
		list = append(list, Tool{Name: t.Name, Description: t.Description})
	}
	if slices.Equal(list, u.m.Tools) {
		return nil
	}
	return u.set("tools", list, len(list) == 0)
}

func (u *updater) prompts() error {
	var list []Prompt
	for i := range u.cat.Prompts {
		p := &u.cat.Prompts[i]
		text, err := u.textOf(p)
		if err != nil {
			return fmt.Errorf("prompt %q: %w", p.Name, err)
		}
		list = append(list, Prompt{Name: p.Name, Description: p.Description, Arguments: argumentNames(p), Text: text})
	}
	same := func(a, b Prompt) bool {
		return a.Name == b.Name &&
			a.Description == b.Description &&
			a.Text == b.Text &&
			slices.Equal(a.Arguments, b.Arguments)
	}
	if slices.EqualFunc(list, u.m.Prompts, same) {
		return nil
	}
	return u.set("prompts", list, len(list) == 0)
}

// textOf returns the text of a prompt with its variables.
func (u *updater) textOf(p *mcp.Prompt) (string, error) {
	if i := slices.IndexFunc(u.m.Prompts, func(o Prompt) bool { return o.Name == p.Name }); i >= 0 {
		return u.m.Prompts[i].Text, nil
	}
	arguments := make(map[string]string)
	for _, name := range argumentNames(p) {
		arguments[name] = "${" + argumentsPrefix + name + "}"
	}
	result, err := u.src.GetPrompt(u.ctx, &mcp.GetPromptParams{Name: p.Name, Arguments: arguments})
	var refused *mcp.Error
	if errors.As(err, &refused) && u.ctx.Err() == nil {
		return cmp.Or(p.Description, p.Name), nil // a variable is not a number or a date
	}
	if err != nil {
		return "", err
	}
	document, err := mcp.Marshal(result)
	if err != nil {
		return "", err
	}
	var got struct {
		Messages []struct {
			Content struct{ Text string }
		}
	}
	if err := json.Unmarshal(document, &got); err != nil {
		return "", err
	}
	for _, m := range got.Messages {
		if m.Content.Text != "" {
			return m.Content.Text, nil
		}
	}
	return "", fmt.Errorf("the server answers with no text")
}

func (u *updater) static() error {
	if u.m.StaticCatalog() == nil {
		return nil
	}
	n := u.root
	for _, name := range []string{"_meta", metaWindows, "static_responses", "tools/list", "tools"} {
		n = n.member(name)
	}
	var list []json.RawMessage
	for i := range u.cat.Tools {
		list = append(list, definition(&u.cat.Tools[i]))
	}
	return u.write(n.at, n.end, list, "          ")
}

// set sets a top-level member.
func (u *updater) set(name string, value any, empty bool) error {
	if n := u.root.member(name); n != nil {
		return u.write(n.at, n.end, value, "  ")
	}
	if empty {
		return nil
	}
	last := u.root.members[len(u.root.members)-1].value.end
	if err := u.write(last, last, value, "  "); err != nil {
		return err
	}
	added := &u.splices[len(u.splices)-1]
	added.text = ",\n  " + quote(name) + ": " + added.text
	return nil
}

// write replaces some bytes with value. Its lines are prefixed with prefix.
func (u *updater) write(at, end int, value any, prefix string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, "  ")
	if err := enc.Encode(value); err != nil {
		return err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if string(text) == "null" {
		text = []byte("[]")
	}
	u.splices = append(u.splices, splice{at, end, string(text)})
	return nil
}
