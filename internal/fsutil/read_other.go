//go:build !unix

package fsutil

// nonBlocking is nothing: files in folders are never pipes.
const nonBlocking = 0
