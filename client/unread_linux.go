package client

import (
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// unread returns how many bytes in a pipe will never be read, and whether that is known:
// there must be no reader left. It is called when nothing else is written.
func unread(pipe *os.File) (n int64, known bool) {
	// Only a write reveals whether a reader exists. An empty line is harmless to one.
	_ = pipe.SetWriteDeadline(time.Now().Add(settleTime / 5))
	if _, err := pipe.Write([]byte{'\n'}); !errors.Is(err, syscall.EPIPE) {
		return 0, false
	}
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, false
	}
	var waiting int32
	if err := raw.Control(func(fd uintptr) {
		// FIONREAD
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ,
			uintptr(unsafe.Pointer(&waiting)))
		known = errno == 0
	}); err != nil {
		return 0, false
	}
	return int64(waiting), known
}
