// Package system asks the operating system about the processes that are measured,
// and keeps them together. What only Linux tells is an error elsewhere.
package system
