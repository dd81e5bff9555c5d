package main

import (
	"testing"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/inproc"
)

func TestAnswers(t *testing.T) { inproc.Check(t, serve, fix.Legacy, fix.Modern) }

func BenchmarkServe(b *testing.B) { inproc.Benchmark(b, serve, fix.Legacy, fix.Modern) }
