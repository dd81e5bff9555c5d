package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/hophttp"
	"github.com/slipway-mcp/slipway/mcp"
)

// refuseBody answers a request whose body has not arrived, so that nothing was forwarded.
func (p *hop) refuseBody(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusBadRequest
	message := "the body is incomplete"
	if errors.Is(err, os.ErrDeadlineExceeded) {
		status = http.StatusRequestTimeout
		message = "the body did not arrive in time"
	}
	p.refuse(w, r, status, mcp.CodeInvalidRequest, message)
}

// refuseSuspended answers a request whose owner does not answer probes. A client with a
// session starts over at once, at another replica; a task may continue.
func (p *hop) refuseSuspended(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Mcp-Protocol-Version") < mcp.Version20260728.String() {
		p.refuse(w, r, http.StatusNotFound, mcp.CodeInvalidRequest,
			"the replica of this session does not answer, start again")
		return
	}
	w.Header().Set("Retry-After", "1")
	p.refuse(w, r, http.StatusServiceUnavailable, mcp.CodeInternalError,
		"the replica of this task does not answer at present, try again")
}

// refuseStopped answers a request whose owner cannot be reached.
func (p *hop) refuseStopped(w http.ResponseWriter, r *http.Request) {
	p.refuse(w, r, http.StatusNotFound, mcp.CodeInvalidRequest,
		"the replica of this session or task has stopped, start again")
}

// failed answers a request whose owner did not, unless it was not sent: the owner refused the connection, or was found
// to have left, or not to answer, before there was one that works. cause is why the request was cancelled, or nil.
func (p *hop) failed(
	w http.ResponseWriter,
	r *http.Request,
	peer *cluster.Peer,
	cause, err error,
) (outcome int) {
	outcome = hopBroken
	if cause == nil {
		cause = context.Cause(r.Context())
	}
	var unsent *hophttp.NotSentError
	switch {
	case !errors.As(err, &unsent):
	case errors.Is(cause, errSuspended):
		outcome = hopWaiting
	case cause == nil || errors.Is(cause, cluster.ErrGone):
		outcome = hopRefused
	}
	p.log.Warn("request not forwarded",
		"replica", peer.ID,
		"outcome", hopOutcomes[outcome],
		"error", err,
	)
	if outcome == hopBroken {
		p.refuse(w, r, http.StatusBadGateway, mcp.CodeInternalError,
			"the replica that served the request was lost: it may have run")
	}
	return outcome
}

// refuse answers with an error of the protocol, or on the page for logins with one for its
// reader.
func (p *hop) refuse(
	w http.ResponseWriter,
	r *http.Request,
	status int,
	code mcp.Code,
	message string,
) {
	if strings.HasPrefix(r.URL.Path, identity.ConnectPath) {
		p.handler.connect.fail(w, &identity.TicketError{Text: "The gateway was restarted. " +
			"Go back to your MCP client and try again to get another address."})
		return
	}
	closeUnread(w, r)
	writeError(w, r, status, code, message)
}

// closeUnread makes the client use another connection after an answer to a request whose body was not
// read. A connection in full duplex, see keepBody, must not be used again: net/http reads the rest of
// the body after the answer, begins to read ahead at its end, and then panics at the next request.
func closeUnread(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}

// writeError answers a request with an error of the protocol.
func writeError(
	w http.ResponseWriter,
	r *http.Request,
	status int,
	code mcp.Code,
	message string,
) {
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
