// Package fuzzbound limits the time and memory of parsers under test. A fuzz test calls
// [Fuzz] instead of the method of [testing.F]:
//
//	func FuzzParse(f *testing.F) {
//		f.Add("a: b")
//		fuzzbound.Fuzz(f, func(t *testing.T, text string) { parse(text) })
//	}
//
// Each input may cost a constant plus a factor per byte. Small inputs cannot reveal
// quadratic costs, so a short text is also repeated to 4 KiB and 24 KiB, and the costs
// are compared. [Linear] does the same for [Fragments] inside a longer document.
//
// Time is the CPU time of the process, which is independent of other programs. Memory is
// the total allocated by the process, freed or not. A test that uses this package must
// not run in parallel with others of its package.
package fuzzbound

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/race"
)

// The limits are a constant and a factor per byte of input. They are far above the needs
// of a linear parser, since instrumented builds are slow: they detect disproportionate
// cost, not slow parsers.
const (
	baseTime  = 2 * time.Second
	byteTime  = 50 * time.Microsecond
	baseBytes = 64 << 20
	byteBytes = 20_000
)

// cost is the cost of a run.
type cost struct {
	time  time.Duration
	bytes uint64
}

// measure runs do and returns its cost.
func measure(do func()) cost {
	memory := allocated()
	start := cpuTime()
	do()
	return cost{cpuTime() - start, allocated() - memory}
}

// measured returns a function that measures parse.
func measured(parse func(text string)) func(text string) cost {
	return func(text string) cost { return measure(func() { parse(text) }) }
}

// least parses a text three times and returns the minimum time and the maximum memory,
// since the clock includes concurrent garbage collection.
func least(text string, parse func(text string) cost) cost {
	c := parse(text)
	for range 2 {
		again := parse(text)
		c = cost{min(c.time, again.time), max(c.bytes, again.bytes)}
	}
	return c
}

// allocated returns how many bytes the process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Check runs do, which reads an input of size bytes, and fails the test if it uses more
// CPU time or memory than the input justifies.
func Check(t testing.TB, size int, do func()) {
	t.Helper()
	within(t, size, do)
}

// within calls do, up to three times if it takes too long, and uses the minimum time as [least]
// does: on a busy machine, the same instructions take more CPU time.
func within(t testing.TB, size int, do func()) {
	t.Helper()
	most := baseTime + time.Duration(size)*byteTime
	c := measure(do)
	for range 2 {
		if c.time > most {
			again := measure(do)
			c = cost{min(c.time, again.time), max(c.bytes, again.bytes)}
		}
	}
	if c.time > most {
		t.Errorf("%d bytes took %v of CPU time, want at most %v", size, c.time, most)
	}
	if most := baseBytes + uint64(size)*byteBytes; c.bytes > most {
		t.Errorf("%d bytes allocated %d bytes, want at most %d", size, c.bytes, most)
	}
}

const (
	small, growth = 4 << 10, 6
	raceSize      = small / 4 // length of a repeated text in builds with the race detector
	// A linear cost grows by 6, a quadratic one by 36.
	mostTime, mostBytes = 15, 11
	suspectTime         = 9
	// Costs below these are noise.
	leastTime  = 15 * time.Millisecond
	leastBytes = 8 << 20
	attempts   = 3
	mostGrowth = growth * growth
	// A small input that costs this much is a failure in itself.
	tooLong = time.Second
	// How long an input is measured while fuzzing, of the ten seconds after which the toolchain ends the process.
	mostWait = 4 * time.Second
)

// Linear fails if the cost of parse grows faster than its input, for inputs that repeat
// one of [Fragments], and for pairs of fragments that are each repeated. wrap embeds the
// repeated text in a document, such as a JSON string, or is nil. Builds with the race
// detector only limit the cost of each input.
func Linear(t *testing.T, wrap func(repeated string) string, parse func(text string)) {
	t.Helper()
	collectRarely(t)
	if wrap == nil {
		wrap = func(repeated string) string { return repeated }
	}
	for _, unit := range units() {
		if race.Enabled {
			text := wrap(unit.text(raceSize))
			Check(t, len(text), func() { parse(text) })
			continue
		}
		text := func(n int) string { return wrap(unit.text(n)) }
		if report := superlinear(text, measured(parse)); report != "" {
			t.Errorf("%s: %s", unit.name, report)
		}
	}
}

// LinearFrom fails if the cost of parse grows faster than its input between size and
// six times as many bytes of a repeated fragment. It finds squares with a small factor,
// such as a fast search from the beginning of the text for each line. A nil wrap leaves
// the text as it is.
func LinearFrom(
	t *testing.T,
	size int,
	fragment string,
	wrap func(repeated string) string,
	parse func(text string),
) {
	t.Helper()
	if wrap == nil {
		wrap = func(repeated string) string { return repeated }
	}
	collectRarely(t)
	before := wrap(repeat(fragment, size))
	if race.Enabled {
		Check(t, len(before), func() { parse(before) })
		return
	}
	if report, _ := compare(before, wrap(repeat(fragment, size*growth)), measured(parse)); report != "" {
		t.Errorf("%q repeated: %s", fragment, report)
	}
}

// collectRarely lets the heap grow more between collections of garbage until the test
// ends: they are half of the cost of a parser that allocates, and noise.
func collectRarely(t testing.TB) {
	const percent = 400
	before := debug.SetGCPercent(percent)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

// unit generates texts of about n bytes.
type unit struct {
	name string
	text func(n int) string
}

// units returns each fragment repeated, and the pairs.
func units() []unit {
	var list []unit
	for _, fragment := range Fragments() {
		list = append(list, unit{fmt.Sprintf("%q repeated", fragment), func(n int) string {
			return repeat(fragment, n)
		}})
	}
	return append(list, pairs()...)
}

// pairs returns texts that repeat one fragment, then another.
func pairs() []unit {
	var list []unit
	for _, pair := range [][2]string{
		{"> ", "<A"}, {"> ", "a\n"}, {"- ", "x\n"}, {"[", "]"}, {"(", ")"}, {"{", "}"}, {"[", "]("}, {"<a>", "</a>"},
		{"{\"a\":", "1"},
		{"`", "a`"}, {"*a ", "a* "}, {"\t", "a\n"}, {" ", "a\n"}, {"| ", "|-"}, {"a: &a [", "*a"}, {"[[", "]]\n"},
	} {
		list = append(list, unit{fmt.Sprintf("%q repeated, then %q", pair[0], pair[1]), func(n int) string {
			return repeat(pair[0], n/2) + repeat(pair[1], n/2)
		}})
	}
	return list
}

// repeat returns about n bytes of a fragment. The number of repetitions is a multiple of
// 12, so that texts of all sizes are equally balanced: a parser might reject an odd
// number of quotes at once but parse an even number.
func repeat(fragment string, n int) string {
	const whole = 12
	return strings.Repeat(fragment, max(1, n/len(fragment)/whole)*whole)
}

// superlinear returns how the cost of parsing a longer text grows too fast, or "". text
// returns a text of about n bytes. parse measures itself.
//
// If the growth of the time is suspicious, texts that are longer by the same factor are
// measured as well, and their result decides: at that size, a slow search is not masked
// by the rest of the parser, and the cost of garbage collection, or of a different path
// for large inputs, does not look quadratic. If the longer text costs less because the
// parser rejects it, the first result stands.
func superlinear(text func(n int) string, parse func(text string) cost) string {
	const medium = small * growth
	began := time.Now()
	report, suspicious := compare(text(small), text(medium), parse)
	if !suspicious {
		return report
	}
	var before cost
	for range 2 * attempts {
		if fuzzing() && time.Since(began) > mostWait {
			return "" // not measured: the machine is busy
		}
		before = least(text(medium), parse) // each time: a machine may be slow for a while
		long := text(medium * growth)
		runtime.GC() // otherwise the time is that of getting memory from the system, which grows faster than the text
		after := parse(long)
		grown := after.time / max(before.time, 1)
		if grown < mostTime && (report == "" || grown >= growth/2) {
			return ""
		}
		if after.time > tooLong || grown < growth/2 {
			break // garbage collection never takes this long
		}
	}
	if report == "" {
		report = fmt.Sprintf("%d bytes take %v of CPU time, and %d bytes out of proportion",
			medium, before.time, medium*growth)
	}
	return report
}

// compare returns how the cost of after is disproportionate to that of before, or "", and
// whether longer texts should decide. One run of after shows that most costs are low or
// in proportion, as noise only adds to it; the others are measured repeatedly.
func compare(before, after string, parse func(text string) cost) (report string, suspicious bool) {
	g := growths{
		before: len(before),
		after:  len(after),
	}
	a := parse(before)
	switch {
	case a.time > tooLong:
		return fmt.Sprintf("%d bytes take %v of CPU time", len(before), a.time), false
	case a.time < leastTime/mostGrowth && a.bytes < leastBytes/mostGrowth:
		return "", false // even quadratic growth would stay below the noise
	}
	b := parse(after)
	if b.time <= leastTime/2 && b.bytes <= leastBytes {
		return "", false
	}
	if report, suspicious = g.judge(least(before, parse), b); report == "" && !suspicious {
		return "", false
	}
	for range attempts {
		if report, suspicious = g.judge(least(before, parse), least(after, parse)); report == "" {
			return "", suspicious
		}
	}
	return report, suspicious
}

// growths compares costs of texts of these lengths.
type growths struct {
	before, after int
}

// judge returns how cost b is disproportionate to cost a, or "", and whether longer texts
// should decide.
func (g growths) judge(a, b cost) (report string, suspicious bool) {
	ratio := float64(g.after) / float64(g.before) / growth // wrappers count little
	longer := b.time < tooLong/10                          // quadratic growth would take a while
	grown := float64(b.time) / float64(max(a.time, 500*time.Microsecond)) / ratio
	switch {
	case b.bytes > leastBytes && float64(b.bytes) > mostBytes*ratio*float64(a.bytes):
		return fmt.Sprintf("%d bytes allocate %d, and %d allocate %d", g.before, a.bytes, g.after, b.bytes), false
	case b.time > leastTime && grown > mostTime:
		return fmt.Sprintf("%d bytes take %v of CPU time, and %d take %v", g.before, a.time, g.after, b.time), longer
	}
	return "", longer && !fuzzing() && b.time > leastTime/2 && grown > suspectTime
}

// Fragments returns texts that occur in the formats of this module and that are expensive
// for some parsers when repeated: unclosed brackets, ambiguous markers, and invalid
// UTF-8.
func Fragments() []string {
	return []string{
		// Any format.
		"a", " ", "\t", "\n", "\r\n", "\x00", "\x80", "\xff", "é", "\u2028", "\\", "\\u", "\\ud800", "0", "1e9", "-", "--",
		"/", "//", ".", ":", ",", ";", "=", "?", "%", "%25", "#", "$", "@", "!", "*", "**", "_", "~", "^", "+", "|",
		"a ", "a\n", "a,", "a\n\n", "a: ", "a=1\n", "=\n", "-\n",
		// Quotes and brackets.
		"\"", "'", "`", "```\n", "'''", "\"\"\"", "\"\",", "(", ")", "[", "]", "{", "}", "<", ">", "()", "[]", "{}", "<>",
		"[{", "{\"a\":", "[\"a\",",
		// JSON, YAML, TOML, JavaScript.
		"\"a\":1,", "{\"a\":1}\n", "- ", "- - ", "- a\n", "? ", "&a ", "*a ", "<<: *a\n", "!!a ", "a:\n  ", "[a]\n",
		"[[a]]\n", "a.", "a.b=1\n", "\"\\", "${", "`${", "/*", "*/", "(/[", "+[", "...", "=>", "const a=", "a(",
		"import a from './a'\n",
		// Markdown, HTML, MDX.
		"> ", ">", "# ", "#\n", "    a\n", "1. ", "* a\n", "[a](", "[a]: ", "](<", "[a][", "![", "](", "[^", "[a]: b\n",
		"*a_ ", "*a **", "<A", "<a ", "<a href=\"", "</a>", "<!--", "-->", "<!-- -->", "<?", "<![CDATA[", "<!A",
		"<script>", "<script></script>", "<style>", "&", "&amp;", "&#", "~~~\n", ":::", "::: a\n", "|a", "|-|\n", "{{<",
		"# a\nb\n\n", "[a](b)\n",
		"{{% a %}}", "{#a}", "{/*", "---\n", "+++\n", "{a", "http://a", "$$",
		// Patterns, globs, templates, headers, event streams.
		"**/", "?*", "[a-", "(?:", "a*", "a|", "{a}", "{+a*}", "{a,b}", "data: ", "data: a\n", "id:\n", "event: a\n\n",
		"a;b=\"c\", ", "mcp/", "../", "_", "-h", "%2F",
	}
}
