package uritemplate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// group is a group of the regular expression: a variable, or a whole query.
type group struct {
	name string
	// lead, if not empty, is the prefix of a parameter, in which case the group is the whole
	// parameter; without "=" the value is empty.
	lead  string
	query []string // the parameters it may have
}

// compile builds the regular expression that matches expansions. Go's matcher takes time
// linear in the URI, whatever the template.
func (t *Template) compile() error {
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for i := 0; i < len(t.parts); i++ {
		p := t.parts[i]
		switch {
		case p.operator == nil:
			b.WriteString(regexp.QuoteMeta(p.literal))
		case p.operator.query:
			// {?a}{&b} are parameters of one query.
			names := slices.Clone(p.names)
			for i+1 < len(t.parts) && t.parts[i+1].operator != nil && t.parts[i+1].operator.symbol == '&' {
				i++
				names = append(names, t.parts[i].names...)
			}
			if err := t.endsHere(i); err != nil {
				return err
			}
			fmt.Fprintf(&b, `(?:%s([^#]*))?`, regexp.QuoteMeta(p.operator.first))
			t.groups = append(t.groups, group{query: names})
		default:
			if err := t.apart(i); err != nil {
				return err
			}
			t.compileValues(&b, p, i+1 < len(t.parts) && t.parts[i+1].operator != nil)
		}
	}
	b.WriteString(`$`)
	var err error
	t.match, err = regexp.Compile(b.String())
	return err
}

// endsHere verifies that only a fragment follows the query at part i.
func (t *Template) endsHere(i int) error {
	if i+1 == len(t.parts) {
		return nil
	}
	next := t.parts[i+1]
	if next.operator != nil && next.operator.symbol == '#' ||
		strings.HasPrefix(next.literal, "#") {
		return nil
	}
	return errors.New("a query must come last: nothing but a fragment may follow it")
}

// apart verifies that the values of part i can be separated from those before.
func (t *Template) apart(i int) error {
	p := t.parts[i]
	if p.operator.symbol == '#' && i+1 < len(t.parts) {
		return errors.New("a fragment must come last")
	}
	if i > 0 && t.parts[i-1].operator != nil && p.operator.first == "" {
		return fmt.Errorf("nothing separates the variables %q and %q, so it is ambiguous where one ends",
			last(t.parts[i-1].names), p.names[0])
	}
	if p.operator.reserved && len(p.names) > 1 {
		return fmt.Errorf("values of {%c} may contain the comma that separates them: use one variable", p.operator.symbol)
	}
	return nil
}

func last(names []string) string { return names[len(names)-1] }

// compileValues appends the pattern of an expression whose values have an order. If
// another expression follows, values match as little as possible, to leave the rest to
// it.
func (t *Template) compileValues(b *strings.Builder, p part, followed bool) {
	o := p.operator
	lead := o.first
	lazy := ""
	if followed {
		lazy = "?"
	}
	for _, name := range p.names {
		g := group{name: name}
		switch {
		case o.named:
			g.lead = lead + name
			fmt.Fprintf(b, `(%s(?:=%s%s)?)?`, regexp.QuoteMeta(g.lead), o.value, lazy)
		case lead == "":
			fmt.Fprintf(b, `(%s%s)`, t.valueAt(p), lazy)
		default:
			fmt.Fprintf(b, `(?:%s(%s%s))?`, regexp.QuoteMeta(lead), o.value, lazy)
		}
		t.groups = append(t.groups, g)
		lead = o.separator
	}
}

// valueAt returns the pattern of a value. A simple value without others may contain
// commas.
func (t *Template) valueAt(p part) string {
	if p.operator.symbol == 0 && len(p.names) == 1 {
		return loneValue
	}
	return p.operator.value
}

// Match returns the values that expand to uri, or to an equivalent URI. Variables that
// are undefined in uri are omitted; where a template cannot distinguish undefined from
// empty, such as {x}, an empty value counts as undefined. ok is false if the template
// does not match uri.
func (t *Template) Match(uri string) (values map[string]string, ok bool) {
	if len(uri) > MaxBytes {
		return nil, false
	}
	found := t.match.FindStringSubmatchIndex(uri)
	if found == nil {
		return nil, false
	}
	values = make(map[string]string, len(t.names))
	for i, g := range t.groups {
		start := found[2*i+2]
		end := found[2*i+3]
		if start < 0 || start == end && g.query == nil {
			continue
		}
		if g.query != nil {
			if !parameters(values, g.query, uri[start:end]) {
				return nil, false
			}
			continue
		}
		raw := strings.TrimPrefix(uri[start+len(g.lead):end], "=")
		if g.lead == "" {
			raw = uri[start:end]
		}
		value, ok := decode(raw)
		if !ok {
			return nil, false
		}
		values[g.name] = value
	}
	return values, true
}

// parameters parses a query. It returns false if a parameter is unknown or repeated:
// expanding the template would not produce that URI.
func parameters(values map[string]string, names []string, query string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		name, raw, _ := strings.Cut(pair, "=")
		if !slices.Contains(names, name) {
			return false
		}
		if _, twice := values[name]; twice {
			return false
		}
		value, ok := decode(raw)
		if !ok {
			return false
		}
		values[name] = value
	}
	return true
}
