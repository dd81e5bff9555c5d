//go:build !windows

package mcpb

import (
	"os"
	"runtime"
)

// thisUser returns the folders of the user of this process. On macOS they always
// have the same names on disk.
func thisUser(home string) userFolders {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return userFolders{}
	}
	return xdgFolders(home, os.Getenv)
}
