package ws_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/ws"
)

func Example() {
	server := mcpserver.New(mcp.Unimplemented{}, nil)
	site := httptest.NewServer(ws.NewHandler(server, nil))
	defer site.Close()

	ctx := context.Background()
	conn, err := ws.Dial(ctx, site.URL, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	if err := conn.WriteMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); err != nil {
		log.Fatal(err)
	}
	answer, err := conn.ReadMessage(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(conn.Subprotocol(), string(answer))
	// Output: mcp.v1 {"jsonrpc":"2.0","id":1,"result":{}}
}
