package mcp

import (
	"context"
	"net/http"
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

// TaskGate is a Gate that also decides who may follow a task, beyond its principal.
type TaskGate interface {
	Gate
	// CheckTask is called for tasks/get, tasks/update and tasks/cancel, and for each task
	// of a subscription: when that begins, and before each notification about the task.
	// tool is the tool that began the task, of which only Name and Origins are set, as
	// they were then; Name is empty if that was not stored. An error refuses the request,
	// as that of Enter does. In a subscription the task is skipped.
	CheckTask(ctx context.Context, tool *Tool) error
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
