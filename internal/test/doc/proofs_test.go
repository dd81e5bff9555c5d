package doc

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// proofPattern matches references to tests: `folder: TestName`, or `folder:
// TestScript/name` for a script of a command.
func proofPattern() *regexp.Regexp {
	return regexp.MustCompile("`([a-z0-9_./-]+): ((?:Test|Fuzz)[A-Z]\\w*)(?:/([\\w-]+))?`")
}

// checkProofs reports references to missing tests, and rows without a test in tables
// whose last column is headed "test".
func checkProofs(fsys fs.FS, p Page) []Problem {
	named := proofPattern()
	var problems []Problem
	proving := false // in a table that needs a test in each row
	p.fences(func(line int, text string, at fence, _ string) bool {
		if at != outside {
			return true
		}
		proofs := named.FindAllStringSubmatch(text, -1)
		for _, m := range proofs {
			if why := missingTest(fsys, m[1], m[2], m[3]); why != "" {
				problems = append(problems, Problem{p.Path, line, fmt.Sprintf("names the test %s, %s", m[0], why)})
			}
		}
		switch {
		case !strings.HasPrefix(text, "|"):
			proving = false
		case strings.HasSuffix(text, "| test |"):
			proving = true
		case proving && len(proofs) == 0 && strings.Trim(text, "|-: ") != "":
			problems = append(problems, Problem{p.Path, line, "the row names no test"})
		}
		return true
	})
	return problems
}

// missingTest returns why a test does not exist, or "".
func missingTest(fsys fs.FS, folder, name, script string) string {
	files, err := fs.Glob(fsys, path.Join(folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		return "whose folder has no tests"
	}
	declared := regexp.MustCompile(`(?m)^func ` + name + `\(`)
	found := false
	for _, file := range files {
		text, err := fs.ReadFile(fsys, file)
		found = found || err == nil && declared.Match(text)
	}
	if !found {
		return "which does not exist"
	}
	if script == "" {
		return ""
	}
	if _, err := fs.Stat(fsys, path.Join(folder, "testdata/script", script+".txtar")); err != nil {
		return "whose script does not exist"
	}
	return ""
}
