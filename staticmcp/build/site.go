package build

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Input makes a site of something that can change: a folder of documents, a
// table, a server. It is what the command and a watching server hold on to.
type Input interface {
	// Site reads the input as it is now. The site's sequences may read on while
	// they are walked; a second walk starts over.
	Site(ctx context.Context) (*Site, error)
	// Paths are the files and folders whose change calls for another build, or
	// nothing if there is no telling.
	Paths() []string
}

// Site is what a builder hands over.
type Site struct {
	// ProtocolVersion is the version of the protocol that the content was made
	// for. Default: the newest one with a handshake.
	ProtocolVersion string
	// Server names the site. Name is required; Version is 1.0.0 by default.
	Server       mcp.Implementation
	Instructions string
	// Extensions are capabilities.extensions, a JSON object, or nil.
	Extensions json.RawMessage

	// Tools, Templates and Prompts are the definitions, in the order in which
	// clients see them. The arguments of a tool stand in the path in the order of
	// required in its inputSchema, then of the other properties; a builder lists
	// both in one order. Entries with Raw are written as they are.
	Tools     []mcp.Tool
	Templates []mcp.ResourceTemplate
	Prompts   []mcp.Prompt
	// Resources are the definitions of the resources that are listed, or nil. It
	// is walked once for each write, and never kept as a whole.
	Resources iter.Seq2[*mcp.Resource, error]
	// Interchangeable are the names of the tools with two arguments that mean the
	// same in both orders: their answers are stored under both.
	Interchangeable []string

	// Answers are the answers, in any order. It is walked once for each write,
	// and what it yields is not kept. An error ends the write, which then leaves
	// everything as it was.
	Answers iter.Seq2[*Answer, error]

	// Findings are what the builder found in its input, such as a line that could
	// not be read. They become part of [Result.Report].
	Findings []check.Finding
}

// Answer is one stored answer, or another file. Exactly one of Tool, URI, Prompt,
// Completion and Path says what it is.
type Answer struct {
	// Tool is the name of a tool, and Arguments are those of the call as a JSON
	// object in any order, or nil. Result is that of tools/call.
	Tool string
	// URI is that of a resource, listed or not. Result is that of resources/read,
	// or one item of its contents.
	URI string
	// Prompt is the name of a prompt; Arguments is an object of strings, or nil.
	// Result is that of prompts/get; with Template, places such as {{topic}} in
	// its texts are filled in by our reader for any arguments.
	Prompt   string
	Template bool
	// Completion are the values to suggest for an argument.
	Completion *Completion
	// Path is that of a file which is no answer, such as a part of a search index,
	// with slashes. Data is what is in it, byte for byte.
	Path string
	Data []byte

	Arguments json.RawMessage
	Result    json.RawMessage
	// Title is a word for people about this answer, shown where several have one
	// name. Default: the arguments or the URI.
	Title string
	// From says where the answer was made of, such as "guide/install.md", for
	// messages. It is not written.
	From string
}

// Completion are the values to suggest for an argument of a prompt, or for a
// variable of a resource template. One of Prompt and URITemplate is set.
type Completion struct {
	Prompt      string
	URITemplate string
	Argument    string
	Values      []string
}

// Text returns the answer of a tool with one text. arguments is anything that
// encoding/json makes an object of, or nil; what it cannot encode shows as an
// error of [Write].
func Text(tool string, arguments any, text string) *Answer {
	result := append([]byte(`{"content":[{"type":"text","text":`), quote(text)...)
	return &Answer{Tool: tool, Arguments: object(arguments), Result: append(result, "}]}"...)}
}

// Structured returns the answer of a tool with a text and the same for programs:
// structured is a JSON object, which follows the tool's outputSchema.
func Structured(tool string, arguments any, text string, structured json.RawMessage) *Answer {
	result := append([]byte(`{"content":[{"type":"text","text":`), quote(text)...)
	result = append(append(append(result, `}],"structuredContent":`...), structured...), '}')
	return &Answer{Tool: tool, Arguments: object(arguments), Result: result}
}

// TextResource returns the contents of a resource that is a text.
func TextResource(uri, mimeType, text string) *Answer {
	result := append([]byte(`{"uri":`), quote(uri)...)
	result = append(append(result, `,"mimeType":`...), quote(mimeType)...)
	result = append(append(result, `,"text":`...), quote(text)...)
	return &Answer{URI: uri, Result: append(result, '}')}
}

func quote(s string) []byte { return jsonscan.AppendQuote(nil, s) }

// object encodes arguments. What cannot be encoded becomes a text, which Write
// refuses with it in its words.
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
