package staticmcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/test/naivesite"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// TestStandardReaderFindsTheExample verifies that a reader that implements only the standard
// finds everything in the example: each text resource, and each answer by its file names,
// which encode to themselves.
func TestStandardReaderFindsTheExample(t *testing.T) {
	root := os.DirFS("../examples/http-reference")
	naive := naivesite.Site{FS: root, Encode: staticmcp.EncodeName}
	manifest, err := naive.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.ServerInfo.Name == "" || manifest.ServerInfo.Version == "" || manifest.ProtocolVersion == "" {
		t.Errorf("the manifest lacks what is required: %+v", manifest.ServerInfo)
	}
	found := 0
	for _, r := range manifest.Capabilities.Resources {
		if strings.HasPrefix(r.MIMEType, "image/") {
			continue // the standard has only text resources
		}
		if _, mimeType, err := naive.Resource(r.URI); err != nil || mimeType != r.MIMEType {
			t.Errorf("%s: %q, %v", r.URI, mimeType, err)
		}
		found++
	}
	for _, tool := range manifest.Capabilities.Tools {
		files, err := filepath.Glob("../examples/http-reference/tools/" + tool.Name + "/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			first := strings.TrimSuffix(filepath.Base(file), ".json")
			calls := [][]string{{first}}
			if below, _ := filepath.Glob(file + "/*.json"); below != nil {
				calls = nil
				for _, f := range below {
					calls = append(calls, []string{first, strings.TrimSuffix(filepath.Base(f), ".json")})
				}
			}
			for _, call := range calls {
				if _, err := naive.Call(tool.Name, call...); err != nil {
					t.Errorf("%s(%s): %v", tool.Name, strings.Join(call, ", "), err)
				}
				found++
			}
		}
	}
	if found < 500 {
		t.Errorf("found %d answers", found)
	}
	if text, err := naive.Call("get_status", "404"); err != nil || text == "" {
		t.Errorf("get_status(404) = %q, %v", text, err)
	}
}
