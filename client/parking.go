package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// A server up to 2025-11-25 asks while it works, and waits. A client of 2026-07-28 is
// asked in the response to its request, and retries. In between, the call to the server
// is parked.

// parked is a call that outlives the requests of its client.
type parked struct {
	// ses is the session that call was made in; the client's retry may arrive after the
	// server has restarted.
	ses    *session
	call   *call
	cancel context.CancelFunc
	over   <-chan struct{} // closed when the call has ended
	done   chan reply      // capacity 1: outcome of the call

	posed chan *question // questions from the server
	open  []*question    // questions sent to the client; used by one goroutine at a time
	count int            // number of questions, for their keys
	timer *time.Timer    // while parked: gives it up

	// Guarded by parkingLot.mu.
	release func() // releases the server's accounting of it
	shed    bool   // discarded by the server to make room
}

// question is a question of the server.
type question struct {
	// key is the name of the question in the client's answer.
	key    string
	ask    mcp.Question
	answer chan reply // of capacity 1
}

// Limits for clients that do not retry: how long a call stays parked, and how many can
// be.
const (
	parkingTime = 5 * time.Minute
	maxParked   = 1000
)

// parkingLot holds the parked calls of a source.
type parkingLot struct {
	mu sync.Mutex
	// all has the parked calls by the ticket that the client returns.
	all map[string]*parked
}

// put parks p for the client of req and returns its ticket.
func (l *parkingLot) put(p *parked, req *mcp.Request) (ticket string, err error) {
	ticket = rand.Text()
	release, err := req.Keep(len(p.call.params), func() { l.shed(p, ticket) })
	if err != nil {
		p.cancel()
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.shed {
		release()
		p.cancel()
		return "", errShed
	}
	if len(l.all) >= maxParked {
		release()
		p.cancel()
		return "", mcp.Errorf(mcp.CodeToolBusy,
			"%d requests are already waiting for their clients to answer", maxParked)
	}
	if l.all == nil {
		l.all = make(map[string]*parked)
	}
	l.all[ticket] = p
	p.release = release
	p.timer = time.AfterFunc(parkingTime, func() { l.giveUp(ticket) })
	return ticket, nil
}

// shed is giveUp on behalf of the server, which may be called before put returns.
func (l *parkingLot) shed(p *parked, ticket string) {
	l.mu.Lock()
	p.shed = true
	l.mu.Unlock()
	l.giveUp(ticket)
}

var errShed = mcp.Errorf(mcp.CodeToolBusy, "too many calls wait for their clients to answer: try again later")

// giveUp cancels the parked call with that ticket, if it is still parked.
func (l *parkingLot) giveUp(ticket string) {
	if p := l.take(ticket); p != nil {
		p.cancel()
	}
}

// take removes and returns the parked call with that ticket, or nil.
func (l *parkingLot) take(ticket string) *parked {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.all[ticket]
	if p != nil {
		delete(l.all, ticket)
		p.timer.Stop()
		p.release()
	}
	return p
}

// mayPark reports whether a request may need to be parked.
func (ses *session) mayPark(e *errand, req *mcp.Request) bool {
	if ses.version.Modern() || !req.Version().Modern() || req == nil {
		return false
	}
	switch e.method {
	case "tools/call", "prompts/get", "resources/read":
		return len(req.ClientCapabilities()) > len(`{}`)
	}
	return false
}

// park makes a request that may be parked, or continues a parked one.
func (ses *session) park(ctx context.Context, e *errand, req *mcp.Request) ([]byte, error) {
	b, err := loadRoundState(req)
	if err != nil {
		return nil, err
	}
	var p *parked
	if b.Parked == "" {
		if p, err = ses.depart(ctx, e, req); err != nil {
			return nil, err
		}
	} else if p = ses.src.lot.take(b.Parked); p == nil {
		return nil, mcp.Errorf(e.unavailable,
			"the server that asked has been lost, or has waited too long: make the request again")
	}
	p.call.request.Store(req)
	return p.drive(ctx, req)
}

// depart sends the request without a deadline for the answer.
func (ses *session) depart(ctx context.Context, e *errand, req *mcp.Request) (*parked, error) {
	p := &parked{
		ses:   ses,
		done:  make(chan reply, 1),
		posed: make(chan *question),
	}
	c, err := ses.prepare(ctx, e, req, nil)
	if err != nil {
		return nil, err
	}
	c.parking = p
	p.call = c
	// Outlives the client's request.
	working, cancel := context.WithCancel(context.Background())
	p.cancel, p.over = cancel, working.Done()
	if !ses.goWork(func(quit context.Context) {
		stop := context.AfterFunc(quit, cancel)
		defer stop()
		defer cancel()
		defer ses.untrack(c)
		result, err := ses.link.exchange(working, c)
		// Not cancelled by the client.
		if err != nil && errors.Is(err, working.Err()) && quit.Err() != nil {
			err = &lostError{cause: cmp.Or(ses.lostError(), errClosed)}
		}
		p.done <- reply{
			result: result,
			err:    err,
		}
	}) {
		ses.untrack(c)
		cancel()
		return nil, &lostError{
			cause:  ses.lostError(),
			unseen: true,
		}
	}
	return p, nil
}

// pose queues a question for the client's next request, and waits for its answer.
func (p *parked) pose(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	q := &question{answer: make(chan reply, 1)}
	var err error
	p.ses.mu.Lock()
	p.count++
	q.key = fmt.Sprintf("question-%d", p.count)
	p.ses.mu.Unlock()
	if q.ask, err = server.Forward(q.key, method, params); err != nil {
		return nil, err
	}
	select {
	case p.posed <- q:
	case <-p.over:
		return nil, errNobody
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case r := <-q.answer:
		return r.result, r.err
	case <-p.over:
		return nil, errNobody
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// drive waits for the result during one request of the client. If the server has a
// question, it parks the call and sends the question to the client.
func (p *parked) drive(ctx context.Context, req *mcp.Request) ([]byte, error) {
	for {
		for _, q := range p.open {
			if err := p.settle(ctx, req, q); err != nil {
				return nil, err
			}
		}
		p.open = nil
		select {
		case r := <-p.done:
			return r.result, r.err
		case q := <-p.posed:
			p.open = append(p.open, q)
		case <-ctx.Done():
			p.cancel()
			return nil, ctx.Err()
		}
	}
}

// settle gets the answer to one question. An error is for the client: usually that it
// must retry.
func (p *parked) settle(ctx context.Context, req *mcp.Request, q *question) error {
	answers, err := req.Ask(ctx, q.ask)
	switch {
	case err == nil:
		q.answer <- reply{result: answers[0]}
		p.open = p.open[1:]
		return nil
	case !errors.Is(err, mcp.ErrInputRequired):
		q.answer <- reply{err: &mcp.Error{
			Code:    mcp.CodeInvalidRequest,
			Message: err.Error(),
		}}
		p.open = p.open[1:]
		return nil
	}
	ticket, parkErr := p.ses.src.lot.put(p, req)
	if parkErr != nil {
		return parkErr
	}
	state, encodeErr := mcp.Marshal(&roundState{Parked: ticket})
	if encodeErr != nil {
		return encodeErr
	}
	req.SetState(state)
	return err
}
