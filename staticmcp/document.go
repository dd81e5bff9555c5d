package staticmcp

import (
	"bytes"
	"errors"
	"strings"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Names in the _meta of stored answers.
const (
	// MetaDisambiguation marks a file shared by several arguments or URIs with the same
	// encoded name. Its value is true, or an array of the indexes of the path parts, counted
	// from 0, that have the long form in the files of the answers themselves: at most 183
	// characters, "_", and the hash. For a resource it is "uri": the last name has the hash
	// of the whole URI.
	MetaDisambiguation = site.MetaDisambiguation
	// MetaTemplate marks a stored prompt whose {{name}} placeholders are filled in with the
	// arguments. Its value is true.
	MetaTemplate = site.MetaTemplate
)

// metaValues, in the definition of a prompt or a resource template, is an object with an
// array of suggested values for each argument or variable.
const metaValues = site.MetaPrefix + "values"

// document is a parsed file of a site, ready to be served. It is immutable.
type document struct {
	// tool, resource and prompt are the parsed content: one of them is set, by the kind of
	// file.
	tool     *mcp.CallToolResult
	resource *mcp.ReadResourceResult
	prompt   *promptDoc
	values   []string // suggestions

	// uri is the URI stated in a resource's file, or empty.
	uri string
	// body is a resource whose file states no URI; the URI must be added before it can be
	// served. shape selects how.
	body  []byte
	shape shape

	// params are the arguments that the answer of a tool states, as a JSON object, or nil.
	params []byte
	// others are the places of a path that must be made unambiguous to find the answer
	// itself.
	others []int

	cache mcp.CacheHint
	// size is the memory that the document needs in the cache, in bytes.
	size int64
}

// shape is the form of a resource's file.
type shape uint8

const (
	shapeFlat     shape = iota // {"uri", "mimeType", "text" or "blob"}: the standard
	shapeContents              // {"contents": [...]}
	shapeArray                 // the array alone
	shapeFree                  // any other JSON
)

// stored is a file of a site whose text has been validated.
type stored struct {
	// path is for error messages.
	path string
	doc  []byte   // compact
	raw  *mcp.Raw // doc, if it is an object
	// strict rejects everything that deviates from the standard.
	strict bool
}

// readDocument parses the file at path. The error is errMissing if the file cannot be an
// answer at all.
func readDocument(path string, data []byte, o *Options) (*document, error) {
	data = bytes.TrimPrefix(data, site.ByteOrderMark)
	data = data[jsonscan.Space(data, 0):]
	if len(data) == 0 || data[0] == '<' {
		// A web page: some hosts send one with status 200 for missing files.
		return nil, site.ErrMissing
	}
	s := &stored{
		path:   path,
		strict: o.Strict,
	}
	if err := s.parse(data); err != nil {
		return nil, err
	}
	read := s.tool
	switch dir, _, _ := strings.Cut(path, "/"); dir {
	case site.ResourcesDir:
		read = s.resource
	case site.PromptsDir:
		read = s.prompt
	case site.CompletionsDir:
		read = s.suggestions
	}
	d, err := read()
	if err != nil {
		return nil, err
	}
	d.size = int64(len(data))
	return d, nil
}

// parse validates the text, once: what is served later are slices of it.
func (s *stored) parse(data []byte) error {
	if data[0] == '{' {
		raw, err := mcp.ParseRaw(data)
		if err != nil {
			return err
		}
		s.raw, s.doc = raw, raw.Bytes()
		return nil
	}
	if err := jsonscan.Valid(data); err != nil {
		return err
	}
	s.doc = site.Compact(data)
	return nil
}

// outline holds the relevant members of a JSON object.
type outline struct {
	kind, uri, text, blob, meta, envelope []byte
	content, contents, messages           items
}

// items describes an array of content, contents or messages. It is filled in during the
// same walk, since the array is most of a document.
type items struct {
	// raw is the list itself, and uri the URI of its first element.
	raw   []byte
	array bool // it is an array, and has only objects
	typed bool // each has a type
	named bool // each has a URI
	full  bool // each has a text or a blob
	uri   []byte
}

// outlineOf walks the valid JSON object doc; if a member is repeated, the last one wins.
func outlineOf(doc []byte) *outline {
	f := &outline{}
	jsonscan.Object(doc, 0, 0, func(key []byte, i int) (int, error) {
		list := f.list(key)
		if list != nil && doc[i] == '[' {
			end := 0
			*list, end = scanItems(doc, i)
			return end, nil
		}
		end, err := jsonscan.Value(doc, i)
		if into := f.member(key); into != nil && err == nil {
			*into = doc[i:end:end]
		}
		return end, err
	})
	return f
}

// list returns where the facts about a list are collected, or nil for another member.
func (f *outline) list(key []byte) *items {
	switch string(key) {
	case "content":
		return &f.content
	case "contents":
		return &f.contents
	case "messages":
		return &f.messages
	}
	return nil
}

// member returns where the value of a member is kept, or nil for another member.
func (f *outline) member(key []byte) *[]byte {
	switch string(key) {
	case "type":
		return &f.kind
	case "uri":
		return &f.uri
	case "text":
		return &f.text
	case "blob":
		return &f.blob
	case "_meta":
		return &f.meta
	case "staticmcp":
		return &f.envelope
	}
	return nil
}

// scanItems walks the array at doc[i] and returns the index just after it.
func scanItems(doc []byte, i int) (items, int) {
	list := items{
		array: true,
		typed: true,
		named: true,
		full:  true,
	}
	first := true
	end, _ := jsonscan.Array(doc, i, 0, func(i int) (int, error) {
		if i = jsonscan.Space(doc, i); doc[i] != '{' {
			list.array = false
			return jsonscan.Value(doc, i)
		}
		var one outline
		end, err := jsonscan.Object(doc, i, 0, func(key []byte, i int) (int, error) {
			end, err := jsonscan.Value(doc, i)
			if into := one.member(key); into != nil && err == nil {
				*into = doc[i:end:end]
			}
			return end, err
		})
		list.typed = list.typed && isString(one.kind)
		list.named = list.named && isString(one.uri)
		list.full = list.full && (isString(one.text) || isString(one.blob))
		if first && isString(one.uri) {
			list.uri = one.uri
		}
		first = false
		return end, err
	})
	list.raw = doc[i:end:end]
	return list, end
}

// result returns the file as a result, without the envelope that some writers add next to
// the members of the protocol.
func (s *stored) result(f *outline) (*mcp.Raw, error) {
	if f.envelope == nil {
		return s.raw, nil
	}
	return mcp.ParseRaw(without(s.doc, "staticmcp"))
}

// without returns the valid JSON object doc without the members called name.
func without(doc []byte, name string) []byte {
	kept := []byte{'{'}
	for _, m := range jsonscan.Members(doc) {
		if m.Name == name {
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(jsonscan.AppendQuote(kept, m.Name), ':')
		kept = append(kept, m.Value...)
	}
	return append(kept, '}')
}

// isString reports whether a member exists and is a string.
func isString(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

var errShape = errors.New("not in the form that the standard requires")
