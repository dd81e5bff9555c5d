package main

import (
	"fmt"
	"slices"
	"strings"
)

// status is one status code with its description.
type status struct {
	code    int
	phrase  string
	note    string // "" if the code is registered and in force
	source  source
	caching string // one of the constants below
	meaning string
	cause   string // its typical cause
	retry   string // whether to repeat the request, or what else to do
	server  string // advice for the sender, or ""
	related []int
	fields  []string // names from the table of header fields
	example string   // an exchange, or "" if the others show it
}

// Whether a cache may store a response without explicit freshness.
const (
	cachedByDefault = "Cacheable by default: without explicit freshness a cache may choose a lifetime of its own (RFC 9110, section 15.1)."
	cachedIfTold    = "Not cacheable by default: stored only with explicit freshness such as `Cache-Control: max-age` or `Expires`."
	neverCached     = "Must not be stored by a cache (RFC 6585)."
	interimResponse = "Never cached: it is an interim response, the final one follows."
	unknownCaching  = "No standard says; a cache that does not know the code must not reuse it without explicit freshness."
)

func statuses() []status {
	return slices.Concat(informational(), successful(), redirections(), clientErrors(), serverErrors(), unregistered())
}

// registered counts the codes in the IANA registry by class.
func registered(all []status) map[int]int {
	counts := make(map[int]int)
	for _, s := range all {
		if !s.isUnregistered() {
			counts[s.class()]++
		}
	}
	return counts
}

func (s status) class() int           { return s.code / 100 }
func (s status) name() string         { return fmt.Sprintf("%d %s", s.code, s.phrase) }
func (s status) uri() string          { return fmt.Sprintf("http://status/%d", s.code) }
func (s status) isUnregistered() bool { return strings.HasPrefix(s.note, "Not registered") }

var classNames = map[int]string{
	1: "informational",
	2: "successful",
	3: "redirection",
	4: "client error",
	5: "server error",
}

// markdown returns the answer of get_status, which is also the text of the resource.
func (s status) markdown(byCode map[int]status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", s.name())
	fmt.Fprintf(&b, "Class %dxx, %s. Defined in %s.\n\n", s.class(), classNames[s.class()], s.source)
	if s.note != "" {
		fmt.Fprintf(&b, "**%s**\n\n", s.note)
	}
	fmt.Fprintf(&b, "%s\n\n", s.meaning)
	fmt.Fprintf(&b, "- Typical cause: %s\n", s.cause)
	fmt.Fprintf(&b, "- Retry, or next step: %s\n", s.retry)
	if s.server != "" {
		fmt.Fprintf(&b, "- For the server: %s\n", s.server)
	}
	fmt.Fprintf(&b, "- Caching: %s\n", s.caching)
	if len(s.fields) > 0 {
		fmt.Fprintf(&b, "- Fields to look at: %s\n", strings.Join(s.fields, ", "))
	}
	if len(s.related) > 0 {
		var names []string
		for _, code := range s.related {
			names = append(names, byCode[code].name())
		}
		fmt.Fprintf(&b, "- Related: %s\n", strings.Join(names, "; "))
	}
	writeExample(&b, s.example)
	writeLink(&b, s.source)
	return b.String()
}

// line returns the entry for a list.
func (s status) line() string {
	mark := ""
	if s.note != "" {
		mark = " (" + inShort(s.note) + ")"
	}
	return fmt.Sprintf("- %s%s: %s", s.name(), mark, firstSentence(s.meaning))
}

func listStatuses(all []status, class int) string {
	var b strings.Builder
	if class == 0 {
		b.WriteString("# HTTP status codes\n\nAsk get_status for one code. ")
		b.WriteString("A client that does not know a code treats it as x00 of its class (RFC 9110, section 15).\n")
	} else {
		fmt.Fprintf(&b, "# HTTP status codes %dxx, %s\n\nAsk get_status for one code.\n", class, classNames[class])
	}
	for c := 1; c <= 5; c++ {
		if class != 0 && class != c {
			continue
		}
		if class == 0 {
			fmt.Fprintf(&b, "\n## %dxx, %s\n", c, classNames[c])
		}
		b.WriteString("\n")
		for _, s := range sortedByCode(all) {
			if s.class() == c {
				b.WriteString(s.line() + "\n")
			}
		}
	}
	return b.String()
}

func sortedByCode(all []status) []status {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b status) int { return a.code - b.code })
	return sorted
}
