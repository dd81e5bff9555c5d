package doc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Session is a code block with a terminal session. It is marked "console" and contains
// commands, each after "$ ", followed by their output.
type Session struct {
	Page  string
	Line  int // of the first line in the block
	Steps []Step
}

// Step is one command of a session.
type Step struct {
	Line   int      // of the command
	Args   []string // the parsed command; "echo $?" prints the last exit code
	Output []string // the lines that the terminal shows after it, or of the file
	File   string   // of a journey: the name under which the block is saved
}

// Sessions returns the sessions of a page, and a problem for each one that cannot be run.
// A command is either slipway with arguments, which may be quoted but use no other shell
// syntax, or "echo $?". Mark blocks with other content "sh" or "text". On the page of a
// journey, a command is any shell command on one line.
func Sessions(p Page) (sessions []Session, problems []Problem) {
	var s *Session
	p.fences(func(line int, text string, at fence, language string) bool {
		switch {
		case language != "console":
		case at == opening:
			s = &Session{
				Page: p.Path,
				Line: line + 1,
			}
		case at == closing:
			sessions = append(sessions, *s)
		default:
			if err := s.add(line, text, p.IsJourney()); err != nil {
				problems = append(problems, Problem{p.Path, line, err.Error()})
			}
		}
		return true
	})
	return sessions, problems
}

// add adds a line of a console block: a command, or a line of the output of the last one. With a
// shell, commands are run as they are.
func (s *Session) add(line int, text string, shell bool) error {
	command, ok := strings.CutPrefix(text, "$ ")
	if !ok {
		if len(s.Steps) == 0 {
			return errors.New(`a console block begins with a command after "$ "`)
		}
		last := &s.Steps[len(s.Steps)-1]
		last.Output = append(last.Output, text)
		return nil
	}
	if shell {
		s.Steps = append(s.Steps, Step{
			Line: line,
			Args: []string{command},
		})
		return nil
	}
	args := []string{"echo", "$?"}
	if command != "echo $?" {
		var err error
		if args, err = split(command); err != nil {
			return err
		}
	}
	if args[0] != "slipway" && args[0] != "echo" {
		return fmt.Errorf("a console block cannot run %s", args[0])
	}
	s.Steps = append(s.Steps, Step{
		Line: line,
		Args: args,
	})
	return nil
}

// split splits a command at white space, respecting quotes.
func split(command string) ([]string, error) {
	var args []string
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == '"' && (r == '$' || r == '\\' || r == '`'),
			quote == 0 && strings.ContainsRune("|&;<>$\\`(){}*?#~", r):
			return nil, fmt.Errorf("a console block cannot use %q outside single quotes", r)
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote = r
			open = true
		case r == ' ':
			if open {
				args = append(args, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is not closed")
	}
	if open {
		args = append(args, word.String())
	}
	if len(args) == 0 {
		return nil, errors.New("an empty command")
	}
	return args, nil
}

// Matches reports whether terminal output equals that on the page. A line "..." on the
// page matches any number of lines, and "…" within a line any text.
func (s Step) Matches(got []string) bool { return match(s.Output, got) }

// match reports whether got has the wanted lines. A line "..." matches any number of lines.
func match(want, got []string) bool {
	for i, line := range want {
		if line != "..." {
			if i >= len(got) || !matchLine(line, got[i]) {
				return false
			}
			continue
		}
		for skip := i; skip <= len(got); skip++ {
			if match(want[i+1:], got[skip:]) {
				return true
			}
		}
		return false
	}
	return len(want) == len(got)
}

// Rewrite returns the lines of the page with the output of each step replaced by the
// result of output.
func Rewrite(p Page, output func(Step) []string) []string {
	lines := slices.Clone(p.Lines)
	sessions, _ := Sessions(p)
	for _, s := range slices.Backward(sessions) {
		for _, step := range slices.Backward(s.Steps) {
			from := step.Line // the line after the command, counted from 0
			lines = slices.Replace(lines, from, from+len(step.Output), output(step)...)
		}
	}
	return lines
}
