package process

import "strings"

// ShellWord returns a text as one word of a POSIX shell, quoted if necessary.
func ShellWord(text string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if text != "" && strings.Trim(text, letters+"0123456789_-./:@%+=,") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
