//go:build !windows

package main

// enableEscapes does nothing: terminals interpret escape sequences.
func enableEscapes() (restore func()) { return func() {} }
