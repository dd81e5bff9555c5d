package process

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// ErrBatch means that an argument cannot be passed to a batch file.
var ErrBatch = errors.New("a batch file cannot receive this argument")

// maxBatchLine is the maximum length of a command line of cmd.exe, in UTF-16 units. Bytes
// are at least as many.
const maxBatchLine = 8191

// isBatch reports whether Windows runs a program with cmd.exe, such as npx.cmd. Windows
// drops trailing dots and spaces.
func isBatch(path string) bool {
	ext := strings.ToLower(filepath.Ext(strings.TrimRight(path, ". ")))
	return ext == ".cmd" || ext == ".bat"
}

// batchLine returns the command line that runs a batch file with cmd.exe. The usual
// quoting is for programs: cmd.exe would start a command of its own after a quote and an
// ampersand, and replace %NAME% even in quotes.
//
// /d skips the AutoRun commands of the registry, /e:on enables the expansion that
// [batchEscape] uses, and /v:off keeps exclamation marks.
func batchLine(path string, args []string) (string, error) {
	var line strings.Builder
	line.WriteString(`cmd.exe /d /e:on /v:off /s /c "`)
	for i, word := range append([]string{path}, args...) {
		if strings.ContainsAny(word, "\r\n\x00") {
			return "", fmt.Errorf("%w: it has a line break or a zero byte", ErrBatch)
		}
		if i > 0 {
			line.WriteByte(' ')
		}
		quoteForBatch(&line, word, i == 0)
	}
	line.WriteByte('"')
	if line.Len() > maxBatchLine {
		return "", fmt.Errorf("%w: the command line has %d bytes, more than %d",
			ErrBatch, line.Len(), maxBatchLine)
	}
	return line.String(), nil
}

// batchEscape follows a percent sign, which is then kept: it is an empty substring of
// the variable cd, which cmd.exe always defines.
const batchEscape = `%%cd:~,`

// quoteForBatch writes a word so that both cmd.exe and the program that the batch file
// starts with %* read it unchanged.
func quoteForBatch(line *strings.Builder, word string, always bool) {
	quoted := always || word == "" || strings.HasSuffix(word, `\`) ||
		strings.ContainsFunc(word, isSpecial)
	if quoted {
		line.WriteByte('"')
	}
	backslashes := 0
	for i := range len(word) {
		switch c := word[i]; c {
		case '\\':
			backslashes++
		case '"':
			line.WriteString(strings.Repeat(`\`, backslashes))
			line.WriteByte('"') // doubled: a backslash does not escape it in cmd.exe
			backslashes = 0
		case '%':
			line.WriteString(batchEscape)
			backslashes = 0
		default:
			backslashes = 0
		}
		line.WriteByte(word[i])
	}
	if quoted {
		line.WriteString(strings.Repeat(`\`, backslashes))
		line.WriteByte('"')
	}
}

// isSpecial reports whether cmd.exe or the splitting of arguments may treat a character
// specially outside quotes.
func isSpecial(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune(`#$*+-./:?@\_`, r)
}
