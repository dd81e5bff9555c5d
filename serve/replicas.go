package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// ReplicaState is the state of a replica of a cluster, see [Process].
type ReplicaState struct {
	cluster.Member

	// Self means that it is the process that reports it.
	Self bool `json:"self,omitempty"`
	// Differs lists how it differs from the process that reports it: [DiffersVersion],
	// [DiffersDefinitions].
	Differs []string `json:"differs,omitempty"`
	// Error is set if it does not answer; the fields below are then unknown.
	Error string `json:"error,omitempty"`

	ReplicaLoad
}

// ReplicaLoad is the load of a replica.
type ReplicaLoad struct {
	// Draining reports that the replica begins no sessions; the others are current numbers.
	Draining bool  `json:"draining,omitempty"`
	Sessions int   `json:"sessions"`
	Streams  int   `json:"streams"`
	Tasks    int   `json:"tasks"`
	InFlight int   `json:"inFlight"`
	Memory   int64 `json:"memory,omitempty"` // resident bytes
	// Processes are what it runs for clients, or nil if it has no servers with a process for each, or
	// is of a release that does not report them.
	Processes *ProcessLoad `json:"processes,omitempty"`
}

// ProcessLoad is the number of processes that a program runs for its clients, see
// [Live.Processes].
type ProcessLoad struct {
	Running int `json:"running"`
	Max     int `json:"max,omitempty"` // 0 means no limit
	// PerSession means that sessions have processes of their own.
	PerSession bool `json:"perSession,omitempty"`
}

// full reports whether no other process may run.
func (l *ProcessLoad) full() bool { return l.Max > 0 && l.Running >= l.Max }

// The values of [ReplicaState.Differs].
const (
	DiffersVersion     = "version"
	DiffersDefinitions = "definitions" // tools, resources, prompts, or limits
)

// Limits of the state of replicas.
const (
	loadPath     = "/.slipway/load"
	loadTimeout  = 700 * time.Millisecond
	maxLoad      = 64 << 10
	describeEach = time.Second
	// differsAfter is how long replicas may differ before a warning, because definitions do not
	// reach all of them at once.
	differsAfter = 2 * time.Minute
)

// load describes this replica.
func (p *hop) load() ReplicaLoad {
	load := ReplicaLoad{Draining: p.handler.health.draining.Load()}
	st := p.handler.servers().stats()
	load.Sessions = st.Sessions
	load.Streams = st.Streams
	load.Tasks = st.Tasks
	load.InFlight = st.InFlight
	_, load.Memory = usage()
	load.Processes = p.handler.placing.processes()
	return load
}

// serveLoad serves the load to other replicas.
func (p *hop) serveLoad(w http.ResponseWriter) {
	body, err := json.Marshal(p.load())
	if err != nil {
		http.Error(w, "unknown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// states returns the state of all replicas, and asks each for its load.
func (p *hop) states(ctx context.Context) []ReplicaState {
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	members := p.replica.Members()
	peers := make(map[string]*cluster.Peer)
	for _, peer := range p.replica.Peers() {
		peers[peer.ID] = peer
	}
	self := p.replica.Self()
	all := make([]ReplicaState, len(members))
	turns := make(chan struct{}, 16)
	var asking sync.WaitGroup
	for i, m := range members {
		state := &all[i]
		state.Member = m
		state.Differs = differences(&self, &m)
		peer := peers[m.ID]
		switch {
		case m.ID == self.ID:
			state.Self = true
			state.ReplicaLoad = p.load()
		case peer == nil:
			state.Error = "it has just joined or left"
		default:
			asking.Go(func() {
				turns <- struct{}{}
				defer func() { <-turns }()
				if err := readLoad(ctx, peer, &state.ReplicaLoad); err != nil {
					state.Error = "it does not answer"
				}
			})
		}
	}
	asking.Wait()
	return all
}

// readLoad asks a replica for its load. The answer has at most maxLoad bytes.
func readLoad(ctx context.Context, peer *cluster.Peer, load *ReplicaLoad) error {
	resp, err := askReplica(ctx, peer, loadPath)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(io.LimitReader(resp.Body, maxLoad)).Decode(load)
}

// differences lists how a replica differs from this one. Members of a release that did not
// publish its definitions differ by their version.
func differences(self, m *cluster.Member) []string {
	var all []string
	if m.Version != self.Version {
		all = append(all, DiffersVersion)
	}
	if m.Definitions != self.Definitions && m.Definitions != "" {
		all = append(all, DiffersDefinitions)
	}
	return all
}

// differing counts the replicas that differ from this one, by value of Differs.
func (p *hop) differing() map[string]int {
	self := p.replica.Self()
	counts := map[string]int{
		DiffersVersion:     0,
		DiffersDefinitions: 0,
	}
	for _, m := range p.replica.Members() {
		for _, what := range differences(&self, &m) {
			counts[what]++
		}
	}
	return counts
}

// describe publishes the digest of what this replica serves, and warns if others serve
// something else for longer than a change takes to reach all of them.
func (p *hop) describe(ctx context.Context) {
	tick := time.NewTicker(describeEach)
	defer tick.Stop()
	var since time.Time
	warned := false
	for {
		if digest, ok := p.digest(ctx); ok {
			p.replica.Describe(p.version, digest)
		}
		switch differ := p.differing()[DiffersDefinitions] > 0; {
		case !differ:
			since = time.Time{}
			warned = false
		case since.IsZero():
			since = time.Now()
		case !warned && time.Since(since) >= differsAfter:
			warned = true
			p.log.Warn("replicas serve different definitions", "replicas", strings.Join(p.othersThatDiffer(), ", "))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// othersThatDiffer returns up to 10 IDs of replicas with other definitions than this one.
func (p *hop) othersThatDiffer() []string {
	self := p.replica.Self()
	var names []string
	for _, m := range p.replica.Members() {
		if slices.Contains(differences(&self, &m), DiffersDefinitions) {
			names = append(names, m.ID)
		}
	}
	return names[:min(len(names), 10)]
}

// digest returns the digest of the catalog and the limits. It reports false while the
// catalog is not available.
func (p *hop) digest(ctx context.Context) (digest string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	cat, err := p.handler.health.source.Catalog(ctx)
	if err != nil || cat.Unknown() {
		return "", false
	}
	sum := sha256.New()
	fmt.Fprintln(sum, cat.Version())
	if l := p.handler.admission.limiter; l != nil {
		limits := l.limits.Load()
		fmt.Fprintln(sum, limits.Rate, limits.Burst, limits.ClientInFlight, limits.InFlight)
	}
	if p.quotas != nil {
		for i := range p.quotas.all {
			fmt.Fprintln(sum, p.quotas.all[i].id())
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:6]), true
}

// ClusterHealth is the part of [Health] about the cluster.
type ClusterHealth struct {
	// Replicas is how many are alive, Differing how many of them serve other definitions.
	Replicas  int `json:"replicas"`
	Differing int `json:"differing"`
	// Engine reports whether the engine answers.
	Engine bool `json:"engine"`
}

// health returns nil without a cluster.
func (p *hop) health() *ClusterHealth {
	if p == nil {
		return nil
	}
	return &ClusterHealth{
		Replicas:  len(p.replica.Members()),
		Differing: p.differing()[DiffersDefinitions],
		Engine:    p.replica.Connected(),
	}
}
