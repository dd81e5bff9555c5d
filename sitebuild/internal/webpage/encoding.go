package webpage

import (
	"bytes"
	"cmp"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// prescanned is how many bytes of a page may declare its encoding, as in browsers.
const prescanned = 1024

// Decode returns the text of a page as UTF-8. A byte order mark, contentType (the HTTP header,
// or "") or a meta element declares its encoding, in this order: UTF-8, UTF-16, or one with one
// byte for each character. Text that is UTF-8 is returned as it is, unless the header says
// UTF-16 and it has zero bytes. ok is false if some of the text is lost: bytes that the encoding
// does not have become U+FFFD, and if no known encoding is declared, the text is returned
// unchanged.
func Decode(source []byte, contentType string) (text string, ok bool) {
	header := labelOf(contentType)
	e := utf16Of(source, header)
	if e == nil && utf8.Valid(source) {
		// In an encoding of 7 bits, a page is also UTF-8.
		escapes := bytes.IndexByte(source, 0x1b) >= 0 && strings.HasPrefix(simplified(label(source, header)), "iso2022")
		return strings.TrimPrefix(string(source), "\ufeff"), !escapes
	}
	if e == nil {
		e = encodingOf(label(source, header))
	}
	if e == nil {
		return string(source), false
	}
	decoded, err := e.NewDecoder().Bytes(source)
	if err != nil {
		return string(source), false
	}
	return strings.TrimPrefix(string(decoded), "\ufeff"), !bytes.ContainsRune(decoded, utf8.RuneError)
}

// utf16Of returns the UTF-16 that a page is in, by its byte order mark or the label in the header, or nil.
func utf16Of(source []byte, header string) encoding.Encoding {
	switch {
	case bytes.HasPrefix(source, []byte("\xff\xfe")):
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case bytes.HasPrefix(source, []byte("\xfe\xff")):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case bytes.IndexByte(source, 0) < 0: // which all markup in UTF-16 has
		return nil
	}
	switch strings.ToLower(header) {
	case "utf-16", "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return nil
}

// label returns the label of the header if it is known or that of UTF-8, or else that of the meta element, or "".
func label(source []byte, header string) string {
	if simplified(header) == "utf8" || encodingOf(header) != nil {
		return header
	}
	return cmp.Or(prescan(source[:min(len(source), prescanned)]), header)
}

// labelOf returns the charset of a content type, or "".
func labelOf(contentType string) string {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(params["charset"])
}

// prescan returns the label of the first meta element that declares an encoding, or "".
func prescan(source []byte) string {
	z := html.NewTokenizer(bytes.NewReader(source))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if t.DataAtom != atom.Meta {
				continue
			}
			isType, content := false, ""
			for _, a := range t.Attr {
				switch a.Key {
				case "charset":
					return strings.TrimSpace(a.Val)
				case "http-equiv":
					isType = strings.EqualFold(a.Val, "content-type")
				case "content":
					content = labelOf(a.Val)
				}
			}
			if isType && content != "" {
				return content
			}
		}
	}
}

// encodingOf returns the encoding of one byte for each character with a label, or nil. As in browsers, ASCII and
// Latin 1 are windows-1252, and Latin 5 is windows-1254.
func encodingOf(label string) encoding.Encoding {
	name := simplified(label)
	switch name {
	case "ascii", "usascii", "latin1", "iso88591":
		name = "windows1252"
	case "latin5", "iso88599":
		name = "windows1254"
	case "latin2":
		name = "iso88592"
	case "latin9":
		name = "iso885915"
	case "koi8":
		name = "koi8r"
	case "mac":
		name = "macintosh"
	case "cp866", "ibm866":
		name = "ibmcodepage866"
	}
	if number, ok := strings.CutPrefix(name, "cp125"); ok {
		name = "windows125" + number
	}
	for _, e := range charmap.All {
		if m, ok := e.(*charmap.Charmap); ok && m != charmap.XUserDefined && simplified(m.String()) == name {
			return m
		}
	}
	return nil
}

// simplified returns the letters and digits of a name, in lower case.
func simplified(name string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' || 'a' <= r && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}
