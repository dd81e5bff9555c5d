// Command floorstdio is the floor of the stdio workloads: it reads line by line, writes
// the same answer to each without parsing it, and flushes when no more input is buffered.
package main

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/slipway-mcp/slipway/bench/contract"
	"github.com/slipway-mcp/slipway/bench/fix"
)

func main() { contract.Main(contract.Program{Stdio: stdio}) }

func stdio(cfg contract.Config) error {
	w, err := fix.Find(cfg.Workload)
	if err != nil {
		return err
	}
	if err := handshake(); err != nil {
		return ignoreEOF(err)
	}
	answer := append(w.Answer(), '\n')
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for {
		if _, err := in.ReadSlice('\n'); err != nil {
			return ignoreEOF(err)
		}
		out.Write(answer) // a bufio.Writer keeps its error for Flush
		if in.Buffered() > 0 {
			continue
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

// handshake answers the first line, initialize, and discards the second, the notification
// that ends the handshake.
func handshake() error {
	if err := readLine(); err != nil {
		return err
	}
	if _, err := os.Stdout.Write(append(fix.InitAnswer(), '\n')); err != nil {
		return err
	}
	return readLine()
}

// readLine reads byte by byte, since it must not consume part of the next line.
func readLine() error {
	for b := make([]byte, 1); b[0] != '\n'; {
		if _, err := os.Stdin.Read(b); err != nil {
			return err
		}
	}
	return nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
