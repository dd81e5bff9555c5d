package client

import "io"

// Events yields the data of the events of a stream.
func Events(r io.Reader, limit int) func(yield func(data []byte) bool) {
	return func(yield func([]byte) bool) {
		for e := newEventReader(r, limit); ; {
			ev, err := e.next()
			if err != nil || !yield(ev.data) {
				return
			}
		}
	}
}

// Receive passes an arbitrary message to a session.
func Receive(text []byte) {
	src := newSource(&Dialer{Name: "fuzz"}, nil)
	ses := &session{src: src, calls: make(map[uint64]*call), ended: make(chan struct{}), end: errClosed}
	ses.receive(text, nil)
}
