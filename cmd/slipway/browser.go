package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// openBrowser opens an address in the default browser. It passes a file that leads there:
// every user of the machine can read the arguments of a process. The caller must call
// remove at the end.
func openBrowser(address string) (remove func(), err error) {
	file, err := os.CreateTemp("", "slipway-inspect-*.html") // only this user can read it
	if err != nil {
		return func() {}, err
	}
	remove = func() { _ = os.Remove(file.Name()) }
	_, err = fmt.Fprintf(file,
		"<!doctype html><meta charset=utf-8><meta http-equiv=refresh content='0;url=%s'>\n", address)
	if err = errors.Join(err, file.Close()); err != nil {
		return remove, err
	}
	return remove, start(defaultBrowser(), file.Name())
}

// defaultBrowser returns the command that opens a page in the default browser.
func defaultBrowser() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return []string{"xdg-open"}
}
