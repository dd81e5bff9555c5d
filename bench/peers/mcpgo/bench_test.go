package main

import (
	"testing"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/inproc"
)

// mcp-go sends notifications of a handler from another goroutine, and ends the answer
// without waiting for it.
func TestAnswers(t *testing.T) { inproc.CheckSingle(t, serve, fix.Legacy, fix.Modern) }

func BenchmarkServe(b *testing.B) { inproc.Benchmark(b, serve, fix.Legacy, fix.Modern) }
