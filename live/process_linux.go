package live

import (
	"os"
	"syscall"
)

// dieWithParent has the kernel end the child when this program is killed. It is
// SIGTERM, since a launcher passes that on to what it has launched.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }

// setPipeSize is fcntl's F_SETPIPE_SZ.
const setPipeSize = 1031

// enlarge lets more wait in a pipe than the usual 64 KiB, which is a handful of large
// answers: the child then stops at each to be read. The memory is the system's, and
// used only while something waits. A user may have so much of it and no more, and
// without it all works as before.
func enlarge(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, 256<<10) })
	}
}
