package mcpb_test

import (
	"testing"

	"github.com/slipway-mcp/slipway/mcpb"
)

func TestInRange(t *testing.T) {
	tests := []struct {
		ranges  string
		in, out []string
	}{
		{">=1.0.0", []string{"1.0.0", "v1.0.1", "2"}, []string{"0.9.9", "1.0.0-rc.1"}},
		{">1.2", []string{"1.3.0"}, []string{"1.2.9"}},
		{"<=1.2", []string{"1.2.9"}, []string{"1.3.0"}},
		{">= 16 <20", []string{"16.0.0", "19.9.9"}, []string{"20.0.0", "15.9.9"}},
		{"^1.2.3", []string{"1.2.3", "1.9.0"}, []string{"2.0.0", "1.2.2"}},
		{"^0.2.3", []string{"0.2.9"}, []string{"0.3.0"}},
		{"^0.0.3", []string{"0.0.3"}, []string{"0.0.4"}},
		{"~1.2.3", []string{"1.2.9"}, []string{"1.3.0"}},
		{"~1", []string{"1.9.9"}, []string{"2.0.0"}},
		{"1.x || 3.*", []string{"1.5.0", "3.0.0"}, []string{"2.0.0"}},
		{"1.2.3 - 2", []string{"1.2.3", "2.9.9"}, []string{"3.0.0", "1.2.2"}},
		{"", []string{"0.0.1"}, nil},
		{"*", []string{"9.9.9"}, nil},
		{"18", []string{"18.1.0"}, []string{"19.0.0"}},
		{">=3.8,<4.0", []string{"3.8.0", "3.13.0rc1"}, []string{"4.0.0", "3.7.9"}},
		{"~=3.10", []string{"3.10", "3.99"}, []string{"4.0", "3.9"}},
		{"~=3.10.2", []string{"3.10.9"}, []string{"3.11.0", "3.10.1"}},
		{"==3.12.*", []string{"3.12.7"}, []string{"3.13.0"}},
		{">=3.8,!=3.9.1", []string{"3.9.2"}, []string{"3.9.1"}},
	}
	for _, tt := range tests {
		for want, versions := range map[bool][]string{true: tt.in, false: tt.out} {
			for _, v := range versions {
				if got, err := mcpb.InRange(v, tt.ranges); err != nil || got != want {
					t.Errorf("InRange(%q, %q) = %v, %v, want %v", v, tt.ranges, got, err, want)
				}
			}
		}
	}
	for _, bad := range []string{"latest", ">=", "1.2.3.4", "=>1", ">=3.8;<4", "3.8,"} {
		if _, err := mcpb.InRange("1.0.0", bad); err == nil {
			t.Errorf("%q is taken for a range", bad)
		}
	}
}
