// Command barews is the floor of the WebSocket workloads: coder/websocket reads each
// message once and sends constant bytes of the right answer's size.
package main

import (
	"bytes"
	"context"
	"net/http"

	"github.com/coder/websocket"
	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
)

func main() { contract.Main(contract.Program{HTTP: serve}) }

// serve accepts WebSockets, and answers every message on one with the same bytes.
func serve(cfg contract.Config) (http.Handler, error) {
	w, err := fix.Find(cfg.Workload)
	if err != nil {
		return nil, err
	}
	answer := w.Answer()
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(rw, r,
			&websocket.AcceptOptions{Subprotocols: []string{"mcp.v1"}})
		if err != nil {
			return // Accept has sent the error response
		}
		go loop(conn, answer) // releases the stack of net/http
	}), nil
}

// loop answers until the connection ends: the handshake properly, everything else with
// the same bytes.
func loop(conn *websocket.Conn, answer []byte) {
	defer conn.CloseNow()
	ctx := context.Background()
	for {
		_, msg, err := conn.Read(ctx)
		if err != nil {
			return
		}
		reply := answer
		switch {
		case bytes.Contains(msg, []byte(`"notifications/initialized"`)):
			continue
		case bytes.Contains(msg, []byte(`"initialize"`)):
			reply = fix.InitAnswer()
		}
		if conn.Write(ctx, websocket.MessageText, reply) != nil {
			return
		}
	}
}
