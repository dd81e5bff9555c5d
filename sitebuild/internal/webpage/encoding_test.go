package webpage_test

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/sitebuild/internal/webpage"
)

func TestDecode(t *testing.T) {
	const (
		meta     = `<meta charset="iso-8859-1">`
		older    = `<META http-equiv='Content-Type' content='text/html; charset=ISO-8859-1'>`
		itself   = `<meta charset="utf-8">`
		unknown  = `<meta charset="klingon">`
		cyrillic = "text/html; charset=windows-1251"
		japanese = "text/html; charset=Shift_JIS"
		wide     = "text/html; charset=utf-16"
		utf16    = `<meta charset="utf-16">`
		korean   = `<meta charset="iso-2022-kr">`
		comment  = `<!-- <meta charset="windows-1251"> -->`
		other    = `<meta name=x data-charset=windows-1251>`
	)
	far := strings.Repeat(" ", 2000) + meta
	for name, c := range map[string]struct{ source, contentType, want string }{
		"UTF-8":                              {"gr\u00fcn", "", "gr\u00fcn"},
		"UTF-8 with a mark":                  {"\ufeffgr\u00fcn", "", "gr\u00fcn"},
		"UTF-8 in spite of its meta element": {meta + "gr\u00fcn", "", meta + "gr\u00fcn"},
		"UTF-8 in spite of UTF-16":           {"gr\u00fcn", wide, "gr\u00fcn"},
		"UTF-8 with U+FFFD":                  {"gr\ufffdn", "", "gr\ufffdn"},
		"a meta element":                     {meta + "gr\xfcn", "", meta + "gr\u00fcn"},
		"the older meta element":             {older + "gr\xfcn", "", older + "gr\u00fcn"},
		"the header":                         {"\xcf\xf0\xe8", cyrillic, "\u041f\u0440\u0438"},
		"UTF-8 with escapes":                 {"gr\u00fcn \x1b[1m", "", "gr\u00fcn \x1b[1m"},
		"windows-1251 by its other name":     {"\xcf", "text/html; charset=cp1251", "\u041f"},
		"an alias":                           {"\xcf", "text/html; charset=cp866", "\u2567"},
		"the header before the meta element": {meta + "\xcf", cyrillic, meta + "\u041f"},
		"an unknown header":                  {meta + "\xfc", "text/html; charset=klingon", meta + "\u00fc"},
		"the attribute of another name":      {other + meta + "\xfc", "", other + meta + "\u00fc"},
		"a comment":                          {comment + meta + "\xfc", "", comment + meta + "\u00fc"},
		"UTF-16, low byte first":             {"\xff\xfeg\x00\xfc\x00", "", "g\u00fc"},
		"UTF-16, high byte first":            {"\xfe\xff\x00g\x00\xfc", "", "g\u00fc"},
		"UTF-16 without a mark":              {"g\x00r\x00", wide, "gr"},
	} {
		if got, ok := webpage.Decode([]byte(c.source), c.contentType); got != c.want || !ok {
			t.Errorf("%s: Decode = %q, %t, want %q", name, got, ok, c.want)
		}
	}
	for name, c := range map[string]struct{ source, contentType, want string }{
		"UTF-8 by the header, not Latin 1": {meta + "\xfc", "text/html; charset=utf-8", meta + "\xfc"},
		"half a character":                 {"\xff\xfeg\x00\xfc", "", "g\ufffd"},
		"bytes that windows-1253 lacks":    {"\xe1\xaa", "text/html; charset=windows-1253", "\u03b1\ufffd"},
		"an encoding of several bytes":     {"\x93\xfa", japanese, "\x93\xfa"},
		"no encoding":                      {"gr\xfcn", "", "gr\xfcn"},
		"UTF-8 that is not":                {itself + "\xfc", "", itself + "\xfc"},
		"UTF-16 in a meta element":         {utf16 + "gr\xfcn", "", utf16 + "gr\xfcn"},
		"an unknown encoding":              {unknown + "\xfc", "", unknown + "\xfc"},
		"a meta element too far below":     {far + "\xfc", "", far + "\xfc"},
		"a comment only":                   {comment + "\xfc", "", comment + "\xfc"},
		"an encoding without a decoder":    {korean + "gr\xfcn", "", korean + "gr\xfcn"},
		"an encoding of 7 bits":            {"\x1b$BF|K\\\x1b(B", "text/html; charset=iso-2022-jp", "\x1b$BF|K\\\x1b(B"},
		"an encoding of the user":          {"gr\xfcn", "text/html; charset=x-user-defined", "gr\xfcn"},
	} {
		if got, ok := webpage.Decode([]byte(c.source), c.contentType); got != c.want || ok {
			t.Errorf("%s: Decode = %q, %t, want %q and false", name, got, ok, c.want)
		}
	}
}
