//go:build !unix

package main

import "os"

// reloadSignal would have a file of definitions read again; there is none here.
func reloadSignal() os.Signal { return nil }
