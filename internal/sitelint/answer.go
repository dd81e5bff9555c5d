package sitelint

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/slipway-mcp/slipway/internal/site"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/internal/schema"
)

// answerFile checks the answer of a tool.
func (c *checker) answerFile(f *contents) {
	content := f.members.get("content")
	switch {
	case content.is('[') && f.isListing():
		f.At(0).Add(ruleReservedName, "", "some readers treat it as a listing and never return it",
			"the answer is named %q", f.listingName())
	case content.is('['):
	case f.isListing():
		return // a listing, or the definition of the tool
	default:
		f.reportShape(content)
		return
	}
	if f.job.short {
		f.At(0).Add(ruleUnreachable, "", "",
			"the path has %s, and every call of %s has at least %s",
			counted(len(f.job.parts), "part"), f.tool.name, counted(f.tool.leastParts(), "argument"))
	}
	f.checkItems(content, "/content")
	f.checkParameters()
	shared := f.others() != nil // a text that lists the answers it represents
	if !shared {
		f.checkStructured()
	}
	c.checkShared(f)
	f.checkFlags(shared)
}

// checkFlags checks isError and _meta. An answer that is shared by several calls may be
// an error.
func (f *contents) checkFlags(shared bool) {
	failed := f.members.get("isError")
	switch {
	case failed.isTrue() && !shared:
		f.At(failed.at).Add(ruleStoredError, "/isError",
			"remove the file: readers report a missing answer themselves",
			"the answer is an error, which every call will get")
	case !failed.missing():
		f.requireKind(ruleMemberType, failed, "/isError", "isError", "a boolean")
	}
	if meta := f.members.get("_meta"); !meta.missing() {
		f.requireKind(ruleMemberType, meta, "/_meta", "_meta", "an object")
	}
}

// reportShape reports an answer without an array of content.
func (f *contents) reportShape(content located) {
	if !content.missing() {
		f.requireKind(ruleMemberType, content, "/content", "content", "an array")
		return
	}
	message := "the answer has no content: readers return the whole file as text, or reject it"
	if f.members.get("contents").is('[') {
		message = `the answer has "contents", as a resource has, instead of "content"`
	}
	f.At(f.root.at).Add(ruleAnswerShape, "/content", `write {"content":[{"type":"text","text":"..."}]}`,
		"%s", message)
}

// contentTypes maps the types of content to the string members each requires.
var contentTypes = map[string][]string{
	"text":          {"text"},
	"image":         {"data", "mimeType"},
	"audio":         {"data", "mimeType"},
	"resource_link": {"uri", "name"},
	"resource":      nil,
}

// checkItems checks the content of an answer.
func (f *contents) checkItems(list located, pointer string) {
	list.each(func(i int, item located) {
		f.checkItem(item, fmt.Sprintf("%s/%d", pointer, i))
	})
}

// checkItem checks one item of content.
func (f *contents) checkItem(v located, pointer string) {
	if !f.requireKind(ruleContentItem, v, pointer, "the content", "an object") {
		return
	}
	item := v.members()
	kind := item.get("type")
	name := kind.text()
	needed, known := contentTypes[name]
	switch {
	case !kind.is('"'):
		f.At(v.at).Add(ruleContentItem, pointer+"/type", `write "type": "text" for a text`,
			"the content has no type")
		return
	case !known:
		f.At(kind.at).Add(ruleContentType, pointer+"/type", "clients ignore unknown types",
			"the protocol has no content of type %q", name)
		return
	}
	for _, member := range needed {
		if !item.get(member).is('"') {
			f.At(v.at).Add(ruleContentItem, pointer+"/"+member, "",
				"content of type %q has no %s", name, member)
		}
	}
	f.checkBase64(item.get("data"), pointer)
	if name == "resource" {
		f.checkEmbedded(v, item.get("resource"), pointer+"/resource")
	}
}

// checkEmbedded checks the resource of an item of content.
func (f *contents) checkEmbedded(item, resource located, pointer string) {
	if !resource.is('{') {
		f.At(item.at).Add(ruleContentItem, pointer, "",
			`content of type "resource" has no resource`)
		return
	}
	inner := resource.members()
	if !inner.get("uri").is('"') {
		f.At(resource.at).Add(ruleContentItem, pointer+"/uri", "",
			"the contents of a resource have no uri")
	}
	f.textOrBlob(resource, inner, pointer)
}

// textOrBlob checks that exactly one of text and blob is present.
func (f *contents) textOrBlob(v located, inner members, pointer string) {
	text := inner.get("text")
	blob := inner.get("blob")
	switch {
	case text.missing() && blob.missing():
		f.At(v.at).Add(ruleContentItem, pointer+"/text", "",
			"both text and blob are missing")
	case !text.missing() && !blob.missing():
		f.At(blob.at).Add(ruleContentItem, pointer+"/blob", "remove one of them",
			"both text and blob are present")
	case blob.missing():
		f.requireKind(ruleContentItem, text, pointer+"/text", "text", "a string")
	default:
		f.requireKind(ruleContentItem, blob, pointer+"/blob", "blob", "a string")
	}
	f.checkBase64(blob, pointer)
}

// checkBase64 checks a member with binary data. Other checks report a missing one, and
// one that is not a string.
func (f *contents) checkBase64(m located, pointer string) {
	if !m.is('"') {
		return
	}
	pointer += "/" + m.name
	data, _ := jsonscan.UnquoteBytes(m.value)
	if slices.Contains(data, '\n') || slices.Contains(data, '\r') {
		f.At(m.at).Add(ruleBase64, pointer, "",
			"%s has line breaks, which base64 in JSON must not have", m.name)
		return
	}
	if _, err := base64.StdEncoding.Strict().AppendDecode(nil, data); err != nil {
		f.At(m.at).Add(ruleBase64, pointer, "use the standard alphabet with padding",
			"%s is not base64: %v", m.name, err)
	}
}

// checkStructured validates structuredContent against the tool's outputSchema.
func (f *contents) checkStructured() {
	if f.tool == nil || f.tool.output == nil {
		return
	}
	m := f.members.get("structuredContent")
	if m.missing() {
		if !f.members.get("isError").isTrue() {
			f.At(f.root.at).Add(ruleStructuredContent, "/structuredContent", "clients reject the answer",
				"structuredContent is missing, and %s has an outputSchema", f.tool.name)
		}
		return
	}
	var invalid *schema.Error
	if !errors.As(f.tool.output.Validate(m.value), &invalid) {
		return
	}
	for _, p := range invalid.Problems {
		f.At(m.at).Add(ruleStructuredContent, "/structuredContent", "",
			"structuredContent violates the outputSchema: %s", p.String())
	}
}

// checkParameters compares the arguments stated in an answer with those in its path.
func (f *contents) checkParameters() {
	envelope := f.members.get("staticmcp")
	if envelope.missing() || f.tool == nil || f.tool.root != site.ToolsDir {
		return
	}
	params := site.StatedParameters(envelope.value)
	if params == nil {
		return
	}
	at := f.At(envelope.at)
	paths, err := f.tool.layout.Paths(params)
	if err != nil {
		at.Add(ruleParameters, "/staticmcp/parameters", "",
			"the parameters in the answer: %s", err.Error())
		return
	}
	hashed := slices.ContainsFunc(f.job.parts, isDistinct)
	if !hashed && !slices.Contains(paths, f.job.path) {
		at.Add(ruleParameters, "/staticmcp/parameters", "readers that compare the two never return the answer",
			"the answer names other arguments than its path")
	}
}

// promptFile checks the messages of a prompt.
func (c *checker) promptFile(f *contents) {
	messages := f.members.get("messages")
	if !messages.is('[') {
		if !f.isListing() {
			f.At(f.root.at).Add(rulePromptShape, "/messages",
				`write {"messages":[{"role":"user","content":{"type":"text","text":"..."}}]}`,
				"the file has no messages")
		}
		return
	}
	if f.job.short && !site.IsTemplate(f.members.get("_meta").value) {
		f.At(0).Add(ruleUnreachable, "",
			"if readers are to replace {{argument}} in the text, mark the file as a template",
			"the path has %s, and prompt %s requires %s",
			counted(len(f.job.parts), "part"), f.tool.name, counted(f.tool.leastParts(), "argument"))
	} else if f.job.short {
		f.tool.template.Store(true)
	}
	messages.each(func(i int, m located) {
		f.checkMessage(m, fmt.Sprintf("/messages/%d", i))
	})
	c.checkShared(f)
}

// checkMessage checks one message of a prompt.
func (f *contents) checkMessage(v located, pointer string) {
	if !f.requireKind(rulePromptShape, v, pointer, "the message", "an object") {
		return
	}
	message := v.members()
	role := message.get("role").text()
	if !slices.Contains([]string{"user", "assistant", "system"}, role) {
		f.At(v.at).Add(rulePromptShape, pointer+"/role", "",
			"the role of the message is neither user nor assistant")
	}
	if content := message.get("content"); content.is('{') {
		f.checkItem(content, pointer+"/content")
	} else {
		f.At(v.at).Add(rulePromptShape, pointer+"/content", "content is one object",
			"the message has no content")
	}
}

// completionFile checks suggested values.
func (c *checker) completionFile(f *contents) {
	list := f.root
	if !list.is('[') {
		list = f.members.get("completion").members().get("values")
	}
	if !list.is('[') {
		f.At(f.root.at).Add(ruleAnswerShape, "",
			`write an array of strings, or {"completion":{"values":[...]}}`,
			"the file has no values")
		return
	}
	list.each(func(i int, v located) {
		f.requireKind(ruleMemberType, v, fmt.Sprintf("/%d", i), "the value", "a string")
	})
}
