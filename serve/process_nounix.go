//go:build !unix

package serve

import (
	"fmt"
	"os"
)

// private checks that dir is a folder: its access rights are inherited from the user's
// profile.
func private(dir string, _ bool) error {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	return err
}
