package client

import (
	"bytes"
	"cmp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// ExitError is why a child has exited or can no longer be used.
type ExitError struct {
	Reason string // such as "the server ended: exit status 1"
	// Cause is the line on stderr that explains the exit, such as "Error: Cannot find
	// module 'x'" or the last line of a traceback, without secrets; or "".
	Cause  string
	Stderr string // the last stderr lines, without secrets
	Stdout string // the last lines of stdout that are not messages, without secrets
}

// Error implements the error interface.
func (e *ExitError) Error() string {
	text := e.Reason
	if e.Cause != "" && !strings.Contains(e.Stderr, e.Cause) && !strings.Contains(e.Stdout, e.Cause) {
		text += ": " + e.Cause
	}
	return text + printed(e.Stderr, e.Stdout)
}

// printed returns the end of an error: what a child has printed last.
func printed(stderr, stdout string) string {
	text := ""
	if stderr != "" {
		text += "; last lines on stderr: " + stderr
	}
	if stdout != "" {
		text += "; last lines on stdout: " + stdout
	}
	return text
}

// missingModule matches the names of missing modules in errors of Node.js and Python.
var missingModule = lazyregexp.New(`(Cannot find (?:module|package)|No module named) '([\w@.][\w@./-]{0,100})'`)

// Hint returns what to do about the exit of the child, or "".
func (e *ExitError) Hint() string {
	text := cmp.Or(e.Cause, e.Stderr, e.Stdout)
	found := missingModule().FindStringSubmatch(text)
	switch {
	case found != nil && found[1] == "No module named":
		return "install the Python package that provides " + found[2] + " for the interpreter that runs the server"
	case found != nil && !strings.HasPrefix(found[2], "."):
		return "install the server's dependencies: npm install " + found[2]
	case strings.Contains(text, "Cannot find module"):
		return "check the path of the program and the folder that it runs in"
	case strings.Contains(text, "SyntaxError"):
		return "check that the version of the interpreter is one that the server supports"
	}
	return ""
}

// stderrTail keeps the last lines written. It is safe for concurrent use.
type stderrTail struct {
	mu sync.Mutex
	// kept is the end of the output; written counts all of it, to say that some is
	// missing.
	kept    []byte
	written int64
	final   bool
	// reason recognizes lines that say why a program failed, such as a missing module.
	reason explainer
}

// Limits for the kept and shown part of stderr.
const (
	keptStderr  = 4 << 10
	shownStderr = 1 << 10
	shownLines  = 8
)

// Write implements io.Writer. It never fails.
func (t *stderrTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.final {
		return len(p), nil
	}
	t.written += int64(len(p))
	t.reason.read(p)
	if len(p) >= keptStderr {
		t.kept = append(t.kept[:0], p[len(p)-keptStderr:]...)
		return len(p), nil
	}
	if over := len(t.kept) + len(p) - keptStderr; over > 0 {
		t.kept = t.kept[:copy(t.kept, t.kept[over:])]
	}
	t.kept = append(t.kept, p...)
	return len(p), nil
}

// cause returns the line that explains the exit, or "", without secrets.
func (t *stderrTail) cause(secrets []string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.reason.String()
	return redactCut(text, secrets, false, len(text) > maxExplanation-utf8.UTFMax)
}

// size returns the total number of bytes written.
func (t *stderrTail) size() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written
}

// ignoreWrites makes the tail final.
func (t *stderrTail) ignoreWrites() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.final = true
}

// lastLines returns the last lines without secrets: at most 8, and 1 KiB.
func (t *stderrTail) lastLines(secrets []string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimSpace(t.kept)
	cut := t.written > int64(len(t.kept))
	if len(text) > shownStderr {
		text = text[len(text)-shownStderr:]
		i := bytes.IndexByte(text, '\n')
		text = text[i+1:]
		cut = i < 0
	}
	lines := bytes.Split(text, []byte{'\n'})
	if len(lines) > shownLines {
		lines = lines[len(lines)-shownLines:]
		cut = false
	}
	shown := string(bytes.ToValidUTF8(bytes.Join(lines, []byte{'\n'}), []byte("?")))
	return redactCut(shown, secrets, cut, false)
}

// maxExplanation is how many bytes of an explaining line are kept.
const maxExplanation = 500

// explainer finds the line on stderr that explains why a program exits: runtimes print it
// before a stack trace that is longer than the kept part.
type explainer struct {
	line    []byte // the current line so far, up to maxExplanation bytes
	kept    string
	weak    bool // only a better line may replace kept
	goesOn  bool // the next line belongs to kept
	npmCode bool // kept is npm's error code; the line after it is more specific
}

// read processes written bytes.
func (e *explainer) read(p []byte) {
	for len(p) > 0 {
		part, rest, ended := bytes.Cut(p, []byte{'\n'})
		e.line = append(e.line, part[:min(len(part), maxExplanation-len(e.line))]...)
		if ended {
			e.judge(strings.ToValidUTF8(strings.TrimRight(string(e.line), " \t\r"), "?"))
			e.line = e.line[:0]
		}
		p = rest
	}
}

// String returns the explanation, which may be a last line without a newline.
func (e *explainer) String() string {
	last := *e
	last.judge(strings.ToValidUTF8(strings.TrimRight(string(e.line), " \t\r"), "?"))
	return last.kept
}

// exception matches the line that Node.js, Python, Java, .NET and similar runtimes print
// for an uncaught exception.
var exception = lazyregexp.New(`^(Uncaught )?([A-Za-z_][\w.$]*)?(Error|Exception|Exit)( \[\w+\])?(: |$)`)

// npmLine matches npm's own report that it cannot start a package.
var npmLine = lazyregexp.New(`^npm (error|ERR!) (code|\d{3}|[a-z]+) `)

// judge processes one line.
func (e *explainer) judge(line string) {
	if e.goesOn && line != "" {
		e.kept = cut(e.kept + " " + line)
		e.goesOn = false
		return
	}
	npm := npmLine().FindStringSubmatch(line)
	switch {
	case line == "" || line[0] == ' ' || line[0] == '\t':
	case npm != nil:
		if e.kept == "" || e.npmCode {
			e.kept = line
			e.npmCode = npm[2] == "code"
			e.weak = true
		}
	case exception().MatchString(line),
		hasAnyPrefix(line, "panic: ", "fatal error: ", "Unhandled exception",
			"Exception in thread", "Caused by: "):
		e.kept = line
		e.weak = false
	case strings.HasPrefix(line, "thread '") && strings.Contains(line, " panicked at "):
		e.kept, e.weak, e.goesOn = line, false, strings.HasSuffix(line, ":")
	case e.kept != "" && !e.weak:
	case hasAnyPrefix(line, "error: ", "fatal: "), strings.HasSuffix(line, ": not found"),
		strings.HasSuffix(line, ": command not found"):
		e.kept = line
		e.weak = true
		e.npmCode = false
	}
}

func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxExplanation)], "")
}

func hasAnyPrefix(text string, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}
