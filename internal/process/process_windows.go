package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// job is a job object, which contains the program and everything it starts.
type job struct{ handle windows.Handle }

// prepare starts the process suspended, so that it enters the job before it can start
// others, and in a group of its own, so that Ctrl-C in our console does not reach it.
func prepare(cmd *exec.Cmd) error {
	attr := &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED}
	if _, err := windows.GetConsoleCP(); err != nil {
		// Without a console, as below a desktop program, a window would open for each child.
		attr.CreationFlags |= windows.CREATE_NO_WINDOW
	}
	cmd.SysProcAttr = attr
	if !isBatch(cmd.Path) {
		return nil
	}
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return err
	}
	line, err := batchLine(cmd.Path, cmd.Args[1:])
	if err != nil {
		return err
	}
	// Not %ComSpec%: the quoting is for this program.
	cmd.Path = filepath.Join(system, "cmd.exe")
	attr.CmdLine = line
	return nil
}

// adopt puts the suspended program into a job, and resumes it.
func adopt(leader *os.Process) (job, error) {
	handle, err := newJob()
	if err != nil {
		return job{}, err
	}
	var assigned error
	err = leader.WithHandle(func(process uintptr) {
		assigned = windows.AssignProcessToJobObject(handle, windows.Handle(process))
	})
	if err := errors.Join(err, assigned); err != nil {
		_ = windows.CloseHandle(handle) // the caller kills the process
		return job{}, fmt.Errorf("assign it to a job: %w", err)
	}
	if err := resume(uint32(leader.Pid)); err != nil {
		_ = windows.CloseHandle(handle) // this ends the process
		return job{}, fmt.Errorf("resume it: %w", err)
	}
	return job{handle}, nil
}

// newJob returns a job that kills its processes when the last handle to it, ours, is
// closed. A process can leave it only on purpose, as by setsid elsewhere.
func newJob() (windows.Handle, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("create a job: %w", err)
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE |
		windows.JOB_OBJECT_LIMIT_BREAKAWAY_OK
	_, err = windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(handle) // it is empty
		return 0, fmt.Errorf("limit a job: %w", err)
	}
	return handle, nil
}

// resume resumes the only thread of a process that was started suspended.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false,
			entry.ThreadID)
		if err != nil {
			return err
		}
		defer windows.CloseHandle(thread)
		_, err = windows.ResumeThread(thread)
		return err
	}
	return err
}

// Terminate asks all processes of the group to exit: CTRL_BREAK. Without a common
// console, it is Kill.
func (g *Group) Terminate() {
	if windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT,
		uint32(g.leader.Pid)) != nil {
		g.Kill()
	}
}

// Kill ends all processes of the group.
func (g *Group) Kill() {
	_ = windows.TerminateJobObject(g.job.handle, 1) // an error means that it is closed
}

// Close is Kill, and releases the group. The group must not be used afterwards.
func (g *Group) Close() {
	g.Kill()
	_ = windows.CloseHandle(g.job.handle)
	g.job.handle = 0
}
