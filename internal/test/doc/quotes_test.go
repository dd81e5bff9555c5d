package doc

import (
	"io/fs"
	"regexp"
	"strings"
)

// checkQuotes reports Go code that differs from its source. The line above a Go block
// must be <!-- from FILE -->, and FILE must contain the lines of the block, apart from
// common indentation. Files of a journey are compiled when it is executed.
func checkQuotes(fsys fs.FS, p Page) []Problem {
	announced := regexp.MustCompile(`^<!-- from ([^ ]+) -->$`)
	var problems []Problem
	var file string
	var block []string
	above := ""
	p.fences(func(line int, text string, at fence, language string) bool {
		switch {
		case language != "go":
		case at == opening:
			file, block = "", nil
			if m := announced.FindStringSubmatch(above); m != nil {
				file = m[1]
			} else if !p.IsJourney() || !fileMarker.MatchString(above) {
				problems = append(problems, Problem{p.Path, line, "Go code without <!-- from FILE --> on the line above"})
			}
		case at == inside:
			block = append(block, text)
		case at == closing && file != "":
			source, err := fs.ReadFile(fsys, file)
			if err != nil || !quotes(strings.Split(string(source), "\n"), block) {
				problems = append(problems, Problem{p.Path, line, "this code does not stand in " + file})
			}
		}
		above = text
		return true
	})
	return problems
}

// quotes reports whether source contains the lines of block consecutively, apart from a
// common number of leading tabs.
func quotes(source, block []string) bool {
	for i := range len(source) - len(block) + 1 {
		first := strings.TrimLeft(source[i], "\t")
		indent := strings.Repeat("\t", max(0, len(source[i])-len(first)-leadingTabs(block)))
		same := true
		for k, line := range block {
			if line != "" {
				line = indent + line
			}
			same = same && source[i+k] == line
		}
		if same {
			return true
		}
	}
	return false
}

func leadingTabs(block []string) int {
	if len(block) == 0 {
		return 0
	}
	return len(block[0]) - len(strings.TrimLeft(block[0], "\t"))
}
