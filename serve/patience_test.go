package serve

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

var (
	_ net.Conn     = (*patientConn)(nil)
	_ syscall.Conn = (*patientConn)(nil)
)

// patientPipe returns a connection on which writes block until they are read.
func patientPipe(t *testing.T) (server *patientConn, client net.Conn) {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	return &patientConn{Conn: here}, there
}

func TestPatienceEnds(t *testing.T) {
	const size = 3 * writePiece
	for name, read := range map[string]int{"nothing is read": 0, "the first piece is read": writePiece} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, client := patientPipe(t)
				go io.CopyN(io.Discard, client, int64(read))
				began := time.Now()
				n, err := server.Write(make([]byte, size))
				if n != read || !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("Write = %d, %v, want %d and a passed deadline", n, err, read)
				}
				if took := time.Since(began); took < writePatience || took > writePatience*3/2 {
					t.Errorf("it took %v, want %v to %v", took, writePatience, writePatience*3/2)
				}
			})
		})
	}
}

// A client may be slow as long as it keeps reading, and idle as long as nothing is sent.
func TestPatienceLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := patientPipe(t)
		const pieces = 20
		go func() {
			for range pieces {
				time.Sleep(writePatience - time.Second)
				io.CopyN(io.Discard, client, writePiece)
			}
			io.Copy(io.Discard, client)
		}()
		for _, size := range []int{pieces * writePiece, 1} {
			if n, err := server.Write(make([]byte, size)); n != size || err != nil {
				t.Errorf("Write = %d, %v, want %d", n, err, size)
			}
			time.Sleep(time.Hour)
		}
	})
}

// A deadline set by another caller is kept until it is cleared.
func TestPatienceOfOthers(t *testing.T) {
	set := map[string]func(*patientConn, time.Time) error{
		"SetWriteDeadline": (*patientConn).SetWriteDeadline,
		"SetDeadline":      (*patientConn).SetDeadline,
	}
	for name, set := range set {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, _ := patientPipe(t)
				for _, theirs := range []time.Duration{time.Second, time.Hour} {
					began := time.Now()
					if err := set(server, began.Add(theirs)); err != nil {
						t.Fatal(err)
					}
					if _, err := server.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != theirs {
						t.Errorf("Write: %v after %v, want a passed deadline after %v", err, time.Since(began), theirs)
					}
				}
				if err := set(server, time.Time{}); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if _, err := server.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) ||
					time.Since(began) > writePatience*3/2 {
					t.Errorf("Write: %v after %v, want ours", err, time.Since(began))
				}
			})
		})
	}
}
