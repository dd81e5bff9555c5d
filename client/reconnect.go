package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Terms are what this client offers a server when it connects, see [Source.Reconnect].
type Terms struct {
	// Version is the protocol version to use, and with it the era: 2026-07-28 has no
	// handshake. 0 means the newest that both sides support.
	Version mcp.Version
	// Capabilities are the client capabilities to declare, a JSON object. Nil means those of
	// [Questions.Capabilities].
	Capabilities json.RawMessage
}

var (
	errReconnecting = errors.New("the connection was replaced by one on other terms")
	errOvertaken    = errors.New("a later Reconnect has replaced this one")
)

// Reconnect ends the connection, if there is one, and makes another one on other terms,
// which later connections keep. It returns when the server answers and its lists are read,
// when that attempt has failed, or when ctx is done. Subscriptions and watchers remain;
// requests in flight fail, or are repeated as after a lost connection. After an error, the
// Source tries again like after any failed start. Of concurrent calls, the last one wins,
// and the others fail.
func (s *Source) Reconnect(ctx context.Context, t *Terms) error {
	if t.Capabilities != nil && !jsonscan.IsObject(t.Capabilities) {
		return fmt.Errorf("client capabilities are a JSON object, not %.40q", t.Capabilities)
	}
	wanted := *t // its address identifies the connection
	if wanted.Capabilities == nil {
		wanted.Capabilities = s.opts.Questions.Capabilities
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terms.Store(&wanted)
	s.stopAttempt()
	if ses := s.current.Load(); ses != nil {
		s.mu.Unlock()
		ses.lost(errReconnecting)
		s.mu.Lock()
	}
	for {
		switch {
		case s.state >= closing:
			return errClosed
		case s.terms.Load() != &wanted:
			return errOvertaken
		case s.state == ready:
			ses := s.current.Load()
			if ses != nil && ses.terms == &wanted && ses.alive() {
				return nil
			}
		case s.state != pausing && s.state != down:
		case s.attempted == &wanted:
			return s.downLocked()
		default: // an attempt on earlier terms has failed
			s.next = time.Time{}
			select {
			case s.hurry <- struct{}{}:
			default:
			}
		}
		s.superviseLocked()
		turn := s.turn
		s.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
			s.mu.Lock()
			return ctx.Err()
		}
		s.mu.Lock()
	}
}

// Terms returns the terms of the current connection, or of the next one.
func (s *Source) Terms() Terms { return *s.terms.Load() }
