package webpage

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// Decode returns the text of a page as UTF-8. A byte order mark, contentType (the HTTP header,
// or "") or a meta element declares its encoding, in this order. Text that is UTF-8 is returned
// as it is, unless it can only be in the declared encoding. ok is false if some of the text is
// lost: bytes that the encoding does not have become U+FFFD, and if no known encoding is
// declared, the text is returned unchanged.
func Decode(source []byte, contentType string) (text string, ok bool) {
	encoding, name, _ := charset.DetermineEncoding(source, contentType)
	undeclared, _, _ := charset.DetermineEncoding(nil, "")
	isUTF8 := utf8.Valid(source)
	switch {
	case name == "replacement": // an encoding that browsers do not read
		return string(source), false
	case encoding == undeclared || name == "utf-8" || name == "x-user-defined" || isUTF8 && !needsDecoding(source, name):
		return strings.TrimPrefix(string(source), "\ufeff"), isUTF8
	}
	decoded, err := encoding.NewDecoder().Bytes(source)
	if err != nil {
		return string(source), false
	}
	return strings.TrimPrefix(string(decoded), "\ufeff"), !bytes.ContainsRune(decoded, utf8.RuneError)
}

// needsDecoding reports whether source, which is valid UTF-8, is in the encoding with that name
// nevertheless: it has bytes that a page in UTF-8 does not have.
func needsDecoding(source []byte, name string) bool {
	switch name {
	case "iso-2022-jp":
		return bytes.IndexByte(source, 0x1b) >= 0
	case "utf-16le", "utf-16be":
		return bytes.IndexByte(source, 0) >= 0
	}
	return false
}
