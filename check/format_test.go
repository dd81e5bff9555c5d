package check_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-mcp/slipway/check"
)

// write returns the report in a format.
func write(t *testing.T, r *check.Report, f check.Format, opts *check.WriteOptions) string {
	t.Helper()
	var b strings.Builder
	if err := r.Write(&b, f, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// placed returns a report with one finding in each kind of place.
func placed() *check.Report {
	r := &check.Report{}
	text := []byte("{\"a\":\n  \"ünï\", \"b\": [1,\n 2]}")
	reporter := check.Reporter{
		Report:   r,
		File:     "dir/a b,c:d%.json",
		Document: &check.Document{Text: text},
	}
	reporter.Add(ruleLate, "/a", "", "50%% late")
	reporter.Add(ruleEarly, "/b", "first\nsecond", "early")
	reporter.In("site.zip!mcp.json").AtLine(3, 4).Add(ruleEarly, "/x", "", "in an archive")
	reporter.In("https://example.com/mcp.json?a=b").Add(ruleLate.As(check.Note), "/x", "", "on the web")
	check.Reporter{Report: r}.Add(ruleEarly, "", "", "nowhere ::error:: ##[add-mask]x \x1b[2J \x00")
	return r
}

func TestWriteGitHub(t *testing.T) {
	want := `::error title=a/early::nowhere ::error:: ##[add-mask]x \u001b[2J \u0000
::error title=a/early,file=dir/a b%2Cc%3Ad%25.json,line=2,col=15::dir/a b,c:d%25.json:2:15: ` +
		`early%0Ahint: first\u000asecond
::error title=a/early,file=site.zip::site.zip!mcp.json:3:4: in an archive
::warning title=a/late,file=dir/a b%2Cc%3Ad%25.json,line=2,col=3,endLine=2,endColumn=8::dir/a b,c:d%25.json:2:3: ` +
		`50%25 late%0Ahint: be early
::notice title=a/late::https://example.com/mcp.json?a=b: /x: on the web%0Ahint: be early
`
	if diff := cmp.Diff(write(t, placed(), check.GitHub, nil), want); diff != "" {
		t.Error(diff)
	}
}

// TestGitHubLimit verifies that findings over the limit of annotations stay in the log, as
// lines that the runner does not take for commands.
func TestGitHubLimit(t *testing.T) {
	r := check.Report{Limit: 14}
	for n := range 16 {
		message := fmt.Sprintf("##[debug]%d", n)
		r.Add(check.Finding{Rule: ruleLate, Severity: check.Warning, File: "::error::", Message: message})
	}
	r.Add(check.Finding{Rule: ruleEarly, Message: "an error comes first"})
	lines := strings.Split(write(t, &r, check.GitHub, nil), "\n")
	if lines[0] != "::error title=a/early::an error comes first" {
		t.Errorf("first line %q", lines[0])
	}
	commands := 0
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "::warning ") {
			commands++
		} else if strings.Contains(line, "##[") || strings.HasPrefix(line, "::error::") {
			t.Errorf("a command: %q", line)
		}
	}
	want := []string{
		"::group::findings without annotations",
		`- ::error::: warning: #\u0023[debug]10 [a/late]`,
		`- ::error::: warning: #\u0023[debug]11 [a/late]`,
		`- ::error::: warning: #\u0023[debug]12 [a/late]`,
		`- ::error::: warning: #\u0023[debug]13 [a/late]`,
		"- and 2 more that are not shown",
		"::endgroup::",
		"",
	}
	if diff := cmp.Diff(lines[11:], want); diff != "" || commands != 10 {
		t.Errorf("%d warnings, then\n%s", commands, diff)
	}
}

func TestWriteSARIF(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	text := write(t, placed(), check.SARIF, &check.WriteOptions{
		Root:     root,
		Version:  "1.2.3",
		Rules:    rules.All(),
		RulesURL: "https://example.com/rules",
	})
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					SemanticVersion string
					Rules           []struct {
						ID, HelpURI          string
						DefaultConfiguration struct{ Level string }
					}
				}
			}
			Results []struct {
				RuleID              string
				RuleIndex           int
				Level               string
				Message             struct{ Text string }
				Locations           json.RawMessage
				PartialFingerprints map[string]string
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	var got []string
	for _, rule := range run.Tool.Driver.Rules {
		got = append(got, rule.ID+" "+rule.DefaultConfiguration.Level+" "+rule.HelpURI)
	}
	for _, r := range run.Results {
		if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("rule %d is not %s", r.RuleIndex, r.RuleID)
		}
		got = append(got, r.Level+" "+string(r.Locations))
	}
	want := []string{
		"a/early error https://example.com/rules#a-early",
		"a/late warning https://example.com/rules#a-late",
		"error ",
		`warning [{"physicalLocation":{"artifactLocation":{"uri":"check/dir/a%20b,c:d%25.json","uriBaseId":"%SRCROOT%"},` +
			`"region":{"startLine":2,"startColumn":3,"endColumn":8}},"logicalLocations":[{"fullyQualifiedName":"/a"}]}]`,
		`error [{"physicalLocation":{"artifactLocation":{"uri":"check/dir/a%20b,c:d%25.json","uriBaseId":"%SRCROOT%"},` +
			`"region":{"startLine":2,"startColumn":15}},"logicalLocations":[{"fullyQualifiedName":"/b"}]}]`,
		`note [{"physicalLocation":{"artifactLocation":{"uri":"https://example.com/mcp.json?a=b"}},` +
			`"logicalLocations":[{"fullyQualifiedName":"/x"}]}]`,
		`error [{"physicalLocation":{"artifactLocation":{"uri":"check/site.zip","uriBaseId":"%SRCROOT%"}},` +
			`"logicalLocations":[{"fullyQualifiedName":"mcp.json/x"}]}]`,
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
}

// TestFingerprints verifies that a finding keeps its fingerprint when its line moves, and
// that two findings never share one.
func TestFingerprints(t *testing.T) {
	prints := func(line int) (list []string) {
		var r check.Report
		for range 2 {
			r.Add(check.Finding{Rule: ruleLate, File: "a.json", Line: line, Pointer: "/a", Message: fmt.Sprint(line)})
			r.Add(check.Finding{Rule: ruleLate, File: "a.json", Line: line, Pointer: "/b", Message: fmt.Sprint(line)})
		}
		var log struct {
			Runs []struct {
				Results []struct{ PartialFingerprints map[string]string }
			}
		}
		if err := json.Unmarshal([]byte(write(t, &r, check.SARIF, nil)), &log); err != nil {
			t.Fatal(err)
		}
		for _, result := range log.Runs[0].Results {
			list = append(list, result.PartialFingerprints["primaryLocationLineHash"])
		}
		return list
	}
	before := prints(1)
	if diff := cmp.Diff(before, prints(7)); diff != "" {
		t.Error(diff)
	}
	unique := make(map[string]bool)
	for _, p := range before {
		unique[p] = true
	}
	if len(unique) != 4 {
		t.Errorf("fingerprints %q", before)
	}
}

func TestWriteJUnit(t *testing.T) {
	r := placed()
	r.Add(check.Finding{Rule: ruleEarly, File: "z.json", Message: "\x01 \ufffe \xff <&\"]]>"})
	opts := &check.WriteOptions{Inputs: []string{"dir", "clean"}}
	text := write(t, r, check.JUnit, opts)
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.Strict = true
	for {
		_, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
	for _, want := range []string{
		`<testsuites name="slipway" tests="7" failures="4" errors="0">`,
		`<testcase classname="clean" name="no findings">`,
		`<testcase classname="dir/a b,c:d%.json" name="a/late at /a">`,
		`<failure type="a/early" message="early">dir/a b,c:d%.json:2:15: error: early [a/early]&#xA;` +
			`hint: first\u000asecond</failure>`,
		`<system-out>dir/a b,c:d%.json:2:3: warning: 50% late [a/late]&#xA;hint: be early</system-out>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, `name="dir"`) {
		t.Error("dir has findings, but passed")
	}
	opts.Strict = true
	if strict := write(t, r, check.JUnit, opts); !strings.Contains(strict, `failures="5"`) {
		t.Errorf("--strict:\n%s", strict)
	}
	empty := write(t, &check.Report{}, check.JUnit, &check.WriteOptions{Inputs: []string{"clean"}})
	if !strings.Contains(empty, `tests="1" failures="0"`) {
		t.Errorf("an empty report:\n%s", empty)
	}
}

func TestWriteUnknownFormat(t *testing.T) {
	if err := placed().Write(io.Discard, "yaml", nil); err == nil {
		t.Error("no error")
	}
}
