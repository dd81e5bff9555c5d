package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/sitebuild"
)

func main() {
	f, _ := os.Create(os.Args[3])
	runtime.MemProfileRate = 64 << 10
	pprof.StartCPUProfile(f)
	go func() {
		var top uint64
		for {
			time.Sleep(10 * time.Millisecond)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			live := m.NextGC / 2
			if live > top+2<<20 && live > 60<<20 {
				top = live
				h, _ := os.Create(os.Args[3] + ".peak")
				pprof.WriteHeapProfile(h)
				h.Close()
			}
		}
	}()
	in := &sitebuild.InputOptions{}
	in.Documents.TermFiles = -1
	in.Documents.CacheDir = os.Getenv("SLIPWAY_PAGE_CACHE")
	src, err := open.NewInput(os.Args[1], in)
	if err != nil {
		panic(err)
	}
	site, err := src.Site(context.Background())
	if err != nil {
		panic(err)
	}
	n := 0
	stage := ""
	o := &sitebuild.Options{Layout: sitebuild.Packed, Progress: func(p sitebuild.Progress) {
		n++
		if p.Stage != stage || n%600 == 0 {
			stage = p.Stage
			if os.Getenv("HEAPS") != "" {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				fmt.Println(p.Stage, p.Done, m.HeapAlloc>>20)
			}
		}
	}}
	if os.Getenv("HEAPS") != "" {
		runtime.GC()
		h, _ := os.Create(os.Args[3] + ".site")
		pprof.WriteHeapProfile(h)
	}
	r, err := sitebuild.Write(context.Background(), site, sitebuild.Dir(os.Args[2]), o)
	pprof.StopCPUProfile()
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Files, r.Created, r.Changed)
	for i, c := range r.Changes {
		if i < 30 {
			fmt.Println(c)
		}
	}
	h, _ := os.Create(os.Args[3] + ".heap")
	pprof.WriteHeapProfile(h)
	f.Close()
}
