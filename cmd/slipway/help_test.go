package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/internal/test/race"
)

// banned are words and phrases that help texts avoid, because plainer ones exist.
var banned = regexp.MustCompile(`(?i)\b(some|any|no)body\b|\bwhoever\b|\banything\b|\bwhat is there\b|` +
	`\b(say|says|said|tell|tells|told|hears?)\b|\blook(s|ed)? (at|into)\b|\bmend(s|ed)?\b|\bput right\b|\bat rest\b|` +
	`\bnothing to do\b|\bgo(es)? away\b|\b(is|are) over\b|\bonce more\b|\banew\b|\bafresh\b|\b(is|are) (not )?there\b|` +
	`\bfor want of\b|\bbrings? along\b|\bwhat becomes of\b|\bwhat came of\b|\bleaves? out\b|\bleft out\b|\bpass(es)? ` +
	`over\b|` +
	`\bin the place of\b|\btakes? the place of\b|\bin front\b|\blast words\b|\bburies\b|\bcomes? to\b|\bstands? ` +
	`(for|in)\b|` +
	`\bmade (of|from)\b|\bby (hand|heart)\b|\bbeside\b|\bfurther\b|\b(its|their|one's) own\b|\bholds? .* to\b`)

// helpPages returns the help of all commands, hidden ones and topics included, by name.
func helpPages() map[string]string {
	pages := make(map[string]string)
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		var out bytes.Buffer
		writeHelp(&out, cmd)
		pages[cmd.CommandPath()] = out.String()
		for _, c := range cmd.Commands() {
			add(c)
		}
	}
	add(newRoot())
	return pages
}

// TestHelpIsPlain ensures that help texts fit on a terminal of 80 columns, in plain words.
func TestHelpIsPlain(t *testing.T) {
	race.SkipLong(t)
	for name, text := range helpPages() {
		for line := range strings.SplitSeq(text, "\n") {
			if n := len([]rune(line)); n > helpWidth {
				t.Errorf("%s: a line of %d characters: %s", name, n, line)
			}
			if word := banned.FindString(line); word != "" {
				t.Errorf("%s: %q in %q", name, word, line)
			}
		}
	}
}

// TestShortIsShort ensures that the short description of a command is an imperative of at
// most 60 characters without a full stop, and that all its flags have a description.
func TestShortIsShort(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if n := len(cmd.Short); n == 0 || n > 60 || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short description %q", cmd.CommandPath(), cmd.Short)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: description %q", cmd.CommandPath(), f.Name, f.Usage)
			}
		})
		for _, c := range cmd.Commands() {
			check(c)
		}
	}
	check(newRoot())
}

// TestFlagGroups ensures that each flag of a command with groups is in one of them, and
// that the groups have no unknown flag.
func TestFlagGroups(t *testing.T) {
	serve, _, err := newRoot().Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, s := range helpSections(serve) {
		titles = append(titles, s.title)
	}
	const want = "Configuration, Sources, Address, Endpoints, TLS, Access, Limits, Logging, Definitions"
	if got := strings.Join(titles, ", "); got != want {
		t.Errorf("sections of serve: %s", got)
	}
}

// TestManPages writes all man pages. They have only requests that every formatter knows,
// and no text that looks like one.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if err := writeManPages(dir, newRoot()); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) < len(commands(newRoot())) {
		t.Fatalf("%d pages, %v", len(names), err)
	}
	request := regexp.MustCompile(`^\.(TH|SH|PP|TP|B|BR|nf|fi|nh|ad l)( |$)`)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !request.MatchString(line) {
				t.Errorf("%s: %q is taken for a request", filepath.Base(name), line)
			}
			if strings.Contains(strings.NewReplacer(`\e`, "", `\-`, "", `\&`, "").Replace(line), `\`) {
				t.Errorf("%s: %q has an unescaped backslash", filepath.Base(name), line)
			}
		}
	}
	if page, err := os.ReadFile(filepath.Join(dir, "slipway-site-freeze.1")); err != nil ||
		!strings.Contains(string(page), "\n.TP\n.B \\-o, \\-\\-output FILE\n") {
		t.Errorf("the page of site freeze lacks --output (%v):\n%s", err, page)
	}
}
