package mcpb

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/slipway-mcp/slipway/internal/tree"
)

// manifest checks the document as a manifest and decodes it. It returns nil if the
// document is not an object.
func (d *document) manifest() *Manifest {
	if d.root == nil {
		return nil
	}
	if d.root.Kind != tree.Object {
		d.At(d.root.Start).Add(ruleType, "", "",
			"the manifest must be an object and is %s", d.root.Kind)
		return nil
	}
	version, known := d.version()
	s := manifestSchema(version)
	j := validator{
		document:   d,
		version:    version,
		anyVersion: !known,
		typeRule:   ruleType,
	}
	j.value(d.root, s, "")
	m := &Manifest{
		source:  d.text,
		Unknown: d.unknown(d.root, s),
	}
	d.decode(d.root, s, reflect.ValueOf(m).Elem())
	m.SpecVersion = version
	if m.Compatibility != nil {
		m.Compatibility.Clients = clientsOf(d.root.Get("compatibility"))
	}
	return m
}

// version chooses the version as the reference does: manifest_version if it is known,
// otherwise dxt_version. If neither is, version reports that and returns the newest, so
// that the rest can still be checked.
func (d *document) version() (version string, known bool) {
	versions := Versions()
	pointer := "/manifest_version"
	message := `"manifest_version" is missing`
	for i, name := range []string{"manifest_version", "dxt_version"} {
		n := d.root.Get(name)
		if slices.Contains(versions, textOf(n)) {
			if i == 1 && d.root.Member("manifest_version") == nil {
				d.Add(ruleDXT, "/dxt_version", "slipway bundle validate --fix renames it",
					`"dxt_version" is the old name of "manifest_version"`)
			}
			return n.Text, true
		}
		if n != nil && (i == 0 || d.root.Member("manifest_version") == nil) {
			pointer = "/" + name
			message = "unknown manifest version " + string(d.text[n.Start:n.End])
		}
	}
	d.Add(ruleVersion, pointer, "the versions are the strings "+oneOf(versions),
		"%s", message)
	return versions[len(versions)-1], false
}

// decode copies values of the right type to v; the others are already reported. Lists and
// maps of strings are nil only if the value is missing or of another type.
func (d *document) decode(n *tree.Node, s *valueSchema, v reflect.Value) {
	if s.scalar {
		if value := scalarOf(n); value != nil {
			v.Set(reflect.ValueOf(value))
		}
		return
	}
	// A value of the wrong type leaves the zero value, so that the rest can still be checked.
	if !n.Is(s.kind) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(n, s, v.Elem())
	case reflect.String:
		v.SetString(n.Text)
	case reflect.Bool:
		v.SetBool(n.True())
	case reflect.Float64:
		v.SetFloat(numberOf(n))
	case reflect.Slice:
		d.decodeSlice(n, s, v)
	case reflect.Map:
		d.decodeMap(n, s, v)
	case reflect.Struct:
		for _, f := range s.fields {
			below := n.Get(f.name)
			if below != nil && f.index >= 0 {
				d.decode(below, f.schema, v.Field(f.index))
			}
		}
	}
}

// decodeSlice decodes a list, or an object of options, whose names become their keys. An
// item of another type becomes a zero value, to keep the positions of the others.
func (d *document) decodeSlice(n *tree.Node, s *valueSchema, v reflect.Value) {
	items := n.Items
	t := v.Type()
	members := membersOf(n)
	for _, m := range members { // an object of options
		items = append(items, m.Value)
	}
	if len(items) == 0 && t.Elem().Kind() != reflect.String {
		return
	}
	v.Set(reflect.MakeSlice(t, len(items), len(items)))
	for i, item := range items {
		d.decode(item, s.elem, v.Index(i))
	}
	for i, m := range members {
		v.Index(i).FieldByName("Key").SetString(m.Key)
	}
}

// decodeMap decodes an object with any names. A map of strings has only the members that
// are strings.
func (d *document) decodeMap(n *tree.Node, s *valueSchema, v reflect.Value) {
	if v.Type() == reflect.TypeFor[map[string]json.RawMessage]() {
		v.Set(reflect.ValueOf(d.unknown(n, &valueSchema{})))
		return
	}
	texts := v.Type().Elem().Kind() == reflect.String
	for _, m := range membersOf(n) {
		if texts && !m.Value.Is(tree.String) {
			continue
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		d.decode(m.Value, s.elem, elem)
		v.SetMapIndex(reflect.ValueOf(m.Key), elem)
	}
	if texts && v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
}

// clientsOf returns the version ranges of clients: the strings in compatibility.
func clientsOf(n *tree.Node) (clients map[string]string) {
	for _, m := range membersOf(n) {
		if !m.Value.Is(tree.String) || m.Key == "platforms" || m.Key == "runtimes" {
			continue
		}
		if clients == nil {
			clients = map[string]string{}
		}
		clients[m.Key] = m.Value.Text
	}
	return clients
}

// unknown returns the members that s has no field for, as written.
func (d *document) unknown(n *tree.Node, s *valueSchema) (found map[string]json.RawMessage) {
	for _, m := range membersOf(n) {
		if s.field(m.Key) != nil {
			continue
		}
		if found == nil {
			found = map[string]json.RawMessage{}
		}
		found[m.Key] = json.RawMessage(d.text[m.Value.Start:m.Value.End:m.Value.End])
	}
	return found
}

// numberOf returns the value of a number. One that is too large is infinite, as in
// JSON.parse.
func numberOf(n *tree.Node) float64 {
	f, _ := strconv.ParseFloat(n.Text, 64)
	return f
}

// scalarOf returns the value of a string, a number, a boolean or a list of strings, or nil.
func scalarOf(n *tree.Node) any {
	switch n.Kind {
	case tree.String:
		return n.Text
	case tree.Number:
		return numberOf(n)
	case tree.Bool:
		return n.True()
	case tree.Array:
		list := make([]string, len(n.Items))
		for i, item := range n.Items {
			list[i] = textOf(item)
		}
		return list
	}
	return nil
}
