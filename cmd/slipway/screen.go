package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/slipway-mcp/slipway/internal/lines"
	"github.com/slipway-mcp/slipway/internal/style"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// screen is an output that may be a terminal: it escapes control characters, whether they
// come from a server, a file or a peer. It is safe for concurrent use.
type screen struct {
	file    *os.File
	written *firstFailure   // writes to the file
	escaped *visible.Writer // nil if the file gets the exact bytes
	color   colorMode
	// wide does not shorten lines, and quiet omits messages.
	wide  bool
	quiet bool

	// prompts counts the questions that wait for the user. Meanwhile no progress is shown.
	prompts  atomic.Int32
	progress *progressLine // nil if the screen is no terminal
}

// colorMode is the value of --color; empty means auto.
type colorMode string

const (
	// The empty mode is auto: color on terminals, unless NO_COLOR is set.
	colorAlways colorMode = "always"
	colorNever  colorMode = "never"
)

// newScreen returns the screen on a terminal. It escapes control characters, which servers could
// use to change what the user sees.
func newScreen(f *os.File) *screen {
	s := exactScreen(f)
	s.escaped = visible.NewWriter(s.written)
	s.progress = &progressLine{}
	return s
}

// exactScreen returns the screen on a file or pipe, which gets the exact bytes.
func exactScreen(f *os.File) *screen {
	return &screen{
		file:    f,
		written: &firstFailure{to: f},
	}
}

// firstFailure is a writer that keeps the first error of its writes. It is safe for concurrent use if
// to is.
type firstFailure struct {
	to io.Writer

	mu  sync.Mutex
	err error
}

// Write implements [io.Writer].
func (f *firstFailure) Write(p []byte) (int, error) {
	n, err := f.to.Write(p)
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.err = cmp.Or(f.err, err)
	}
	return n, err
}

// failure returns the first error, or nil.
func (f *firstFailure) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Write writes whole lines, after it has removed the progress line. With --quiet it writes
// nothing unless the user is prompted.
func (s *screen) Write(p []byte) (int, error) {
	if s.quiet && s.prompts.Load() == 0 {
		return len(p), nil
	}
	if s.escaped == nil {
		return s.progress.write(s.written, p)
	}
	return s.progress.write(s.escaped, p)
}

// Flush writes an incomplete character at the end.
func (s *screen) Flush() error {
	s.progress.clear()
	if s.escaped == nil || s.quiet {
		return nil
	}
	return s.escaped.Flush()
}

// loud returns w without the effect of --quiet, for errors.
func loud(w io.Writer) io.Writer {
	s, ok := w.(*screen)
	if !ok || !s.quiet {
		return w
	}
	return &screen{
		file:    s.file,
		written: s.written,
		escaped: s.escaped,
		color:   s.color,
		wide:    s.wide,
	}
}

// fitting returns a writer of lines without control characters, but perhaps painted, to the
// file of a screen. Lines that are wider than the terminal are broken at spaces, except
// hints, which may be commands to copy.
func fitting(w io.Writer) io.Writer {
	width := columns(w)
	to := unescaped(w)
	if width == 0 {
		return to
	}
	return &lines.Writer{Line: func(line string) error {
		if !strings.HasPrefix(line, "  ") {
			line = style.Wrap(line, width, "  ")
		}
		_, err := io.WriteString(to, line+"\n")
		return err
	}}
}

// stdout returns the output for results: a [screen] on a terminal; a file or pipe gets
// the exact bytes.
func stdout() *screen {
	if isTerminal(os.Stdout) {
		return newScreen(os.Stdout)
	}
	return exactScreen(os.Stdout)
}

// complete flushes the output for results and returns the error of a command that has returned err. If
// output could not be written, the command has failed, although it may have ignored that: a caller
// would take what has arrived for the whole result. This replaces success and a negative result (exit
// 1), whose details are in the output; other errors remain. A reader that has closed the pipe is such a
// failure, too, but [reportAs] exits with [exitPipe] and prints no message: a pager that the user has
// quit, or head, has what it wanted.
func (s *screen) complete(err error) error {
	_ = s.Flush() // its error is kept, too
	unwritten := s.written.failure()
	if unwritten == nil || err != nil && explain(err).code != exitNo {
		return err
	}
	return unwritten
}

// unescaped returns the writer to the file of a screen, for the command's own colors and progress. All
// other text must be escaped before it is written.
func unescaped(w io.Writer) io.Writer {
	s, ok := w.(*screen)
	switch {
	case !ok:
		return w
	case s.quiet:
		return io.Discard
	}
	s.progress.clear()
	return s.written
}

// columns returns the width to which lines are truncated: that of the terminal w, or 0,
// which means none, with --wide or if w is not a terminal.
func columns(w io.Writer) int {
	s, ok := w.(*screen)
	if !ok || s.wide {
		return 0
	}
	return terminalWidth(s)
}

// terminalWidth returns the width of a terminal, or 0 if it has none.
func terminalWidth(s *screen) int {
	width, _, err := term.GetSize(int(s.file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// colored reports whether text for w is colored. --color decides, then NO_COLOR, then
// CLICOLOR_FORCE and FORCE_COLOR; otherwise terminals are colored, except dumb ones.
func colored(w any) bool {
	if s, ok := w.(*screen); ok && s.color != "" {
		return s.color == colorAlways
	}
	if os.Getenv("NO_COLOR") != "" {
		return false
	}
	for _, name := range []string{"CLICOLOR_FORCE", "FORCE_COLOR"} {
		if v := os.Getenv(name); v != "" && v != "0" {
			return true
		}
	}
	return isTerminal(w) && os.Getenv("TERM") != "dumb"
}

// prompting is called before the user is prompted on w: until done is called, --quiet has
// no effect on w, and an interrupt ends the command at once.
func prompting(w io.Writer) (done func()) {
	s, ok := w.(*screen)
	if !ok {
		return func() {}
	}
	s.prompts.Add(1)
	return func() { s.prompts.Add(-1) }
}

// say prints a message of the command to stderr: "slipway: " and the text. Lines after
// the first are indented, so that none can pass for another message.
func say(w io.Writer, format string, args ...any) {
	sayAs(w, style.Name, "slipway: ", format, args...)
}

// hint prints a hint below a message.
func hint(w io.Writer, text string) { sayAs(w, style.Hint, "hint: ", "%s", text) }

// sayAs prints a message with a prefix such as "warning: ", wrapped to the terminal. Only the
// prefix is painted. Control characters in the arguments are escaped, so that a server cannot
// write to the terminal.
func sayAs(w io.Writer, paint style.Style, prefix, format string, args ...any) {
	text := visible.Lines(strings.TrimRight(fmt.Sprintf(format, args...), "\r\n"))
	text = strings.ReplaceAll(text, "\n", "\n  ")
	if paint != style.Hint { // a hint may be a command to copy
		text = strings.TrimPrefix(style.Wrap(prefix+text, columns(w), "  "), prefix)
	}
	if word := strings.TrimSpace(prefix); colored(w) && word != "" {
		prefix = paint.Paint(word) + strings.TrimPrefix(prefix, word)
		w = unescaped(w)
	}
	_, _ = io.WriteString(w, prefix+text+"\n") // there is nowhere to report the error
}

// serverStderr returns the writers for the stderr of servers: they write each line to w,
// after the name of its server. With asJSON the lines become log records, which are
// written at every log level. Lines of a server that prints too much are omitted.
func serverStderr(w io.Writer, log *slog.Logger, asJSON bool) func(server string) io.Writer {
	return func(server string) io.Writer {
		name := visible.Line(server)
		print := func(line string) error {
			if asJSON { // the log escapes it
				record := slog.NewRecord(time.Now(), slog.LevelInfo, "server stderr", 0)
				record.AddAttrs(slog.String("name", server), slog.String("line", line))
				return log.Handler().Handle(context.Background(), record)
			}
			_, err := io.WriteString(w, name+": "+visible.Lines(line)+"\n")
			return err
		}
		limit := &stderrLimit{left: stderrBurst, at: time.Now()}
		return &lines.Writer{Line: func(line string) error {
			admitted, note := limit.admit(len(line) + len("\n"))
			if note != "" {
				if err := print(note); err != nil {
					return err
				}
			}
			if !admitted {
				return nil
			}
			return print(line)
		}}
	}
}

// Limits of what a server may print: more would fill the disk that has the log.
const (
	stderrBurst = 1 << 20  // bytes at once
	stderrRate  = 64 << 10 // bytes per second
)

// stderrLimit is the budget of a server for its stderr.
type stderrLimit struct {
	left    float64 // bytes
	at      time.Time
	omits   bool // until half of the budget is available again, so that notes are rare
	omitted int  // lines
}

// admit reports whether to print a line with a size, and what to print before it, or "".
func (l *stderrLimit) admit(size int) (admitted bool, note string) {
	now := time.Now()
	l.left = min(stderrBurst, l.left+now.Sub(l.at).Seconds()*stderrRate)
	l.at = now
	switch {
	case l.omits && l.left < stderrBurst/2, !l.omits && l.left < float64(size):
		if !l.omits {
			l.omits = true
			note = fmt.Sprintf("(lines are omitted: it prints more than %d KiB per second)", stderrRate>>10)
		}
		l.omitted++
		return false, note
	case l.omits:
		note = fmt.Sprintf("(%d lines were omitted)", l.omitted)
		l.omits, l.omitted = false, 0
	}
	l.left -= float64(size)
	return true, note
}
