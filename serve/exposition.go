package serve

import (
	"strconv"
	"strings"
	"time"
)

// exposition is the text format of Prometheus, version 0.0.4.
type exposition struct{ text []byte }

// family begins the samples with one name.
func (t *exposition) family(name, kind, help string) {
	t.text = append(append(append(append(t.text, "# HELP "...), name...), ' '), help...)
	t.text = append(append(append(append(t.text, "\n# TYPE "...), name...), ' '), kind...)
	t.text = append(t.text, '\n')
}

// gauge adds a family of one sample without labels.
func (t *exposition) gauge(name, help string, value float64) {
	t.family(name, "gauge", help)
	t.sample(name, value)
}

// sample writes one value. labels are names and values; a label without a value is
// omitted.
func (t *exposition) sample(name string, value float64, labels ...string) {
	t.text = append(t.text, name...)
	open := byte('{')
	for i := 0; i+1 < len(labels); i += 2 {
		if labels[i+1] == "" {
			continue
		}
		t.text = append(append(append(t.text, open), labels[i]...), `="`...)
		t.text = append(append(t.text, escaped(labels[i+1])...), '"')
		open = ','
	}
	if open == ',' {
		t.text = append(t.text, '}')
	}
	t.text = strconv.AppendFloat(append(t.text, ' '), value, 'g', -1, 64)
	t.text = append(t.text, '\n')
}

// escaped returns a label's value with the escapes of the format.
func escaped(value string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(strings.ToValidUTF8(value, "?"))
}

func (t *exposition) histogram(name string, h *histogram, labels ...string) {
	var total int64
	for i := range h.buckets {
		total += h.buckets[i].Load()
		bound := "+Inf"
		if i < len(bounds) {
			bound = strconv.FormatFloat(bounds[i], 'g', -1, 64)
		}
		t.sample(name+"_bucket", float64(total), append(labels[:len(labels):len(labels)], "le", bound)...)
	}
	t.sample(name+"_sum", time.Duration(h.sum.Load()).Seconds(), labels...)
	t.sample(name+"_count", float64(total), labels...)
}
