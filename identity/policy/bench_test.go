//go:build unix

package policy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/internal/test/policytest"
	"github.com/slipway-mcp/slipway/mcp"
)

func manyTools() *mcp.Catalog {
	cat := &mcp.Catalog{Server: mcp.Implementation{Name: "x", Version: "1"}}
	for i := range 100 {
		server := fmt.Sprintf("s%d", i)
		cat.Sources = append(cat.Sources, mcp.JoinedSource{Name: server})
		cat.Tools = append(cat.Tools, mcp.Tool{Name: server + "_x", Origins: []mcp.Origin{{Source: server, Name: "x"}}})
	}
	return cat
}

// reportCPU adds the CPU time of the process to a benchmark, which other programs on the
// machine do not change, and returns the function that ends the measurement.
func reportCPU(b *testing.B) (stop func()) {
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	return func() {
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
		b.ReportMetric(float64(spent)/float64(b.N), "cpu-ns/op")
	}
}

func BenchmarkDecision(b *testing.B) {
	set := parse(b, policytest.Rules(0, 10_000))
	cat := manyTools()
	who := &mcp.Principal{Name: "ann", Roles: []string{"r3", "r7"}}
	for i := range 20 {
		who.Groups = append(who.Groups, fmt.Sprintf("g%d", i))
	}
	now := &policy.Situation{
		Arguments: json.RawMessage(`{"path":"/home/ann/notes.txt","limit":10}`),
		Transport: "http",
		Time:      time.Now(),
	}
	names := make([]string, len(cat.Tools))
	for i := range names {
		names[i] = cat.Tools[i].Name
	}
	b.Run("remembered", func(b *testing.B) {
		e := policy.NewEngine(set, nil)
		b.ReportAllocs()
		defer reportCPU(b)()
		for i := 0; b.Loop(); i++ {
			e.Tool(who, cat, names[i%len(names)], now)
		}
	})
	b.Run("new caller", func(b *testing.B) {
		e := policy.NewEngine(set, nil)
		b.ReportAllocs()
		defer reportCPU(b)()
		for i := 0; b.Loop(); i++ {
			copied := *who
			e.Tool(&copied, cat, names[i%len(names)], now)
		}
	})
	b.Run("list of 100", func(b *testing.B) {
		e := policy.NewEngine(set, nil)
		b.ReportAllocs()
		defer reportCPU(b)()
		for b.Loop() {
			e.Visible(who, cat, "tools/list", now)
		}
	})
	b.Run("parse", func(b *testing.B) {
		text := []byte(policytest.Rules(0, 10_000))
		defer reportCPU(b)()
		for b.Loop() {
			if _, err := policy.Parse("x", text); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestRulesAreSmall: rules that no request has needed are no objects, which each garbage collection
// would mark, and take little of the heap, whose size decides when the next collection comes.
func TestRulesAreSmall(t *testing.T) {
	text := []byte(policytest.Rules(0, 10_000))
	parse(t, string(text[:bytes.IndexByte(text, '\n')])) // what any policy keeps
	count := func() (m runtime.MemStats) {
		runtime.GC()
		runtime.GC() // empties pools
		runtime.ReadMemStats(&m)
		return m
	}
	before := count()
	set, err := policy.Parse("x", text)
	if err != nil {
		t.Fatal(err)
	}
	after := count()
	if got := int64(after.HeapObjects - before.HeapObjects); got > 300 {
		t.Errorf("10,000 rules are %d objects, want at most 300", got)
	}
	if got := int64(after.HeapAlloc - before.HeapAlloc); got > 240_000 {
		t.Errorf("10,000 rules take %d bytes, want at most 240,000", got)
	}
	runtime.KeepAlive(set)
	runtime.KeepAlive(text)
}

// TestDecisionAllocations: a remembered decision allocates nothing, and one that depends on
// arguments little.
func TestDecisionAllocations(t *testing.T) {
	e := policy.NewEngine(parse(t, policytest.Rules(0, 10_000)), nil)
	cat := manyTools()
	plain := policy.NewEngine(parse(t, `permit (principal, action, resource in Server::"s1");`), nil)
	who := &mcp.Principal{Name: "ann", Groups: []string{"g0", "g1"}, Roles: []string{"r2"}}
	now := &policy.Situation{Arguments: json.RawMessage(`{"path":"/home/ann"}`), Time: time.Now()}
	for name, tt := range map[string]struct {
		engine *policy.Engine
		most   float64
	}{
		"one rule": {plain, 0}, "10,000 rules, with arguments": {e, 0},
	} {
		if got := testing.AllocsPerRun(100, func() { tt.engine.Tool(who, cat, "s1_x", now) }); got > tt.most {
			t.Errorf("%s: %v allocations, at most %v", name, got, tt.most)
		}
		allowed := true
		if got := testing.AllocsPerRun(100, func() {
			_, _, ok := tt.engine.Allows(who, cat, "s1_x", now)
			allowed = allowed && ok
		}); got > tt.most || !allowed {
			t.Errorf("%s: %v allocations by the memo alone, at most %v; allowed: %v", name, got, tt.most, allowed)
		}
	}
}
