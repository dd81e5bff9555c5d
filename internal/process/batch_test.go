package process

import (
	"errors"
	"strings"
	"testing"
)

// The expected lines follow the rules of cmd.exe: quotes are doubled, percent signs
// cannot expand, and nothing special is outside quotes.
func TestBatchLine(t *testing.T) {
	const start = `cmd.exe /d /e:on /v:off /s /c ""C:\node\npx.cmd"`
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"plain":                 {[]string{"-y", "@scope/server", "--n=1"}, ` -y @scope/server "--n=1"`},
		"empty":                 {[]string{""}, ` ""`},
		"blank":                 {[]string{"a b"}, ` "a b"`},
		"command after a quote": {[]string{`a"&calc.exe&"`}, ` "a""&calc.exe&"""`},
		"redirection":           {[]string{"a>b|c<d^e"}, ` "a>b|c<d^e"`},
		"variable":              {[]string{"%PATH%"}, ` "%%cd:~,%PATH%%cd:~,%"`},
		"backslash at the end":  {[]string{`C:\dir\`}, ` "C:\dir\\"`},
		"backslash and quote":   {[]string{`a\"b`}, ` "a\\""b"`},
		"exclamation mark":      {[]string{"!PATH!"}, ` "!PATH!"`},
		"another script":        {[]string{"größe"}, ` "größe"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := batchLine(`C:\node\npx.cmd`, test.args)
			if want := start + test.want + `"`; err != nil || got != want {
				t.Errorf("batchLine(%q) =\n%s, %v, want\n%s", test.args, got, err, want)
			}
		})
	}
}

func TestBatchLineRefuses(t *testing.T) {
	for name, arg := range map[string]string{
		"newline":         "a\ncalc.exe",
		"carriage return": "a\rcalc.exe",
		"zero byte":       "a\x00b",
		"too long":        strings.Repeat("x", 8192),
	} {
		if line, err := batchLine("npx.cmd", []string{arg}); !errors.Is(err, ErrBatch) {
			t.Errorf("%s: %q, %v, want ErrBatch", name, line, err)
		}
	}
}

func TestIsBatch(t *testing.T) {
	for path, want := range map[string]bool{
		`C:\node\npx.cmd`: true, `C:\x.BAT`: true, `C:\x.cmd. .`: true,
		`C:\x.exe`: false, `C:\cmd`: false, `C:\x.cmd\y`: false,
	} {
		if got := isBatch(path); got != want {
			t.Errorf("isBatch(%q) = %v, want %v", path, got, want)
		}
	}
}
