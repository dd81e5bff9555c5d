package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// questions are asked on a terminal. They are not safe for concurrent use.
type questions struct {
	in  *bufio.Reader
	out io.Writer
	// file is the terminal that in reads, or nil in tests.
	file *os.File
	// reading receives the line of a read in progress, or is nil. A read cannot be cancelled:
	// if a question ends without an answer, the next one gets the line.
	reading chan typedLine
}

// typedLine is what the user has typed, or why there is nothing.
type typedLine struct {
	text string
	err  error
}

// questionsKey is the key of the [questions] of a command in its context.
type questionsKey struct{}

// questionsOf returns the questions of a command, or nil without a terminal and with
// --json. All of a command share them.
func questionsOf(cmd *cobra.Command) *questions {
	if q, ok := cmd.Context().Value(questionsKey{}).(*questions); ok {
		return q
	}
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok ||
		!isTerminal(in) ||
		!isTerminal(cmd.ErrOrStderr()) ||
		wantsJSON(cmd) {
		return nil
	}
	q := &questions{
		in:   bufio.NewReader(in),
		out:  cmd.ErrOrStderr(),
		file: in,
	}
	cmd.SetContext(context.WithValue(cmd.Context(), questionsKey{}, q))
	return q
}

// line prints a prompt and returns the line that the user types. Its error is [io.EOF]
// after Ctrl-D, or that of ctx.
func (q *questions) line(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(q.out, prompt)
	return q.read(ctx, func() (string, error) {
		text, err := q.in.ReadString('\n')
		if errors.Is(err, io.EOF) && text != "" {
			err = nil
		}
		return strings.TrimRight(text, "\r\n"), err
	})
}

// secret is line without echo.
func (q *questions) secret(ctx context.Context, prompt string) (string, error) {
	if q.file == nil || q.in.Buffered() > 0 {
		return q.line(ctx, prompt)
	}
	if q.reading != nil { // it echoes
		if _, err := q.line(ctx, "press Enter to continue: "); err != nil {
			return "", err
		}
	}
	terminal := int(q.file.Fd())
	echoing, err := term.GetState(terminal)
	if err != nil {
		return "", err
	}
	fmt.Fprint(q.out, prompt)
	text, err := q.read(ctx, func() (string, error) {
		text, err := term.ReadPassword(terminal)
		return string(text), err
	})
	if ctx.Err() != nil {
		_ = term.Restore(terminal, echoing) // the read in progress would do so at its end
	}
	fmt.Fprintln(q.out)
	return text, err
}

// read returns the line of the read in progress, or else of a new one.
func (q *questions) read(ctx context.Context, read func() (string, error)) (string, error) {
	if q.reading == nil {
		lines := make(chan typedLine, 1)
		q.reading = lines
		go func() { // ends with the process, if the user types nothing
			text, err := read()
			lines <- typedLine{
				text: text,
				err:  err,
			}
		}()
	}
	select {
	case l := <-q.reading:
		q.reading = nil
		return l.text, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// choose asks until the user types one of the words or its first letter, and returns the
// word. Enter means fallback, or asks again if that is empty.
func (q *questions) choose(
	ctx context.Context,
	prompt, fallback string,
	words ...string,
) (string, error) {
	for {
		text, err := q.line(ctx, prompt)
		if err != nil {
			return "", err
		}
		text = strings.ToLower(strings.TrimSpace(text))
		if text == "" && fallback != "" {
			return fallback, nil
		}
		for _, word := range words {
			if text != "" && (text == word || text == word[:1]) {
				return word, nil
			}
		}
	}
}
