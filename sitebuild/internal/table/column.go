package table

import (
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// kind is the type of a column.
type kind string

const (
	// The kinds are the types and formats of JSON Schema, except for any.
	kindInteger  kind = "integer"
	kindNumber   kind = "number"
	kindBoolean  kind = "boolean"
	kindDate     kind = "date"
	kindDateTime kind = "date-time"
	kindText     kind = "text"
	kindAny      kind = "any" // arrays, objects, or values of several kinds
)

// could is the set of kinds that all texts of a column have fit so far.
type could uint8

const (
	// Each cell clears the bits of the kinds that it is not.
	couldInteger could = 1 << iota
	couldNumber
	couldBoolean
	couldDate
	couldDateTime

	couldAll = couldInteger | couldNumber | couldBoolean | couldDate | couldDateTime
)

// maxExact is the largest integer that every JSON reader preserves.
const maxExact = 1<<53 - 1

// columnStats is the result of the first reading for a column.
type columnStats struct {
	// name is the title of the column.
	name string
	arg  string // as an argument of a tool

	// rows and nulls count cells.
	rows, nulls int
	blank       int // empty texts
	words       int // texts such as NULL that may mean a missing value
	sorts       int // a bit for each sort but null
	// could has the kinds that all cells so far permit.
	could       could
	huge        bool // an integer beyond maxExact
	bytes, most int  // of texts: the total, and the longest
	binaries    int  // cells with binary data

	// unique reports that no value is repeated, which makes the column a possible key.
	unique bool
	hashes map[uint64]struct{} // nil once it is known not to be unique
	twice  int                 // repeated values, while hashes are kept
	keep   bool                // keep hashes to report what prevents the column from being a key

	values map[string]int // the count of each value; nil once there are too many
	limit  int            // of values
	few    []string       // all values in order, if they are few
	first  []string       // the first values found

	// kind is the result of the survey; min and max are only for numbers and dates.
	kind     kind
	min, max string // of numbers and dates
	// minF and maxF are min and max of numbers, for comparison.
	minF float64
	maxF float64
}

// newColumn returns empty statistics. Values are counted as long as there are at most limit
// different ones.
func newColumn(name string, limit int) *columnStats {
	return &columnStats{
		name:   name,
		could:  couldAll,
		unique: true,
		hashes: map[uint64]struct{}{},
		values: map[string]int{},
		limit:  limit,
		minF:   math.Inf(1),
		maxF:   math.Inf(-1),
	}
}

// nullWord reports whether a text in CSV may mean a missing value.
func nullWord(s string) bool {
	switch s {
	case "NULL", "null", "Null", `\N`, "NA", "N/A", "n/a", "NaN", "nan", "-", "#N/A":
		return true
	}
	return false
}

// longValue is the length from which a value is neither a key nor a value to find rows
// by.
const longValue = 200

// add adds a cell to the statistics. again reports whether its value occurred before, as
// long as that is tracked.
func (c *columnStats) add(v cell) (again bool) {
	c.rows++
	switch v.sort {
	case null, omitted:
		c.nulls++
		return false
	case binary:
		c.binaries++
		c.sorts |= 1 << text
	default:
		c.sorts |= 1 << v.sort
	}
	if v.text == "" {
		c.blank++
	}
	c.bytes += len(v.text)
	c.most = max(c.most, len(v.text))
	switch v.sort {
	case loose:
		if nullWord(v.text) {
			c.words++
		} else {
			c.narrow(v.text)
		}
	case text:
		c.could &= couldDate | couldDateTime
		c.narrow(v.text)
	case binary:
		c.could = 0
	case integer, number:
		c.measure(v.text)
		if v.sort == integer {
			c.huge = c.huge || !exact(v.text)
		}
	}
	return c.count(v)
}

// narrow rules out the kinds that a text cannot have, and extends the ranges of the others.
func (c *columnStats) narrow(s string) {
	if c.could&couldInteger != 0 && !isInteger(s) {
		c.could &^= couldInteger
	}
	if c.could&couldNumber != 0 {
		if literal, ok := numberLiteral(s); ok {
			c.measure(literal)
			c.huge = c.huge || c.could&couldInteger != 0 && !exact(s)
		} else {
			c.could &^= couldNumber
		}
	}
	if c.could&couldBoolean != 0 && !isBoolean(s) {
		c.could &^= couldBoolean
	}
	if c.could&couldDate != 0 && !isDate(s) {
		c.could &^= couldDate
	}
	if c.could&couldDateTime != 0 && !isDateTime(s) {
		c.could &^= couldDateTime
	}
	if c.could&(couldDate|couldDateTime) != 0 {
		if c.min == "" || s < c.min {
			c.min = s
		}
		if s > c.max {
			c.max = s
		}
	}
}

// measure extends the range of numbers.
func (c *columnStats) measure(literal string) {
	if f, err := strconv.ParseFloat(literal, 64); err == nil {
		c.minF = min(c.minF, f)
		c.maxF = max(c.maxF, f)
	}
}

// maxTwice is how many repeated values are reported.
const maxTwice = 10

// count counts a value, and reports whether it occurred before. A long value ends the
// counting: the column is neither a key nor one to find rows by.
func (c *columnStats) count(v cell) (again bool) {
	if len(v.text) > longValue || v.sort == other {
		c.unique = false
		c.hashes = nil
		c.values = nil
		return false
	}
	const examples = 5
	if len(c.first) < examples &&
		!slices.Contains(c.first, v.text) &&
		!nullWord(v.text) {
		c.first = append(c.first, strings.Clone(v.text))
	}
	if c.hashes != nil {
		h := hash(uint64(v.sort), v.text)
		if _, again = c.hashes[h]; again {
			c.unique = false
			c.twice++
			if !c.keep || c.twice > maxTwice {
				c.hashes = nil
			}
		} else {
			c.hashes[h] = struct{}{}
		}
	}
	if c.values != nil {
		if _, known := c.values[v.text]; known || len(c.values) < c.limit {
			n := strings.Clone(v.text)
			if known {
				n = v.text
			}
			c.values[n]++
		} else {
			c.values = nil
		}
	}
	return again
}

// finish determines the kind.
func (c *columnStats) finish() {
	c.hashes = nil
	has := func(s sort) bool { return c.sorts&(1<<s) != 0 }
	filled := c.rows - c.nulls - c.words
	switch {
	case c.sorts&^(1<<loose) == 0 && has(loose):
		c.kind = c.textKind(filled)
	case c.sorts == 1<<text:
		c.kind = c.textKind(filled)
	case c.sorts == 1<<integer && !c.huge:
		c.kind = kindInteger
	case c.sorts == 1<<integer:
		c.kind = kindText
	case c.sorts == 1<<number, c.sorts == 1<<number|1<<integer:
		c.kind = kindNumber
	case c.sorts == 1<<boolean:
		c.kind = kindBoolean
	case c.sorts == 0:
		c.kind = kindText
	default:
		c.kind = kindAny
	}
	if c.kind == kindText || c.kind == kindAny {
		c.words = 0
	}
	c.nulls += c.words
	if c.kind == kindAny {
		c.unique = false
		c.values = nil
	}
	if c.words > 0 {
		for value := range c.values {
			if nullWord(value) {
				delete(c.values, value)
			}
		}
	}
	if c.kind != kindDate && c.kind != kindDateTime {
		c.min = ""
		c.max = ""
	}
	if (c.kind == kindInteger || c.kind == kindNumber) && c.minF <= c.maxF {
		c.min = floatLiteral(c.minF)
		c.max = floatLiteral(c.maxF)
	}
}

// floatLiteral formats a number, without an exponent if it is an integer.
func floatLiteral(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) <= maxExact {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// textKind returns the kind of a column of texts in CSV: the most specific one that all of
// them can have.
func (c *columnStats) textKind(filled int) kind {
	switch {
	case filled == 0:
		return kindText
	case c.could&couldInteger != 0 && !c.huge:
		return kindInteger
	case c.could&couldNumber != 0 && !c.huge:
		return kindNumber
	case c.could&couldBoolean != 0:
		return kindBoolean
	case c.could&couldDate != 0:
		return kindDate
	case c.could&couldDateTime != 0:
		return kindDateTime
	}
	return kindText
}

// appendBrief appends a cell as shown in lists: for binary data, its type and size.
func (c *columnStats) appendBrief(dst []byte, v cell) []byte {
	if v.sort != binary {
		return c.appendJSON(dst, v)
	}
	data, err := base64.StdEncoding.DecodeString(v.text)
	if err != nil || len(data) == 0 {
		return c.appendJSON(dst, v)
	}
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if kind == "application/octet-stream" {
		kind = "binary data"
	}
	return jsonscan.AppendQuote(dst, fmt.Sprintf("%s, %d bytes", kind, len(data)))
}

// appendJSON appends a cell as JSON, in the kind that the survey chose for its column.
func (c *columnStats) appendJSON(dst []byte, v cell) []byte {
	switch v.sort {
	case null:
		return append(dst, "null"...)
	case loose:
		return c.appendLoose(dst, v.text)
	case text, binary:
		return jsonscan.AppendQuote(dst, v.text)
	case omitted:
		return jsonscan.AppendQuote(dst, "binary data, "+v.text+" bytes, not stored")
	case integer:
		if c.kind == kindText {
			// Too large to be a number in every reader.
			return jsonscan.AppendQuote(dst, v.text)
		}
	}
	return append(dst, v.text...)
}

// appendLoose appends a text in CSV as a value of the kind of the column.
func (c *columnStats) appendLoose(dst []byte, s string) []byte {
	if c.kind == kindText {
		return jsonscan.AppendQuote(dst, s)
	}
	if nullWord(s) {
		return append(dst, "null"...)
	}
	switch c.kind {
	case kindInteger, kindNumber:
		if literal, ok := numberLiteral(s); ok {
			return append(dst, literal...)
		}
	case kindBoolean:
		return append(dst, strings.ToLower(s)...)
	}
	return jsonscan.AppendQuote(dst, s)
}

// appendArgument appends a cell as the argument of a call: equal values have one
// spelling.
func (c *columnStats) appendArgument(dst []byte, v cell) []byte {
	n := len(dst)
	dst = c.appendJSON(dst, v)
	if c.kind == kindNumber {
		if f, err := strconv.ParseFloat(string(dst[n:]), 64); err == nil {
			return append(dst[:n], floatLiteral(f)...)
		}
	}
	return dst
}

// isNull reports whether a cell has no value in this column.
func (c *columnStats) isNull(v cell) bool {
	return v.sort == null || v.sort == omitted ||
		v.sort == loose && c.kind != kindText && nullWord(v.text)
}

// isInteger reports whether s is an integer in JSON syntax: 007 is not.
func isInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] == '0' && s != "0" {
		return false
	}
	return strings.Trim(digits, "0123456789") == ""
}

// exact reports whether every reader of JSON keeps the value of an integer.
func exact(s string) bool {
	if len(s) < 16 {
		return true
	}
	i, err := strconv.ParseInt(s, 10, 64)
	return err != nil && strings.ContainsAny(s, ".eE") ||
		err == nil && i <= maxExact && i >= -maxExact
}

// numberLiteral returns a number in JSON syntax: unchanged, except for adding the zero
// that some programs omit before the decimal point.
func numberLiteral(s string) (string, bool) {
	if s == "" ||
		s[0] != '-' && s[0] != '.' && (s[0] < '0' || s[0] > '9') {
		return "", false
	}
	if rest, ok := strings.CutPrefix(s, "-."); ok {
		s = "-0." + rest
	} else if s[0] == '.' {
		s = "0" + s
	}
	end, err := jsonscan.Value([]byte(s), 0)
	if err != nil || end != len(s) {
		return "", false
	}
	return s, true
}

// isBoolean reports whether a text is true or false, in any case.
func isBoolean(s string) bool {
	return len(s) <= 5 && (strings.EqualFold(s, "true") || strings.EqualFold(s, "false"))
}

// isDate reports whether a text is a date such as 2006-01-02.
func isDate(s string) bool {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return false
	}
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isDateTime reports whether a text is a time such as 2006-01-02T15:04:05Z.
func isDateTime(s string) bool {
	if len(s) < 20 || s[4] != '-' || s[10] != 'T' {
		return false
	}
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

// hash is FNV-1a, mixed so that all bits count. A hash collision would at worst make a
// unique column look non-unique.
func hash(seed uint64, s string) uint64 {
	h := 14695981039346656037 ^ seed
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}
