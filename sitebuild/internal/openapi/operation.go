package openapi

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/tree"
)

// operation is an operation of the API.
type operation struct {
	// id is unique: the operationId, or built from method and path.
	id, method, path string
	// webhook means that the server of the API calls the client.
	webhook bool
	place
	items      []place // the path items it belongs to: one, and those that its references lead to
	parameters []place // the path's parameters that it does not override, then its own
}

// summary returns a one-line summary of the operation.
func (o *operation) summary() string {
	if s := o.text("summary"); s != "" {
		return firstLine(s)
	}
	return firstLine(o.text("description"))
}

// tags returns the tags of the operation.
func (o *operation) tags() []string { return o.node.Get("tags").Strings() }

// deprecated reports whether the document deprecates the operation.
func (o *operation) deprecated() bool { return o.flag("deprecated") }

// firstLine returns the first line of a text, truncated for use in lists.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const most = 160
	return clip(strings.TrimSpace(line), most)
}

// clip truncates a text to a number of characters.
func clip(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// isMethod reports whether a member of a path item is an operation.
func isMethod(name string) bool {
	switch name {
	case "get", "put", "post", "delete", "options", "head", "patch", "trace", "query":
		return true
	}
	return false
}

// collect finds the operations, in document order.
func (a *api) collect(ctx context.Context) error {
	ids := map[string]bool{}
	for _, group := range []string{"paths", "webhooks"} {
		for _, m := range a.main.fields(group) {
			if strings.HasPrefix(m.name, "x-") {
				continue
			}
			for _, o := range a.operationsOf(m.place) {
				o.path = m.name
				o.webhook = group == "webhooks"
				if a.wanted(o) {
					a.name(o, ids)
					a.parameters(o)
					a.visitParts(o)
					a.operations = append(a.operations, o)
				}
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// operationsOf returns the operations of a path item, and those of the items that its reference leads to.
// If the reference is broken, its own remain, and so do all others if that of one operation is.
func (a *api) operationsOf(item place) []*operation {
	items, _ := a.chain(item)
	var list []*operation
	seen := map[string]bool{}
	for _, item := range items {
		for _, method := range item.fields() {
			if !isMethod(method.name) || !method.node.Is(tree.Object) || seen[method.name] {
				continue
			}
			seen[method.name] = true
			at, ok := a.follow(method.place)
			if !ok {
				if len(method.node.Fields()) == 1 {
					continue // the reference is all that it has
				}
				at = method.place
			}
			list = append(list, &operation{
				method: strings.ToUpper(method.name),
				place:  at,
				items:  items,
			})
		}
	}
	return list
}

// wanted reports whether the options select an operation.
func (a *api) wanted(o *operation) bool {
	if len(a.in.opts.Tags) == 0 {
		return true
	}
	return slices.ContainsFunc(o.tags(), func(tag string) bool {
		return slices.Contains(a.in.opts.Tags, tag)
	})
}

// name gives the operation a unique id.
func (a *api) name(o *operation, ids map[string]bool) {
	o.id = o.text("operationId")
	if o.id == "" {
		o.id = strings.ToLower(o.method) + "_" + pathWords(o.path)
	}
	unique := o.id
	for n := 2; ids[unique]; n++ {
		unique = o.id + "_" + strconv.Itoa(n)
	}
	if unique != o.id {
		a.found(ruleOperationID, o.file, o.node, "change one of the two ids",
			"two operations have the id %q; the second is renamed to %q", o.id, unique)
		o.id = unique
	}
	ids[o.id] = true
}

// pathWords returns the words of a path: /pets/{petId} gives pets_petId.
func pathWords(p string) string {
	words := strings.FieldsFunc(p, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	})
	if len(words) == 0 {
		return "root"
	}
	return strings.Join(words, "_")
}

// parameters joins the parameters of the path with those of the operation.
func (a *api) parameters(o *operation) {
	own := map[string]bool{}
	var list []place
	add := func(places []place) {
		for _, p := range places {
			at, ok := a.follow(p)
			key := at.text("in") + " " + at.text("name")
			if ok && !own[key] {
				own[key] = true
				list = append(list, at)
			}
		}
	}
	add(o.list("parameters"))
	count := len(list)
	for _, item := range o.items {
		add(item.list("parameters"))
	}
	o.parameters = append(slices.Clone(list[count:]), list[:count]...)
}

// visitParts registers the schemas that an operation references.
func (a *api) visitParts(o *operation) {
	for _, p := range o.parameters {
		a.visitMedia(p)
	}
	parts := []place{o.get("requestBody")}
	for _, m := range o.fields("responses") {
		parts = append(parts, m.place)
	}
	for _, p := range parts {
		if at, ok := a.follow(p); ok {
			a.visitMedia(at)
		}
	}
}

// visitMedia visits the schemas of a parameter, request body or response.
func (a *api) visitMedia(at place) {
	a.visit(at.node.Get("schema"), at.file)
	for _, m := range at.fields("content") {
		if media, ok := a.follow(m.place); ok {
			a.visit(media.node.Get("schema"), media.file)
		}
	}
}
