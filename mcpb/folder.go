package mcpb

import "os"

// lastFolder opens the folders of files below a root. The folder of the last file stays
// open, because the next file is usually in it, too. Every folder is opened within the
// root, so that no link leads outside.
type lastFolder struct {
	root   *os.Root
	name   string // the path of folder, or empty
	folder *os.Root
}

// open returns a folder, which is valid until the next call.
func (f *lastFolder) open(name string) (*os.Root, error) {
	switch name {
	case ".":
		return f.root, nil
	case f.name:
		return f.folder, nil
	}
	f.close()
	folder, err := f.root.OpenRoot(name)
	if err == nil {
		f.folder = folder
		f.name = name
	}
	return folder, err
}

// close closes the folder, but not the root.
func (f *lastFolder) close() {
	if f.folder != nil {
		f.folder.Close()
	}
	f.folder = nil
	f.name = ""
}
