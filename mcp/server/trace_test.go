package server_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

func TestTrace(t *testing.T) {
	const (
		id     = "0af7651916cd43dd8448eb211c80319c"
		span   = "b7ad6b7169203331"
		parent = "00-" + id + "-" + span + "-01"
		other  = "00-ffffffffffffffffffffffffffffffff-b7ad6b7169203331-00"
	)
	want := mcp.Trace{TraceID: id, SpanID: span, Sampled: true, Parent: parent}
	tests := []struct {
		name, meta string
		header     []string
		want       mcp.Trace
	}{
		{"none", "", nil, mcp.Trace{}},
		{"_meta", `"traceparent":"` + parent + `"`, nil, want},
		{"_meta with state", `"traceparent":"` + parent + `","tracestate":"a=1"`, nil,
			mcp.Trace{TraceID: id, SpanID: span, Sampled: true, Parent: parent, State: "a=1"}},
		{"header", "", []string{"Traceparent", parent, "Tracestate", "b=2"},
			mcp.Trace{TraceID: id, SpanID: span, Sampled: true, Parent: parent, State: "b=2"}},
		{"_meta before header", `"traceparent":"` + parent + `"`, []string{"Traceparent", other}, want},
		{"header behind nonsense", `"traceparent":"nonsense"`, []string{"Traceparent", parent}, want},
		{"number", `"traceparent":7`, nil, mcp.Trace{}},
		{"upper case", `"traceparent":"00-` + "0AF7651916CD43DD8448EB211C80319C" + `-` + span + `-01"`, nil, mcp.Trace{}},
		{"zero trace", `"traceparent":"00-00000000000000000000000000000000-` + span + `-01"`, nil, mcp.Trace{}},
		{"zero span", `"traceparent":"00-` + id + `-0000000000000000-01"`, nil, mcp.Trace{}},
		{"version ff", `"traceparent":"ff-` + id + `-` + span + `-01"`, nil, mcp.Trace{}},
		{"longer than version 00", `"traceparent":"` + parent + `-x"`, nil, mcp.Trace{}},
		{"a later version", `"traceparent":"01-` + id + `-` + span + `-01-x"`, nil,
			mcp.Trace{TraceID: id, SpanID: span, Sampled: true, Parent: "01-" + id + "-" + span + "-01-x"}},
		{"not sampled", `"traceparent":"00-` + id + `-` + span + `-0a"`, nil,
			mcp.Trace{TraceID: id, SpanID: span, Parent: "00-" + id + "-" + span + "-0a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got mcp.Trace
			var ok bool
			g := gateFunc(func(ctx context.Context, _ server.Operation) error {
				got, ok = mcp.RequestFrom(ctx).Trace()
				return nil
			})
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + tt.meta + `}}}`
			postTo(server.New(watched{}, &server.Options{Gate: g}).HTTPHandler(nil), body, tt.header...)
			if diff := cmp.Diff(tt.want, got); diff != "" || ok != (tt.want.TraceID != "") {
				t.Errorf("Trace = %v (-want +got):\n%s", ok, diff)
			}
		})
	}
}
