package fix_test

import (
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/bench/fix"
)

func TestQuick(t *testing.T) {
	for _, w := range fix.Proxied() {
		quick, answer := w.Quick(), string(w.Answer())
		if err := quick([]byte(answer), fix.FirstID); err != nil {
			t.Errorf("%s: %v", w.Name, err)
		}
		if err := w.Check([]byte(answer), fix.FirstID); err != nil {
			t.Errorf("%s: %v", w.Name, err)
		}
		for name, wrong := range map[string]string{
			"another id":   strings.Replace(answer, "1000000001", "1000000002", 1),
			"another text": strings.NewReplacer("hello", "jello", "lazy", "hazy").Replace(answer),
			"an error":     strings.Replace(answer, `"result":{`, `"result":{"isError":true,`, 1),
		} {
			if quick([]byte(wrong), fix.FirstID) == nil {
				t.Errorf("%s: %s passes", w.Name, name)
			}
		}
	}
}
