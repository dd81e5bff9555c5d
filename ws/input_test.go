package ws

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// stutter is a connection from which data arrives in pieces of changing size.
type stutter struct {
	net.Conn
	data []byte
	step int
}

func (s *stutter) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	s.step = (s.step*31+7)%97 + 1
	n := copy(p, s.data[:min(s.step, len(s.data))])
	s.data = s.data[n:]
	return n, nil
}

// FuzzInput hands arbitrary bytes over frame by frame. All of them must arrive,
// and no read may cross the end of a frame, or a part of the next one would wait
// where nobody looks for it.
func FuzzInput(f *testing.F) {
	f.Add([]byte("\x81\x82\x01\x02\x03\x04hi\x89\x80\x01\x02\x03\x04"), uint8(16))
	f.Add([]byte("\x01\x02hi\x8a\x00\x80\x02ho"), uint8(1))
	f.Add(append([]byte("\x81\x7e\x27\x10"), make([]byte, 10_000)...), uint8(255))
	f.Add([]byte("\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff"), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		w := newWire(0, time.Second)
		w.attach(&stutter{data: bytes.Clone(data)})
		p := make([]byte, int(size)*64+1) // sometimes larger than the buffer
		var got []byte
		end := uint64(0) // of the frame being read
		for {
			n, err := w.Read(p)
			if n > 0 && uint64(len(got)) == end {
				h, ok := frameHeader(data[len(got):])
				if !ok {
					t.Fatalf("read %d bytes of a frame without a header", n)
				}
				end += h.size + h.payload
			}
			if got = append(got, p[:n]...); uint64(len(got)) > end {
				t.Fatalf("read up to %d, the frame ends at %d", len(got), end)
			}
			if errors.Is(err, errRest) {
				if uint64(len(got)) != end {
					t.Fatalf("rests at %d in the midst of a frame", len(got))
				}
				err = w.await()
			}
			if err != nil {
				break
			}
		}
		rest := data[len(got):]
		if _, whole := frameHeader(rest); !bytes.HasPrefix(data, got) || whole {
			t.Errorf("read %q, want %q", got, data)
		}
	})
}
