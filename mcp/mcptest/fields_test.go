package mcptest

import "testing"

func TestMetaKeys(t *testing.T) {
	for key, want := range map[string]bool{
		"progressToken": true, "a": true, "a-b_c.d": true, "7": true, "x.example/k": true, "x.example/": true,
		"a1-b.c2/k.1": true, "io.modelcontextprotocol/serverInfo": true,
		"": false, "-a": false, "a-": false, "a b": false, "ü": false, "/a": false, "1x.example/k": false,
		"x-.example/k": false,
		"x..example/k": false, "x.example/-k": false, "x.example/k/l": false, "x_y.example/k": false,
	} {
		if got := key != "" && metaKey().MatchString(key); got != want {
			t.Errorf("metaKey matches %q: %v, want %v", key, got, want)
		}
	}
}
