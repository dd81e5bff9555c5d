package fsutil

import (
	"runtime"
	"strings"
)

// PlainPath returns a path of Windows without the prefix \\?\, which some programs add to the
// absolute paths that they pass on. With the prefix, "." and forward slashes are not allowed, and
// so [io/fs] cannot walk a folder. Long paths do not need it, because package os adds it. On other
// systems, PlainPath returns path.
func PlainPath(path string) string {
	if runtime.GOOS != "windows" {
		return path
	}
	return withoutPrefix(path)
}

func withoutPrefix(path string) string {
	rest, ok := strings.CutPrefix(path, `\\?\`)
	switch {
	case !ok:
		return path
	case strings.HasPrefix(rest, `UNC\`):
		return `\` + rest[len("UNC"):]
	case len(rest) >= len(`C:\`) && rest[1:3] == `:\`:
		return rest
	}
	return path // of a device or volume, which has no other form
}
