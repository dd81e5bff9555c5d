package webpage

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// Decode returns the text of a page as UTF-8. Text that is UTF-8 already is returned as it
// is, whatever it declares. Otherwise the encoding is the one that a byte order mark of UTF-16,
// contentType (the HTTP header, or "") or a meta element declares; bytes that it does not have
// become U+FFFD. ok is false if no known encoding is declared: the text is then returned
// unchanged.
func Decode(source []byte, contentType string) (text string, ok bool) {
	label := ""
	switch {
	case bytes.HasPrefix(source, []byte{0xff, 0xfe}):
		label = "utf-16le"
	case bytes.HasPrefix(source, []byte{0xfe, 0xff}):
		label = "utf-16be"
	case utf8.Valid(source):
		return strings.TrimPrefix(string(source), "\ufeff"), true
	default:
		label = declared(source, contentType)
	}
	encoding, name := charset.Lookup(label)
	if encoding == nil || name == "utf-8" {
		return string(source), false
	}
	decoded, err := encoding.NewDecoder().Bytes(source)
	if err != nil {
		return string(source), false
	}
	return strings.TrimPrefix(string(decoded), "\ufeff"), true
}

// metaCharset matches the encoding that a meta element declares, in both forms.
var metaCharset = lazyregexp.New(`(?i)<meta\s[^>]*?charset\s*=\s*["']?\s*([a-z0-9_:-]+)`)

// maxPrescan is how many bytes of a page are searched for its encoding, as in the HTML standard.
const maxPrescan = 1024

// declared returns the name of the encoding in the HTTP header, otherwise that in the page, or "".
func declared(source []byte, contentType string) string {
	if _, params, err := mime.ParseMediaType(contentType); err == nil && params["charset"] != "" {
		return params["charset"]
	}
	if m := metaCharset().FindSubmatch(source[:min(len(source), maxPrescan)]); m != nil {
		return string(m[1])
	}
	return ""
}
