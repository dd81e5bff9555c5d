package urilabel_test

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/urilabel"
)

func TestSplitJoin(t *testing.T) {
	for _, name := range []string{"notes", "Team A", "1password", "", strings.Repeat("x", 60)} {
		for _, label := range []string{urilabel.Of(name), urilabel.Hashed(name)} {
			if len(name) > 40 && label != urilabel.Of(name) {
				continue // its label has a hash already
			}
			for _, uri := range []string{"file:///a+b", "ui://view/a", "other+x:y", "{+path}"} {
				joined := urilabel.Join(label, uri)
				if got, own, ok := urilabel.Split(joined); got != label || own != uri || !ok {
					t.Errorf("Split(%q) = %q, %q, %t; want %q and %q", joined, got, own, ok, label, uri)
				}
			}
		}
	}
	for uri, want := range map[string]string{
		"NOTES+file:///a": "notes", "ui://Notes+a": "notes", "file:///a": "", "ui://a": "",
		strings.Repeat("x", 60) + "+file:///a": "",
	} {
		if got, _, ok := urilabel.Split(uri); got != want || ok != (want != "") {
			t.Errorf("Split(%q) = %q, %t; want %q", uri, got, ok, want)
		}
	}
}
