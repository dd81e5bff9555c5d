package open

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// normalize expands shorthand arguments: a file: URL becomes a path, and a local port, as
// in localhost:8080/mcp, gets http:// unless a file of that name exists.
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

// filePath returns the path in a file: URL of this machine.
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

// isLocalPort reports whether arg is a port of this machine, optionally with a path.
func isLocalPort(arg string) bool {
	authority, _, _ := strings.Cut(arg, "/")
	host, port, err := net.SplitHostPort(authority)
	if err != nil || port == "" || strings.Trim(port, "0123456789") != "" {
		return false
	}
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
