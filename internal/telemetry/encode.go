package telemetry

import (
	"encoding/binary"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// message is a message of Protocol Buffers being encoded. The numbers of fields in this
// file are those of OTLP 1.x (opentelemetry/proto), which do not change.
type message []byte

// The wire types of Protocol Buffers.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// tag begins a field: its number and how its value is encoded.
func (m *message) tag(field, wire uint64) {
	*m = binary.AppendUvarint(*m, field<<3|wire)
}

// varint adds an integer, an enumeration or a boolean.
func (m *message) varint(field, value uint64) {
	if value != 0 {
		m.tag(field, wireVarint)
		*m = binary.AppendUvarint(*m, value)
	}
}

// fixed32 adds a number of four bytes, unless it is zero, which is the default of a field.
func (m *message) fixed32(field uint64, value uint32) {
	if value != 0 {
		m.tag(field, wireFixed32)
		*m = binary.LittleEndian.AppendUint32(*m, value)
	}
}

// fixed64 adds a value even if it is zero, because it may be a member of a oneof.
func (m *message) fixed64(field, value uint64) {
	m.tag(field, wireFixed64)
	*m = binary.LittleEndian.AppendUint64(*m, value)
}

// double adds a floating-point number even if it is zero.
func (m *message) double(field uint64, value float64) {
	m.fixed64(field, math.Float64bits(value))
}

// time adds a time in nanoseconds of Unix time, unless it is zero.
func (m *message) time(field uint64, t time.Time) {
	if !t.IsZero() {
		m.fixed64(field, uint64(t.UnixNano()))
	}
}

// string adds a string, unless it is empty.
func (m *message) string(field uint64, value string) {
	if value != "" {
		m.text(field, value)
	}
}

// text adds a string even if it is empty.
func (m *message) text(field uint64, value string) {
	m.tag(field, wireBytes)
	*m = append(binary.AppendUvarint(*m, uint64(len(value))), value...)
}

// bytes adds a byte string, unless it is empty.
func (m *message) bytes(field uint64, value []byte) {
	if len(value) > 0 {
		m.text(field, string(value))
	}
}

// nested adds a message that fill encodes. Its length is inserted afterwards.
func (m *message) nested(field uint64, fill func(*message)) {
	m.tag(field, wireBytes)
	start := len(*m)
	fill(m)
	var prefix [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(prefix[:], uint64(len(*m)-start))
	*m = append(*m, prefix[:n]...)
	copy((*m)[start+n:], (*m)[start:])
	copy((*m)[start:], prefix[:n])
}

// attributes adds key-value pairs.
func (m *message) attributes(field uint64, all []attribute.KeyValue) {
	for _, a := range all {
		m.attribute(field, a)
	}
}

// attribute adds a KeyValue, the form that attributes have in every signal.
func (m *message) attribute(field uint64, a attribute.KeyValue) {
	m.nested(field, func(m *message) { // KeyValue
		m.string(1, string(a.Key))
		m.nested(2, func(m *message) { m.value(a.Value) })
	})
}

// value encodes an AnyValue. An empty value has no member.
func (m *message) value(v attribute.Value) {
	switch v.Type() {
	case attribute.STRING:
		m.text(1, v.AsString())
	case attribute.BOOL:
		m.tag(2, wireVarint)
		if v.AsBool() {
			*m = append(*m, 1)
		} else {
			*m = append(*m, 0)
		}
	case attribute.INT64:
		m.tag(3, wireVarint)
		*m = binary.AppendUvarint(*m, uint64(v.AsInt64()))
	case attribute.FLOAT64:
		m.double(4, v.AsFloat64())
	case attribute.BYTESLICE:
		m.text(7, string(v.AsByteSlice()))
	case attribute.MAP:
		m.nested(6, func(m *message) { m.attributes(1, v.AsMap()) })
	case attribute.SLICE:
		list(m, v.AsSlice(), func(v attribute.Value) attribute.Value { return v })
	case attribute.STRINGSLICE:
		list(m, v.AsStringSlice(), attribute.StringValue)
	case attribute.INT64SLICE:
		list(m, v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		list(m, v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.BOOLSLICE:
		list(m, v.AsBoolSlice(), attribute.BoolValue)
	}
}

// list adds an ArrayValue.
func list[T any](m *message, all []T, valueOf func(T) attribute.Value) {
	m.nested(5, func(m *message) {
		for _, v := range all {
			m.nested(1, func(m *message) { m.value(valueOf(v)) })
		}
	})
}

// export encodes an export request: the entries of one resource and one scope, which are
// all that a process here has. field is the number of the entries in their scope.
func export(res *resource.Resource, in instrumentation.Scope, entries func(m *message)) []byte {
	var m message
	m.nested(1, func(m *message) { // ResourceSpans, ResourceMetrics or ResourceLogs
		m.nested(1, func(m *message) { m.attributes(1, res.Attributes()) })
		m.nested(2, func(m *message) { // ScopeSpans, ScopeMetrics or ScopeLogs
			m.nested(1, func(m *message) { // InstrumentationScope
				m.string(1, in.Name)
				m.string(2, in.Version)
			})
			entries(m)
		})
	})
	return m
}

// encodeSpans encodes an ExportTraceServiceRequest. all is not empty.
func encodeSpans(all []sdktrace.ReadOnlySpan) []byte {
	return export(all[0].Resource(), all[0].InstrumentationScope(), func(m *message) {
		for _, s := range all {
			m.nested(2, func(m *message) { m.span(s) })
		}
	})
}

// span encodes a Span of trace.proto. The SDK has already cut its attributes, events and links
// to its limits; the numbers of dropped ones go with it.
func (m *message) span(s sdktrace.ReadOnlySpan) {
	c := s.SpanContext()
	m.identity(1, 2, c.TraceID(), c.SpanID())
	m.string(3, c.TraceState().String())
	if parent := s.Parent(); parent.SpanID().IsValid() {
		id := parent.SpanID()
		m.bytes(4, id[:])
	}
	m.string(5, s.Name())
	m.varint(6, uint64(s.SpanKind()))
	m.time(7, s.StartTime())
	m.time(8, s.EndTime())
	m.attributes(9, s.Attributes())
	m.varint(10, uint64(s.DroppedAttributes()))
	for _, e := range s.Events() {
		m.nested(11, func(m *message) {
			m.time(1, e.Time)
			m.string(2, e.Name)
			m.attributes(3, e.Attributes)
			m.varint(4, uint64(e.DroppedAttributeCount))
		})
	}
	m.varint(12, uint64(s.DroppedEvents()))
	for _, l := range s.Links() {
		m.nested(13, func(m *message) {
			m.identity(1, 2, l.SpanContext.TraceID(), l.SpanContext.SpanID())
			m.string(3, l.SpanContext.TraceState().String())
			m.attributes(4, l.Attributes)
			m.varint(5, uint64(l.DroppedAttributeCount))
			m.fixed32(6, flags(l.SpanContext))
		})
	}
	m.varint(14, uint64(s.DroppedLinks()))
	m.nested(15, func(m *message) {
		m.string(2, s.Status().Description)
		m.varint(3, statusCode(s.Status().Code))
	})
	m.fixed32(16, flags(c.WithRemote(s.Parent().IsRemote())))
}

// identity adds the ids of a span.
func (m *message) identity(traceField, spanField uint64, t trace.TraceID, s trace.SpanID) {
	if t.IsValid() {
		m.bytes(traceField, t[:])
	}
	if s.IsValid() {
		m.bytes(spanField, s[:])
	}
}

// flags returns the flags of a span: those of W3C Trace Context, and whether its parent,
// or the linked span, is in another process.
func flags(c trace.SpanContext) uint32 {
	const hasRemote, remote = 0x100, 0x200
	f := uint32(c.TraceFlags()) | hasRemote
	if c.IsRemote() {
		f |= remote
	}
	return f
}

// statusCode returns the code of OTLP, whose order differs from that of the API.
func statusCode(c codes.Code) uint64 {
	switch c {
	case codes.Ok:
		return 1
	case codes.Error:
		return 2
	}
	return 0
}

// encodeLogs encodes an ExportLogsServiceRequest. all is not empty.
func encodeLogs(all []log.Record) []byte {
	return export(all[0].Resource(), all[0].InstrumentationScope(), func(m *message) {
		for i := range all {
			m.nested(2, func(m *message) { m.record(&all[i]) })
		}
	})
}

// record encodes a LogRecord of logs.proto.
func (m *message) record(r *log.Record) {
	m.time(1, r.Timestamp())
	m.varint(2, uint64(r.Severity()))
	m.string(3, r.SeverityText())
	m.nested(5, func(m *message) { m.value(r.Body()) })
	r.WalkAttributes(func(a attribute.KeyValue) bool {
		m.attribute(6, a)
		return true
	})
	m.varint(7, uint64(r.DroppedAttributes()))
	m.fixed32(8, uint32(r.TraceFlags()))
	m.identity(9, 10, r.TraceID(), r.SpanID())
	m.time(11, r.ObservedTimestamp())
}

// encodeMetrics encodes an ExportMetricsServiceRequest of one scope.
func encodeMetrics(res *resource.Resource, in *metricdata.ScopeMetrics) []byte {
	return export(res, in.Scope, func(m *message) {
		for i := range in.Metrics {
			m.nested(2, func(m *message) { m.metric(&in.Metrics[i]) })
		}
	})
}

// metric encodes a Metric. Its data are of the kinds that [measuring] records.
func (m *message) metric(d *metricdata.Metrics) {
	m.string(1, d.Name)
	m.string(2, d.Description)
	m.string(3, d.Unit)
	switch data := d.Data.(type) {
	case metricdata.Sum[int64]:
		m.nested(7, func(m *message) {
			for i := range data.DataPoints {
				m.nested(1, func(m *message) { m.number(&data.DataPoints[i]) })
			}
			m.varint(2, cumulative)
			if data.IsMonotonic {
				m.varint(3, 1)
			}
		})
	case metricdata.Histogram[float64]:
		m.nested(9, func(m *message) {
			for i := range data.DataPoints {
				m.nested(1, func(m *message) { m.histogram(&data.DataPoints[i]) })
			}
			m.varint(2, cumulative)
		})
	}
}

// cumulative is AGGREGATION_TEMPORALITY_CUMULATIVE.
const cumulative = 2

// number encodes a NumberDataPoint of metrics.proto. Its value is a member of a oneof, so zero
// is encoded too.
func (m *message) number(p *metricdata.DataPoint[int64]) {
	m.time(2, p.StartTime)
	m.time(3, p.Time)
	m.fixed64(6, uint64(p.Value))
	m.attributes(7, p.Attributes.ToSlice())
}

// histogram encodes a HistogramDataPoint of metrics.proto. The counts and bounds of its buckets
// are packed fields: the numbers follow each other without tags.
func (m *message) histogram(p *metricdata.HistogramDataPoint[float64]) {
	m.time(2, p.StartTime)
	m.time(3, p.Time)
	m.fixed64(4, p.Count)
	m.double(5, p.Sum)
	m.nested(6, func(m *message) { // packed
		for _, n := range p.BucketCounts {
			*m = binary.LittleEndian.AppendUint64(*m, n)
		}
	})
	m.nested(7, func(m *message) { // packed
		for _, bound := range p.Bounds {
			*m = binary.LittleEndian.AppendUint64(*m, math.Float64bits(bound))
		}
	})
	for i := range p.Exemplars {
		e := &p.Exemplars[i]
		m.nested(8, func(m *message) {
			m.time(2, e.Time)
			m.double(3, e.Value)
			m.bytes(4, e.SpanID)
			m.bytes(5, e.TraceID)
			m.attributes(7, e.FilteredAttributes)
		})
	}
	m.attributes(9, p.Attributes.ToSlice())
	if low, ok := p.Min.Value(); ok {
		m.double(11, low)
	}
	if high, ok := p.Max.Value(); ok {
		m.double(12, high)
	}
}
