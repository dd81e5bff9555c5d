//go:build unix && !linux

package live

import (
	"os"
	"syscall"
)

// dieWithParent does nothing: only Linux can do this. A child notices the end of
// its stdin.
func dieWithParent(*syscall.SysProcAttr) {}

// enlarge does nothing: only Linux can do this.
func enlarge(*os.File) {}
