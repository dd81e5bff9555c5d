package mcpb

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/tree"
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
	if err := cat.Incomplete(); err != nil {
		return nil, err
	}
	u := &updater{
		document: readDocument(m.JSON(), "", &check.Report{}),
		m:        m,
		cat:      cat,
		src:      src,
	}
	if !u.root.Is(tree.Object) {
		return nil, errors.New("the manifest is not a JSON object")
	}
	if !m.ToolsGenerated {
		if err := u.tools(); err != nil {
			return nil, err
		}
	}
	if !m.PromptsGenerated {
		if err := u.prompts(ctx); err != nil {
			return nil, err
		}
	}
	if err := u.static(); err != nil {
		return nil, err
	}
	text, _ := applyEdits(u.text, u.edits)
	return text, nil
}

// updater is one call of [Update].
type updater struct {
	*document
	// m is the manifest, and cat what the running server src offers.
	m     *Manifest
	cat   *mcp.Catalog
	src   mcp.Source
	edits []edit // they do not overlap
}

// tools replaces the list of tools, unless it is the same already.
func (u *updater) tools() error {
	var list []Tool
	for i := range u.cat.Tools {
		t := &u.cat.Tools[i]
		list = append(list, Tool{
			Name:        t.Name,
			Description: t.Description,
		})
	}
	if slices.Equal(list, u.m.Tools) {
		return nil
	}
	return u.set("tools", list, len(list))
}

// prompts replaces the list of prompts, unless it is the same already.
func (u *updater) prompts(ctx context.Context) error {
	var list []Prompt
	for i := range u.cat.Prompts {
		p := &u.cat.Prompts[i]
		text, err := u.promptText(ctx, p)
		if err != nil {
			return fmt.Errorf("prompt %q: %w", p.Name, err)
		}
		list = append(list, Prompt{
			Name:        p.Name,
			Description: p.Description,
			Arguments:   argumentNames(p),
			Text:        text,
		})
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
	return u.set("prompts", list, len(list))
}

// promptText returns the text of a prompt with its variables.
func (u *updater) promptText(ctx context.Context, p *mcp.Prompt) (string, error) {
	if i := slices.IndexFunc(u.m.Prompts, func(o Prompt) bool {
		return o.Name == p.Name
	}); i >= 0 {
		return u.m.Prompts[i].Text, nil
	}
	arguments := make(map[string]string)
	for _, name := range argumentNames(p) {
		arguments[name] = "${" + argumentsPrefix + name + "}"
	}
	result, err := u.src.GetPrompt(ctx, &mcp.GetPromptParams{
		Name:      p.Name,
		Arguments: arguments,
	})
	var refused *mcp.Error
	if errors.As(err, &refused) && ctx.Err() == nil {
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

// static replaces the recorded definitions of tools, if the manifest has any.
func (u *updater) static() error {
	if u.m.StaticCatalog() == nil {
		return nil
	}
	n := u.root.Get("_meta", metaWindows, "static_responses", "tools/list", "tools")
	var list []json.RawMessage
	for i := range u.cat.Tools {
		list = append(list, definition(&u.cat.Tools[i]))
	}
	return u.write(n.Start, n.End, "", list, "          ")
}

// set sets a top-level member, which is not added with an empty list.
func (u *updater) set(name string, list any, length int) error {
	if n := u.root.Get(name); n != nil {
		return u.write(n.Start, n.End, "", list, "  ")
	}
	if length == 0 {
		return nil
	}
	last := u.root.Members[len(u.root.Members)-1].Value.End
	return u.write(last, last, ",\n  "+quote(name)+": ", list, "  ")
}

// write replaces some bytes with before and list. The lines of the list are prefixed with
// indent.
func (u *updater) write(at, end int, before string, list any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent, "  ")
	if err := enc.Encode(list); err != nil {
		return err
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if text == "null" {
		text = "[]"
	}
	u.edits = append(u.edits, edit{
		at:   at,
		end:  end,
		with: before + text,
	})
	return nil
}
