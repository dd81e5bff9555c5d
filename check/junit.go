package check

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/visible"
)

// The types below are the elements that all readers of JUnit XML know.
type (
	junitSuites struct {
		XMLName  xml.Name      `xml:"testsuites"`
		Name     string        `xml:"name,attr"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Errors   int           `xml:"errors,attr"`
		Suites   []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr,omitempty"` // in seconds
		Failure *junitFailure `xml:"failure"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes one suite per file with a case per finding. A finding that does not fail
// the check is a passed case with output. An input without findings is a passed case, too,
// since some readers reject a report without cases. A test is one case with its findings.
func (r *Report) writeJUnit(w io.Writer, opts *WriteOptions) error {
	all := junitSuites{Name: "slipway"}
	suites := make(map[string]*junitSuite)
	suite := func(name string) *junitSuite {
		name = cmp.Or(visible.Line(name), all.Name)
		if suites[name] == nil {
			suites[name] = &junitSuite{Name: name}
			all.Suites = append(all.Suites, suites[name])
		}
		return suites[name]
	}
	found := r.Findings()
	tested := func(input string) bool {
		return slices.ContainsFunc(opts.Cases, func(c Case) bool { return c.File == input })
	}
	for _, input := range opts.Inputs {
		if !tested(input) && !concerns(found, input) {
			s := suite(input)
			s.Cases = append(s.Cases, junitCase{
				Class: s.Name,
				Name:  "no findings",
			})
		}
	}
	for i := range opts.Cases {
		one := &opts.Cases[i]
		s := suite(one.File)
		c := junitCase{
			Class: s.Name,
			Name:  visible.Line(one.Name),
			Time:  fmt.Sprintf("%.6f", one.Took.Seconds()),
		}
		found = slices.DeleteFunc(found, func(f Finding) bool {
			if !one.owns(&f) {
				return false
			}
			c.add(&f, opts.Strict)
			return true
		})
		s.add(&c)
	}
	for i := range found {
		f := &found[i]
		s := suite(f.File)
		c := junitCase{
			Class: s.Name,
			Name:  f.caseName(),
		}
		c.add(f, opts.Strict)
		s.add(&c)
	}
	for _, s := range all.Suites {
		s.Tests = len(s.Cases)
		all.Tests += s.Tests
		all.Failures += s.Failures
	}
	return writeXML(w, &all)
}

func (s *junitSuite) add(c *junitCase) {
	if c.Failure != nil {
		s.Failures++
	}
	s.Cases = append(s.Cases, *c)
}

// add adds a finding. The first failure is the message, and all are in the text.
func (c *junitCase) add(f *Finding, strict bool) {
	text := visible.Line(f.String()) + hintLine(f)
	switch {
	case f.Severity != Error && (f.Severity != Warning || !strict):
		c.Output = strings.TrimPrefix(c.Output+"\n"+text, "\n")
	case c.Failure != nil:
		c.Failure.Text += "\n" + text
	default:
		c.Failure = &junitFailure{
			Type:    f.Rule.ID,
			Message: visible.Line(f.Message),
			Text:    text,
		}
	}
}

// concerns reports whether one of the findings is about an input or a file below it.
func concerns(found []Finding, input string) bool {
	for i := range found {
		rest, ok := strings.CutPrefix(found[i].File, input)
		if ok &&
			(rest == "" || strings.HasSuffix(input, "/") ||
				strings.ContainsRune(`/\!`, rune(rest[0]))) {
			return true
		}
	}
	return false
}

// caseName returns the name of the test case of a finding, unique in most suites.
func (f *Finding) caseName() string {
	name := f.Rule.ID
	switch {
	case f.Pointer != "":
		name += " at " + f.Pointer
	case f.Line > 0:
		name += fmt.Sprintf(" at %d:%d", f.Line, f.Column)
	}
	return visible.Line(name)
}

// hintLine returns the hint of a finding on a line of its own, or nothing.
func hintLine(f *Finding) string {
	if f.Hint == "" {
		return ""
	}
	return "\nhint: " + visible.Line(f.Hint)
}

// writeXML writes a document. Characters that XML cannot represent become U+FFFD.
func writeXML(w io.Writer, document any) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(document); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
