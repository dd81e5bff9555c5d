package process

import "syscall"

// dieWithParent makes the kernel send SIGTERM to the child when this program is killed. A
// launcher forwards SIGTERM to its own children.
func dieWithParent(attr *syscall.SysProcAttr) {
	attr.Pdeathsig = syscall.SIGTERM
}
