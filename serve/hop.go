package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// hop forwards requests to the replica that owns their session or task, and serves those
// that other replicas forward. The owner authenticates, limits, counts and audits a
// request; the replica that forwards it only reads the sealed id.
type hop struct {
	replica *cluster.Replica
	log     *slog.Logger
	server  *http.Server
	changes *changePublisher
	limits  *limitSharing // nil without limits
	quotas  *quotas       // nil without quotas
	handler *Handler
	version string
	probes  probes
	stop    context.CancelFunc
	running sync.WaitGroup
	// retiring is set once the others learn that this replica leaves.
	retiring atomic.Bool
	// outcomes count the forwarded requests, see hopOutcomes.
	outcomes [len(hopOutcomes)]atomic.Int64
}

// The outcomes of forwarding a request.
const (
	hopAnswered = iota
	hopRefused  // the owner could not be reached; the request was not sent
	hopBroken   // the owner was lost, or stopped answering, after the request had been sent
	hopWaiting  // the owner does not answer at present; the request was not sent
)

var hopOutcomes = [...]string{"answered", "refused", "broken", "suspended"}

// Headers between replicas. They are removed from requests of clients.
const (
	hopClient = "Slipway-Client-Address" // where the client connected from
	hopLocal  = "Slipway-Local-Address"  // where it connected to
	hopSecure = "Slipway-Client-Secure"  // present if it used TLS
)

// hopped marks a request in its context as forwarded by another replica.
type hopped struct{}

// startHop serves the requests that other replicas forward to h.
func (o *Options) startHop(h *Handler) *hop {
	if o.Cluster == nil {
		return nil
	}
	p := &hop{
		replica: o.Cluster,
		handler: h,
		quotas:  o.quotas,
		version: o.Version,
		log:     o.Logger,
	}
	servers := []*mcpserver.Server{h.server}
	for _, n := range h.endpoints {
		servers = append(servers, n.server)
	}
	p.shareChanges(servers)
	p.limits = newLimitSharing(p.replica.ID(), h.admission.limiter, o.quotas, p.usagePeers, p.log)
	p.server = &http.Server{
		Handler:           p.receive(h),
		ReadHeaderTimeout: o.ReadHeaderTimeout,
		ReadTimeout:       o.ReadTimeout,
		IdleTimeout:       o.IdleTimeout,
		MaxHeaderBytes:    o.MaxHeader + 4<<10, // for the headers between replicas
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	return p
}

// run serves other replicas until close.
func (p *hop) run() {
	if p == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.running.Go(func() { p.changes.run(ctx) })
	p.running.Go(func() { p.describe(ctx) })
	if p.limits != nil {
		p.running.Go(func() { p.limits.run(ctx) })
	}
	p.running.Go(func() { _ = p.server.Serve(p.replica.Listener()) })
	p.log.Info("serving other replicas", "address", p.replica.Addr(), "replica", p.replica.ID())
}

// noticeRetirement is how long other replicas may still forward requests to one that retires.
const noticeRetirement = 250 * time.Millisecond

// retire makes the others forward no more requests to this replica.
func (p *hop) retire() {
	if p == nil || p.retiring.Swap(true) {
		return
	}
	p.running.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := p.replica.Retire(ctx); err != nil {
			p.log.Warn("the other replicas were not told that this one is about to leave", "error", err)
		}
	})
}

// drainDelay returns how long requests are accepted after retire: at least until the others have
// noticed.
func (p *hop) drainDelay(delay time.Duration) time.Duration {
	if p == nil || len(p.replica.Peers()) == 0 {
		return delay
	}
	return max(delay, noticeRetirement)
}

// close stops serving other replicas. Requests in flight have finished by then.
func (p *hop) close() {
	if p == nil {
		return
	}
	p.stop()
	_ = p.server.Close()
	p.running.Wait()
}

// receive restores a request as it arrived at the other replica.
func (p *hop) receive(h *Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case usagePath:
			p.receiveUsage(w, r)
			return
		case pingPath:
			w.WriteHeader(http.StatusNoContent)
			return
		case loadPath:
			p.serveLoad(w)
			return
		}
		ctx := context.WithValue(r.Context(), hopped{}, true)
		if local, err := net.ResolveTCPAddr("tcp", r.Header.Get(hopLocal)); err == nil {
			ctx = context.WithValue(ctx, http.LocalAddrContextKey, local)
		}
		r = r.WithContext(ctx)
		if client := r.Header.Get(hopClient); client != "" {
			r.RemoteAddr = client
		}
		if r.Header.Get(hopSecure) == "" {
			r.TLS = nil
		}
		removeHopHeaders(r.Header)
		h.ServeHTTP(w, r)
	})
}

func removeHopHeaders(h http.Header) {
	h.Del(hopClient)
	h.Del(hopLocal)
	h.Del(hopSecure)
}

// passOn forwards a request that another replica has to serve, and reports whether it did.
// A request whose owner has left, or is about to, is served here: its session or task is unknown,
// so the client gets 404 and starts over.
func (h *Handler) passOn(w http.ResponseWriter, r *http.Request) bool {
	if h.hop == nil || r.Context().Value(hopped{}) != nil {
		return false
	}
	var peer *cluster.Peer
	switch {
	case strings.HasPrefix(r.URL.Path, EndpointPath):
		if owner := h.ownerOf(r); owner != "" && owner != h.hop.replica.ID() {
			peer = h.hop.replica.Find(r.Context(), owner)
		}
	case h.connect != nil && strings.HasPrefix(r.URL.Path, identity.ConnectPath):
		// The replica that made the address has the call that waits for the login.
		peer = h.hop.replica.Tagged(identity.ReplicaTag(r.URL))
	}
	if peer == nil {
		return false
	}
	h.hop.forward(w, r, peer)
	return true
}

// ownerOf returns the id of the replica that owns the session or task of a request, or "".
// Both ids are sealed, so a client cannot choose the replica.
func (h *Handler) ownerOf(r *http.Request) string {
	if r.Header.Get("Mcp-Protocol-Version") < mcp.Version20260728.String() {
		owner, _ := h.server.SessionReplica(r.Header.Get("Mcp-Session-Id"))
		return owner
	}
	if !strings.HasPrefix(r.Header.Get("Mcp-Method"), "tasks/") {
		return ""
	}
	// The owner verifies that the header agrees with the body.
	owner, _ := h.server.TaskReplica(r.Header.Get("Mcp-Name"))
	return owner
}

// forward sends a request to its owner and copies the answer, as it comes if it is a
// stream. If the owner is lost meanwhile, the client gets an error at once.
func (p *hop) forward(w http.ResponseWriter, r *http.Request, peer *cluster.Peer) {
	if p.probes.suspended(peer.ID) {
		p.refuseSuspended(w, r)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer p.probes.watch(peer, cancel)()
	defer context.AfterFunc(peer.Context(), func() { cancel(cluster.ErrGone) })()
	outcome := hopAnswered
	proxy := &httputil.ReverseProxy{
		Transport: peer.Transport(),
		Rewrite: func(out *httputil.ProxyRequest) {
			out.Out.URL.Scheme = "https"
			out.Out.URL.Host = peer.Addr
			out.Out.Host = out.In.Host
			removeHopHeaders(out.Out.Header)
			out.Out.Header.Set(hopClient, r.RemoteAddr)
			if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
				out.Out.Header.Set(hopLocal, local.String())
			}
			if r.TLS != nil {
				out.Out.Header.Set(hopSecure, "true")
			}
		},
		ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			outcome = p.failed(w, r, peer, err)
		},
	}
	defer func() {
		if cause := context.Cause(ctx); errors.Is(cause, cluster.ErrGone) || errors.Is(cause, errSuspended) {
			outcome = hopBroken // perhaps in the middle of its answer
		}
		p.outcomes[outcome].Add(1)
	}()
	// An owner may answer before the end of the body was read. net/http would then close the body
	// under the proxy, whose connection breaks, and with it the answer.
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always is
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

// refuseSuspended answers a request whose owner does not answer probes. A client with a
// session starts over at once, at another replica; a task may continue.
func (p *hop) refuseSuspended(w http.ResponseWriter, r *http.Request) {
	p.outcomes[hopWaiting].Add(1)
	if r.Header.Get("Mcp-Protocol-Version") < mcp.Version20260728.String() {
		p.refuse(w, r, http.StatusNotFound, mcp.CodeInvalidRequest,
			"the replica of this session does not answer, start again")
		return
	}
	w.Header().Set("Retry-After", "1")
	p.refuse(w, r, http.StatusServiceUnavailable, mcp.CodeInternalError,
		"the replica of this task does not answer at present, try again")
}

// failed answers a request whose owner did not.
func (p *hop) failed(w http.ResponseWriter, r *http.Request, peer *cluster.Peer, err error) (outcome int) {
	status, code, outcome := http.StatusBadGateway, mcp.CodeInternalError, hopBroken
	message := "the replica that served the request was lost: it may have run"
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		status, code, outcome = http.StatusNotFound, mcp.CodeInvalidRequest, hopRefused
		message = "the replica of this session or task has stopped, start again"
	}
	if cause := context.Cause(r.Context()); errors.Is(err, context.Canceled) && cause != nil {
		err = cause
	}
	p.log.Warn("request not forwarded", "replica", peer.ID, "outcome", hopOutcomes[outcome], "error", err)
	p.refuse(w, r, status, code, message)
	return outcome
}

// refuse answers with an error of the protocol, or on the page for logins with one for its
// reader.
func (p *hop) refuse(w http.ResponseWriter, r *http.Request, status int, code mcp.Code, message string) {
	if !strings.HasPrefix(r.URL.Path, EndpointPath) {
		p.handler.connect.fail(w, &identity.TicketError{Text: "The gateway was restarted. " +
			"Go back to your MCP client and try again to get another address."})
		return
	}
	var body bytes.Buffer
	body.WriteString(`{"jsonrpc":"2.0",`)
	if v := r.Header.Get("Mcp-Protocol-Version"); v < mcp.Version20251125.String() {
		body.WriteString(`"id":null,`) // later versions leave it out
	}
	fmt.Fprintf(&body, `"error":{"code":%d,"message":%q}}`, code, message)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes())
}

// metrics writes the state of the cluster.
func (p *hop) metrics(t *exposition) {
	connected := 0.0
	if p.replica.Connected() {
		connected = 1
	}
	t.gauge("slipway_cluster_replicas", "Replicas that are alive, including this one.", float64(len(p.replica.Members())))
	t.gauge("slipway_cluster_engine_up", "Whether the cluster engine answers.", connected)
	t.family("slipway_cluster_differing_replicas", "gauge", "Replicas whose version or definitions differ from this one.")
	differing := p.differing()
	for _, what := range []string{DiffersVersion, DiffersDefinitions} {
		t.sample("slipway_cluster_differing_replicas", float64(differing[what]), "what", what)
	}
	t.family("slipway_cluster_hops_total", "counter", "Requests forwarded to the replica that owns their session or task.")
	for i, outcome := range hopOutcomes {
		t.sample("slipway_cluster_hops_total", float64(p.outcomes[i].Load()), "outcome", outcome)
	}
}
