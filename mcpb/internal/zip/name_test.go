package zip

import (
	"strings"
	"testing"
)

func TestNamesOnWindows(t *testing.T) {
	for name, want := range map[string]string{
		"lib/aux.js": "reserves the name AUX", "con.txt": "CON", "nul": "NUL", "PRN": "PRN", "com1.tar.gz": "COM1",
		"LPT¹": "LPT¹", "conin$": "CONIN$", "aux .js": "AUX", "a.": "drops the dot", "a /b": "drops the dot",
		"what?": "does not allow", "a|b": "does not allow", "com10": "", "console.js": "", "auxiliary/nul-1": "",
		".config": "", "com¹²": "",
	} {
		if got := WindowsFault(name); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("WindowsFault(%q) = %q, want %q", name, got, want)
		}
		// Windows would open a device, or another file than the checked one.
		if err := checkNameOn("windows", name); (err != nil) != (want != "") {
			t.Errorf("checkNameOn(windows, %q) = %v", name, err)
		}
		if err := checkNameOn("linux", name); err != nil {
			t.Errorf("checkNameOn(linux, %q) = %v", name, err)
		}
	}
	for _, name := range []string{"a/.. /b", "a/.../b", " ", "a/. ./b"} {
		if err := CheckName(name); err == nil {
			t.Errorf("CheckName(%q) = nil", name)
		}
	}
	for a, b := range map[string]string{"index.js": "index.js.", "lib/a": "lib /a", "A": "a. ."} {
		if foldName(a) != foldName(b) {
			t.Errorf("foldName(%q) = %q, foldName(%q) = %q", a, foldName(a), b, foldName(b))
		}
	}
}
