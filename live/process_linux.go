package live

import "syscall"

// dieWithParent has the kernel end the child when this program is killed. It is
// SIGTERM, since a launcher passes that on to what it has launched.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
