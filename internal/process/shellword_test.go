//go:build unix

package process

import (
	"os/exec"
	"testing"
)

// TestPOSIXWord has a shell read each word.
func TestPOSIXWord(t *testing.T) {
	t.Setenv("HOME", "/home")
	for _, text := range []string{
		"", "a", "a b", "it's", `a"b`, `a\b`, "$HOME", "`id`", "a;b", "a&b", "a|b", "a>b", "*", "?", "[a]", "{a,b}",
		"~", "~/a", "~root", "#a", "!a", "a\nb", "(a)", "größe", "--a=b", "a@b:1/c%20+,d",
	} {
		got, err := exec.Command("sh", "-c", "printf %s "+POSIXWord(text)).Output()
		if err != nil || string(got) != text {
			t.Errorf("POSIXWord(%q) = %s, which is %q, %v", text, POSIXWord(text), got, err)
		}
	}
	for text, want := range map[string]string{"-x": "./-x", "-x y": "'./-x y'", "./-x": "./-x", "x": "x", "": "''"} {
		if got := PathWord(text); got != want {
			t.Errorf("PathWord(%q) = %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{"-x": "-- -x", "--a b": "-- '--a b'", "x-": "x-"} {
		if got := LastWord(text); got != want {
			t.Errorf("LastWord(%q) = %s, want %s", text, got, want)
		}
	}
	const plain = "docs/a_b-c.md:1@v2%+,=3"
	if got := POSIXWord(plain); got != plain {
		t.Errorf("POSIXWord(%q) = %s, want it without quotes", plain, got)
	}
}
