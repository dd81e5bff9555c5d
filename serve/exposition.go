package serve

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/mcp/server"
)

// exposition is the text format of Prometheus, version 0.0.4, or OpenMetrics 1.0, which
// has exemplars.
type exposition struct {
	strings.Builder
	openMetrics bool
}

// acceptsOpenMetrics reports whether a scraper prefers OpenMetrics: those that know it
// list it first.
func acceptsOpenMetrics(h http.Header) bool {
	first, _, _ := strings.Cut(h.Get("Accept"), ",")
	name, params, _ := strings.Cut(first, ";")
	return strings.TrimSpace(name) == "application/openmetrics-text" &&
		!strings.Contains(params, "version=0")
}

// contentType returns the media type of the format.
func (t *exposition) contentType() string {
	if t.openMetrics {
		return "application/openmetrics-text; version=1.0.0; charset=utf-8"
	}
	return "text/plain; version=0.0.4; charset=utf-8"
}

// end writes what follows the last family.
func (t *exposition) end() {
	if t.openMetrics {
		t.WriteString("# EOF\n")
	}
}

// family begins the samples with one name. OpenMetrics names the family of a counter
// without the suffix of its samples.
func (t *exposition) family(name, kind, help string) {
	if t.openMetrics && kind == "counter" {
		name = strings.TrimSuffix(name, "_total")
	}
	t.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// gauge adds a family of one sample without labels.
func (t *exposition) gauge(name, help string, value float64) {
	t.family(name, "gauge", help)
	t.sample(name, value)
}

// counter adds a family of one sample without labels.
func (t *exposition) counter(name, help string, value float64) {
	t.family(name, "counter", help)
	t.sample(name, value)
}

// sample writes one value. labels are names and values; a label without a value is
// omitted.
func (t *exposition) sample(name string, value float64, labels ...string) {
	t.series(name, value, labels...)
	t.WriteByte('\n')
}

// series writes one value without the end of its line.
func (t *exposition) series(name string, value float64, labels ...string) {
	var pairs []string
	for i := 0; i+1 < len(labels); i += 2 {
		if labels[i+1] != "" {
			pairs = append(pairs, labels[i]+`="`+escaped(labels[i+1])+`"`)
		}
	}
	t.WriteString(name)
	if len(pairs) > 0 {
		t.WriteString("{" + strings.Join(pairs, ",") + "}")
	}
	t.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64))
}

// escaped returns a label's value with the escapes of the format.
func escaped(value string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(strings.ToValidUTF8(value, "?"))
}

// histogram writes the samples of h. labels are as for sample.
func (t *exposition) histogram(name string, h *histogram, labels ...string) {
	total := 0
	for i, n := range h.buckets {
		total += n
		bound := "+Inf"
		if i < len(bounds) {
			bound = strconv.FormatFloat(bounds[i], 'g', -1, 64)
		}
		t.series(name+"_bucket", float64(total), append(labels[:len(labels):len(labels)], "le", bound)...)
		if t.openMetrics && h.exemplars != nil {
			h.exemplars[i].write(t)
		}
		t.WriteByte('\n')
	}
	t.sample(name+"_sum", h.sum.Seconds(), labels...)
	t.sample(name+"_count", float64(total), labels...)
}

// bounds are the upper bounds of the buckets of a histogram, in seconds.
var bounds = server.DurationBounds()

// histogram counts durations. The zero value is empty.
type histogram struct {
	buckets   [len(bounds) + 1]int // not cumulative; the last is for longer durations
	sum       time.Duration
	exemplars *[len(bounds) + 1]exemplar // the last of each bucket; nil without traces
}

// observe adds a duration to its bucket. If its span is recorded, it becomes the exemplar
// of the bucket.
func (h *histogram) observe(d time.Duration, span server.Span) {
	i := 0
	for i < len(bounds) && d.Seconds() > bounds[i] {
		i++
	}
	h.buckets[i]++
	h.sum += d
	if span != nil && span.Sampled() {
		trace := span.Trace()
		if h.exemplars == nil {
			h.exemplars = new([len(bounds) + 1]exemplar)
		}
		h.exemplars[i] = exemplar{
			trace: trace.TraceID,
			span:  trace.SpanID,
			took:  d,
			at:    time.Now(),
		}
	}
}

// exemplar is a traced request of a bucket.
type exemplar struct {
	// trace and span are IDs of W3C Trace Context.
	trace, span string
	took        time.Duration
	at          time.Time
}

// write appends the exemplar to the line of its bucket, unless there is none.
func (e *exemplar) write(t *exposition) {
	if e.trace == "" {
		return
	}
	t.WriteString(` # {trace_id="` + e.trace + `",span_id="` + e.span + `"} ` +
		strconv.FormatFloat(e.took.Seconds(), 'g', -1, 64) + " " +
		strconv.FormatFloat(float64(e.at.UnixMilli())/1000, 'f', 3, 64))
}

// column is a metric with one value for each row of a table.
type column struct {
	name, kind, help string
}

// row has the values of one label, in the order of the columns.
type row struct {
	// label is written before the values, one for each column.
	label  string
	values [4]float64
}

// table writes a family for each column, with one sample for each row.
func (t *exposition) table(label string, rows []*row, columns [4]column) {
	for i, c := range columns {
		t.family(c.name, c.kind, c.help)
		for _, r := range rows {
			t.sample(c.name, r.values[i], label, r.label)
		}
	}
}
