package process_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"github.com/slipway-mcp/slipway/internal/process"
)

// TestMain makes this program the processes of its own tests.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "sleep":
		_, _ = io.Copy(io.Discard, os.Stdin)
		time.Sleep(time.Minute)
	case "parent": // starts another one, prints its id, and stays or exits
		child := exec.Command(os.Args[0], "sleep")
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Println(child.Process.Pid)
		if os.Args[2] == "stay" {
			time.Sleep(time.Minute)
		}
	case "owner": // owns a group, and dies without closing it
		cmd := exec.Command(os.Args[0], "parent", "stay")
		cmd.Stdout = os.Stdout
		if _, err := process.Start(cmd); err != nil {
			panic(err)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	case "args":
		for _, arg := range os.Args[2:] {
			fmt.Printf("%q\n", arg)
		}
	default:
		os.Exit(m.Run())
	}
}

// start starts this program, and returns the id that it prints.
func start(t *testing.T, run func(*exec.Cmd) error, args ...string) (cmd *exec.Cmd, pid uint32) {
	t.Helper()
	cmd = exec.Command(os.Args[0], args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run(cmd); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 20)
	n, err := out.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text[:n])), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, uint32(id)
}

// exits reports whether a process exits within ten seconds.
func exits(t *testing.T, pid uint32) func() bool {
	t.Helper()
	handle, err := windows.OpenProcess(windows.SYNCHRONIZE, false, pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = windows.CloseHandle(handle) })
	return func() bool {
		event, err := windows.WaitForSingleObject(handle, 10_000)
		return err == nil && event == windows.WAIT_OBJECT_0
	}
}

// A process whose parent has exited is in no process tree, and in the job still.
func TestCloseEndsGrandchildren(t *testing.T) {
	for _, parent := range []string{"stay", "exit"} {
		t.Run(parent, func(t *testing.T) {
			var g *process.Group
			cmd, pid := start(t, func(cmd *exec.Cmd) (err error) {
				g, err = process.Start(cmd)
				return err
			}, "parent", parent)
			gone := exits(t, pid)
			if parent == "exit" {
				if err := cmd.Wait(); err != nil {
					t.Fatal(err)
				}
			}
			g.Close()
			if !gone() {
				t.Error("the grandchild runs still")
			}
		})
	}
}

func TestGroupEndsWithItsOwner(t *testing.T) {
	var in io.WriteCloser
	cmd, pid := start(t, func(cmd *exec.Cmd) (err error) {
		in, err = cmd.StdinPipe()
		return errors.Join(err, cmd.Start())
	}, "owner")
	gone := exits(t, pid)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("the owner: %v", err)
	}
	if !gone() {
		t.Error("the grandchild runs still")
	}
}

// The arguments of a batch file reach the program that it starts, and no other program
// starts.
func TestBatchArguments(t *testing.T) {
	dir := t.TempDir()
	batch := filepath.Join(dir, "npx.cmd")
	text := "@ECHO off\r\n\"" + os.Args[0] + "\" args %*\r\n"
	if err := os.WriteFile(batch, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(dir, "marker")
	args := []string{"-y", "@scope/server", "a b", "x&echo>" + marker, "<|>^", `C:\dir\`, "--n=1"}
	cmd := exec.Command(batch, args...)
	var out bytes.Buffer
	cmd.Stdout = &out
	g, err := process.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, arg := range args {
		fmt.Fprintf(&want, "%q\n", arg)
	}
	if got := strings.ReplaceAll(out.String(), "\r", ""); got != want.String() {
		t.Errorf("the program received\n%swant\n%s", got, want.String())
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("an argument ran a command")
	}
}
