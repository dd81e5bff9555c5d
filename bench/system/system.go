// Package system queries the operating system about the measured processes, and groups
// them. Functions that require Linux return an error on other systems.
package system
