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
	)
	far := strings.Repeat(" ", 2000) + meta
	for name, c := range map[string]struct{ source, contentType, want string }{
		"UTF-8":                              {"gr\u00fcn", "", "gr\u00fcn"},
		"UTF-8 with a mark":                  {"\ufeffgr\u00fcn", "", "gr\u00fcn"},
		"UTF-8 in spite of its meta element": {meta + "gr\u00fcn", "", meta + "gr\u00fcn"},
		"a meta element":                     {meta + "gr\xfcn", "", meta + "gr\u00fcn"},
		"the older meta element":             {older + "gr\xfcn", "", older + "gr\u00fcn"},
		"the header":                         {"\xcf\xf0\xe8", cyrillic, "\u041f\u0440\u0438"},
		"an encoding of several bytes":       {"\x93\xfa\x96\x7b", japanese, "\u65e5\u672c"},
		"the header before the meta element": {meta + "\xcf", cyrillic, meta + "\u041f"},
		"UTF-16, low byte first":             {"\xff\xfeg\x00\xfc\x00", "", "g\u00fc"},
		"UTF-16, high byte first":            {"\xfe\xff\x00g\x00\xfc", "", "g\u00fc"},
		"half a character":                   {"\xff\xfeg\x00\xfc", "", "g\ufffd"},
	} {
		if got, ok := webpage.Decode([]byte(c.source), c.contentType); got != c.want || !ok {
			t.Errorf("%s: Decode = %q, %t, want %q", name, got, ok, c.want)
		}
	}
	for _, source := range []string{"gr\xfcn", itself + "\xfc", unknown + "\xfc", far + "\xfc"} {
		if got, ok := webpage.Decode([]byte(source), ""); got != source || ok {
			t.Errorf("Decode(%q) = %q, %t, want it unchanged", source, got, ok)
		}
	}
}
