package sitewriter

import (
	"slices"
	"testing"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
)

// TestHostLimits checks sites at and beyond the limits of hosts, without building them.
func TestHostLimits(t *testing.T) {
	tests := []struct {
		name  string
		host  Host
		files []file
		want  []string
	}{
		{"no host", NoHost, []file{{path: "a", size: 1 << 40}}, nil},
		{"a large site", GitHubPages, slices.Repeat([]file{{path: "a", size: 90 << 20}}, 20), []string{"site/host-size"}},
		{"most files", CloudflarePages, make([]file, 20_000), nil},
		{"one file more", CloudflarePages, make([]file, 20_001), []string{"site/host-files"}},
		{"a large file", CloudflarePages, []file{{path: "a", size: 1 << 30}}, []string{"site/file-limit"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &writer{opts: &Options{Host: tt.host}, result: &Result{}}
			w.limits(sizes(tt.files))
			var got []string
			for _, f := range ruletest.Findings(&w.result.Report) {
				got = append(got, ruleOf(f))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("limits = %q, want %q", got, tt.want)
			}
		})
	}
}

func ruleOf(f check.Finding) string { return f.Rule.ID }
