package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// object writes a JSON object whose members keep their order. The methods that add a
// member return the object.
type object struct{ b []byte }

// raw adds a JSON value.
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

// text adds a string unless it is empty.
func (o *object) text(name, value string) *object {
	if value == "" {
		return o
	}
	return o.raw(name, jsonscan.AppendQuote(nil, value))
}

// int adds a number.
func (o *object) int(name string, n int) *object {
	return o.raw(name, strconv.AppendInt(nil, int64(n), 10))
}

// texts adds an array of strings.
func (o *object) texts(name string, list []string) *object {
	return o.raw(name, stringArray(list))
}

// end returns the complete object, after which nothing can be added.
func (o *object) end() json.RawMessage {
	if len(o.b) == 0 {
		return json.RawMessage("{}")
	}
	return append(o.b, '}')
}

// stringArray returns strings as a JSON array.
func stringArray(list []string) []byte {
	quoted := make([][]byte, len(list))
	for i, s := range list {
		quoted[i] = jsonscan.AppendQuote(nil, s)
	}
	return rawArray(quoted)
}

// rawArray returns JSON values as a JSON array.
func rawArray(list [][]byte) []byte {
	array := append([]byte{'['}, bytes.Join(list, []byte{','})...)
	return append(array, ']')
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
		o.raw("enum", rawArray(c.literals(c.few)))
	} else {
		o.raw("examples", rawArray(c.literals(c.first)))
	}
	return o.end()
}

// literals returns values as JSON, each once.
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

// numberSchema returns the schema of an integer from 1 to most.
func numberSchema(description string, most int) *object {
	var o object
	o.text("type", "integer")
	o.text("description", description)
	o.int("minimum", 1)
	return o.int("maximum", most)
}

// pageSchema returns the schema of the argument that selects a page.
func pageSchema(pages int) json.RawMessage {
	description := fmt.Sprintf("The page, 1 to %d", pages)
	return numberSchema(description, pages).int("default", 1).end()
}

// input returns the schema of arguments; the required ones come first.
func input(names []string, schemas []json.RawMessage, required int) json.RawMessage {
	var properties object
	for i, name := range names {
		properties.raw(name, schemas[i])
	}
	o := objectSchema(&properties, names[:required])
	return o.raw("additionalProperties", []byte("false")).end()
}

// objectSchema returns the schema of an object with these properties. required may be empty.
func objectSchema(properties *object, required []string) *object {
	var o object
	o.text("type", "object")
	o.raw("properties", properties.end())
	if len(required) > 0 {
		o.texts("required", required)
	}
	return &o
}

// rowSchema returns the schema of a row with these columns.
func (t *tab) rowSchema(columns []int) json.RawMessage {
	var properties object
	names := make([]string, 0, len(columns))
	for _, i := range columns {
		properties.raw(t.cols[i].name, t.cols[i].schema())
		names = append(names, t.cols[i].name)
	}
	return objectSchema(&properties, names).end()
}

// pageOutput returns the schema of a page of rows.
func (t *tab) pageOutput() json.RawMessage {
	var rows, properties object
	rows.text("type", "array")
	rows.raw("items", t.rowSchema(t.listed))
	properties.raw("rows", rows.end())
	numbers := []string{"page", "pages", "total"}
	for _, name := range numbers {
		properties.raw(name, []byte(`{"type":"integer"}`))
	}
	return objectSchema(&properties, append([]string{"rows"}, numbers...)).end()
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

// getTool returns the tool that reads a row by its key.
func (t *tab) getTool() mcp.Tool {
	names := t.keyArgs()
	var schemas []json.RawMessage
	if len(t.key) == 0 {
		schemas = append(schemas, numberSchema("The number of the row, from 1", t.rows).end())
	}
	for _, i := range t.key {
		c := t.cols[i]
		description := fmt.Sprintf("The %s of the %s", spaced(c.arg),
			spaced(t.one)) + t.refers(i)
		schemas = append(schemas, t.argSchema(c, description))
	}
	by := spaced(strings.Join(names, " and "))
	if len(t.key) == 0 {
		by = "number"
	}
	about := fmt.Sprintf("Get one %s by its %s: %s.", spaced(t.one), by,
		t.columnList(t.shown))
	if t.opts.Description != "" {
		about += " " + t.opts.Description
	}
	return mcp.Tool{
		Name:         t.getName(),
		Title:        "Get " + spaced(t.one),
		Description:  about,
		InputSchema:  input(names, schemas, len(names)),
		OutputSchema: t.rowSchema(t.shown),
	}
}

// lookupTool returns the tool that reads a row by another column that identifies it.
func (t *tab) lookupTool(i int) mcp.Tool {
	c := t.cols[i]
	schema := t.argSchema(c, "The "+spaced(c.arg)+" of the "+spaced(t.one))
	return mcp.Tool{
		Name:  t.lookupName(i),
		Title: fmt.Sprintf("Get %s by %s", spaced(t.one), spaced(c.arg)),
		Description: fmt.Sprintf("Get one %s by its %s%s.", spaced(t.one), spaced(c.arg),
			t.names.If(t.getName(), ", with the same columns as %s")),
		InputSchema:  input([]string{c.arg}, []json.RawMessage{schema}, 1),
		OutputSchema: t.rowSchema(t.shown),
	}
}

// getName returns the name of the tool that reads a row.
func (t *tab) getName() string { return "get_" + t.one }

// listName returns the name of the tool that lists all rows.
func (t *tab) listName() string { return "list_" + t.many }

// lookupName returns the name of the tool for a column.
func (t *tab) lookupName(i int) string {
	return "get_" + t.one + "_by_" + t.cols[i].arg
}

// findName returns the name of the tool of a finder.
func (t *tab) findName(f *finder) string {
	return "find_" + t.many + "_by_" + t.cols[f.column].arg
}

// listTool returns the tool that lists all rows.
func (t *tab) listTool() mcp.Tool {
	about := fmt.Sprintf("List all %d %s: %s.", t.rows, spaced(t.many),
		t.columnList(t.listed))
	about += t.inFull()
	var names []string
	var schemas []json.RawMessage
	if t.pages > 1 {
		names = []string{"page"}
		schemas = []json.RawMessage{pageSchema(t.pages)}
		about += fmt.Sprintf(" %d on each of %d pages.", t.page, t.pages)
	}
	return mcp.Tool{
		Name:         t.listName(),
		Title:        "List " + spaced(t.many),
		Description:  about,
		InputSchema:  input(names, schemas, 0),
		OutputSchema: t.pageOutput(),
	}
}

// findTool returns the tool that lists the rows with a value in the column of a finder.
func (t *tab) findTool(f *finder) mcp.Tool {
	c := t.cols[f.column]
	names := []string{c.arg}
	values := differentValues(len(f.values))
	about := fmt.Sprintf("Find %s by %s, a column with %s.", spaced(t.many),
		spaced(c.arg), values)
	about += t.inFull()
	schema := t.argSchema(c, "The value of "+spaced(c.arg)+t.refers(f.column))
	schemas := []json.RawMessage{schema}
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

// differentValues returns a number of values in words.
func differentValues(n int) string {
	if n == 1 {
		return "one value"
	}
	return fmt.Sprintf("%d different values", n)
}

// refers names the tool that takes the values of a foreign key.
func (t *tab) refers(i int) string {
	if target := t.targets[i]; target != "" {
		return "; what " + target + " takes"
	}
	return ""
}

// inFull names the tool that returns the columns omitted from lists.
func (t *tab) inFull() string {
	if len(t.listed) < len(t.shown) {
		return t.names.If(t.getName(), " %s has all columns.")
	}
	if t.hasBinary {
		return t.names.If(t.getName(), " %s has binary data in base64.")
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
		key := spaced(strings.Join(t.keyArgs(), " and "))
		fmt.Fprintf(&b, "%s: %d rows.", capital(spaced(t.many)), t.rows)
		how := []string{t.names.If(t.getName(), "%s takes the "+key), t.names.If(t.listName(), "%s lists all")}
		for _, f := range t.finders {
			how = append(how, t.names.Of(t.findName(f)))
		}
		how = slices.DeleteFunc(how, func(text string) bool { return text == "" })
		if len(how) > 0 {
			b.WriteString(" " + strings.Join(how, "; ") + ".")
		}
		if t.opts.Description != "" {
			b.WriteString(" " + t.opts.Description)
		}
	}
	return b.String()
}
