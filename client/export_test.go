package client

// Receive passes an arbitrary message to a session.
func Receive(text []byte) {
	src := newSource(&Dialer{Name: "fuzz"}, nil)
	ses := &session{src: src, ended: make(chan struct{}), end: errClosed}
	ses.receive(text, nil)
}
