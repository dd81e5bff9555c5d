package mcp

import (
	"context"
	"net/http"
	"slices"
)

// Gate decides which requests a [Server] serves: by who asks, by what for, and
// by how much is going on. Its methods run on the goroutine of the request and
// must be safe for concurrent use.
type Gate interface {
	// Enter is called before the Source is, for every request of a method that
	// the protocol or the Source has. An error refuses the request: an [*Error],
	// which may carry an HTTP status, see [Error.OverHTTP], or another one, of
	// which the client only learns that there was one.
	Enter(ctx context.Context, op Operation) error
	// Leave is called once a request that was let in is over.
	Leave(ctx context.Context, op Operation)
}

// Operation is what a request asks for.
type Operation struct {
	Method string
	// Name is the tool or prompt, if the catalog has it, or the URI of the
	// resource; "" for other methods.
	Name string
	// Catalog is what the Source offers to the request. Its tools say where they
	// come from, see [Tool.Origins].
	Catalog *Catalog
	// Transport is as in [Event].
	Transport string
	// Batched says that the request is one of several in an HTTP body.
	Batched bool
	// Follows says that nothing is run: the client asks for what a request of its
	// principal, which was let in before, has led to. Method, Name and Catalog are those
	// of that request. It may have come with another token. So it is for tasks/get,
	// tasks/update and tasks/cancel, after they were let in themselves, for each task of
	// a subscription, when that begins and before each notification about the task, and
	// for a client that continues the event stream of a request. Leave is called at once.
	// A tool that is not offered any more, or under another name, is the only one of a
	// Catalog of its own, and has Name and Origins alone.
	Follows bool
}

// followed is what a request asked for, as long as its outcome can be asked for.
type followed struct {
	method, name string
	origins      []Origin // of a tool
}

func (f followed) equal(other followed) bool {
	return f.method == other.method && f.name == other.name && slices.Equal(f.origins, other.origins)
}

// followed returns what a request asks for that the gate has let in.
func (rc *requestContext) followed() followed {
	f := followed{method: rc.methodName(), name: rc.about, origins: rc.callTool.Origins}
	if f.method == methodCallTool {
		f.name = rc.callTool.Name
	}
	return f
}

const methodCallTool = "tools/call"

// mayFollow returns why the gate keeps the outcome of a request from a client,
// although it is its principal's.
func (s *Server) mayFollow(ctx context.Context, f followed, transport string) error {
	g := s.opts.Gate
	if g == nil {
		return nil
	}
	if f.method == "" || f.method == methodCallTool && f.name == "" {
		return Errorf(CodeToolDenied, "what the client asks for the outcome of is not known")
	}
	cat, err := s.source.Catalog(ctx)
	if err != nil {
		return err
	}
	if f.method == methodCallTool {
		if t := cat.Tool(f.name); t == nil || !slices.Equal(t.Origins, f.origins) {
			cat = cat.Copy()
			cat.Tools = []Tool{{Name: f.name, Origins: f.origins}}
		}
	}
	op := Operation{Method: f.method, Name: f.name, Catalog: cat, Transport: transport, Follows: true}
	if err := g.Enter(ctx, op); err != nil {
		return err
	}
	g.Leave(ctx, op)
	return nil
}

func (rc *requestContext) operation(cat *Catalog) Operation {
	return Operation{Method: rc.methodName(), Name: rc.about, Catalog: cat, Transport: rc.transport(), Batched: rc.batched}
}

// OverHTTP returns a copy of e that travels with this status and these header
// fields where the answer is an HTTP response of its own. Elsewhere, in a batch
// or over a connection, it is like e.
func (e *Error) OverHTTP(status int, header http.Header) *Error {
	copied := *e
	copied.status, copied.header = status, header
	return &copied
}

// WriteError answers an HTTP request with e, for which no request was read:
// with the status and the header of [Error.OverHTTP], or 400.
func WriteError(w http.ResponseWriter, e *Error) {
	a := newAnswer()
	defer a.free()
	a.failure(&requestContext{version: LatestVersion}, e)
	if a.status == 0 {
		a.status = http.StatusBadRequest
	}
	write(w, a, a.status)
}
