package inspect

import (
	"bytes"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/mcp/tap"
)

// filter is a parsed filter: all of its terms must apply to an exchange, which is a frame
// with its request or response.
type filter struct{ terms []term }

// term is one condition of a filter.
type term struct {
	// negative inverts the term.
	negative bool
	applies  func(*exchange) bool
}

// exchange is a frame, and the other half of its request and response if both are kept.
type exchange struct {
	*Frame
	// other is the request of a response, or the response of a request, if known.
	other  *Frame
	source string // name
	// now is when the filter runs, for the duration of requests without a response.
	now int64
}

// filterError is a mistake in a filter, with its range in bytes.
type filterError struct {
	text string
	// at is where in the filter the error is, to underline it.
	at [2]int
}

func (e *filterError) Error() string { return e.text }

// parseFilter parses a filter such as
//
//	method:tools/call slow:>200ms -method:ping @petstore "not found"
func parseFilter(text string) (*filter, *filterError) {
	f := &filter{}
	for _, w := range splitWords(text) {
		t, err := parseTerm(w.text)
		if err != nil {
			return nil, &filterError{err.Error(), [2]int{w.start, w.end}}
		}
		if t.applies != nil {
			f.terms = append(f.terms, t)
		}
	}
	return f, nil
}

// word is a part of a filter as typed, with its place for error messages.
type word struct {
	text string
	// start and end are the bytes of the word in the filter.
	start, end int
}

// splitWords splits at white space that is not in quotes.
func splitWords(text string) []word {
	var words []word
	start := -1
	quoted := false
	for i, r := range text + " " {
		switch {
		case r == '"':
			quoted = !quoted
			if start < 0 {
				start = i
			}
		case unicode.IsSpace(r) && (!quoted || i == len(text)):
			if start >= 0 {
				words = append(words, word{text[start:i], start, i})
			}
			start = -1
		case start < 0:
			start = i
		}
	}
	return words
}

// parseTerm parses one word: @source, key:value, or a text to search for.
func parseTerm(text string) (term, error) {
	t := term{}
	if rest, ok := strings.CutPrefix(text, "-"); ok && rest != "" {
		t.negative = true
		text = rest
	}
	if name, ok := strings.CutPrefix(text, "@"); ok {
		name = strings.Trim(name, `"`)
		t.applies = func(x *exchange) bool { return glob(name, x.source) }
		return t, nil
	}
	key, value, ok := strings.Cut(text, ":")
	if match := matcherOf(key); ok && match != nil {
		var err error
		t.applies, err = match(strings.Trim(value, `"`))
		return t, err
	}
	needle := []byte(strings.ToLower(strings.Trim(text, `"`)))
	if len(needle) > 0 {
		t.applies = func(x *exchange) bool { return x.contains(needle) }
	}
	return t, nil
}

// contains reports whether a text, in lower case, is in a frame or its other half.
func (x *exchange) contains(needle []byte) bool {
	for _, f := range []*Frame{x.Frame, x.other} {
		if f == nil {
			continue
		}
		for _, s := range []string{f.Method, f.Name, f.Step, f.Detail, f.Error, f.URL} {
			if strings.Contains(strings.ToLower(s), string(needle)) {
				return true
			}
		}
		if body, ok := f.text(); ok && containsFold(body, needle) {
			return true
		}
	}
	return false
}

// containsFold reports whether a text has a part, in lower case, in any case.
func containsFold(text, part []byte) bool {
	first := part[0]
	upper := bytes.ToUpper(part[:1])[0]
	for len(text) >= len(part) {
		i := bytes.IndexByte(text, first)
		j := bytes.IndexByte(text, upper)
		if upper != first && j >= 0 && (i < 0 || j < i) {
			i = j
		}
		if i < 0 || i+len(part) > len(text) {
			return false
		}
		if bytes.EqualFold(text[i:i+len(part)], part) {
			return true
		}
		text = text[i+1:]
	}
	return false
}

// matcher makes the test of a term from its value.
type matcher func(value string) (func(*exchange) bool, error)

// matcherOf returns the matcher of the terms with a name and a colon, or nil.
func matcherOf(name string) matcher {
	text := func(of func(*Frame) string) matcher {
		return func(pattern string) (func(*exchange) bool, error) {
			return func(x *exchange) bool { return glob(pattern, of(x.Frame)) }, nil
		}
	}
	return map[string]matcher{
		"method":  text(func(f *Frame) string { return f.Method }),
		"name":    text(func(f *Frame) string { return f.Name }),
		"kind":    text(func(f *Frame) string { return f.Kind }),
		"ch":      text(func(f *Frame) string { return f.Channel }),
		"dir":     text(func(f *Frame) string { return string(f.Direction) }),
		"id":      text(func(f *Frame) string { return strings.Trim(string(f.ID), `"`) }),
		"step":    text(func(f *Frame) string { return f.Step }),
		"cause":   text(func(f *Frame) string { return f.Cause }),
		"status":  byStatus,
		"call":    byCall,
		"is":      byProperty,
		"slow":    byDuration,
		"larger":  func(v string) (func(*exchange) bool, error) { return bySize(v, 1) },
		"smaller": func(v string) (func(*exchange) bool, error) { return bySize(v, -1) },
		"seq":     byNumber,
		"at":      byTime,
	}[name]
}

// patterns makes a pattern of path.Match, which would stop * at slashes, and has sets.
var patterns = strings.NewReplacer("/", "\x00", `[`, `\[`, `\`, `\\`, "?", `\?`)

// glob reports whether a text has a pattern, in which * is any text.
func glob(pattern, text string) bool {
	pattern = strings.ToLower(pattern)
	text = strings.ToLower(text)
	if !strings.Contains(pattern, "*") {
		return pattern == text
	}
	ok, err := path.Match(patterns.Replace(pattern), strings.ReplaceAll(text, "/", "\x00"))
	return ok && err == nil
}

// byStatus selects HTTP responses. "xx" means any digits, as in 4xx.
func byStatus(v string) (func(*exchange) bool, error) {
	return func(x *exchange) bool {
		return x.Status != 0 && glob(strings.ReplaceAll(v, "xx", "*"), strconv.Itoa(x.Status))
	}, nil
}

// byCall selects the frames of one call of the page.
func byCall(v string) (func(*exchange) bool, error) {
	n, err := strconv.Atoi(v)
	if err != nil {
		return nil, fmt.Errorf("call: needs a number, such as call:7")
	}
	return func(x *exchange) bool { return x.Call == n }, nil
}

// slow is the duration from which an exchange is slow.
const slow = time.Second

// byProperty selects exchanges by state: failed, unanswered, slow, or a notification.
func byProperty(v string) (func(*exchange) bool, error) {
	switch v {
	case "error":
		return (*exchange).failed, nil
	case "open":
		return func(x *exchange) bool { return x.Kind == mcplog.Request && x.other == nil }, nil
	case "notification":
		return func(x *exchange) bool { return x.Kind == mcplog.Notification }, nil
	case "slow":
		return func(x *exchange) bool { return x.duration() >= slow }, nil
	}
	return nil, fmt.Errorf("is: knows error, open, notification and slow")
}

// failed reports whether an exchange has ended with an error, or is one.
func (x *exchange) failed() bool {
	for _, f := range []*Frame{x.Frame, x.other} {
		if f != nil &&
			(f.Failure != nil || f.IsError || f.Error != "" || f.Status >= 400 || f.Kind == string(tap.Junk)) {
			return true
		}
	}
	return false
}

// duration returns how long an exchange took, or has taken so far.
func (x *exchange) duration() time.Duration {
	switch {
	case x.Took != 0:
		return time.Duration(x.Took)
	case x.other != nil:
		return time.Duration(x.other.Took)
	case x.Kind == mcplog.Request:
		return time.Duration(x.now - x.Nanoseconds)
	}
	return 0
}

// byDuration parses slow:>200ms, with ">" as the default.
func byDuration(v string) (func(*exchange) bool, error) {
	sign := 1
	rest, less := strings.CutPrefix(v, "<")
	if less {
		sign = -1
	}
	d, err := time.ParseDuration(strings.TrimPrefix(rest, ">"))
	if err != nil {
		return nil, fmt.Errorf("slow: needs a duration, such as slow:>200ms")
	}
	return func(x *exchange) bool {
		took := x.duration()
		return took > 0 && (took-d)*time.Duration(sign) > 0
	}, nil
}

// sizes are the units of sizes, longest first.
var sizes = []struct {
	name   string
	factor float64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"kb", 1000}, {"mb", 1e6}, {"k", 1000}, {"m", 1e6}, {"b", 1}}

// bySize parses larger:10KB and its opposite, by sign.
func bySize(v string, sign int) (func(*exchange) bool, error) {
	text := strings.ToLower(strings.TrimLeft(v, "<>"))
	factor := 1.0
	for _, s := range sizes {
		if number, ok := strings.CutSuffix(text, s.name); ok {
			text = number
			factor = s.factor
			break
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a size, such as 100 or 1MB", v)
	}
	bound := n * factor
	return func(x *exchange) bool { return (float64(x.Bytes)-bound)*float64(sign) > 0 }, nil
}

// bounds splits a range such as 100..200, of which either end may be missing.
func bounds(v string) (from, to string) {
	from, to, ok := strings.Cut(v, "..")
	if !ok {
		return v, v
	}
	return from, to
}

// byNumber selects frames by their numbers. Either end of a range may be missing.
func byNumber(v string) (func(*exchange) bool, error) {
	lower, upper := bounds(v)
	from, err := strconv.ParseUint("0"+lower, 10, 64)
	to := ^uint64(0)
	if upper != "" && err == nil {
		to, err = strconv.ParseUint(upper, 10, 64)
	}
	if err != nil {
		return nil, fmt.Errorf("seq: needs numbers, such as seq:100..200")
	}
	return func(x *exchange) bool { return from <= x.Seq && x.Seq <= to }, nil
}

// byTime selects frames by the local time of day. An end such as 12:41 includes that whole minute.
func byTime(v string) (func(*exchange) bool, error) {
	from, to := bounds(v)
	if !isClock(from) || !isClock(to) {
		return nil, fmt.Errorf("at: needs times, such as at:12:40..12:41:30")
	}
	return func(x *exchange) bool {
		clock := x.Time().Format("15:04:05.000")
		return clock >= from &&
			(to == "" || clock <= to || strings.HasPrefix(clock, to))
	}, nil
}

// isClock reports whether a text is empty or a time of day.
func isClock(text string) bool {
	for _, layout := range []string{"15:04", "15:04:05", "15:04:05.000"} {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return text == ""
}

// matches reports whether all terms apply.
func (f *filter) matches(x *exchange) bool {
	for _, t := range f.terms {
		if t.applies(x) == t.negative {
			return false
		}
	}
	return true
}

// exchanges calls see with the kept frames in order, until it returns false.
func (in *Inspector) exchanges(see func(*exchange) bool) {
	names := []string{""}
	for _, t := range in.all() {
		names = append(names, t.src.Name)
	}
	now := time.Now().UnixNano()
	next := uint64(1)
	for {
		list := in.store.slice(next, 1000)
		if len(list) == 0 {
			return
		}
		for i := range list {
			f := &list[i]
			x := &exchange{
				Frame: f,
				now:   now,
			}
			if f.Source < len(names) {
				x.source = names[f.Source]
			}
			if f.Pair != 0 {
				x.other = in.store.get(f.Pair)
			}
			if !see(x) {
				return
			}
		}
		next = list[len(list)-1].Seq + 1
	}
}

// answersOf returns the responses to the requests in a list that are not in the list
// themselves: without them, a call would have no time and no outcome.
func (in *Inspector) answersOf(list []Frame) []Frame {
	listed := make(map[uint64]bool, len(list))
	for i := range list {
		listed[list[i].Seq] = true
	}
	answers := []Frame{}
	for i := range list {
		f := &list[i]
		if f.Kind == mcplog.Request && f.Pair != 0 && !listed[f.Pair] {
			if a := in.store.get(f.Pair); a != nil {
				answers = append(answers, *a)
			}
		}
	}
	return answers
}

// serveSearch serves GET api/search.
func (in *Inspector) serveSearch(w http.ResponseWriter, r *http.Request) error {
	_, last := in.store.bounds()
	before, err := number(r, "before", last+1)
	if err != nil {
		return err
	}
	limit, err := number(r, "limit", maxHeads)
	if err != nil {
		return err
	}
	source, err := number(r, "src", 0)
	if err != nil {
		return err
	}
	limit = max(1, min(limit, maxHeads))
	f, wrong := parseFilter(r.URL.Query().Get("q"))
	if wrong != nil {
		return answer(w, map[string]any{
			"frames": []Frame{},
			"problem": map[string]any{
				"text": wrong.text,
				"at":   wrong.at,
			},
		})
	}
	found := []Frame{}
	total := 0
	kept := 0
	in.exchanges(func(x *exchange) bool {
		kept++
		if r.Context().Err() != nil {
			return false
		}
		if source != 0 && x.Source != int(source) || !f.matches(x) {
			return true
		}
		total++
		if x.Seq < before {
			found = append(found, *x.Frame)
			// Only the last ones are returned. Dropping the others in batches keeps the memory
			// small.
			if len(found) >= int(2*limit) {
				found = append(found[:0], found[limit:]...)
			}
		}
		return true
	})
	found = found[max(0, len(found)-int(limit)):]
	return answer(w, map[string]any{
		"frames":  found,
		"answers": in.answersOf(found),
		"total":   total,
		"kept":    kept,
	})
}
