package doctor

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listenState is the state of listening sockets in /proc/net/tcp.
const listenState = "0A"

// listener returns the process that listens on a port, or "" if it belongs to another user.
func listener(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return ""
	}
	inodes := listening(number)
	if len(inodes) == 0 {
		return ""
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is valid
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || !inodes[target] {
			continue
		}
		dir := filepath.Dir(filepath.Dir(link))
		name, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err == nil {
			return fmt.Sprintf("%s (PID %s)", strings.TrimSpace(string(name)), filepath.Base(dir))
		}
	}
	return ""
}

// listening returns the sockets that listen on a port, in the form of links in /proc.
func listening(port int) map[string]bool {
	found := make(map[string]bool)
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			if len(fields) > 9 &&
				fields[3] == listenState &&
				strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
				found["socket:["+fields[9]+"]"] = true
			}
		}
		_ = f.Close() // it was only read
	}
	return found
}
