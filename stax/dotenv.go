package stax

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// dotenv reads the KEY=VALUE lines of a .env file:
//
//   - A line may start with "export". Comments start with #.
//   - A quoted value may span several lines.
//   - In double quotes, \n, \r, \t, \", \$ and \\ are escapes; single quotes and
//     backquotes have none.
//   - Nothing is expanded.
//   - If a key is repeated, the last value wins.
type dotenv struct {
	// text is what has not been read yet, which begins in line.
	text string
	line int
}

// parseEnv parses a .env file: KEY=VALUE lines, with comments, export and quotes.
func parseEnv(text []byte) (map[string]string, error) {
	text = bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\ufeff")),
		[]byte("\r\n"), []byte("\n"))
	d := &dotenv{text: string(text)}
	values := map[string]string{}
	for d.text != "" {
		d.line++
		line, _, _ := strings.Cut(d.text, "\n")
		trimmed := strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(trimmed, "export"); ok && strings.TrimLeft(rest, " \t") != rest {
			trimmed = strings.TrimSpace(rest)
			if variableName(trimmed) {
				trimmed = "" // "export KEY" exports an existing variable
			}
		}
		if trimmed == "" || trimmed[0] == '#' {
			d.text = d.text[min(len(d.text), len(line)+1):]
			continue
		}
		key, _, ok := strings.Cut(trimmed, "=")
		key = strings.TrimSpace(key)
		if !ok || strings.Trim(key, nameLetters) != "" || key == "" {
			return nil, fmt.Errorf("line %d is not KEY=VALUE", d.line)
		}
		at := d.line
		d.text = d.text[strings.IndexByte(d.text, '=')+1:]
		value, err := d.value()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", at, err)
		}
		values[key] = value
	}
	return values, nil
}

// nameLetters are the characters allowed in names in such files; not all of them are
// valid in keys.
const nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

// value reads the value after "=" through the end of its line.
func (d *dotenv) value() (string, error) {
	start := strings.TrimLeft(d.text, " \t")
	if start == "" || !strings.ContainsRune("'\"`", rune(start[0])) {
		line, rest, _ := strings.Cut(d.text, "\n")
		d.text = rest
		for i := range len(line) {
			if line[i] == '#' &&
				(i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
				line = line[:i]
				break
			}
		}
		return strings.TrimSpace(line), nil
	}
	quote := start[0]
	var b strings.Builder
	for i := 1; i < len(start); i++ {
		c := start[i]
		switch {
		case c == quote:
			return b.String(), d.behind(start[i+1:])
		case c == '\\' && quote == '"' && i+1 < len(start):
			i++
			if at := strings.IndexByte("nrt\"$\\", start[i]); at >= 0 {
				b.WriteByte("\n\r\t\"$\\"[at])
			} else {
				b.WriteString(start[i-1 : i+1])
			}
		default:
			if c == '\n' {
				d.line++
			}
			b.WriteByte(c)
		}
	}
	return "", errors.New("unterminated quote")
}

// behind consumes the rest of the line after a closing quote.
func (d *dotenv) behind(text string) error {
	line, rest, _ := strings.Cut(text, "\n")
	d.text = rest
	if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
		return errors.New("text after the closing quote")
	}
	return nil
}
