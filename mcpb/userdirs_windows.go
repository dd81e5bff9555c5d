package mcpb

import "golang.org/x/sys/windows"

// thisUser returns the known folders of Windows, which may be on OneDrive or on another
// drive.
func thisUser(string) userFolders {
	known := func(id *windows.KNOWNFOLDERID) string {
		path, err := windows.KnownFolderPath(id, windows.KF_FLAG_DONT_VERIFY)
		if err != nil {
			return ""
		}
		return path
	}
	return userFolders{known(windows.FOLDERID_Desktop), known(windows.FOLDERID_Documents),
		known(windows.FOLDERID_Downloads)}
}
