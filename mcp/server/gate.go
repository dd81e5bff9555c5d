package server

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Gate decides which requests a [Server] serves, depending on the caller, the operation
// and the current load. Its methods run on the goroutine of the request and must be safe
// for concurrent use.
type Gate interface {
	// Enter is called before the Source, for every request with a method of the protocol or
	// the Source. An error rejects the request. An [*mcp.Error], which may have an HTTP status,
	// see [mcp.Error.Status], is sent to the client; for other errors the client only learns
	// that an error occurred. Enter may ask the client with [mcp.Request.Elicit], with questions
	// that have a Key; it returns [mcp.ErrInputRequired] as it is.
	Enter(ctx context.Context, op Operation) error
	// Leave is called when an admitted request has finished. Its answer has then been written,
	// except for the end of it, answers of less than 64 KiB, and those of a batch; on a connection
	// with [ConnOptions.Queues], it is about to be queued. On other connections than those of HTTP, the whole
	// answer has been written, so the next request of the client may enter before.
	Leave(ctx context.Context, op Operation)
}

// Note is what a [Gate] reports about a request that it has decided about.
type Note struct {
	// Rule identifies the rule that decided, and Item what it decided about, for logs.
	Rule, Item string
	// Approval is how the user consented, for logs, or empty.
	Approval string
	// Header is added to the HTTP response with the answer, if it has one of its own.
	Header http.Header
}

type noteKey struct{}

// notes are what the gate has reported about a request, joined. The first note has a place of
// its own, because most requests have one.
type notes struct {
	last  atomic.Pointer[Note]
	taken atomic.Bool // first is used
	first Note
}

// AddNote records a note about the request of ctx. The fields that are set replace those of
// an earlier note; headers are added. Outside of a request it does nothing.
func AddNote(ctx context.Context, n Note) {
	at, ok := ctx.Value(noteKey{}).(*notes)
	if !ok {
		return
	}
	if at.taken.CompareAndSwap(false, true) {
		at.first = n
		at.last.Store(&at.first)
		return
	}
	at.join(n)
}

// join adds a note that is not the first.
func (at *notes) join(n Note) {
	if before := at.last.Load(); before != nil {
		n.Rule = cmp.Or(n.Rule, before.Rule)
		n.Item = cmp.Or(n.Item, before.Item)
		n.Approval = cmp.Or(n.Approval, before.Approval)
		if n.Header == nil {
			n.Header = before.Header
		} else if before.Header != nil {
			both := before.Header.Clone()
			for name, values := range n.Header {
				both[name] = append(both[name], values...)
			}
			n.Header = both
		}
	}
	at.last.Store(&n)
}

// Operation describes a request.
type Operation struct {
	Method string
	// Name is the tool or prompt, if it is in the catalog, or the URI of the resource; ""
	// for other methods.
	Name string
	// Arguments are those of a tool or prompt, as the client sent them, or nil. The Source gets
	// the same bytes.
	Arguments json.RawMessage
	// URIs are the distinct resources that subscriptions/listen subscribes to, at most 10,000. Leave
	// does not get them.
	URIs []string
	// Index, which may be nil, is as in [mcp.CallToolParams].
	Index *jsonscan.Index
	// Catalog is what the Source offers to the request. Its tools record where they come
	// from, see [mcp.Tool.Origins]. For initialize and server/discover, Enter gets the whole catalog and
	// Leave the part that the client may list.
	Catalog *mcp.Catalog
	// Transport is as in [Event].
	Transport string
	// Time is when the message was read, or zero if that is not known.
	Time time.Time
	// Batched means that the request is one of several in an HTTP body.
	Batched bool
	// Follows means that nothing is executed: the client asks for the outcome of an earlier,
	// admitted request of its principal, which may have used another token. Method, Name and
	// Catalog are those of the earlier request. This applies to
	//
	//   - tasks/get, tasks/update and tasks/cancel, after they were admitted themselves,
	//   - each task of a subscription, when the subscription starts and before each
	//     notification about the task,
	//   - a client that resumes the event stream of a request.
	//
	// Leave is called immediately. If the tool is no longer offered, or only under another
	// name, Catalog contains just this tool, with only Name and Origins set.
	Follows bool
}

// followed describes a request as long as clients may ask for its outcome.
type followed struct {
	method, name string
	origins      []mcp.Origin // of a tool
}

func (f followed) equal(other followed) bool {
	return f.method == other.method && f.name == other.name &&
		slices.Equal(f.origins, other.origins)
}

// followed returns the description of a request that the gate has admitted.
func (rc *request) followed() followed {
	f := followed{
		method:  rc.methodName(),
		name:    rc.about,
		origins: rc.callTool.Origins,
	}
	if f.method == methodCallTool {
		f.name = rc.callTool.Name
	}
	return f
}

const methodCallTool = "tools/call"

// mayFollow returns an error if the gate denies a client the outcome of a request of the
// same principal.
func (s *Server) mayFollow(ctx context.Context, f followed, transport string) error {
	g := s.opts.Gate
	if g == nil {
		return nil
	}
	if f.method == "" || f.method == methodCallTool && f.name == "" {
		return mcp.Errorf(mcp.CodeToolDenied, "the operation behind this request is unknown")
	}
	cat, err := s.source.Catalog(ctx)
	if err != nil {
		return err
	}
	if f.method == methodCallTool {
		t := cat.Tool(f.name)
		if t == nil || !slices.Equal(t.Origins, f.origins) {
			cat = cat.Copy()
			cat.Tools = []mcp.Tool{{
				Name:    f.name,
				Origins: f.origins,
			}}
		}
	}
	op := Operation{
		Method:    f.method,
		Name:      f.name,
		Catalog:   cat,
		Transport: transport,
		Follows:   true,
	}
	if err := g.Enter(ctx, op); err != nil {
		return err
	}
	g.Leave(ctx, op)
	return nil
}

// operation describes the request for the gate.
func (rc *request) operation(cat *mcp.Catalog) Operation {
	var uris []string
	if rc.listens != nil {
		uris = rc.listens.URIs
	}
	return Operation{
		Method:    rc.methodName(),
		Name:      rc.about,
		URIs:      uris,
		Arguments: rc.msg.arguments,
		Index:     &rc.msg.index,
		Catalog:   cat,
		Transport: rc.transport,
		Time:      rc.began,
		Batched:   rc.batched,
	}
}

// leave reports to the gate that an admitted request has finished. Calls after the first do nothing.
func (rc *request) leave() {
	if !rc.entered {
		return
	}
	rc.entered = false
	op := rc.operation(rc.shown)
	op.URIs = nil
	rc.server.opts.Gate.Leave(rc, op)
}

// WriteError answers an HTTP request with e, before a message has been read from it. It
// uses the [mcp.Error.Status] and [mcp.Error.Header]; the default status is 400.
func WriteError(w http.ResponseWriter, e *mcp.Error) {
	a := newAnswer()
	defer a.free()
	a.failure(&request{received: received{version: mcp.LatestVersion}}, e)
	if a.status == 0 {
		a.status = http.StatusBadRequest
	}
	write(w, a, a.status, nil)
}
