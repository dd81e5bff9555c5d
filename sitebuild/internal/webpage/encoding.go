package webpage

import (
	"bytes"
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
	isUTF8 := utf8.Valid(source)
	e, wide := declared(source, contentType)
	if e == nil || isUTF8 && !wide {
		escapes := bytes.IndexByte(source, 0x1b) >= 0 // of an encoding of 7 bits, such as ISO-2022-JP
		return strings.TrimPrefix(string(source), "\ufeff"), isUTF8 && !escapes
	}
	decoded, err := e.NewDecoder().Bytes(source)
	if err != nil {
		return string(source), false
	}
	return strings.TrimPrefix(string(decoded), "\ufeff"), !bytes.ContainsRune(decoded, utf8.RuneError)
}

// declared returns the encoding that a page declares, and whether it is UTF-16, or nil.
func declared(source []byte, contentType string) (e encoding.Encoding, wide bool) {
	switch {
	case bytes.HasPrefix(source, []byte("\xff\xfe")):
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), true
	case bytes.HasPrefix(source, []byte("\xfe\xff")):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), true
	}
	label := labelOf(contentType)
	if bytes.IndexByte(source, 0) >= 0 { // as all markup in UTF-16 has
		switch strings.ToLower(label) {
		case "utf-16", "utf-16le":
			return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), true
		case "utf-16be":
			return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), true
		}
	}
	if e := encodingOf(label); e != nil {
		return e, false
	}
	// A page whose meta element can be read is not in UTF-16.
	return encodingOf(prescan(source[:min(len(source), prescanned)])), false
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

// aliases are labels that differ from the names of package charmap. As in browsers, ASCII and
// Latin 1 are windows-1252.
var aliases = map[string]string{
	"ascii": "windows1252", "usascii": "windows1252", "latin1": "windows1252", "iso88591": "windows1252",
	"cp1250": "windows1250", "cp1251": "windows1251", "cp1252": "windows1252", "cp1253": "windows1253",
	"cp1254": "windows1254", "latin2": "iso88592", "iso88599": "windows1254", "latin9": "iso885915",
	"ibm866": "ibmcodepage866", "cp866": "ibmcodepage866", "koi8": "koi8r", "mac": "macintosh",
}

// encodingOf returns the encoding of one byte for each character with a label, or nil.
func encodingOf(label string) encoding.Encoding {
	name := simplified(label)
	if alias := aliases[name]; alias != "" {
		name = alias
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
