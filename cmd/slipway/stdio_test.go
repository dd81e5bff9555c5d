package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// slipwayCommand returns a command of the real program, from the folder where testscript
// puts it.
func slipwayCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("slipway")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "SLIPWAY_STATE_DIR="+t.TempDir(), "GORACE="+raceOptions)
	cmd.Stderr = t.Output()
	return cmd
}

// talk is a client over stdin and stdout.
type talk struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
}

func startTalk(t *testing.T, args ...string) *talk {
	t.Helper()
	in, out := startPiped(t, args...)
	return &talk{t, in, out}
}

// startPiped runs slipway with args. It exits at the end of the test, and must exit
// successfully.
func startPiped(t *testing.T, args ...string) (in io.WriteCloser, out *bufio.Scanner) {
	t.Helper()
	cmd := slipwayCommand(t, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // stuck, not slow
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("slipway %s ends with %v", strings.Join(args, " "), err)
		}
		limit.Stop()
	})
	out = bufio.NewScanner(stdout)
	out.Buffer(nil, 8<<20)
	return in, out
}

func (c *talk) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// until returns the next message that contains all words.
func (c *talk) until(words ...string) string {
	c.t.Helper()
	for c.out.Scan() {
		line := c.out.Text()
		missing := false
		for _, word := range words {
			missing = missing || !strings.Contains(line, word)
		}
		if !missing {
			return line
		}
	}
	c.t.Fatalf("no message with %q", words)
	return ""
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after %v: %s", patience, what)
		}
	}
}
