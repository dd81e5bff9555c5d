package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestReport(t *testing.T) {
	for _, tc := range []struct{ name, checks, want string }{
		{"good", `[{"id":"a","status":"SUCCESS"},{"id":"b","status":"INFO"},{"id":"c","status":"SKIPPED"}]`, ""},
		{"failed", `[{"id":"a","status":"SUCCESS"},{"id":"b","status":"FAILURE","errorMessage":"no"}]`, "FAILURE b: no"},
		{"warning", `[{"id":"a","status":"SUCCESS"},{"id":"b","status":"WARNING","errorMessage":"hm"}]`, "WARNING b: hm"},
		{"empty", `[]`, "no check ran"},
		{"broken", `{`, "unexpected end of JSON input"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			err := report(&out, "x", fstest.MapFS{"server-a/checks.json": {Data: []byte(tc.checks)}})
			if got := ""; err != nil {
				got = err.Error()
				if tc.want == "" || !strings.Contains(got, tc.want) {
					t.Errorf("report = %q, want %q", got, tc.want)
				}
			} else if tc.want != "" {
				t.Errorf("report = nil, want %q", tc.want)
			}
		})
	}
}
