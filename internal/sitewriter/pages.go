package sitewriter

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// PageBytes is the approximate maximum size of an answer's text and of its structured
// content.
const PageBytes = 24_000

// NeedsParts reports whether [Parts] splits the text.
func NeedsParts(text string) bool { return len(text) > PageBytes }

// PartArgument returns the argument for tools with long texts.
func PartArgument() mcp.Property {
	return number("part", "Which part of a long text; the answer says how many there are")
}

// PageArgument returns the argument for tools with long lists.
func PageArgument() mcp.Property {
	return number("page", "Which page of a long list; the answer says how many there are")
}

// number returns the property of a page or part, which counts from 1.
func number(name, description string) mcp.Property {
	extra := map[string]json.RawMessage{"minimum": json.RawMessage("1"), "default": json.RawMessage("1")}
	return mcp.Property{
		Name: name,
		Schema: mcp.Schema{
			Type:        "integer",
			Description: description,
			Extra:       extra,
		},
	}
}

// NewTool returns the definition of a tool. The first arguments, as many as required says,
// are required. output is the outputSchema.
func NewTool(name, title, about, output string, required int, arguments ...mcp.Property) mcp.Tool {
	input := mcp.Schema{
		Type:       "object",
		Properties: arguments,
		Extra:      map[string]json.RawMessage{"additionalProperties": json.RawMessage("false")},
	}
	for _, a := range arguments[:required] {
		input.Required = append(input.Required, a.Name)
	}
	raw, _ := mcp.Marshal(input) // valid JSON always encodes
	return mcp.Tool{
		Name:         name,
		Title:        title,
		Description:  about,
		InputSchema:  raw,
		OutputSchema: json.RawMessage(output),
	}
}

// Sequence returns a sequence of the elements of list, without an error.
func Sequence[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, element := range list {
			if !yield(element, nil) {
				return
			}
		}
	}
}

// Parts returns the answers of one call whose text may be long. full is the complete
// structured content; it is used if the text needs only one part and full is not too
// large. Otherwise each answer gets head instead, an object that identifies the subject,
// with the part numbers. Texts name the tool as names has it.
func Parts(names ToolNames, tool string, arguments map[string]any, text string,
	full, head json.RawMessage) []*Answer {
	parts := split(text, PageBytes)
	if len(parts) == 1 && len(full) <= max(PageBytes, 2*len(text)) {
		return []*Answer{Structured(tool, arguments, text, full)}
	}
	answers := make([]*Answer, 0, len(parts))
	for i, part := range parts {
		if len(parts) > 1 {
			part += fmt.Sprintf("\n---\nThis is part %d of %d.", i+1, len(parts))
			if i+1 < len(parts) {
				part += fmt.Sprintf(" The next one: %s with part=%d.", names.Of(tool), i+2)
			}
		}
		structured := withNumbers(head, "part", i+1, "parts", len(parts))
		answers = appendPiece(answers, tool, arguments, "part", i, len(parts),
			part, structured)
	}
	return answers
}

// PageItem is an entry of a list.
type PageItem struct {
	// Text is one line, including its line break.
	Text string
	// JSON is the entry as structured content.
	JSON []byte
}

// Pages returns the answers of one call for a list. member names the list in the
// structured content. Texts name the tool as names has it.
func Pages(names ToolNames, tool string, arguments map[string]any, member string, items []PageItem) []*Answer {
	var pages [][]PageItem
	texts := 0
	raws := 0
	for i, item := range items {
		if i == 0 || texts+len(item.Text) > PageBytes || raws+len(item.JSON) > 2*PageBytes {
			pages = append(pages, nil)
			texts = 0
			raws = 0
		}
		last := len(pages) - 1
		pages[last] = append(pages[last], item)
		texts += len(item.Text)
		raws += len(item.JSON) + 1
	}
	if len(pages) == 0 {
		pages = [][]PageItem{nil}
	}
	answers := make([]*Answer, 0, len(pages))
	for i, page := range pages {
		var text strings.Builder
		structured := append(jsonscan.AppendQuote([]byte{'{'}, member), ":["...)
		for n, item := range page {
			text.WriteString(item.Text)
			if n > 0 {
				structured = append(structured, ',')
			}
			structured = append(structured, item.JSON...)
		}
		structured = append(structured, "]}"...)
		if len(pages) > 1 {
			fmt.Fprintf(&text, "\n---\nThis is page %d of %d; %d entries in all.",
				i+1, len(pages), len(items))
			if i+1 < len(pages) {
				fmt.Fprintf(&text, " The next one: %s with page=%d.", names.Of(tool), i+2)
			}
			structured = withNumbers(structured, "page", i+1, "pages", len(pages),
				"total", len(items))
		}
		answers = appendPiece(answers, tool, arguments, "page", i, len(pages),
			text.String(), structured)
	}
	return answers
}

// appendPiece appends the answer for piece i of count. The first piece is stored without
// a number, and also with one if there are several.
func appendPiece(dst []*Answer, tool string, arguments map[string]any, name string, i, count int, text string,
	structured json.RawMessage) []*Answer {
	if i == 0 {
		var plain any
		if arguments != nil {
			plain = arguments
		}
		dst = append(dst, Structured(tool, plain, text, structured))
	}
	if count == 1 {
		return dst
	}
	numbered := maps.Clone(arguments)
	if numbered == nil {
		numbered = map[string]any{}
	}
	numbered[name] = i + 1
	return append(dst, Structured(tool, numbered, text, structured))
}

// withNumbers appends members to an object; members alternates names and numbers.
func withNumbers(object json.RawMessage, members ...any) json.RawMessage {
	end := len(object) - 1
	out := append(json.RawMessage(nil), object[:end]...)
	for i := 0; i+1 < len(members); i += 2 {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(jsonscan.AppendQuote(out, members[i].(string)), ':')
		out = strconv.AppendInt(out, int64(members[i+1].(int)), 10)
	}
	return append(out, '}')
}

// split splits a text into parts of at most limit bytes: after an empty line if that
// makes a part large enough, else after a line, else between characters.
func split(text string, limit int) []string {
	var parts []string
	for len(text) > limit {
		head := text[:limit]
		at := strings.LastIndex(head, "\n\n") + 2
		if at < limit/2 {
			at = strings.LastIndexByte(head, '\n') + 1
		}
		if at < limit/4 {
			for at = limit; at > limit-utf8.UTFMax && !utf8.RuneStart(text[at]); at-- {
			}
		}
		parts = append(parts, text[:at])
		text = text[at:]
	}
	return append(parts, text)
}
