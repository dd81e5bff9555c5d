package settings_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/settings"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
)

func TestMain(m *testing.M) { ruletest.Main(m, settings.Rules()) }

func smallTable() *settings.Table {
	return &settings.Table{
		Groups: []settings.Group{{Key: "access"}, {Key: "limits"}},
		Settings: []settings.Setting{
			{
				Group:   "access",
				Key:     "tokenFile",
				Flag:    "auth-token-file",
				Resolve: settings.ResolvePath,
				Probe:   func(path string) error { return errors.New(path + ": refused") },
			},
			{
				Group: "limits",
				Key:   "rate",
				Flag:  "rate-limit",
				Kind:  settings.Number,
			},
		},
	}
}

// TestFindings verifies the place and the rule of each finding.
func TestFindings(t *testing.T) {
	const sources = "sources: [docs]\n"
	for text, want := range map[string][]string{
		sources:                               nil,
		sources + "serve: {limits: {rat: 5}}": {"2:18 serve/unknown-field"},
		sources + "serve: {limits: {rate: fast}}":                 {"2:18 serve/type"},
		sources + "serve: {limits: {rate: -5}}":                   {"2:18 serve/value"},
		sources + "serve: {access: {tokenFile: '${HOME}/t'}}":     {"2:18 serve/reference", "2:18 serve/missing"},
		sources + "serve: {access: {tokenFile: t}}":               {"2:18 serve/missing"},
		"sources: ['https://u:k3Wq0cYw7m1n@a.example/mcp']\n":     {"1:11 serve/secret-literal"},
		"sources: [{name: a}]\n":                                  {"1:11 serve/sources"},
		"sources: [{source: a, name: n}, {source: b, name: n}]\n": {"1:45 serve/source-name"},
		"serve: {limits: {rate: 5}}\n":                            {"1:1 serve/nothing"},
		sources + "serve: {limits: {rate: 7}}":                    {"2:18 serve/conflict"},
	} {
		file, report := smallTable().Parse("dir/slipway.yaml", []byte(text))
		file.Probe(report)
		if v := file.Value("rate-limit"); v != nil && v.Flag() == "7" {
			file.Conflict(report, "rate-limit", "", "seven contradicts itself", false)
		}
		var got []string
		for _, f := range ruletest.Findings(report) {
			if f.Severity != check.Note {
				got = append(got, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Rule.ID))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s\n%v", text, diff, report.Findings())
		}
	}
}

// TestChanged compares settings, not their order or place.
func TestChanged(t *testing.T) {
	parse := func(text string) *settings.File {
		file, _ := smallTable().Parse("slipway.yaml", []byte("sources: [docs]\nserve: "+text))
		return file
	}
	from := parse("{limits: {rate: 5}, access: {tokenFile: t}}")
	for text, want := range map[string][]string{
		"{access: {tokenFile: ./t},\n limits: {rate: 5}}": nil,
		"{access: {tokenFile: t}}":                        {"serve.limits.rate"},
		"{access: {tokenFile: u}, limits: {rate: 6}}":     {"serve.access.tokenFile", "serve.limits.rate"},
	} {
		var names []string
		for _, s := range parse(text).Changed(from) {
			names = append(names, s.Name())
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

// TestFollowWaitsForWriters verifies that a file is read only once it has stopped
// changing, and that its removal is reported.
func TestFollowWaitsForWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slipway.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
	write("first")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	applied := make(chan string, 10)
	go settings.Follow(ctx, path, []byte("first"), &settings.FollowOptions{Every: 50 * time.Millisecond},
		func(text []byte, err error) {
			if err != nil {
				text = []byte("error")
			}
			applied <- string(text)
		})
	write("second")
	if got := <-applied; got != "second" {
		t.Errorf("applied %q", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := <-applied; got != "error" {
		t.Errorf("applied %q for a file that does not exist", got)
	}
}
