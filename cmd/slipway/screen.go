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

// screen is an output that a person may see: whatever a server, a file or a peer
// has put into it, nothing acts on the terminal. It is safe for concurrent use.
type screen struct {
	*visible.Writer
	file *os.File
}

func newScreen(f *os.File) *screen { return &screen{visible.NewWriter(f), f} }

// stdout is what results go to: a terminal gets them as a [screen], a file or a
// pipe byte for byte.
func stdout() io.Writer {
	if isTerminal(os.Stdout) {
		return newScreen(os.Stdout)
	}
	return os.Stdout
}

// unescaped returns the file below a screen, for the colors and the progress that
// a command makes itself. What is written to it must be ours or be escaped.
func unescaped(w io.Writer) io.Writer {
	if s, ok := w.(*screen); ok {
		return s.file
	}
	return w
}

// columns returns the width of the terminal that w is, or 0 if it is none.
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

// say writes a message of the command to stderr: "slipway: ", then the text. Lines
// after the first are indented, so that none of them can pass for another message.
func say(w io.Writer, format string, args ...any) { sayAs(w, "slipway: ", format, args...) }

// hint writes the next thing to do, below a message.
func hint(w io.Writer, text string) { sayAs(w, "hint: ", "%s", text) }

func sayAs(w io.Writer, prefix, format string, args ...any) {
	text := visible.Lines(strings.TrimRight(fmt.Sprintf(format, args...), "\r\n"))
	text = strings.ReplaceAll(text, "\n", "\n  ")
	_, _ = io.WriteString(w, prefix+text+"\n") // there is nowhere to report it
}

// serverStderr returns the writers for what servers print on stderr: to w, each
// line after the name of its server. With asJSON they become records of the log,
// which are written at every level of it.
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
