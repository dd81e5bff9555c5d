package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/style"
	"github.com/slipway-mcp/slipway/serve"
)

// clusterJSON are the replicas of the cluster of one process.
type clusterJSON struct {
	PID      int                  `json:"pid"`
	Endpoint string               `json:"endpoint"`
	Replicas []serve.ReplicaState `json:"replicas"`
}

// clustersOf returns the clusters that processes belong to, each once.
func clustersOf(all []serve.Process) []clusterJSON {
	var clusters []clusterJSON
	seen := make(map[string]bool)
	for i := range all {
		p := &all[i]
		known := false
		for _, r := range p.Replicas {
			known = known || seen[r.ID]
			seen[r.ID] = true
		}
		if len(p.Replicas) > 0 && !known {
			clusters = append(clusters, clusterJSON{p.PID, p.Endpoint, p.Replicas})
		}
	}
	return clusters
}

// printClusters prints clusters in their order, separated by empty lines.
func printClusters(w io.Writer, all []clusterJSON) error {
	for i := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := printCluster(w, &all[i], time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// printCluster prints the replicas as one of them sees them.
func printCluster(w io.Writer, c *clusterJSON, now time.Time) error {
	rows := [][]string{{"REPLICA", "ADDRESS", "UP", "VERSION", "DEFINITIONS", "SESSIONS", "STREAMS", "TASKS", "IN FLIGHT",
		"PROCESSES", "MEMORY"}}
	for i := range c.Replicas {
		r := &c.Replicas[i]
		row := []string{r.ID, r.Addr, age(now.Sub(r.Started)), dashed(r.Version), dashed(r.Definitions)}
		if r.Error != "" {
			row = append(row, "-", "-", "-", "-", "-", "-")
		} else {
			row = append(row, strconv.Itoa(r.Sessions), strconv.Itoa(r.Streams), strconv.Itoa(r.Tasks),
				strconv.Itoa(r.InFlight), processesOf(r.Processes), fmt.Sprintf("%.1f MB", float64(r.Memory)/1e6))
		}
		rows = append(rows, row)
	}
	out := newLayout(w)
	seen := fmt.Sprintf(", seen from process %d at %s", c.PID, c.Endpoint)
	out.line(named(count(len(c.Replicas), "replica")), plain(seen))
	out.grid("  ", rows, 0, 2)
	for i := range c.Replicas {
		r := &c.Replicas[i]
		switch {
		case r.Error != "":
			out.line(plain("  "), named(r.ID), plain(": "), span{style.Error, r.Error})
		case len(r.Differs) > 0:
			what := strings.Join(r.Differs, " and ")
			out.line(plain("  "), named(r.ID), plain(": "), span{style.Warning, "differs in " + what})
		case r.Draining:
			out.line(plain("  "), named(r.ID), plain(": draining"))
		}
	}
	return out.flush()
}

// processesOf returns the processes that a replica runs for clients, of those it may run.
func processesOf(l *serve.ProcessLoad) string {
	switch {
	case l == nil:
		return "-"
	case l.Max == 0:
		return strconv.Itoa(l.Running)
	}
	return fmt.Sprintf("%d of %d", l.Running, l.Max)
}
