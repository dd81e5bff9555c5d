package main

import (
	"encoding/json"
	"net/http"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
)

// inside serves the state of the process.
func inside() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("free") {
			debug.FreeOSMemory()
			debug.FreeOSMemory() // frees what the first run only marked as garbage
		}
		_ = json.NewEncoder(w).Encode(state()) // the driver detects missing data
	})
	mux.HandleFunc("GET /profile/{name}", func(w http.ResponseWriter, r *http.Request) {
		profile := pprof.Lookup(r.PathValue("name"))
		if profile == nil {
			http.NotFound(w, r)
			return
		}
		_ = profile.WriteTo(w, 0)
	})
	return mux
}

// state returns figures from the runtime.
func state() map[string]uint64 {
	samples := []metrics.Sample{
		{Name: "/sched/goroutines:goroutines"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
	}
	metrics.Read(samples)
	return map[string]uint64{
		"goroutines": samples[0].Value.Uint64(),
		"heap":       samples[1].Value.Uint64(),
		"stacks":     samples[2].Value.Uint64(),
	}
}
