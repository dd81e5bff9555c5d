//go:build unix

package ws

import (
	"io"
	"syscall"
)

// direct reads and writes a socket with direct system calls. Writes never block; reads
// need a buffer only once there is something to read. Without a socket, its methods do
// nothing.
type direct struct {
	// raw gives access to the descriptor; nil if the connection has none.
	raw syscall.RawConn

	tryRead func(fd uintptr) bool
	// in and out are the arguments of the two functions, and got, taken and the errors
	// their results. The functions are made once, because a closure for each call would
	// allocate.
	in       *[inputSize]byte
	got      int
	readErr  error
	tryWrite func(fd uintptr) bool
	out      []byte
	taken    int
	writeErr error
}

func (d *direct) attach(c syscall.Conn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	d.raw = raw
	d.tryRead = d.readOnce
	d.tryWrite = func(fd uintptr) bool {
		d.taken, d.writeErr = retried(syscall.Write, fd, d.out)
		return true
	}
}

// readOnce reports whether the read is done, which it is not as long as there is nothing
// to read.
func (d *direct) readOnce(fd uintptr) bool {
	d.in = inputs.Get().(*[inputSize]byte)
	d.got, d.readErr = retried(syscall.Read, fd, d.in[:])
	if d.readErr == syscall.EAGAIN {
		inputs.Put(d.in)
		d.in = nil
		return false
	}
	return true
}

// retried repeats a system call that a signal has interrupted.
func retried(call func(int, []byte) (int, error), fd uintptr, p []byte) (n int, err error) {
	for {
		if n, err = call(int(fd), p); err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

// read blocks until there is something to read and returns it. Without a socket it
// returns no buffer and no error.
func (d *direct) read() (buf *[inputSize]byte, n int, err error) {
	if d.raw == nil {
		return nil, 0, nil
	}
	err = d.raw.Read(d.tryRead)
	buf = d.in
	d.in = nil
	switch {
	case err != nil:
		return buf, 0, err
	case d.readErr != nil:
		return buf, 0, d.readErr
	case d.got == 0:
		return buf, 0, io.EOF
	}
	return buf, d.got, nil
}

// write returns how many bytes of p were accepted.
func (d *direct) write(p []byte) (int, error) {
	if d.raw == nil {
		return 0, nil
	}
	d.out = p
	err := d.raw.Write(d.tryWrite)
	d.out = nil
	switch {
	case err != nil:
		return 0, err
	case d.writeErr == syscall.EAGAIN:
		return 0, nil
	}
	return d.taken, d.writeErr
}
