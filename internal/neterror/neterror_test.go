package neterror

import (
	"fmt"
	"net"
	"testing"
)

func TestErrorsOfThisSystem(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	if _, err := net.Listen("tcp", address); !IsAddressInUse(err) || IsRefused(err) {
		t.Errorf("Listen = %v, want that the address is in use", err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address)
	if !IsRefused(err) || IsAddressInUse(err) {
		t.Errorf("Dial = %v, %v, want a refused connection", conn, err)
	}
}

func TestNumbersOfWindows(t *testing.T) {
	err := fmt.Errorf("bind: %w", wsaeaddrinuse)
	if !is(err, 1, wsaeaddrinuse, "windows") || is(err, 1, wsaeaddrinuse, "linux") {
		t.Error("10048 is a number of Windows alone")
	}
}
