//go:build unix

package serve

import (
	"fmt"
	"os"
	"syscall"
)

// private checks that a folder belongs to this user and is inaccessible to others. If
// asking is set, root may use the folder of another user, because services have their own
// users.
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
