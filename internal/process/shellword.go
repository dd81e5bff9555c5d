package process

import (
	"runtime"
	"strings"
)

// plainLetters are the characters that every shell takes as they are.
const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+="

// ShellWord returns a text as one word of the shell of this system, quoted if necessary, for
// commands that a user is to paste. The text may be from anywhere: no part of it is executed.
func ShellWord(text string) string { return ShellWordFor(runtime.GOOS, text) }

// ShellWordFor is [ShellWord] for the shell of another system, by its GOOS.
func ShellWordFor(goos, text string) string {
	if goos == "windows" {
		return windowsWord(text)
	}
	return POSIXWord(text)
}

// POSIXWord returns a text as one word of a POSIX shell, quoted if necessary.
func POSIXWord(text string) string {
	if text != "" && strings.Trim(text, plainLetters+",") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// windowsWord returns a text as one word of both cmd.exe and PowerShell, quoted if necessary.
// Where these differ, the word may be wrong for cmd.exe, but neither executes a part of it.
// cmd.exe expands %NAME% within quotes, too, and has no escape for it.
func windowsWord(text string) string {
	if text != "" && strings.Trim(text, plainLetters+`\~`) == "" && !strings.ContainsAny(text[:1], "@%~") {
		return text
	}
	// A line break would end the command in cmd.exe, within quotes too.
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	// PowerShell executes $(...) within quotes, escapes with a backtick, and takes typographic
	// quotes for quotes.
	text = strings.NewReplacer(
		`"`, `""`,
		"$", "`$",
		"`", "``",
		"“", "`“",
		"”", "`”",
		"„", "`„",
	).Replace(text)
	// Programs take a backslash before the closing quote for its escape.
	if n := len(text) - len(strings.TrimRight(text, `\`)); n > 0 {
		text += strings.Repeat(`\`, n)
	}
	return `"` + text + `"`
}
