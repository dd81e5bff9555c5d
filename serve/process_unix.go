//go:build unix

package serve

import (
	"fmt"
	"os"
	"syscall"
)

// private makes sure that a folder belongs to this user, and that nobody else can
// look into it. Who only asks, and is root, may do so in the folder of another:
// services have users of their own.
func private(dir string, asking bool) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	mine := ok && (int(owner.Uid) == os.Getuid() || asking && os.Getuid() == 0)
	if !info.IsDir() || !mine || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a folder for this user alone", dir)
	}
	return nil
}
