package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// clock is a source without tools.
type clock struct{ mcp.Unimplemented }

func (clock) Catalog(context.Context) (*mcp.Catalog, error) {
	return &mcp.Catalog{Server: mcp.Implementation{Name: "clock", Version: "1.0.0"}}, nil
}

// The handler of the endpoint and the health checks, in an http.Server of your own.
func ExampleNewHandler() {
	h := serve.NewHandler(clock{}, &serve.Options{})
	srv := httptest.NewServer(h)
	defer srv.Close()

	resp, err := http.Get(srv.URL + "/livez")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(body))
	// Output: 200 ok
}
