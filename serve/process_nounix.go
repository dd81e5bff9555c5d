//go:build !unix

package serve

import (
	"fmt"
	"os"
)

// private makes sure that there is a folder: who may look into it is inherited from
// the profile of the user that it is in.
func private(dir string, _ bool) error {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	return err
}
