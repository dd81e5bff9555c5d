package table

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// object writes a JSON object whose members keep their order.
type object struct{ b []byte }

func (o *object) raw(name string, value []byte) *object {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(jsonscan.AppendQuote(o.b, name), ':')
	o.b = append(o.b, value...)
	return o
}

func (o *object) text(name, value string) *object {
	if value == "" {
		return o
	}
	return o.raw(name, jsonscan.AppendQuote(nil, value))
}

func (o *object) int(name string, n int) *object {
	return o.raw(name, strconv.AppendInt(nil, int64(n), 10))
}

func (o *object) texts(name string, list []string) *object {
	return o.raw(name, stringArray(list))
}

func (o *object) end() json.RawMessage {
	if len(o.b) == 0 {
		return json.RawMessage("{}")
	}
	return append(o.b, '}')
}

func stringArray(list []string) []byte {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsonscan.AppendQuote(b, s)
	}
	return append(b, ']')
}

func rawArray(list [][]byte) []byte {
	b := []byte{'['}
	for i, raw := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, raw...)
	}
	return append(b, ']')
}

// schemaType returns the JSON Schema type of a column, "" for any.
func (c *columnStats) schemaType() string {
	switch c.kind {
	case kindInteger, kindNumber, kindBoolean:
		return string(c.kind)
	case kindAny:
		return ""
	}
	return "string"
}

// schema returns the schema of a column's values in a row.
func (c *columnStats) schema() json.RawMessage {
	var o object
	switch typ := c.schemaType(); {
	case typ == "":
	case c.nulls > 0:
		o.texts("type", []string{typ, "null"})
	default:
		o.text("type", typ)
	}
	if c.kind == kindDate || c.kind == kindDateTime {
		o.text("format", string(c.kind))
	}
	if c.arg != c.name {
		o.text("title", c.name)
	}
	return o.end()
}

// argSchema returns the schema of a column as an argument, with all its values if they
// are few, otherwise with some as examples.
func (t *tab) argSchema(c *columnStats, description string) json.RawMessage {
	var o object
	o.text("type", c.schemaType())
	if c.kind == kindDate || c.kind == kindDateTime {
		o.text("format", string(c.kind))
	}
	o.text("description", description)
	if len(c.few) > 0 {
		return o.raw("enum", rawArray(c.literals(c.few))).end()
	}
	return o.raw("examples", rawArray(c.literals(c.first))).end()
}

func (c *columnStats) literals(values []string) [][]byte {
	var list [][]byte
	seen := map[string]bool{}
	for _, v := range values {
		literal := c.appendArgument(nil, c.valueCell(v))
		if seen[string(literal)] || nameless(v) {
			continue
		}
		seen[string(literal)] = true
		list = append(list, literal)
	}
	return list
}

// valueCell converts a value to find by back to a cell.
func (c *columnStats) valueCell(v string) cell {
	s := text
	switch {
	case c.sorts&(1<<loose) != 0:
		s = loose
	case c.kind == kindInteger, c.kind == kindNumber:
		s = number
	case c.kind == kindBoolean:
		s = boolean
	}
	return cell{s, v}
}

func pageSchema(pages int) json.RawMessage {
	var o object
	return o.text("type", "integer").text("description", fmt.Sprintf("Which page, 1 to %d", pages)).
		int("minimum", 1).int("maximum", pages).int("default", 1).end()
}

// input returns the schema of arguments; the required ones come first.
func input(names []string, schemas []json.RawMessage, required int) json.RawMessage {
	var properties, o object
	for i, name := range names {
		properties.raw(name, schemas[i])
	}
	o.text("type", "object").raw("properties", properties.end())
	if required > 0 {
		o.texts("required", names[:required])
	}
	return o.raw("additionalProperties", []byte("false")).end()
}

func (t *tab) rowSchema(columns []int) json.RawMessage {
	var properties, o object
	names := make([]string, 0, len(columns))
	for _, i := range columns {
		properties.raw(t.cols[i].name, t.cols[i].schema())
		names = append(names, t.cols[i].name)
	}
	return o.text("type", "object").raw("properties", properties.end()).texts("required", names).end()
}

func (t *tab) pageOutput() json.RawMessage {
	var rows, properties, o object
	rows.text("type", "array").raw("items", t.rowSchema(t.listed))
	integer := []byte(`{"type":"integer"}`)
	properties.raw("rows", rows.end()).raw("page", integer).raw("pages", integer).raw("total", integer)
	return o.text("type", "object").raw("properties", properties.end()).texts("required", []string{
		"rows",
		"page",
		"pages",
		"total",
	}).end()
}

// tools returns the definitions of the tools.
func (t *tab) tools() []mcp.Tool {
	tools := []mcp.Tool{t.getTool()}
	for _, i := range t.lookups {
		tools = append(tools, t.lookupTool(i))
	}
	tools = append(tools, t.listTool())
	for _, f := range t.finders {
		tools = append(tools, t.findTool(f))
	}
	return tools
}

// keyArgs returns the names of the arguments that form the key.
func (t *tab) keyArgs() []string {
	if len(t.key) == 0 {
		return []string{"row"}
	}
	var names []string
	for _, i := range t.key {
		names = append(names, t.cols[i].arg)
	}
	return names
}

func (t *tab) getTool() mcp.Tool {
	names := t.keyArgs()
	var schemas []json.RawMessage
	if len(t.key) == 0 {
		var o object
		schemas = append(schemas, o.text("type", "integer").text("description", "The number of the row, from 1").
			int("minimum", 1).int("maximum", t.rows).end())
	}
	for _, i := range t.key {
		c := t.cols[i]
		schemas = append(schemas, t.argSchema(c, fmt.Sprintf("The %s of the %s", spaced(c.arg), spaced(t.one))+t.refers(i)))
	}
	by := spaced(strings.Join(names, " and "))
	if len(t.key) == 0 {
		by = "number"
	}
	about := fmt.Sprintf("Get one %s by its %s: %s.", spaced(t.one), by, t.columnList(t.shown))
	if t.opts.Description != "" {
		about += " " + t.opts.Description
	}
	return mcp.Tool{
		Name:         "get_" + t.one,
		Title:        "Get " + spaced(t.one),
		Description:  about,
		InputSchema:  input(names, schemas, len(names)),
		OutputSchema: t.rowSchema(t.shown),
	}
}

func (t *tab) lookupTool(i int) mcp.Tool {
	c := t.cols[i]
	return mcp.Tool{
		Name:  t.lookupName(i),
		Title: fmt.Sprintf("Get %s by %s", spaced(t.one), spaced(c.arg)),
		Description: fmt.Sprintf("Get one %s by its %s, with the same columns as get_%s.",
			spaced(t.one), spaced(c.arg), t.one),
		InputSchema: input([]string{c.arg},
			[]json.RawMessage{t.argSchema(c, "The "+spaced(c.arg)+" of the "+spaced(t.one))}, 1),
		OutputSchema: t.rowSchema(t.shown),
	}
}

func (t *tab) lookupName(i int) string {
	return "get_" + t.one + "_by_" + t.cols[i].arg
}

func (t *tab) findName(f *finder) string {
	return "find_" + t.many + "_by_" + t.cols[f.column].arg
}

func (t *tab) listTool() mcp.Tool {
	about := fmt.Sprintf("List all %d %s: %s.", t.rows, spaced(t.many), t.columnList(t.listed)) + t.inFull()
	var names []string
	var schemas []json.RawMessage
	if t.pages > 1 {
		names = []string{"page"}
		schemas = []json.RawMessage{pageSchema(t.pages)}
		about += fmt.Sprintf(" %d on each of %d pages.", t.page, t.pages)
	}
	return mcp.Tool{
		Name:         "list_" + t.many,
		Title:        "List " + spaced(t.many),
		Description:  about,
		InputSchema:  input(names, schemas, 0),
		OutputSchema: t.pageOutput(),
	}
}

func (t *tab) findTool(f *finder) mcp.Tool {
	c := t.cols[f.column]
	names := []string{c.arg}
	about := fmt.Sprintf("Find %s by %s, a column with %s.",
		spaced(t.many), spaced(c.arg), differentValues(len(f.values))) + t.inFull()
	schemas := []json.RawMessage{t.argSchema(c, "The value of "+spaced(c.arg)+t.refers(f.column))}
	if f.pages > 1 {
		names = append(names, "page")
		schemas = append(schemas, pageSchema(f.pages))
		about += fmt.Sprintf(" %d on each page.", t.page)
	}
	return mcp.Tool{
		Name:         t.findName(f),
		Title:        fmt.Sprintf("Find %s by %s", spaced(t.many), spaced(c.arg)),
		Description:  about,
		InputSchema:  input(names, schemas, 1),
		OutputSchema: t.pageOutput(),
	}
}

func differentValues(n int) string {
	if n == 1 {
		return "one value"
	}
	return fmt.Sprintf("%d different values", n)
}

// refers names the tool that takes the values of a foreign key.
func (t *tab) refers(i int) string {
	if target, ok := t.targets[i]; ok {
		return "; what " + target + " takes"
	}
	return ""
}

// inFull names the tool that returns the columns omitted from lists.
func (t *tab) inFull() string {
	if len(t.listed) < len(t.shown) {
		return fmt.Sprintf(" get_%s has all columns.", t.one)
	}
	if t.hasBinary {
		return fmt.Sprintf(" get_%s has binary data in base64.", t.one)
	}
	return ""
}

// columnList names the first columns. The output schema has all.
func (t *tab) columnList(columns []int) string {
	const most = 8
	var names []string
	for _, i := range columns[:min(most, len(columns))] {
		names = append(names, t.cols[i].name)
	}
	list := strings.Join(names, ", ")
	switch more := len(columns) - most; {
	case more == 1:
		list += " and 1 more column"
	case more > 1:
		list += fmt.Sprintf(" and %d more columns", more)
	}
	return list
}

// instructions returns the instructions for using the site.
func instructions(tables []*tab) string {
	var b strings.Builder
	for i, t := range tables {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %d rows. get_%s takes the %s; list_%s lists all",
			capital(spaced(t.many)), t.rows, t.one, spaced(strings.Join(t.keyArgs(), " and ")), t.many)
		for _, f := range t.finders {
			b.WriteString("; " + t.findName(f))
		}
		b.WriteByte('.')
		if t.opts.Description != "" {
			b.WriteString(" " + t.opts.Description)
		}
	}
	return b.String()
}
