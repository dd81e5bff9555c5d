//go:build !windows

package mcpb

import (
	"os"
	"runtime"
)

// thisUser returns the folders of the current user. On macOS their names on disk are the
// same in all languages.
func thisUser(home string) userFolders {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return userFolders{}
	}
	return xdgFolders(home, os.Getenv)
}
