package serve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/hophttp"
	"github.com/slipway-mcp/slipway/mcp"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
)

// hop forwards requests to the replica that owns their session or task, and serves those
// that other replicas forward. The owner authenticates, limits, counts and audits a
// request; the replica that forwards it only reads the sealed id.
type hop struct {
	replica *cluster.Replica
	log     *slog.Logger
	// server serves the requests that other replicas forward. changes and tokens share what each of
	// them must know.
	server  *hophttp.Server
	changes *changePublisher
	tokens  *tokenSharing
	buffers sync.Pool // of *[]byte, see copyAnswer
	// keptBytes is the size of the bodies that are read before they are forwarded.
	keptBytes atomic.Int64
	limits    *limitSharing // nil without limits
	quotas    *quotas       // nil without quotas
	handler   *Handler
	version   string
	probes    probes
	// sessions are those of stateless sources, which other replicas can continue.
	sessions *ownedSessions
	homes    *callerHomes
	// ending is done once forwarded streams have to end.
	ending context.Context
	end    context.CancelFunc

	// stop ends the goroutines of hop, and running waits for them.
	stop    context.CancelFunc
	running sync.WaitGroup
	// retires is set once this replica is about to leave, and retiring when the others know, and it knows them: what
	// it has is handed over from then on. If the engine fails, all stays here until the departure.
	retires, retiring atomic.Bool
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

// hopOutcomes are the names of the outcomes in metrics and logs.
var hopOutcomes = [...]string{"answered", "refused", "broken", "suspended"}

// Headers between replicas. Those of a client are not forwarded.
const (
	hopClient = "Slipway-Client-Address" // where the client connected from
	hopLocal  = "Slipway-Local-Address"  // where it connected to
	hopSecure = "Slipway-Client-Secure"  // present if it used TLS
	hopCount  = "Slipway-Hops"           // how often the request has been forwarded
	// hopReleased is the replica that has released the session of the request, and hopRevision the
	// revision of its record then.
	hopReleased = "Slipway-Released"
	hopRevision = "Slipway-Released-Revision"
	hopDeparted = "Slipway-Departed" // the replica that has passed it on after its departure
	// hopMoved is in an answer that the replica has forwarded itself: the replica to which requests of the session
	// belong. It is never sent to a client.
	hopMoved = "Slipway-Moved"
	// hopDeclined is in the answer of a replica that may not serve the request, which another one may: no process may
	// start there for the session, or it has departed. It is never sent to a client.
	hopDeclined = "Slipway-Full"
)

// hoppedKey is the key of a *hopped in the context of a request that another replica has
// forwarded.
type hoppedKey struct{}

// hopped is the state of a request on its way between replicas.
type hopped struct {
	hops     int
	released released
	departed string // the id of a replica that has passed the request on after its departure
	// elsewhere means that the request may be served at another replica if this one declines it, and declined, set by
	// hop.forward, that it has.
	elsewhere, declined bool
	silent              bool // the request was not sent because the replica does not answer; set by hop.forward
}

// released is how a replica has released a session, or zero. If the replica takes the session back,
// the revision of the record grows, so that a request which it has forwarded before, and which was
// delayed, releases nothing.
type released struct {
	by       string
	revision uint64
}

// is reports whether the owner of a claim has released it.
func (r released) is(c *cluster.Claim) bool { return r.by == c.Owner && r.revision == c.Revision }

// hoppedFrom returns nil for a request of a client.
func hoppedFrom(ctx context.Context) *hopped {
	h, _ := ctx.Value(hoppedKey{}).(*hopped)
	return h
}

// startHop serves the requests that other replicas forward to h.
func (o *Options) startHop(h *Handler, sessions *ownedSessions) *hop {
	if o.Cluster == nil {
		return nil
	}
	p := &hop{
		replica: o.Cluster,
		handler: h,
		quotas:  o.quotas,
		version: o.Version,
		log:     o.Logger,

		sessions: sessions,
	}
	p.homes = newCallerHomes(p, o.Callers)
	p.ending, p.end = context.WithCancel(context.Background())
	servers := []*mcpserver.Server{h.server}
	for _, n := range h.endpoints {
		servers = append(servers, n.server)
	}
	p.shareChanges(servers)
	admissions := []*admission{h.admission}
	for _, n := range h.endpoints {
		admissions = append(admissions, n.admission)
	}
	p.shareTokens(admissions...)
	p.limits = newLimitSharing(p.replica.ID(), h.admission.limiter, o.quotas, p.usagePeers, p.log)
	p.server = &hophttp.Server{
		Handler:           p.receive(h),
		Context:           newHopContext,
		ReadHeaderTimeout: o.ReadHeaderTimeout,
		ReadTimeout:       o.ReadTimeout,
		IdleTimeout:       2 * hophttp.IdleTimeout, // that of clients may be shorter than connections are kept
		MaxHeader:         2*o.MaxHeader + 8<<10,   // with those between replicas, and as they are written here
		Log:               o.Logger,
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
	p.running.Go(func() { p.tokens.run(ctx) })
	p.running.Go(func() { p.describe(ctx) })
	p.sessions.start(ctx)
	p.running.Go(func() { p.sessions.run(ctx) })
	p.running.Go(func() { p.homes.run(ctx) })
	p.running.Go(func() { p.keepLease(ctx) })
	p.running.Go(func() { p.handler.placing.follow(ctx, p) })
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
	if p == nil || p.retires.Swap(true) {
		return
	}
	p.running.Go(func() {
		for attempt := 1; ; attempt++ {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			err := p.replica.Retire(ctx)
			cancel()
			if err == nil || p.retiring.Load() { // or it has departed
				p.retiring.Store(true)
				return
			}
			if attempt == 1 {
				p.log.Warn("the other replicas do not know yet that this one is about to leave", "error", err)
			}
			time.Sleep(noticeRetirement)
		}
	})
}

// successor returns the replica that continues what this one gives up under a name, or nil if there is none that
// answers. unreachable are those that have just refused a request.
func (p *hop) successor(name string, unreachable map[string]bool) *cluster.Peer {
	return p.replica.Successor(name, func(peer *cluster.Peer) bool {
		return !unreachable[peer.ID] && !p.probes.suspended(peer)
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

// close stops serving other replicas. Requests in flight here have finished by then. Other replicas
// continue the sessions of this one; requests for them that still arrive are passed on.
func (p *hop) close() {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), departTimeout)
	defer cancel()
	if p.retires.Load() {
		p.depart(ctx)
	}
	p.stop()
	if p.server.Shutdown(ctx) != nil {
		_ = p.server.Close()
	}
	p.end()
	p.running.Wait()
}

// departTimeout bounds the time for the last requests of other replicas.
const departTimeout = 5 * time.Second

// depart makes the other replicas continue the sessions of this one at once.
func (p *hop) depart(ctx context.Context) {
	departed := p.sessions.beginDeparture(ctx)
	homesDeparted := p.homes.depart(ctx)
	p.sessions.flush(ctx)
	err := p.replica.Depart(ctx)
	p.retiring.Store(true)
	departed()
	homesDeparted()
	if err != nil {
		p.log.Warn("sessions not handed over at once; other replicas continue them after the lease", "error", err)
		return
	}
	if len(p.replica.Peers()) > 0 {
		select { // as Depart does not wait for the others
		case <-time.After(noticeRetirement):
		case <-ctx.Done():
		}
	}
}

// endStreams ends the streams that this replica forwards, so that their clients open them
// again at another one.
func (p *hop) endStreams() {
	if p != nil {
		p.end()
	}
}

// receive restores a request as it arrived at the other replica.
func (p *hop) receive(h *Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case usagePath:
			p.receiveUsage(w, r)
			return
		case hophttp.PingPath:
			w.WriteHeader(http.StatusNoContent)
			return
		case loadPath:
			p.serveLoad(w)
			return
		case leasePath:
			p.serveLease(w)
			return
		}
		if c, ok := r.Context().(*hopContext); ok {
			r.RemoteAddr = cmp.Or(c.client, r.RemoteAddr)
			if !c.secure {
				r.TLS = nil
			}
		}
		h.ServeHTTP(w, r)
	})
}

// hopContext is the context of a request that another replica has forwarded. It has what has arrived with it.
type hopContext struct {
	context.Context

	hopped hopped
	client string       // where the client connected from; "" if not known
	local  *net.TCPAddr // where it connected to; nil if not known
	secure bool         // it used TLS
}

// newHopContext reads the fields between replicas.
func newHopContext(ctx context.Context, between []hophttp.Field) context.Context {
	c := &hopContext{Context: ctx}
	var hops int
	var revision uint64
	for _, field := range between {
		switch value := field[1]; field[0] {
		case hopClient:
			c.client = value
		case hopSecure:
			c.secure = true
		case hopCount:
			hops, _ = strconv.Atoi(value)
		case hopReleased:
			c.hopped.released.by = value
		case hopRevision:
			revision, _ = strconv.ParseUint(value, 10, 64)
		case hopDeparted:
			c.hopped.departed = value
		case hopLocal:
			if local, err := netip.ParseAddrPort(value); err == nil {
				c.local = net.TCPAddrFromAddrPort(local)
			}
		}
	}
	c.hopped.hops = max(hops, 1) // the previous release does not count
	if by := c.hopped.released.by; by != "" {
		c.hopped.released.revision = revision
		if revision == 0 && c.hopped.departed == "" {
			c.hopped.departed = by // of a replica that has no hopDeparted yet
		}
	}
	return c
}

// Value implements [context.Context].
func (c *hopContext) Value(key any) any {
	switch {
	case key == hoppedKey{}:
		return &c.hopped
	case key == http.LocalAddrContextKey && c.local != nil:
		return c.local
	}
	return c.Context.Value(key)
}

// passOn forwards a request that another replica has to serve, and reports whether it did, or has
// answered it. Otherwise the result is what to serve it with here.
func (h *Handler) passOn(w http.ResponseWriter, r *http.Request) (p placement, done bool) {
	p = placement{
		w: w,
		r: r,
	}
	if sessionOf(r) == "" {
		if h.hop != nil && h.hop.homes.active() {
			if p, done = h.placeCaller(w, r); done || p.leave != nil {
				return p, done
			}
		} else if p.r, done = h.placeNew(w, r); done {
			return p, true
		}
		r = p.r
	}
	if h.hop == nil {
		return p, false
	}
	forwarded := hoppedFrom(r.Context())
	var peer *cluster.Peer
	switch {
	case strings.HasPrefix(r.URL.Path, EndpointPath):
		if id := sessionOf(r); id != "" {
			return h.placeSession(w, r, id)
		}
		owner := h.taskOwner(r)
		if owner != "" && owner != h.hop.replica.ID() && forwarded == nil {
			peer = h.hop.replica.Find(r.Context(), owner)
		}
	case h.connect != nil && strings.HasPrefix(r.URL.Path, identity.ConnectPath) && forwarded == nil:
		// The replica that made the address has the call that waits for the login.
		peer = h.hop.replica.Tagged(identity.ReplicaTag(r.URL))
	}
	if peer == nil {
		return p, false
	}
	as := &hopped{hops: 1}
	if as.silent = h.hop.probes.suspended(peer); as.silent {
		h.hop.outcomes[hopWaiting].Add(1)
	} else if h.hop.forward(w, r, peer, as) {
		return p, true
	}
	if as.silent {
		h.hop.refuseSuspended(w, r)
	} else {
		h.hop.refuseStopped(w, r)
	}
	return p, true
}

// sessionOf returns the id of the session of a request up to 2025-11-25, or "".
func sessionOf(r *http.Request) string {
	if r.Header.Get("Mcp-Protocol-Version") >= mcp.Version20260728.String() {
		return ""
	}
	return r.Header.Get("Mcp-Session-Id")
}

// taskOwner returns the id of the replica that runs the task of a request, or "". Ids are sealed, so
// a client cannot choose the replica.
func (h *Handler) taskOwner(r *http.Request) string {
	if r.Header.Get("Mcp-Protocol-Version") < mcp.Version20260728.String() ||
		!strings.HasPrefix(r.Header.Get("Mcp-Method"), "tasks/") {
		return ""
	}
	// The owner verifies that the header agrees with the body.
	owner, _ := h.server.TaskReplica(r.Header.Get("Mcp-Name"))
	return owner
}

// forward sends a request to a replica and copies the answer, as it comes if it is a
// stream. If the other replica is lost meanwhile, the client gets an error at once. It returns
// false if the replica cannot be reached, or has declined the request: the request was not served, and is not answered.
func (p *hop) forward(
	w http.ResponseWriter,
	r *http.Request,
	peer *cluster.Peer,
	as *hopped,
) (sent bool) {
	kept := p.reserveBody(r.ContentLength)
	if kept {
		defer p.keptBytes.Add(-r.ContentLength)
	}
	if err := keepBody(w, r, kept); err != nil {
		p.refuseBody(w, r, err)
		return true
	}
	stop := new(cluster.Canceler)
	watched := p.probes.watch(peer, stop)
	defer p.probes.unwatch(watched, stop)
	if r.Method == http.MethodGet || isListen(r) {
		defer context.AfterFunc(p.ending, func() { stop.Cancel(context.Canceled) })()
	}
	outcome := hopAnswered
	defer func() {
		cause := stop.Cause()
		sent = outcome != hopRefused && outcome != hopWaiting
		if sent && (errors.Is(cause, cluster.ErrGone) || errors.Is(cause, errSuspended)) {
			outcome = hopBroken // perhaps in the middle of its answer
		}
		p.outcomes[outcome].Add(1)
		as.silent = outcome == hopWaiting
		sent = sent && !as.declined
		body, isKept := r.Body.(*keptBody)
		switch {
		case sent:
		case isKept:
			_, _ = body.Seek(0, io.SeekStart)
		default:
			closeUnread(w, r) // whatever answers it, perhaps without the body
		}
	}()
	var fields [maxHopFields][2]string
	resp, err := peer.Send(r, as.appendFields(fields[:0], r), stop)
	if err != nil {
		outcome = p.failed(w, r, peer, stop.Cause(), err)
		return true
	}
	defer resp.Body.Close()
	watched.hear()
	if len(resp.Header[hopDeclined]) > 0 {
		delete(resp.Header, hopDeclined)
		if as.declined = kept && as.elsewhere; as.declined {
			return false
		}
	}
	p.noteOwner(w, r, resp)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		p.switchProtocols(w, resp)
		return true
	}
	if err := p.copyAnswer(w, resp); err != nil {
		p.log.Debug("answer of another replica not forwarded", "replica", peer.ID, "error", err)
		panic(http.ErrAbortHandler) // what has been sent must not look complete
	}
	return true
}

// noteOwner notes which replica has the session of a request, if the one that it was forwarded to has forwarded it
// itself.
func (p *hop) noteOwner(w http.ResponseWriter, r *http.Request, resp *http.Response) {
	values := resp.Header[hopMoved]
	if len(values) == 0 || values[0] == "" {
		return
	}
	moved := values[0]
	delete(resp.Header, hopMoved)
	if id := sessionOf(r); id != "" {
		p.sessions.noteMoved(id, moved)
	}
	if w.Header().Get(hopMoved) != "" { // the request came from another replica
		w.Header().Set(hopMoved, moved)
	}
}

// maxHopFields is the number of fields that appendFields appends at most.
const maxHopFields = 7

// appendFields appends the headers between replicas of a request.
func (h *hopped) appendFields(all [][2]string, r *http.Request) [][2]string {
	all = append(all, [2]string{hopClient, r.RemoteAddr}, [2]string{hopCount, strconv.Itoa(h.hops)})
	if h.released != (released{}) {
		all = append(all, [2]string{hopReleased, h.released.by},
			[2]string{hopRevision, strconv.FormatUint(h.released.revision, 10)})
	}
	if h.departed != "" {
		all = append(all, [2]string{hopDeparted, h.departed})
	}
	switch local := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.TCPAddr:
		at := local.AddrPort()
		all = append(all, [2]string{hopLocal, netip.AddrPortFrom(at.Addr().Unmap(), at.Port()).String()})
	case net.Addr:
		all = append(all, [2]string{hopLocal, local.String()})
	}
	if r.TLS != nil {
		all = append(all, [2]string{hopSecure, "true"})
	}
	return all
}

// switchProtocols joins the connection of a client with that of another replica that has switched protocols, such as
// to WebSocket, until one of them ends.
func (p *hop) switchProtocols(w http.ResponseWriter, resp *http.Response) {
	other, ok := resp.Body.(io.ReadWriteCloser)
	conn, in, err := http.NewResponseController(w).Hijack()
	if err != nil || !ok {
		p.log.Debug("protocol not switched", "error", err)
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	_, _ = in.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = resp.Header.Write(in)
	_, _ = in.WriteString("\r\n")
	if in.Flush() != nil {
		return
	}
	ended := make(chan struct{}, 2)
	join := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from)
		ended <- struct{}{}
	}
	go join(other, in.Reader)
	go join(conn, other)
	<-ended
	_ = conn.Close()
	_ = other.Close()
	<-ended
}

// copyAnswer copies the answer of another replica to a client, and what arrives of a stream at once. After a write
// that failed, the buffer is not reused: over HTTP/2, the connection may still read it, and would send the client
// what another answer has put there.
func (p *hop) copyAnswer(w http.ResponseWriter, resp *http.Response) error {
	header := w.Header()
	for name, values := range resp.Header {
		if header[name] == nil {
			header[name] = values
			continue
		}
		header[name] = append(header[name], values...)
	}
	w.WriteHeader(resp.StatusCode)
	flush := func() error { return nil }
	if resp.ContentLength < 0 {
		flush = http.NewResponseController(w).Flush
		if arrived, ok := resp.Body.(interface{ Buffered() bool }); ok && !arrived.Buffered() {
			_ = flush()
		}
	}
	buf, ok := p.buffers.Get().(*[]byte)
	if !ok {
		buf = new([]byte)
		*buf = make([]byte, 32<<10)
	}
	for {
		n, err := resp.Body.Read(*buf)
		if n > 0 {
			if _, err := w.Write((*buf)[:n]); err != nil {
				return err
			}
			_ = flush()
		}
		if err != nil {
			p.buffers.Put(buf)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// Limits of bodies that are read before they are forwarded. Others are forwarded as they arrive.
const (
	maxKeptBody   = 64 << 10 // bytes of one
	maxKeptBodies = 16 << 20 // bytes of all
)

// reserveBody reports whether a body of n bytes, or of an unknown length if n is negative, may be read before it
// is forwarded. If so, keptBytes contains it.
func (p *hop) reserveBody(n int64) bool {
	switch {
	case n <= 0 || n > maxKeptBody:
		return false
	case p.keptBytes.Add(n) > maxKeptBodies:
		p.keptBytes.Add(-n)
		return false
	}
	return true
}

// keptBody is a body that was read before it is forwarded.
type keptBody struct{ bytes.Reader }

// Close implements [io.Closer]. The body stays readable.
func (*keptBody) Close() error { return nil }

// noCopy is GetBody of a request with a keptBody. It only marks that the body is complete: the transport sends it
// together with the header and never calls this.
func noCopy() (io.ReadCloser, error) { return nil, errors.ErrUnsupported }

// keepBody prepares the body of r to be forwarded. If it is kept, it is read first: the transport then sends it in one
// piece with the header, and it can be read again if the replica cannot be reached. Otherwise the connection is in full
// duplex.
func keepBody(w http.ResponseWriter, r *http.Request, kept bool) error {
	if !kept {
		// An owner may answer before the end of the body was read. net/http would then close the body
		// under the proxy, whose connection breaks, and with it the answer.
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always is
		return nil
	}
	text := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, text); err != nil {
		return err
	}
	body := new(keptBody)
	body.Reset(text)
	r.Body, r.GetBody = body, noCopy
	return nil
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
	t.family("slipway_cluster_sessions_adopted_total", "counter",
		"Sessions of other replicas that this one continues, handed over or taken over from a lost one.")
	for i, how := range adoptions {
		t.sample("slipway_cluster_sessions_adopted_total", float64(p.sessions.adopted[i].Load()), "how", how)
	}
	t.family("slipway_cluster_sessions_fenced_total", "counter",
		"Sessions that this replica gave up because another one had adopted them.")
	t.sample("slipway_cluster_sessions_fenced_total", float64(p.sessions.fenced.Load()))
	p.homes.metrics(t)
}
