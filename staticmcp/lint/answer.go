package lint

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/staticmcp/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
)

// answerFile checks the answer of a tool.
func (c *checker) answerFile(f *contents) {
	content, ok := f.array("content")
	switch {
	case ok && f.isListing():
		f.At(0).Add(ruleReservedName, "", "some readers take it for a listing, and do not answer with it",
			"the answer is called %q", f.listingName())
	case ok:
	case f.isListing():
		return // a listing, or the definition of the tool
	default:
		f.unshaped()
		return
	}
	if f.job.short {
		f.At(0).Add(ruleUnreachable, "", "", "the path has %s, and every call of %s at least %s",
			counted(len(f.job.parts), "part"), f.tool.name, counted(f.tool.leastParts(), "argument"))
	}
	f.items(content, "/content")
	f.parameters()
	shared := f.others() != nil // a text that lists the answers it represents
	if !shared {
		f.structured()
	}
	c.besides(f)
	if m, ok := named(f.members, "isError"); ok && string(m.value) == "true" && !shared {
		f.At(m.at).Add(ruleStoredError, "/isError", "leave it out: a reader says itself what it has no answer for",
			"the answer is an error, and will be one for ever")
	} else if ok && kindOf(m.value) != "a boolean" {
		f.At(m.at).Add(ruleMemberType, "/isError", "", "isError is %s, not a boolean", kindOf(m.value))
	}
	if m, ok := named(f.members, "_meta"); ok && m.value[0] != '{' {
		f.At(m.at).Add(ruleMemberType, "/_meta", "", "_meta is %s, not an object", kindOf(m.value))
	}
}

// unshaped reports an answer without content.
func (f *contents) unshaped() {
	if m, ok := named(f.members, "content"); ok {
		f.At(m.at).Add(ruleMemberType, "/content", "", "content is %s, not an array", kindOf(m.value))
		return
	}
	message := "the answer has no content: readers make a text of the whole, or refuse it"
	if _, ok := f.array("contents"); ok {
		message = "the answer has contents, as a resource has, instead of content"
	}
	f.At(f.at).Add(ruleAnswerShape, "/content", `write {"content":[{"type":"text","text":"..."}]}`, "%s", message)
}

// contentTypes maps the types of content to the string members each requires.
var contentTypes = map[string][]string{
	"text":          {"text"},
	"image":         {"data", "mimeType"},
	"audio":         {"data", "mimeType"},
	"resource_link": {"uri", "name"},
	"resource":      nil,
}

// items checks the content of an answer or a message.
func (f *contents) items(list located, pointer string) {
	each(f.sheet.text, list.at, func(place, at, end int) {
		f.item(at, fmt.Sprintf("%s/%d", pointer, place))
	})
}

func (f *contents) item(at int, pointer string) {
	text := f.sheet.text
	if text[at] != '{' {
		f.At(at).Add(ruleContentItem, pointer, "", "the content is %s, not an object", kindOf(text[at:]))
		return
	}
	item := locate(text, at)
	kind, ok := named(item, "type")
	name := ""
	if ok {
		name, ok = jsonscan.Unquote(kind.value)
	}
	needed, known := contentTypes[name]
	switch {
	case !ok:
		f.At(at).Add(ruleContentItem, pointer+"/type", `write "type": "text" for a text`, "the content has no type")
		return
	case !known:
		f.At(kind.at).Add(ruleContentType, pointer+"/type", "clients leave out what they do not know",
			"the protocol has no content of type %q", name)
		return
	}
	for _, member := range needed {
		if m, ok := named(item, member); !ok || m.value[0] != '"' {
			f.At(at).Add(ruleContentItem, pointer+"/"+member, "", "content of type %q has no %s", name, member)
		}
	}
	f.base64(item, "data", pointer)
	if name == "resource" {
		resource, ok := named(item, "resource")
		if !ok || resource.value[0] != '{' {
			f.At(at).Add(ruleContentItem, pointer+"/resource", "", `content of type "resource" has no resource`)
			return
		}
		f.embeddedResource(resource.at, pointer+"/resource")
	}
}

// embeddedResource checks the contents of an embedded resource.
func (f *contents) embeddedResource(at int, pointer string) {
	inner := locate(f.sheet.text, at)
	if m, ok := named(inner, "uri"); !ok || m.value[0] != '"' {
		f.At(at).Add(ruleContentItem, pointer+"/uri", "", "the contents of a resource have no uri")
	}
	f.textOrBlob(inner, at, pointer)
}

// textOrBlob checks that exactly one of text and blob is present.
func (f *contents) textOrBlob(members []located, at int, pointer string) {
	text, hasText := named(members, "text")
	blob, hasBlob := named(members, "blob")
	switch {
	case !hasText && !hasBlob:
		f.At(at).Add(ruleContentItem, pointer+"/text", "", "there is neither text nor blob")
	case hasText && hasBlob:
		f.At(blob.at).Add(ruleContentItem, pointer+"/blob", "keep one of the two", "there are text and blob")
	case hasText && text.value[0] != '"':
		f.At(text.at).Add(ruleContentItem, pointer+"/text", "", "text is %s, not a string", kindOf(text.value))
	case hasBlob && blob.value[0] != '"':
		f.At(blob.at).Add(ruleContentItem, pointer+"/blob", "", "blob is %s, not a string", kindOf(blob.value))
	}
	f.base64(members, "blob", pointer)
}

// base64 checks a member with binary data, if present.
func (f *contents) base64(members []located, name, pointer string) {
	m, ok := named(members, name)
	if !ok || m.value[0] != '"' {
		return
	}
	data, _ := jsonscan.UnquoteBytes(m.value)
	if slices.Contains(data, '\n') || slices.Contains(data, '\r') {
		f.At(m.at).Add(ruleBase64, pointer+"/"+name, "", "%s has line breaks, which base64 in JSON must not have",
			name)
		return
	}
	if _, err := base64.StdEncoding.Strict().AppendDecode(nil, data); err != nil {
		f.At(m.at).Add(ruleBase64, pointer+"/"+name, "the standard alphabet, with padding", "%s is not base64: %v",
			name, err)
	}
}

// structured validates structuredContent against the tool's outputSchema.
func (f *contents) structured() {
	if f.tool == nil {
		return
	}
	m, ok := named(f.members, "structuredContent")
	failed, _ := named(f.members, "isError")
	switch {
	case !ok && f.tool.output != nil && string(failed.value) != "true":
		f.At(f.at).Add(ruleStructuredContent, "/structuredContent", "clients refuse the answer",
			"there is no structuredContent, and %s has an outputSchema", f.tool.name)
	case !ok || f.tool.output == nil:
	default:
		f.holdSchema(m)
	}
}

func (f *contents) holdSchema(m located) {
	err := f.tool.output.Validate(m.value)
	var invalid *schema.Error
	if !errors.As(err, &invalid) {
		return
	}
	for _, p := range invalid.Problems {
		f.At(m.at).Add(ruleStructuredContent, "/structuredContent", "",
			"structuredContent does not follow the outputSchema: %s", p.String())
	}
}

// parameters compares the arguments stated in an answer with those in its path.
func (f *contents) parameters() {
	envelope, ok := named(f.members, "staticmcp")
	if !ok || f.tool == nil || f.tool.root != site.ToolsDir {
		return
	}
	params := site.StatedParameters(envelope.value)
	if params == nil {
		return
	}
	paths, err := f.tool.layout.Paths(params)
	if err != nil {
		f.At(envelope.at).Add(ruleParameters, "/staticmcp/parameters", "", "the parameters in the answer: %s",
			err.Error())
		return
	}
	if slices.Contains(paths, f.job.path) {
		return
	}
	if len(f.job.parts) > 0 &&
		(isDistinct(f.job.parts[len(f.job.parts)-1]) || slices.ContainsFunc(f.job.parts, isDistinct)) {
		return // distinguished by a hash
	}
	f.At(envelope.at).Add(ruleParameters, "/staticmcp/parameters",
		"readers that check both never use it",
		"the answer says that it is for other arguments than its path")
}

// promptFile checks the messages of a prompt.
func (c *checker) promptFile(f *contents) {
	messages, ok := f.array("messages")
	if !ok {
		if !f.isListing() {
			f.At(f.at).Add(rulePromptShape, "/messages",
				`write {"messages":[{"role":"user","content":{"type":"text","text":"..."}}]}`,
				"the file has no messages")
		}
		return
	}
	if f.job.short && !site.IsTemplate(f.meta()) {
		f.At(0).Add(ruleUnreachable, "",
			"if the places {{argument}} in it are to be filled in, mark it as a template",
			"the path has %s, and prompt %s requires %s", counted(len(f.job.parts), "part"), f.tool.name,
			counted(f.tool.leastParts(), "argument"))
	} else if f.job.short {
		f.tool.template.Store(true)
	}
	each(f.sheet.text, messages.at, func(place, at, end int) {
		pointer := fmt.Sprintf("/messages/%d", place)
		if f.sheet.text[at] != '{' {
			f.At(at).Add(rulePromptShape, pointer, "", "the message is %s, not an object", kindOf(f.sheet.text[at:]))
			return
		}
		message := locate(f.sheet.text, at)
		if m, ok := named(message, "role"); !ok ||
			!slices.Contains([]string{`"user"`, `"assistant"`, `"system"`}, string(m.value)) {
			f.At(at).Add(rulePromptShape, pointer+"/role", "",
				"the role of the message is neither user nor assistant")
		}
		if m, ok := named(message, "content"); ok && m.value[0] == '{' {
			f.item(m.at, pointer+"/content")
		} else {
			f.At(at).Add(rulePromptShape, pointer+"/content", "content is one object", "the message has no content")
		}
	})
	c.besides(f)
}

func (f *contents) meta() []byte {
	m, _ := named(f.members, "_meta")
	return m.value
}

// completionFile checks suggested values.
func (c *checker) completionFile(f *contents) {
	list := located{at: f.at}
	if f.sheet.text[f.at] != '[' {
		inner, ok := named(f.members, "completion")
		if ok && inner.value[0] == '{' {
			list, ok = named(locate(f.sheet.text, inner.at), "values")
		}
		if !ok || f.sheet.text[list.at] != '[' {
			f.At(f.at).Add(ruleAnswerShape, "", `write an array of strings, or {"completion":{"values":[...]}}`,
				"the file holds no values")
			return
		}
	}
	each(f.sheet.text, list.at, func(place, at, end int) {
		if f.sheet.text[at] != '"' {
			f.At(at).Add(ruleMemberType, fmt.Sprintf("/%d", place), "", "the value is %s, not a string",
				kindOf(f.sheet.text[at:]))
		}
	})
}
