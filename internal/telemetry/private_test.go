package telemetry_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-mcp/slipway/internal/telemetry"
	"github.com/slipway-mcp/slipway/mcp"
)

// quoting is a Source whose errors quote what it was given.
type quoting struct{ mcp.Unimplemented }

func (quoting) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server:    mcp.Implementation{Name: "quoting", Version: "1"},
		Prompts:   []mcp.Prompt{{Name: "ask", Arguments: []mcp.PromptArgument{{Name: "n"}}}},
		Resources: []mcp.Resource{{Name: "page", URI: privateURI}},
	}, nil
}

func (quoting) GetPrompt(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
	return nil, mcp.Errorf(mcp.CodeInvalidParams, "n must be a number (got %q)", p.Arguments["n"])
}

func (quoting) ReadResource(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: "text"}}}, nil
}

const privateURI = "https://ann:hunter2@pages.example/one?token=hunter2"

// TestNothingPrivate ensures that what is sent contains neither arguments that errors quote, nor the secret parts
// of URIs.
func TestNothingPrivate(t *testing.T) {
	c := newCollector(t)
	sent, err := telemetry.Start(t.Context(), &telemetry.Options{Endpoint: c.URL})
	if err != nil {
		t.Fatal(err)
	}
	url := gateway(t, quoting{}, sent)
	for i, request := range []string{
		`"method":"prompts/get","params":{"name":"ask","arguments":{"n":"hunter2"}}`,
		fmt.Sprintf(`"method":"resources/read","params":{"uri":%q}`, privateURI),
	} {
		if got := post(t, url, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i, request)); !strings.Contains(got, "hunter2") {
			t.Fatalf("the answer is %s", got)
		}
	}
	if err := sent.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	failed, read := false, false
	for _, span := range c.received["/v1/traces"] {
		attributes := span.attributes(t, 9)
		failed = failed || attributes["error.type"] == "-32602"
		read = read || strings.Contains(attributes["mcp.resource.uri"], "pages.example/one")
		for number, values := range span {
			for _, value := range values {
				if text, ok := value.([]byte); ok && bytes.Contains(text, []byte("hunter2")) {
					t.Errorf("field %d of a span has a secret: %q", number, text)
				}
			}
		}
	}
	if !failed || !read {
		t.Errorf("an error: %t, a URI: %t in %v, want both", failed, read, c.received["/v1/traces"])
	}
}
