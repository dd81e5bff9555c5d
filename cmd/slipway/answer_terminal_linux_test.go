package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminalRun is a command on a pseudo-terminal.
type terminalRun struct {
	*server
	t        *testing.T
	keyboard *os.File // the other side of the terminal
	terminal *os.File
	shown    chan struct{} // closed when the log has all that the terminal has shown
	seen     int           // bytes of the log that earlier calls of sees have matched
}

// startOnTerminal starts slipway on a terminal, with additional environment variables.
func startOnTerminal(t *testing.T, env []string, args ...string) *terminalRun {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	if err := unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	cmd := slipwayCommand(t, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(append(cmd.Env, "NO_COLOR=1"), env...)
	r := &terminalRun{
		server:   newServer(cmd),
		t:        t,
		keyboard: keyboard,
		terminal: terminal,
		shown:    make(chan struct{}),
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := r.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	go func() {
		_, _ = io.Copy(&r.log, keyboard) // until both sides of the terminal are closed
		close(r.shown)
	}()
	return r
}

// sees waits until the terminal shows a text, after those of earlier calls.
func (r *terminalRun) sees(text string) {
	r.t.Helper()
	late := time.After(patience)
	for {
		all, more := r.log.read()
		if i := strings.Index(all[r.seen:], text); i >= 0 {
			r.seen += i + len(text)
			return
		}
		select {
		case <-more:
		case <-late:
			r.t.Fatalf("no %q in time:\n%s", text, all)
		}
	}
}

// seesHidden waits until the terminal no longer echoes.
func (r *terminalRun) seesHidden() {
	r.t.Helper()
	for late := time.Now().Add(patience); r.echoes(); time.Sleep(time.Millisecond) { // nothing announces it
		if time.Now().After(late) {
			r.t.Fatal("the terminal still echoes")
		}
	}
}

// types types a line when the terminal shows a prompt.
func (r *terminalRun) types(prompt, line string) {
	r.t.Helper()
	r.sees(prompt)
	r.press(line)
}

// press types a line.
func (r *terminalRun) press(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.keyboard, line); err != nil {
		r.t.Fatal(err)
	}
}

// echoes reports whether the terminal shows what is typed.
func (r *terminalRun) echoes() bool {
	state, err := unix.IoctlGetTermios(int(r.terminal.Fd()), unix.TCGETS)
	if err != nil {
		r.t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// exits waits for the end of the command, which must leave the terminal echoing, and returns
// all that it has shown.
func (r *terminalRun) exits(code int) string {
	r.t.Helper()
	select {
	case err := <-r.done:
		if got := exitCode(err); got != code {
			text, _ := r.log.read()
			r.t.Fatalf("exit code %d, want %d:\n%s", got, code, text)
		}
	case <-time.After(patience):
		text, _ := r.log.read()
		r.t.Fatalf("it still runs:\n%s", text)
	}
	if !r.echoes() {
		r.t.Error("the terminal no longer echoes")
	}
	_ = r.terminal.Close()
	<-r.shown
	text, _ := r.log.read()
	return text
}

// exitCode returns the exit code of a command that ended with err.
func exitCode(err error) int {
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// TestAnswersOnATerminal fills in a form: what is wrong is asked again, a secret is neither
// echoed nor shown, and the user can edit before sending.
func TestAnswersOnATerminal(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			r := startOnTerminal(t, nil, "call", "book", "-vv", "--", "restaurant", version)
			r.sees("restaurant asks:\r\n  A table?\r\n  slipway: not from slipway\r\n")
			r.types("  Your name\r\nname (text, at least 2 characters): ", "\n")
			r.types("  required\r\nname (text, at least 2 characters): ", "A\n")
			r.types("  must have at least 2 characters (got 1)\r\n", "Ann\n")
			r.types("  how many people\r\nseats (integer, 1 to 8, optional) [2]: ", "nine\n")
			r.types(`"nine" is not of type integer`, "9\n")
			r.types("must be at most 8 (got 9)", "4\n")
			r.types("  1  in (Inside)\r\n  2  out (Terrace)\r\narea (one of them, optional) [in]: ", "terrace\n")
			r.types("extras (any of them, separated by commas, optional): ", "cake, 1\n")
			r.types("mail (an email address, optional): ", "ann\n")
			r.types("must be an email address\r\n", "ann@example.com\n")
			r.types("window (yes or no, optional): ", "y\n")
			r.sees("restaurant receives what you type, which is not shown.")
			r.sees("password (text, matching ^[a-z0-9]{6,}$): ")
			r.seesHidden()
			r.press("s3cret\n")
			r.sees("Your answer to restaurant:\r\n  name: Ann\r\n  seats: 4\r\n  area: out\r\n  extras: cake, 1\r\n" +
				"  mail: ann@example.com\r\n  window: yes\r\n  password: (hidden)\r\n")
			if text, _ := r.log.read(); strings.Contains(text, "s3cret") {
				t.Errorf("the terminal shows the secret:\n%s", text)
			}
			r.types("[S]end, [e]dit, [d]ecline or [c]ancel? ", "d\n")
			if text := r.exits(0); !strings.Contains(text, "\r\ndecline ") {
				t.Errorf("the call ends with\n%s", text)
			}
		})
	}
}

// TestEditedAnswer sends a form after a change: earlier values are kept, flags are not asked
// for.
func TestEditedAnswer(t *testing.T) {
	r := startOnTerminal(t, nil, "call", "book", "--answer", "seats=3", "--json-answers", `{"password":"s3cret"}`,
		"--", "restaurant", "2026-07-28")
	r.types("name (text, at least 2 characters): ", "Ann\n")
	r.types("[c]ancel? ", "e\n")
	r.types("name (text, at least 2 characters) [Ann]: ", "Bob\n")
	r.types("[3]: ", "\n")
	r.types("[in]: ", "\n")
	r.types("extras (", "\n")
	r.types("mail (", "\n")
	r.types("window (", "\n")
	r.types("password (text, matching ^[a-z0-9]{6,}$) [hidden]: ", "\n")
	r.types("  name: Bob\r\n  seats: 3\r\n  area: in\r\n  password: (hidden)\r\n[S]end", "\n")
	text := r.exits(0)
	if !strings.Contains(text, `accept {"area":"in","name":"Bob","password":"s3cret","seats":3}`) {
		t.Errorf("the call ends with\n%s", text)
	}
}

// TestCancelledAnswer ensures that Ctrl-D cancels the question and Ctrl-C the command, also
// while a secret is typed.
func TestCancelledAnswer(t *testing.T) {
	r := startOnTerminal(t, nil, "call", "book", "--", "restaurant", "2025-11-25")
	r.types("name (text", "\x04")
	if text := r.exits(0); !strings.Contains(text, "cancel ") {
		t.Errorf("after Ctrl-D:\n%s", text)
	}
	r = startOnTerminal(t, nil, "call", "book", "--answer", "name=Ann", "--", "restaurant", "2025-11-25")
	r.sees("password (text")
	r.seesHidden()
	r.press("\x03")
	r.exits(130)
}

// TestConsentOnATerminal ensures that a form without fields is accepted only explicitly, and
// that --json asks nothing.
func TestConsentOnATerminal(t *testing.T) {
	r := startOnTerminal(t, nil, "call", "confirm", "--", "restaurant", "2026-07-28")
	r.types("[a]ccept, [d]ecline or [c]ancel? ", "\n")
	r.types("[a]ccept, [d]ecline or [c]ancel? ", "accept\n")
	if text := r.exits(0); !strings.Contains(text, "accept {}") {
		t.Errorf("the call ends with\n%s", text)
	}
	r = startOnTerminal(t, nil, "call", "confirm", "--json", "--", "restaurant", "2026-07-28")
	if text := r.exits(2); !strings.Contains(text, "no flag answers it") {
		t.Errorf("with --json:\n%s", text)
	}
}

// TestVisitOnATerminal ensures that a page is shown with its host, and opened only on
// request.
func TestVisitOnATerminal(t *testing.T) {
	opens := []string{"BROWSER=touch visited"}
	r := startOnTerminal(t, opens, "call", "pay", "--", "restaurant", "2026-07-28")
	r.sees("  Pay the deposit.\r\n  host:    pay.example.com\r\n  address: https://pay.example.com/d?id=7\r\n")
	r.types("[o]pen it in a browser, [v]isit it yourself, [d]ecline or [c]ancel? ", "v\n")
	if text := r.exits(0); !strings.Contains(text, "accept ") {
		t.Errorf("the call ends with\n%s", text)
	}
	if _, err := os.Stat(r.cmd.Dir + "/visited"); err == nil {
		t.Error("the browser was opened without consent")
	}

	// In 2025-11-25, a call may require a visit first.
	r = startOnTerminal(t, opens, "call", "terms", "--", "restaurant", "2025-11-25")
	r.types("or [c]ancel? ", "o\n")
	r.sees("Press Enter when you have finished there: ")
	for late := time.Now().Add(patience); time.Now().Before(late); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(r.cmd.Dir + "/visited"); err == nil {
			break
		}
	}
	r.press("\n")
	if text := r.exits(0); !strings.Contains(text, "\r\npaid\r\n") {
		t.Errorf("the call ends with\n%s", text)
	}
	r = startOnTerminal(t, opens, "call", "terms", "--", "restaurant", "2025-11-25")
	r.types("or [c]ancel? ", "d\n")
	if text := r.exits(1); !strings.Contains(text, "slipway: terms: not paid") {
		t.Errorf("the call ends with\n%s", text)
	}
}

// TestWithdrawnQuestion ensures that a prompt ends with its server, and that the terminal then
// echoes again.
func TestWithdrawnQuestion(t *testing.T) {
	r := startOnTerminal(t, nil, "call", "book", "--answer", "name=Ann",
		"--", "sh", "-c", "echo $$ > pid; exec restaurant 2025-11-25")
	r.sees("password (text")
	r.seesHidden()
	text, err := os.ReadFile(r.cmd.Dir + "/pid")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.sees("no longer waits for an answer")
	r.exits(4)
}
