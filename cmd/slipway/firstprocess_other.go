//go:build !linux

package main

// asFirstProcess is for containers, which are of Linux.
func asFirstProcess() {}
