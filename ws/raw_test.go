package ws_test

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"testing"
)

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
	`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// The frames of RFC 6455.
const (
	opContinuation = 0
	opText         = 1
	opBinary       = 2
	opClose        = 8
	opPing         = 9
	opPong         = 10
	final          = 0x80
)

// frame returns a whole client message as one frame.
func frame(op byte, payload string) []byte { return part(final|op, payload) }

// part returns a frame with the given first byte and a fixed mask, which no test depends
// on.
func part(first byte, payload string) []byte {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	mask := [4]byte{1, 2, 3, 4}
	b = append(b, mask[:]...)
	for i := range len(payload) {
		b = append(b, payload[i]^mask[i%4])
	}
	return b
}

// rawConn is a client that may violate the protocol.
type rawConn struct {
	net.Conn
	tb testing.TB
	r  *bufio.Reader
}

const handshake = "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: mcp.v1\r\n\r\n"

// dialRaw opens a connection over the network.
func dialRaw(tb testing.TB, addr string) *rawConn {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	return upgraded(tb, conn)
}

func unupgraded(tb testing.TB, conn net.Conn) *rawConn {
	tb.Cleanup(func() { _ = conn.Close() })
	return &rawConn{Conn: conn, tb: tb, r: bufio.NewReaderSize(conn, 4096)}
}

func upgraded(tb testing.TB, conn net.Conn) *rawConn {
	tb.Helper()
	c := unupgraded(tb, conn)
	c.send([]byte(handshake))
	c.wantUpgrade()
	return c
}

func (c *rawConn) wantUpgrade() {
	c.tb.Helper()
	response, err := http.ReadResponse(c.r, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		c.tb.Fatalf("handshake: %v, %v", response, err)
	}
}

func (c *rawConn) send(b []byte) {
	if _, err := c.Write(b); err != nil {
		c.tb.Errorf("send: %v", err)
	}
}

// receive returns the next frame.
func (c *rawConn) receive() (op byte, payload []byte) {
	op, payload, err := c.next()
	if err != nil {
		c.tb.Errorf("receive: %v", err)
	}
	return op, payload
}

func (c *rawConn) next() (op byte, payload []byte, err error) {
	var head [10]byte
	if _, err := io.ReadFull(c.r, head[:2]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1])
	switch n {
	case 126:
		_, err = io.ReadFull(c.r, head[2:4])
		n = uint64(binary.BigEndian.Uint16(head[2:4]))
	case 127:
		_, err = io.ReadFull(c.r, head[2:10])
		n = binary.BigEndian.Uint64(head[2:10])
	}
	if err != nil {
		return 0, nil, err
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(c.r, payload)
	return head[0] & 15, payload, err
}

// accept returns the Sec-WebSocket-Accept for a key.
func accept(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}
