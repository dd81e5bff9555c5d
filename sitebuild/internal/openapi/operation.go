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
	id, method, path string
	webhook          bool
	at               place
	item             place   // the path item it belongs to
	parameters       []place // the path's parameters that it does not override, then its own
}

func (o *operation) text(name string) string { return o.at.node.Get(name).String() }

// summary returns a one-line summary of the operation.
func (o *operation) summary() string {
	if s := o.text("summary"); s != "" {
		return firstLine(s)
	}
	return firstLine(o.text("description"))
}

func (o *operation) tags() []string { return o.at.node.Get("tags").Strings() }

func (o *operation) deprecated() bool { return o.at.node.Get("deprecated").True() }

// firstLine returns the first line of a text, truncated for use in lists.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.TrimSpace(line)
	const most = 160
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return line
}

// isMethod reports whether a member of a path item is an operation.
func isMethod(name string) bool {
	return slices.Contains([]string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}, name)
}

// collect finds the operations, in document order.
func (a *api) collect(ctx context.Context) error {
	ids := map[string]bool{}
	for _, group := range []string{"paths", "webhooks"} {
		for _, m := range a.main.root.Get(group).Fields() {
			if strings.HasPrefix(m.Key, "x-") {
				continue
			}
			item, ok := a.follow(place{m.Value, a.main})
			if !ok {
				continue
			}
			for _, method := range item.node.Fields() {
				if !isMethod(method.Key) || !method.Value.Is(tree.Object) {
					continue
				}
				o := &operation{
					method:  strings.ToUpper(method.Key),
					path:    m.Key,
					webhook: group == "webhooks",
					at:      place{method.Value, item.file},
					item:    item,
				}
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

func (a *api) wanted(o *operation) bool {
	if len(a.in.opts.Tags) == 0 {
		return true
	}
	return slices.ContainsFunc(o.tags(), func(tag string) bool { return slices.Contains(a.in.opts.Tags, tag) })
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
		a.found(ruleOperationID, o.at.file, o.at.node, "give it an id of its own", "%q is the id of two operations; the later one is called %q", o.id, unique)
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
	add := func(nodes []*tree.Node, f *file) {
		for _, n := range nodes {
			at, ok := a.follow(place{n, f})
			key := at.node.Get("in").String() + " " + at.node.Get("name").String()
			if ok && !own[key] {
				own[key] = true
				list = append(list, at)
			}
		}
	}
	add(o.at.node.Get("parameters").Elements(), o.at.file)
	mine := len(list)
	add(o.item.node.Get("parameters").Elements(), o.item.file)
	o.parameters = append(slices.Clone(list[mine:]), list[:mine]...)
}

// visitParts registers the schemas that an operation references.
func (a *api) visitParts(o *operation) {
	for _, p := range o.parameters {
		a.visitMedia(p)
	}
	if body := o.at.node.Get("requestBody"); body != nil {
		if at, ok := a.follow(place{body, o.at.file}); ok {
			a.visitMedia(at)
		}
	}
	for _, m := range o.at.node.Get("responses").Fields() {
		if at, ok := a.follow(place{m.Value, o.at.file}); ok {
			a.visitMedia(at)
		}
	}
}

// visitMedia visits the schemas of a parameter, request body or response.
func (a *api) visitMedia(at place) {
	a.visit(at.node.Get("schema"), at.file)
	for _, m := range at.node.Get("content").Fields() {
		if media, ok := a.follow(place{m.Value, at.file}); ok {
			a.visit(media.node.Get("schema"), media.file)
		}
	}
}
