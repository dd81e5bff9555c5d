//go:build !unix

package clients

import "os"

// keepOwner does nothing: the folder determines the owner.
func keepOwner(string, os.FileInfo) error { return nil }
