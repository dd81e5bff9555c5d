//go:build !unix

package serve

import (
	"fmt"
	"os"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// private checks that dir is a folder that other users cannot read, as below the user's
// profile.
func private(dir string, _ bool) error {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	if err != nil {
		return err
	}
	who, err := fsutil.ReadableBy(dir)
	if err == nil && who != "" {
		err = fmt.Errorf("%s is not a folder for this user alone: %s can read it", dir, who)
	}
	return err
}
