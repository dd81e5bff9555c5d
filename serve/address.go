package serve

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// ParseAddr converts a listen address as a user writes it (HOST:PORT, HOST or PORT) to
// host:port. Missing parts come from [DefaultAddr]. A port is a number from 0 to 65535; 0
// means any free port.
func ParseAddr(text string) (string, error) {
	defaultHost, defaultPort, _ := net.SplitHostPort(DefaultAddr)
	host, port, err := net.SplitHostPort(text)
	bare := strings.Trim(text, "[]")
	switch {
	case isNumber(text):
		host = defaultHost
		port = text
	case err != nil && (net.ParseIP(bare) != nil || text != "" && !strings.Contains(text, ":")):
		host = bare
		port = defaultPort
	case err != nil || port == "":
		return "", fmt.Errorf("%q is not an address such as %s", text, DefaultAddr)
	}
	if !IsPort(port) {
		return "", fmt.Errorf("%q is not an address such as %s: a port is a number from 0 to 65535", text, DefaultAddr)
	}
	return net.JoinHostPort(host, port), nil
}

// IsPort reports whether s is a port number, from 0 to 65535.
func IsPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == s
}

// isNumber reports whether s consists of decimal digits, without a sign.
func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
