package contract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/slipway-mcp/slipway/bench/fix"
)

func TestArgsAndEnvRoundTrip(t *testing.T) {
	for _, w := range fix.Workloads() {
		t.Run(w.Name, func(t *testing.T) {
			want := For(w, "127.0.0.1:9")
			for _, pair := range want.Env() {
				name, value, _ := strings.Cut(pair, "=")
				t.Setenv(name, value)
			}
			got, err := parse(want.Args())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("parse (-got +want):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {"stdio"}, {"stdio", "both"}, {"stdio", "session", "more"}} {
		t.Setenv(EnvTools, "2")
		if cfg, err := parse(args); err == nil {
			t.Errorf("parse(%q) = %+v, want an error", args, cfg)
		}
	}
	t.Setenv(EnvTools, "many")
	if _, err := parse([]string{"stdio", "session"}); err == nil {
		t.Error("NTOOLS=many is accepted")
	}
}
