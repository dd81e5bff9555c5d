package fleet_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// bell is a server with one tool.
type bell struct{ mcp.Unimplemented }

func (bell) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{
		Server: mcp.Implementation{Name: "bell", Version: "1.0.0"},
		Tools:  []mcp.Tool{{Name: "ring", InputSchema: []byte(`{"type":"object"}`)}},
	}, nil
}

// Open starts the servers of a definitions file, and joins them into one Source.
func ExampleOpen() {
	upstream := httptest.NewServer(server.New(bell{}, nil).HTTPHandler(nil))
	defer upstream.Close()
	folder, err := os.MkdirTemp("", "fleet")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "servers.yaml")
	text := "specVersion: 1.0.0\nservers:\n  bell:\n    url: " + upstream.URL + "/mcp\n    transport: http\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	src, err := fleet.Open(ctx, file, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer src.(io.Closer).Close()
	cat, err := src.Catalog(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range cat.Tools {
		fmt.Println(tool.Name)
	}
	// Output: ring
}
