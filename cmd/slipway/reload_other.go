//go:build !unix

package main

import "os"

// reloadSignal returns nil: this system has no signal to reload definitions.
func reloadSignal() os.Signal { return nil }
