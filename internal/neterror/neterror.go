// Package neterror recognizes network errors on all systems. On Windows, the numbers in
// package syscall with Unix names are not those that the system returns.
package neterror

import (
	"errors"
	"runtime"
	"syscall"
)

// The numbers of Winsock ("Windows Sockets Error Codes").
const (
	wsaeaddrinuse   = syscall.Errno(10048)
	wsaeconnrefused = syscall.Errno(10061)
)

// IsAddressInUse reports whether another program listens on the address.
func IsAddressInUse(err error) bool {
	return is(err, syscall.EADDRINUSE, wsaeaddrinuse, runtime.GOOS)
}

// IsRefused reports whether no program listens on the address.
func IsRefused(err error) bool {
	return is(err, syscall.ECONNREFUSED, wsaeconnrefused, runtime.GOOS)
}

func is(err error, unix, windows syscall.Errno, goos string) bool {
	return errors.Is(err, unix) || goos == "windows" && errors.Is(err, windows)
}
