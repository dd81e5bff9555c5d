package uritemplate

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// Expand returns the URI for the given values. A variable without a value is undefined,
// so its name and separator are omitted.
func (t *Template) Expand(values map[string]string) string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.operator == nil {
			b.WriteString(p.literal)
			continue
		}
		p.expand(&b, values)
	}
	return b.String()
}

func (p *part) expand(b *strings.Builder, values map[string]string) {
	o := p.operator
	lead := o.first
	for _, name := range p.names {
		value, ok := values[name]
		if !ok {
			continue
		}
		b.WriteString(lead)
		lead = o.separator
		if o.named {
			b.WriteString(name)
			if value == "" {
				b.WriteString(o.ifEmpty)
				continue
			}
			b.WriteByte('=')
		}
		b.WriteString(encode(nil, value, o.reserved))
	}
}

const upperHex = "0123456789ABCDEF"

// encode percent-encodes all characters except unreserved ones and, if reserved is true,
// reserved ones and existing escapes (section 3.2.1).
func encode(dst []byte, s string, reserved bool) string {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isUnreserved(c) || reserved && (isReserved(c) || c == '%' && isEscape(s, i)) {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
	}
	return string(dst)
}

func isUnreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' ||
		strings.IndexByte("-._~", c) >= 0
}

func isReserved(c byte) bool {
	return strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0
}

func isEscape(s string, i int) bool {
	return i+2 < len(s) && strings.Trim(s[i+1:i+3], "0123456789abcdefABCDEF") == ""
}

// decode resolves the escapes of a value. ok is false if one is invalid, or if the result
// is not UTF-8.
func decode(s string) (value string, ok bool) {
	value, err := url.PathUnescape(s)
	return value, err == nil && utf8.ValidString(value)
}
