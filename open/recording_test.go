package open_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/open"
)

// A recording that lacks messages is opened with a warning.
func TestIncompleteRecording(t *testing.T) {
	whole, err := os.ReadFile("../examples/recordings/http.mcplog")
	if err != nil {
		t.Fatal(err)
	}
	text := string(whole)
	for want, text := range map[string]string{
		"": text,
		"the last line is incomplete and is ignored": text + `{"seq":`,
		"messages are missing: the disk was full":    text + `{"kind":"gap","error":"the disk was full"}` + "\n",
	} {
		file := filepath.Join(t.TempDir(), "a.mcplog")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []string
		src, err := open.Open(t.Context(), file, &open.Options{Live: &open.LiveOptions{Source: &client.Options{
			Observe: func(e client.Event) {
				if e.What == client.EventWarning {
					got = append(got, e.Err.Error())
				}
			},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		_ = src.(*client.Source).Close()
		if strings.Join(got, "; ") != want {
			t.Errorf("warnings %q, want %q", got, want)
		}
	}
}
