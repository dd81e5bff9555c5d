package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// errand is a request of a client to be forwarded to the server.
type errand struct {
	// method is the method of the request that is forwarded.
	method string
	// Either name as member key, together with arguments, or params as a whole.
	name, key string
	arguments json.RawMessage
	params    json.RawMessage
	meta      json.RawMessage // of a program's request, see [Source.Do]

	// upstream describes it to the server that serves the client; its Trace replaces the
	// client's trace context. It is nil for a request of a program.
	upstream *mcp.Upstream

	again bool // it is safe to repeat it
	// unavailable is the code of the error if the server is not available, which differs
	// between tools and resources.
	unavailable mcp.Code
}

// check ensures that the errand can be sent on one line. Input from a program, unlike
// that of our own server, has not been checked yet.
func (e *errand) check(direct bool) error {
	for _, raw := range []*json.RawMessage{&e.arguments, &e.params} {
		switch {
		case *raw == nil:
			continue
		case direct && (jsonscan.Valid(*raw) != nil || !jsonscan.IsObject(*raw)):
			return mcp.InvalidArguments("the arguments must be a JSON object")
		case bytes.IndexByte(*raw, '\n') >= 0 || bytes.IndexByte(*raw, '\r') >= 0:
			*raw = compact(*raw)
		}
	}
	return nil
}

// maxTries limits how often a request is sent because of lost connections.
const maxTries = 3

// forward sends a request to the server and returns the unchanged bytes of its answer.
func (s *Source) forward(ctx context.Context, e *errand) (*mcp.Raw, error) {
	if err := e.check(mcp.RequestFrom(ctx) == nil); err != nil {
		return nil, err
	}
	if s.opts.Name != "" {
		mcp.RequestFrom(ctx).ServedBy(&s.opts.Name)
	}
	req := mcp.RequestFrom(ctx)
	if req == nil {
		return s.sendInTime(ctx, e)
	}
	e.upstream = &mcp.Upstream{
		Server:    s.opts.Name,
		Method:    e.method,
		Name:      e.name,
		Transport: s.kind(),
	}
	ctx = req.StartUpstream(ctx, e.upstream)
	result, err := s.sendInTime(ctx, e)
	failed := err == nil && e.method == "tools/call" && (&mcp.CallToolResult{Raw: result}).Failed()
	req.EndUpstream(ctx, e.upstream, err, failed)
	return result, err
}

// trace returns the trace context to send, or nil for the client's.
func (e *errand) trace() *mcp.Trace {
	if e.upstream == nil || e.upstream.Trace.Parent == "" {
		return nil
	}
	return &e.upstream.Trace
}

// sendInTime sends a request, and gives up after Timeouts.Call.
func (s *Source) sendInTime(ctx context.Context, e *errand) (*mcp.Raw, error) {
	if s.opts.Timeouts.Call <= 0 {
		return s.sendUntilSeen(ctx, e)
	}
	limited, cancel := context.WithTimeout(ctx, s.opts.Timeouts.Call)
	defer cancel()
	result, err := s.sendUntilSeen(limited, e)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, &mcp.Error{
			Code: e.timeout(),
			Message: fmt.Sprintf(
				"%s has not answered within %v (callTimeoutMs)", s.label(), s.opts.Timeouts.Call),
		}
	}
	return result, err
}

// timeout returns the error code for an errand that times out.
func (e *errand) timeout() mcp.Code {
	if e.unavailable == mcp.CodeResourceUnavailable {
		return mcp.CodeResourceTimeout
	}
	return mcp.CodeToolTimeout
}

// sendUntilSeen sends a request until it reaches the server.
func (s *Source) sendUntilSeen(ctx context.Context, e *errand) (*mcp.Raw, error) {
	for try := 1; ; try++ {
		ses, err := s.acquire(ctx)
		if err != nil {
			return nil, s.unavailable(ctx, e.unavailable, err)
		}
		if e.upstream != nil {
			e.upstream.Version = ses.version
		}
		result, err := ses.do(ctx, e)
		if err == nil {
			if !ses.served.Load() {
				ses.served.Store(true)
			}
			return parseResult(result)
		}
		var doubt doubtError
		if errors.As(err, &doubt) && !ses.understands(ctx, doubt) {
			err = &lostError{
				cause:  doubt.error,
				unseen: true,
			}
		}
		err = ses.urlsFirst(ctx, e, err)
		var coded *mcp.Error
		// Cancelled by the end of the session, not by the client.
		if errors.Is(err, context.Canceled) && ctx.Err() == nil && !errors.As(err, &coded) {
			err = &lostError{cause: cmp.Or(ses.lostError(), errClosed)}
		}
		var lost *lostError
		if errors.Is(err, mcp.ErrInputRequired) {
			return nil, err
		}
		if !errors.As(err, &lost) {
			return nil, s.unavailable(ctx, e.unavailable, err)
		}
		// A request that makes one server hang is likely to do the same to the next.
		if try == maxTries || !lost.unseen && (!e.again || isHang(lost)) ||
			ctx.Err() != nil {
			return nil, s.lostText(e, lost)
		}
	}
}

// lostText returns the error for the client after a lost connection.
func (s *Source) lostText(e *errand, lost *lostError) error {
	text := fmt.Sprintf("%s was lost while it served this request: %v",
		s.subject(), lost.cause)
	if !e.again && !lost.unseen {
		recovery := "connects again"
		if s.verb() == "started" {
			recovery = "restarts the server"
		}
		text += fmt.Sprintf(" (the request may have run; the next one %s)", recovery)
	}
	return &mcp.Error{
		Code:    e.unavailable,
		Message: text,
		Cause:   lost.cause,
	}
}

// parseResult validates a result, since clients receive its bytes.
func parseResult(result []byte) (*mcp.Raw, error) {
	raw, err := mcp.ParseRaw(result)
	if err != nil {
		return nil, fmt.Errorf("the server's answer: %w", err)
	}
	return raw, nil
}

// do makes the request, in as many rounds as needed.
func (ses *session) do(ctx context.Context, e *errand) ([]byte, error) {
	req := mcp.RequestFrom(ctx)
	if ses.logs {
		ses.lowerLevel(ctx, req)
	}
	if err := ses.settleRoots(ctx, e, req); err != nil {
		return nil, err
	}
	switch {
	case ses.version.Modern():
		return ses.rounds(ctx, e, req)
	case req != nil && ses.mayPark(e, req):
		return ses.park(ctx, e, req)
	}
	return ses.once(ctx, e, req, nil)
}

// once makes the request once. extra are additional members of params, each followed by a
// comma.
func (ses *session) once(ctx context.Context, e *errand, req *mcp.Request, extra []byte) ([]byte, error) {
	c, err := ses.prepare(ctx, e, req, extra)
	if err != nil {
		return nil, err
	}
	defer ses.untrack(c)
	result, err := ses.link.exchange(ctx, c)
	switch {
	case err == nil:
		ses.noteActivity()
	case ctx.Err() != nil:
		ses.suspect.Store(true)
		ses.startProbe()
	}
	if ses.http != nil && err != nil {
		ses.noteVisits(c, err) // other links do so when they read the message
	}
	return result, err
}

// prepare returns the call for an errand, which is now in flight.
func (ses *session) prepare(ctx context.Context, e *errand, req *mcp.Request, extra []byte) (*call, error) {
	c := newCall(e.method)
	c.name = e.name
	c.foreign = true
	c.request.Store(req)
	if req == nil {
		c.notify = NotifyFrom(ctx)
	}
	if err := ses.enter(ctx, c); err != nil {
		return nil, err
	}
	if c.notify != nil && c.notify.Sent != nil {
		c.notify.Sent(c.id)
	}
	c.params = ses.encode(e, c, req, extra)
	if params := ses.src.headers.Load(); params != nil && e.method == "tools/call" {
		c.headers = params.headers(e.name, e.arguments)
	}
	return c, nil
}

// encode returns the params of an errand.
func (ses *session) encode(e *errand, c *call, req *mcp.Request, extra []byte) []byte {
	meta := req.Meta()
	if req == nil {
		meta = e.meta
	}
	dst := make([]byte, 0, 128+len(e.name)+len(e.arguments)+len(e.params)+len(meta))
	dst = append(dst, '{')
	switch {
	case e.key != "":
		dst = append(append(append(dst, '"'), e.key...), '"', ':')
		dst = append(jsonscan.AppendQuote(dst, e.name), ',')
		if e.arguments != nil {
			dst = append(append(append(dst, `"arguments":`...), e.arguments...), ',')
		}
	case len(members(e.params)) > 0:
		dst = append(append(dst, members(e.params)...), ',')
	}
	dst = append(dst, extra...)
	token := c.id
	if !c.notify.wantsProgress() && jsonscan.Member(meta, "progressToken") == nil {
		token = 0
	}
	if meta != nil || token != 0 || ses.version.Modern() || e.trace() != nil {
		level, logs := wantedLevel(req)
		if req == nil {
			level, logs = c.notify.level()
		}
		dst = append(ses.appendMeta(dst, metaParts{
			token: token,
			level: level,
			logs:  logs,
			trace: e.trace(),
			meta:  meta,
		}, req), ',')
	}
	if dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '}')
}

// withoutMeta returns an object without its _meta member, which is sent separately.
func withoutMeta(params json.RawMessage) json.RawMessage {
	if jsonscan.Member(params, "_meta") == nil {
		return params
	}
	dst := []byte{'{'}
	_, _ = jsonscan.Object(params, jsonscan.Space(params, 0), 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(params, i)
		if err == nil && string(key) != "_meta" {
			dst = append(append(jsonscan.AppendQuote(dst, key), ':'), params[i:end]...)
			dst = append(dst, ',')
		}
		return end, err
	})
	if dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '}')
}
