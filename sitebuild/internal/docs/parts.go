package docs

import (
	"strings"
	"unicode/utf8"
)

// split cuts Markdown into parts of about limit bytes: before headings if that yields
// parts of a reasonable size, otherwise between paragraphs, otherwise between lines;
// within fenced code only if that alone is too long.
func split(text string, limit int) []string {
	var parts []string
	for len(text) > limit {
		at := cutAt(text, limit)
		parts = append(parts, strings.TrimRight(text[:at], "\n")+"\n")
		text = strings.TrimLeft(text[at:], "\n")
	}
	if text != "" || parts == nil {
		parts = append(parts, text)
	}
	return parts
}

// cutAt returns the end of the first part.
func cutAt(text string, limit int) int {
	heading := 0
	blank := 0
	line := 0
	for at := 0; at < limit; {
		l, next := lineAt(text, at)
		if mark := fenceMark(l); mark != "" {
			end := fenceEnd(text, next, mark)
			if end > limit && blank > limit/4 {
				break
			}
			if end <= limit {
				at = end
				continue
			}
		}
		switch {
		case strings.HasPrefix(l, "#") && at > 0:
			heading = at
		case strings.TrimSpace(l) == "":
			blank = next
		}
		if at > 0 {
			line = at
		}
		at = next
	}
	switch {
	case heading > limit/2:
		return heading
	case blank > limit/4 && blank < len(text):
		return blank
	case line > 0:
		return line
	}
	_, first := utf8.DecodeRuneInString(text)
	return max(first, len(clip(text, limit))) // always make progress
}
