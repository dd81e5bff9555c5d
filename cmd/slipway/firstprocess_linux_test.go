package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inContainer starts slipway as the first process of a PID namespace, as in a container.
func inContainer(t *testing.T, args ...string) *server {
	t.Helper()
	cmd := exec.Command("slipway", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	}
	s := newServer(cmd)
	if err := s.start(); err != nil {
		t.Skipf("no namespace for processes: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return s
}

// childrenOf returns the names and states of the children of a process.
func childrenOf(t *testing.T, pid int) (children []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has exited
		}
		name, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == fmt.Sprint(pid) {
			children = append(children, name[strings.IndexByte(name, '(')+1:]+" "+fields[0])
		}
	}
	return children
}

func TestFirstProcessOfAContainer(t *testing.T) {
	t.Chdir(workplace(t))
	s := inContainer(t, "serve", "--addr", "127.0.0.1:0", "--",
		"sh", "-c", `(true &); (sh -c "true & true" &); exec slipway serve --stdio examples/http-reference`)
	url, err := s.await(regexp.MustCompile(`http://127\.0\.0\.1:\d+`))
	if err != nil {
		t.Fatal(err)
	}
	late := time.After(patience)
	for {
		answer, err := http.Get(url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			break // it is 503 while the command starts
		}
		select {
		case <-late:
			t.Fatalf("/readyz: %s", answer.Status)
		case <-time.After(10 * time.Millisecond):
		}
	}
	for {
		left := strings.Join(childrenOf(t, s.cmd.Process.Pid), ", ")
		if !strings.Contains(left, " Z") && strings.Count(left, ",") == 0 && left != "" {
			break
		}
		select {
		case <-late:
			t.Fatalf("the first process has the children %s, want one that lives", left)
		case <-time.After(time.Millisecond): // the kernel notifies no one else
		}
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-s.done; err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if log, _ := s.log.read(); strings.Count(log, "draining requests") != 1 {
		t.Errorf("SIGTERM was not passed on once:\n%s", log)
	}
}

// TestFirstProcessEndsAsTheProgram ensures that the container exits with the program's
// exit code.
func TestFirstProcessEndsAsTheProgram(t *testing.T) {
	for name, args := range map[string][]string{"0": {"version"}, "2": {"serve", "--no-such-flag"},
		"3": {"ls", "no-such-folder"}} {
		s := inContainer(t, args...)
		got := 0
		if err := <-s.done; err != nil {
			got = s.cmd.ProcessState.ExitCode()
		}
		if fmt.Sprint(got) != name {
			t.Errorf("slipway %s: exit code %d, want %s", strings.Join(args, " "), got, name)
		}
	}
}
