package sitewriter_test

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/sitewriter"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcp"
)

func TestMain(m *testing.M) { ruletest.Main(m, sitewriter.Rules()) }

// TestDefinitionRules writes a site with one mistake for each rule about definitions, and
// expects exactly that rule.
func TestDefinitionRules(t *testing.T) {
	greeting := func() *sitewriter.Completion {
		return &sitewriter.Completion{Prompt: "greet", Argument: "who", Values: []string{"Ada"}}
	}
	tests := []struct {
		rule   string
		change func(*sitewriter.Site)
	}{
		{"site/tool-name", func(s *sitewriter.Site) { s.Tools = append(s.Tools, mcp.Tool{Name: "a/../b"}) }},
		{"site/prompt-name", func(s *sitewriter.Site) { s.Prompts = append(s.Prompts, mcp.Prompt{Name: ".."}) }},
		{"site/duplicate-tool", func(s *sitewriter.Site) { s.Tools = append(s.Tools, city) }},
		{"site/case", func(s *sitewriter.Site) {
			upper := city
			upper.Name = "CITY"
			s.Tools = append(s.Tools, upper)
		}},
		{"site/duplicate-uri", func(s *sitewriter.Site) {
			r := &mcp.Resource{URI: "doc://a", Name: "a"}
			s.Resources = func(yield func(*mcp.Resource, error) bool) {
				for range 2 {
					if !yield(r, nil) {
						return
					}
				}
			}
			s.Answers = answers(sitewriter.TextResource("doc://a", "text/plain", "a"))
		}},
		{"site/unknown-prompt", func(s *sitewriter.Site) {
			s.Answers = answers(&sitewriter.Answer{Prompt: "part", Result: []byte(`{"messages":[]}`)})
		}},
		{"site/completion", func(s *sitewriter.Site) {
			s.Answers = answers(&sitewriter.Answer{Completion: greeting()}, &sitewriter.Answer{Completion: greeting()})
		}},
		{"site/large-answer", func(s *sitewriter.Site) {
			s.Answers = answers(sitewriter.Text("city", map[string]string{"name": "Rome"}, strings.Repeat("a", 2<<20)))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			s := site()
			tt.change(s)
			result, err := sitewriter.Write(t.Context(), s, sitewriter.NewMemory(), &sitewriter.Options{OmitUnanswered: true})
			if result == nil {
				t.Fatal(err)
			}
			if got := count(ruletest.Findings(&result.Report), tt.rule); got != 1 {
				t.Errorf("%d findings of the rule, want 1; %v, %v", got, ruletest.Findings(&result.Report), err)
			}
		})
	}
}

func count(findings []check.Finding, rule string) (n int) {
	for _, f := range findings {
		if f.Rule.ID == rule {
			n++
		}
	}
	return n
}
