package apps_test

import (
	"compress/gzip"
	"html/template"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/apps"
)

// TestScriptIsSmall: every document contains the script, so it must stay small.
func TestScriptIsSmall(t *testing.T) {
	var n counter
	z, err := gzip.NewWriterLevel(&n, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(z, apps.JS()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("app.js: %d bytes, %d with gzip", len(apps.JS()), n)
	if n > 4096 {
		t.Errorf("app.js is %d bytes with gzip, want 4096 at most", n)
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// TestScriptHasEveryMethod: the script has every method that authors call or assign.
func TestScriptHasEveryMethod(t *testing.T) {
	for _, name := range []string{
		"connect", "disconnect", "callServerTool", "readServerResource", "listServerResources", "sendMessage", "sendLog",
		"updateModelContext", "openLink", "downloadFile", "requestDisplayMode", "requestTeardown", "reportSizeChanged",
		"registerTool", "addEventListener", "removeEventListener",
	} {
		if !regexp.MustCompile(`(?m)^  (async )?` + name + `\(`).MatchString(apps.JS()) {
			t.Errorf("app.js has no method %s", name)
		}
	}
	if !strings.Contains(apps.JS(), `protocolVersion: "`+apps.ProtocolVersion+`"`) {
		t.Errorf("app.js does not speak version %s", apps.ProtocolVersion)
	}
}

func TestScriptInATemplate(t *testing.T) {
	for _, ends := range []string{"</script", "<!--", "<script"} {
		if strings.Contains(strings.ToLower(apps.JS()), ends) {
			t.Errorf("app.js has %q in it, which would end or change the element around it", ends)
		}
	}
	page, err := template.New("page").Funcs(apps.Funcs()).Parse(`<!doctype html><head>{{ mcpApp }}</head><p>{{ . }}</p>`)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := page.Execute(&out, "<x>"); err != nil {
		t.Fatal(err)
	}
	if want := "<!doctype html><head><script>\n" + apps.JS() + "</script></head><p>&lt;x&gt;</p>"; out.String() != want {
		t.Errorf("the page is %.200q…, want %.200q…", out.String(), want)
	}
}
