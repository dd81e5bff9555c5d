package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// field is one header (or trailer) field.
type field struct {
	name       string
	sentIn     direction
	source     source
	note       string // "" if it is registered and in force
	structured string // its type if it is a structured field (RFC 9651)
	meaning    string
	example    string // one or more field lines
	advice     string
	related    []string
}

type direction string

const (
	inRequest  direction = "requests"
	inResponse direction = "responses"
	inBoth     direction = "requests and responses"
)

// unlisted is the note for fields from W3C or WICG specifications that are not in the
// registry.
const unlisted = "Not in the IANA registry when this was written."

// topic is a group of related fields.
type topic struct {
	name   string
	title  string
	fields []field
}

func topics() []topic {
	return []topic{
		{"content", "the content of a message", contentFields()},
		{"negotiation", "negotiation of formats, languages and preferences", negotiationFields()},
		{"caching", "caching", cachingFields()},
		{"conditions", "validators and conditions", conditionFields()},
		{"ranges", "ranges", rangeFields()},
		{"authentication", "authentication and signatures", authenticationFields()},
		{"connection", "connection, framing and priority", connectionFields()},
		{"routing", "routing and proxies", routingFields()},
		{"cors", "cross-origin requests", corsFields()},
		{"security", "security policies of browsers", securityFields()},
		{"cookies", "cookies", cookieFields()},
		{"context", "context, control and life cycle", contextFields()},
		{"websocket", "the WebSocket handshake", websocketFields()},
		{"webdav", "WebDAV", webdavFields()},
	}
}

func allFields(topics []topic) []field {
	var all []field
	for _, t := range topics {
		all = append(all, t.fields...)
	}
	slices.SortFunc(all, func(a, b field) int {
		return cmp.Compare(strings.ToLower(a.name), strings.ToLower(b.name))
	})
	return all
}

func (f field) uri() string { return "http://header/" + strings.ToLower(f.name) }

// markdown returns the answer of find_header, which is also the text of the resource.
func (f field) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", f.name)
	fmt.Fprintf(&b, "Sent in %s. Defined in %s.", f.sentIn, f.source)
	if f.structured != "" {
		fmt.Fprintf(&b, " Structured field of type %s (RFC 9651).", f.structured)
	}
	b.WriteString("\n\n")
	if f.note != "" {
		fmt.Fprintf(&b, "**%s**\n\n", f.note)
	}
	fmt.Fprintf(&b, "%s\n", f.meaning)
	if f.advice != "" {
		fmt.Fprintf(&b, "\n%s\n", f.advice)
	}
	writeExample(&b, f.example)
	if len(f.related) > 0 {
		fmt.Fprintf(&b, "\nRelated: %s\n", strings.Join(f.related, ", "))
	}
	writeLink(&b, f.source)
	return b.String()
}

func (f field) line() string {
	mark := string(f.sentIn)
	if f.note != "" {
		mark += "; " + inShort(f.note)
	}
	return fmt.Sprintf("- %s (%s): %s", f.name, mark, firstSentence(f.meaning))
}

// listHeaders lists one topic, or all of them if name is empty.
func listHeaders(topics []topic, name string) string {
	var b strings.Builder
	if name == "" {
		b.WriteString("# HTTP header fields\n\nAsk find_header for one field; names are case-insensitive.\n")
	}
	for _, t := range topics {
		switch name {
		case "":
			fmt.Fprintf(&b, "\n## %s: %s\n\n", t.name, t.title)
		case t.name:
			fmt.Fprintf(&b, "# HTTP header fields: %s\n\nAsk find_header for one field; names are case-insensitive.\n\n",
				t.title)
		default:
			continue
		}
		for _, f := range t.fields {
			b.WriteString(f.line() + "\n")
		}
	}
	return b.String()
}
