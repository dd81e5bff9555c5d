//go:build unix

package serve

import (
	"fmt"
	"os"
	"syscall"
)

// private makes sure that a folder belongs to this user, and that nobody else can
// look into it.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a folder for this user alone", dir)
	}
	return nil
}
