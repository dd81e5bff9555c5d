//go:build unix

package hophttp

import "syscall"

const canPeek = true

// nothingArrived reports whether a connection has nothing to read, not even its end.
func nothingArrived(raw syscall.RawConn) (nothing bool) {
	err := raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	})
	return err == nil && nothing
}
