package sitewriter

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Input builds a site from something that can change: a folder of documents, a table, a
// server. It is what the command and a watching server use.
type Input interface {
	// Site reads the current input. The site's sequences may keep reading while they are
	// iterated; a second iteration starts over.
	Site(ctx context.Context) (*Site, error)
	// Paths returns the files and folders whose changes require another build, or nil if
	// they are unknown.
	Paths() []string
}

// Site is the content of a site, provided by a builder.
type Site struct {
	// ProtocolVersion is the protocol version that the content was created for. Default:
	// the newest one with a handshake.
	ProtocolVersion string
	// Server names the site. Name is required; Version defaults to 1.0.0.
	Server mcp.Implementation
	// Instructions explain the site to a model, or are empty.
	Instructions string
	// Extensions is the value of capabilities.extensions, a JSON object, or nil.
	Extensions json.RawMessage

	// Tools, Templates and Prompts are the definitions, in the order in which clients see
	// them. The arguments of a tool appear in paths in the order of required in its
	// inputSchema, followed by the other properties; builders should list both in the
	// same order. Entries with Raw are written unchanged.
	Tools     []mcp.Tool
	Templates []mcp.ResourceTemplate
	Prompts   []mcp.Prompt
	// Resources yields the definitions of the listed resources, or is nil. It is iterated
	// once per write, and never held in memory as a whole.
	Resources iter.Seq2[*mcp.Resource, error]
	// Interchangeable names the tools with two arguments whose order does not matter:
	// their answers are stored in both orders.
	Interchangeable []string

	// Answers yields the answers, in any order. It is iterated once per write, and its
	// values are not retained. An error ends the write and leaves the output unchanged.
	Answers iter.Seq2[*Answer, error]

	// Findings are the builder's findings about its input, such as an unreadable line.
	// They become part of [Result.Report].
	Findings []check.Finding
}

// Answer is a stored answer or another file. Exactly one of Tool, URI, Prompt, Completion
// and Path is set.
type Answer struct {
	// Tool is the name of a tool. Arguments are the arguments of the call, as a JSON
	// object in any order, or nil. Result is the tools/call result.
	Tool string
	// URI is the URI of a resource, listed or not. Result is the resources/read result,
	// or one item of its contents.
	URI string
	// Prompt is the name of a prompt. Arguments is an object of strings, or nil. Result
	// is the prompts/get result. With Template, Slipway's reader fills placeholders such
	// as {{topic}} in its texts with any arguments.
	Prompt   string
	Template bool
	// Completion contains the suggested values for an argument.
	Completion *Completion
	// Path is the path of a file that is not an answer, such as part of a search index,
	// with slashes. Data is its contents, byte for byte.
	Path string
	Data []byte

	// Twin is the Markdown to write next to the published page that this resource is, or nil.
	Twin *Twin

	// Arguments and Result are as described for Tool, URI and Prompt.
	Arguments json.RawMessage
	Result    json.RawMessage
	// Title describes this answer to people; it is shown if several answers share a name.
	// Default: the arguments or the URI.
	Title string
	// From is the origin of the answer, such as "guide/install.md", for messages. It is
	// not written.
	From string
}

// Completion contains suggested values for an argument of a prompt or a variable of a
// resource template. Exactly one of Prompt and URITemplate is set.
type Completion struct {
	// Prompt or URITemplate has the argument or variable; Values are the suggestions, best
	// first.
	Prompt      string
	URITemplate string
	Argument    string
	Values      []string
}

// Text returns a tool answer with one text. arguments is any value that encoding/json
// encodes as an object, or nil; if it cannot be encoded, [Write] reports an error.
func Text(tool string, arguments any, text string) *Answer {
	result := append(roomFor(text), `{"content":[{"type":"text","text":`...)
	result = jsonscan.AppendQuote(result, text)
	return &Answer{
		Tool:      tool,
		Arguments: object(arguments),
		Result:    append(result, "}]}"...),
	}
}

// Structured returns a tool answer with a text and the equivalent structured content.
// structured is a JSON object that matches the tool's outputSchema.
func Structured(tool string, arguments any, text string, structured json.RawMessage) *Answer {
	result := append([]byte(`{"content":[{"type":"text","text":`), quote(text)...)
	result = append(append(append(result, `}],"structuredContent":`...), structured...), '}')
	return &Answer{
		Tool:      tool,
		Arguments: object(arguments),
		Result:    result,
	}
}

// TextResource returns the contents of a text resource.
func TextResource(uri, mimeType, text string) *Answer {
	result := jsonscan.AppendQuote(append(roomFor(text), `{"uri":`...), uri)
	result = jsonscan.AppendQuote(append(result, `,"mimeType":`...), mimeType)
	result = jsonscan.AppendQuote(append(result, `,"text":`...), text)
	return &Answer{
		URI:    uri,
		Result: append(result, '}'),
	}
}

// roomFor returns an empty slice with room for a text as JSON, with its escapes and what
// surrounds it.
func roomFor(text string) []byte { return make([]byte, 0, len(text)+len(text)/16+256) }

func quote(s string) []byte { return jsonscan.AppendQuote(nil, s) }

// object encodes arguments. A failure is encoded as a string with the error text, which
// Write refuses and reports.
func object(arguments any) json.RawMessage {
	switch a := arguments.(type) {
	case nil:
		return nil
	case json.RawMessage:
		return a
	}
	raw, err := mcp.Marshal(arguments)
	if err != nil {
		return quote(fmt.Sprint(err))
	}
	return raw
}
