package main

import "golang.org/x/sys/windows"

// enableEscapes makes the consoles of stdout and stderr interpret escape sequences for
// colour and progress, which they print as text otherwise. The mode belongs to the
// console, so it stays in effect for the shell until it is restored.
func enableEscapes() (restore func()) {
	var restores []func()
	for _, id := range []uint32{windows.STD_OUTPUT_HANDLE, windows.STD_ERROR_HANDLE} {
		console, err := windows.GetStdHandle(id)
		if err != nil {
			continue
		}
		var mode uint32
		if windows.GetConsoleMode(console, &mode) != nil {
			continue // a file or a pipe
		}
		if mode&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING != 0 ||
			windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) != nil {
			continue
		}
		restores = append(restores, func() {
			_ = windows.SetConsoleMode(console, mode) // the console may be closed
		})
	}
	return func() {
		for _, restore := range restores {
			restore()
		}
	}
}
