package ws

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
)

// stutter is a connection that delivers data in pieces of varying size.
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

// FuzzInput reads arbitrary bytes frame by frame. All of them must arrive, and no read
// may cross the end of a frame: part of the next frame would be stranded in a buffer that
// await does not check.
func FuzzInput(f *testing.F) {
	f.Add([]byte("\x81\x82\x01\x02\x03\x04hi\x89\x80\x01\x02\x03\x04"), uint8(16))
	f.Add([]byte("\x01\x02hi\x8a\x00\x80\x02ho"), uint8(1))
	f.Add(append([]byte("\x81\x7e\x27\x10"), make([]byte, 10_000)...), uint8(255))
	f.Add([]byte("\x8a\x80\x01\x02\x03\x04\x8a\x82\x01\x02\x03\x04hi\x8a\x00\x81\x00"), uint8(0))
	f.Add([]byte("\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff"), uint8(3))
	fuzzbound.Fuzz(f, func(t *testing.T, data []byte, size uint8) {
		from := &stutter{data: data}
		w := newWire(0, time.Second)
		w.attach(from)
		p := make([]byte, int(size)*64+1) // sometimes larger than the buffer
		at, end := 0, 0                   // bytes read, and where their frame ends
		for {
			n, err := w.Read(p)
			if n > 0 && at == end {
				h, ok := frameHeader(data[at:])
				if !ok {
					t.Fatalf("read %d bytes of a frame without a header", n)
				}
				end += int(min(h.size+h.payload, 1<<40))
			}
			if !bytes.HasPrefix(data[at:], p[:n]) {
				t.Fatalf("read %q at %d of %q", p[:n], at, data)
			}
			if at += n; at > end {
				t.Fatalf("read up to %d, the frame ends at %d", at, end)
			}
			if errors.Is(err, errRest) {
				if at != end {
					t.Fatalf("rests at %d, the frame ends at %d", at, end)
				}
				err = w.await()
				next := len(data) - len(from.data) - len(w.in.unread)
				for at < next {
					h, ok := frameHeader(data[at:])
					if !ok || data[at] != final|10 {
						t.Fatalf("%q at %d was taken for a pong", data[at:next], at)
					}
					at += int(h.size + h.payload)
				}
				end = at
			}
			if err != nil {
				break
			}
		}
		if _, whole := frameHeader(data[at:]); whole && at == end {
			t.Errorf("read %d bytes of %q", at, data)
		}
	})
}

const final = 0x80
