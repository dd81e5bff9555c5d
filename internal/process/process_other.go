//go:build unix && !linux

package process

import "syscall"

// dieWithParent does nothing: only Linux supports it. A child notices the end of its
// stdin.
func dieWithParent(*syscall.SysProcAttr) {}
