package serve

import (
	"strconv"
	"strings"
	"time"
)

// exposition is the text format of Prometheus, version 0.0.4.
type exposition struct{ strings.Builder }

// family begins the samples with one name.
func (t *exposition) family(name, kind, help string) {
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
	t.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
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
		t.sample(name+"_bucket", float64(total), append(labels[:len(labels):len(labels)], "le", bound)...)
	}
	t.sample(name+"_sum", h.sum.Seconds(), labels...)
	t.sample(name+"_count", float64(total), labels...)
}

// bounds are the upper bounds of the histogram buckets in seconds, as in OpenTelemetry's
// conventions.
var bounds = [...]float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

// histogram counts durations. The zero value is empty.
type histogram struct {
	buckets [len(bounds) + 1]int // not cumulative; the last is for longer durations
	sum     time.Duration
}

// observe adds a duration to its bucket.
func (h *histogram) observe(d time.Duration) {
	i := 0
	for i < len(bounds) && d.Seconds() > bounds[i] {
		i++
	}
	h.buckets[i]++
	h.sum += d
}

// column is a metric with one value for each row of a table.
type column struct{ name, kind, help string }

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
