//go:build !linux

package client_test

const cpuTimeIsKnown = false
