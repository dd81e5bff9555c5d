//go:build !linux

package main

// asFirstProcess does nothing: containers use Linux.
func asFirstProcess() {}
