package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/slipway-mcp/slipway/internal/lines"
	"github.com/slipway-mcp/slipway/internal/visible"
)

// screen is an output that may be a terminal: it escapes control characters, whether they
// come from a server, a file or a peer. It is safe for concurrent use.
type screen struct {
	*visible.Writer
	file *os.File
}

func newScreen(f *os.File) *screen {
	return &screen{visible.NewWriter(f), f}
}

// stdout returns the output for results: a [screen] on a terminal; a file or pipe gets
// the exact bytes.
func stdout() io.Writer {
	if isTerminal(os.Stdout) {
		return newScreen(os.Stdout)
	}
	return os.Stdout
}

// unescaped returns the file of a screen, for the command's own colors and progress bars.
// All other text must be escaped before it is written.
func unescaped(w io.Writer) io.Writer {
	if s, ok := w.(*screen); ok {
		return s.file
	}
	return w
}

// columns returns the width of the terminal w, or 0 if it is not a terminal.
func columns(w io.Writer) int {
	s, ok := w.(*screen)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(s.file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// say prints a message of the command to stderr: "slipway: " and the text. Lines after
// the first are indented, so that none can pass for another message.
func say(w io.Writer, format string, args ...any) {
	sayAs(w, "slipway: ", format, args...)
}

// hint prints a hint below a message.
func hint(w io.Writer, text string) { sayAs(w, "hint: ", "%s", text) }

func sayAs(w io.Writer, prefix, format string, args ...any) {
	text := visible.Lines(strings.TrimRight(fmt.Sprintf(format, args...), "\r\n"))
	text = strings.ReplaceAll(text, "\n", "\n  ")
	_, _ = io.WriteString(w, prefix+text+"\n") // there is nowhere to report the error
}

// serverStderr returns the writers for the stderr of servers: they write each line to w,
// after the name of its server. With asJSON the lines become log records, which are
// written at every log level.
func serverStderr(w io.Writer, log *slog.Logger, asJSON bool) func(server string) io.Writer {
	return func(server string) io.Writer {
		name := visible.Line(server)
		return &lines.Writer{Line: func(line string) error {
			if asJSON { // the log escapes it
				record := slog.NewRecord(time.Now(), slog.LevelInfo, "server stderr", 0)
				record.AddAttrs(slog.String("name", server), slog.String("line", line))
				return log.Handler().Handle(context.Background(), record)
			}
			_, err := io.WriteString(w, name+": "+visible.Lines(line)+"\n")
			return err
		}}
	}
}
