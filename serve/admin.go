package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"
)

// AdminListenError is the error of [Run] if it cannot listen on AdminAddr of [Options].
type AdminListenError struct {
	Addr string
	Err  error
}

// Error implements error.
func (e *AdminListenError) Error() string {
	return fmt.Sprintf("listen on %s for operators: %v", e.Addr, e.Err)
}

// Unwrap returns the cause.
func (e *AdminListenError) Unwrap() error { return e.Err }

// adminServer serves operators at [Features.AdminAddr], apart from the clients.
type adminServer struct {
	http *http.Server
	addr net.Addr
}

// startAdmin serves the operators of h, if there is an address for that. close may be
// called on a nil adminServer.
func (o *Options) startAdmin(ctx context.Context, h *Handler) (*adminServer, error) {
	if o.AdminAddr == "" {
		return nil, nil
	}
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp", o.AdminAddr)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, &AdminListenError{o.AdminAddr, err}
	}
	a := &adminServer{
		http: &http.Server{
			Handler:           h.admin(),
			ReadHeaderTimeout: o.ReadHeaderTimeout,
			ReadTimeout:       o.ReadTimeout,
			WriteTimeout:      2 * time.Minute, // a CPU profile of up to 100 seconds
			IdleTimeout:       o.IdleTimeout,
			MaxHeaderBytes:    o.MaxHeader,
			ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		},
		addr: ln.Addr(),
	}
	go func() { _ = a.http.Serve(ln) }() // until close
	o.Logger.Info("serving operators", "address", "http://"+ln.Addr().String())
	return a, nil
}

// close stops serving at once. It is called after the clients have been drained, so that
// the state of a draining server can be observed.
func (a *adminServer) close() {
	if a != nil {
		_ = a.http.Close()
	}
}

// admin returns the handler for operators.
func (h *Handler) admin() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", h.health.live)
	mux.HandleFunc("GET /readyz", h.health.ready)
	mux.HandleFunc("GET /healthz", h.health.summary)
	mux.HandleFunc("GET /health", h.health.summary)
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if h.operations == nil || !h.surface.Load().admin {
			http.NotFound(w, r)
			return
		}
		h.operations.ServeHTTP(w, r)
	})
	users := http.NewServeMux()
	h.connect.serveConnections(users)
	h.broker.serveSessions(users)
	mux.Handle("/connections", fromThisMachine(users))
	mux.Handle("/sign-ins", fromThisMachine(users))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	guarded := h.endpoint.Protect(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Probes and scrapers use the IP address of the process. A page of another site
		// would send its name as the Host, and an Origin with other methods than GET.
		if isAddress(r.Host) && r.Header.Get("Origin") == "" {
			mux.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// fromThisMachine refuses requests of other machines, for lists of users and changes: at this address no
// request needs a token, and programs that read metrics have access from elsewhere. What a proxy on this
// machine has forwarded, as its header says, is from another machine.
func fromThisMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		forwarded := len(r.Header["Forwarded"])+len(r.Header["X-Forwarded-For"]) > 0
		if err != nil || forwarded || !from.Addr().Unmap().IsLoopback() {
			http.Error(w, "only from the machine of the server: connect through ssh or kubectl port-forward",
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isAddress reports whether a Host header contains an IP address.
func isAddress(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return net.ParseIP(strings.Trim(host, "[]")) != nil
}
