//go:build !unix

package main

import "os"

// peak is not available on this system.
func peak(*os.ProcessState) int64 { return 0 }
