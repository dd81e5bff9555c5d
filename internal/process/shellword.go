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

// PathWord is [ShellWord] for the path of a file or folder, or another argument that may be one. A path that a
// command would take for a flag, such as -x, becomes ./-x.
func PathWord(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return ShellWord(path)
}

// LastWord is [ShellWord] for a name at the end of a command. A name that the command would take for a flag follows --.
func LastWord(name string) string {
	if strings.HasPrefix(name, "-") {
		return "-- " + ShellWord(name)
	}
	return ShellWord(name)
}

// SourceWords returns the words of a source for a command line: -- and the words of a command, or one path or URL. No
// words give "".
func SourceWords(words []string) string {
	switch {
	case len(words) == 0:
		return ""
	case words[0] != "--":
		return PathWord(words[0])
	}
	quoted := []string{"--"}
	for _, w := range words[1:] {
		quoted = append(quoted, ShellWord(w))
	}
	return strings.Join(quoted, " ")
}

// POSIXWord returns a text as one word of a POSIX shell, quoted if necessary.
func POSIXWord(text string) string {
	if text != "" && strings.Trim(text, plainLetters+",") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// windowsWord returns a text as one word of both cmd.exe and PowerShell, quoted if necessary.
// Where these differ, the word may be wrong for one of them, but neither executes a part of it.
// cmd.exe expands %NAME% within quotes, too; an expansion that could be a quote is prevented.
func windowsWord(text string) string {
	plain := strings.Trim(text, plainLetters+`\~`) == "" && !hasSubstring(text)
	if plain && text != "" && !strings.ContainsAny(text[:1], "@%~") {
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
	if hasSubstring(text) {
		text = strings.ReplaceAll(text, "%", "%%cd:~,%") // the expansion of %cd:~,% is empty
	}
	return `"` + doubleBackslashes(text) + `"`
}

// hasSubstring reports whether cmd.exe would expand a part of text to a part of a variable, such as
// the quote in %CMDCMDLINE:~0,1%.
func hasSubstring(text string) bool {
	parts := strings.Split(text, "%")
	for _, part := range parts[1:max(1, len(parts)-1)] {
		if strings.Index(part, ":") > 0 {
			return true
		}
	}
	return false
}

// doubleBackslashes doubles those before quotes and at the end, which programs take for escapes of
// the quote that follows.
func doubleBackslashes(text string) string {
	var out strings.Builder
	run := 0
	for i := range len(text) {
		switch text[i] {
		case '\\':
			run++
		case '"':
			out.WriteString(strings.Repeat(`\`, run))
			run = 0
		default:
			run = 0
		}
		out.WriteByte(text[i])
	}
	out.WriteString(strings.Repeat(`\`, run))
	return out.String()
}
