// Command floorstdio is the floor of the stdio workloads: it reads line by line, writes
// the same answer to each without parsing it, and flushes when no complete line is buffered.
package main

import (
	"os"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
)

func main() { contract.Main(contract.Program{Stdio: stdio}) }

// stdio answers by the number of the line, without reading what it says.
func stdio(cfg contract.Config) error {
	w, err := fix.Find(cfg.Workload)
	if err != nil {
		return err
	}
	answer := w.Answer()
	read := 0
	return contract.ServeLines(os.Stdin, os.Stdout, func(dst, _ []byte) ([]byte, error) {
		switch read++; read {
		case 1:
			return append(dst, fix.InitAnswer()...), nil
		case 2:
			return dst, nil // the notification that ends the handshake
		}
		return append(dst, answer...), nil
	})
}
