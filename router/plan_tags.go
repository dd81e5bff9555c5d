package router

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/nearest"
)

// ownTags are the tags that the plan reads in addition to the keywords.
var ownTags = []string{"doc", "description", "jsonschema", "title", "example", "default", "required", "header"}

// foreignTags belong to other packages, although they resemble ours.
var foreignTags = []string{"json", "db", "env", "form", "toml", "bson", "yaml", "xml", "uri", "path", "query",
	"param", "name", "desc"}

// checkTagNames reports tags that the author probably meant for this package; all other
// unknown tags belong to other packages.
func (c *compiler) checkTagNames(tag reflect.StructTag) {
	known := slices.Clone(ownTags)
	for _, k := range keywords {
		known = append(known, k.name)
	}
	for _, key := range tagKeys(tag) {
		if slices.Contains(known, key) || slices.Contains(foreignTags, key) {
			continue
		}
		if near := nearest.DidYouMean(key, known); near != "" && !strings.HasPrefix(key, near) &&
			!strings.HasPrefix(near, key) ||
			strings.EqualFold(key, near) && near != "" {
			c.fault("unknown tag %s, did you mean %q?", strconv.Quote(key), near)
		}
	}
}

// tagKeys returns the keys of a tag, parsed as by reflect.StructTag.Lookup.
func tagKeys(tag reflect.StructTag) (keys []string) {
	for rest := string(tag); ; {
		rest = strings.TrimLeft(rest, " ")
		key, after, found := strings.Cut(rest, ":")
		if !found {
			return keys
		}
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			return keys
		}
		keys = append(keys, key)
		rest = after[len(quoted):]
	}
}

// instruction matches an item of the jsonschema tag of other libraries.
var instruction = lazyregexp.New(`^[A-Za-z_]+=`)

// isInstructions reports whether a jsonschema tag lists keywords, as in
// "required,enum=a", instead of describing the field.
func isInstructions(text string) bool {
	if text == "required" || strings.HasPrefix(text, "required,") ||
		instruction().MatchString(text) {
		return true
	}
	items := strings.Split(text, ",")
	return slices.ContainsFunc(items[1:], instruction().MatchString)
}
