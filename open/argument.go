package open

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// normalize returns what arg means where people type it in short: the path of a
// file: URL, and http:// before the port of this machine, as in
// localhost:8080/mcp, unless there is a file of that name.
func normalize(arg string) string {
	if path, ok := filePath(arg); ok {
		return path
	}
	if isLocalPort(arg) {
		if _, err := os.Lstat(arg); err != nil {
			return "http://" + arg
		}
	}
	return arg
}

// filePath returns the path that a file: URL of this machine names.
func filePath(arg string) (string, bool) {
	if !strings.HasPrefix(arg, "file:") {
		return "", false
	}
	u, err := url.Parse(arg)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return "", false
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // file:///C:/docs
		path = path[1:]
	}
	return filepath.FromSlash(path), true
}

// isLocalPort reports whether arg is a port of this machine, perhaps with a path.
func isLocalPort(arg string) bool {
	authority, _, _ := strings.Cut(arg, "/")
	host, port, err := net.SplitHostPort(authority)
	if err != nil || port == "" || strings.Trim(port, "0123456789") != "" {
		return false
	}
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
