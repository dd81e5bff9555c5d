package serve

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// tokenNewsKind is the kind of messages about tokens that replicas no longer accept.
const tokenNewsKind = "tokens"

// tokenNews is what a replica has learned from an issuer. The others ask the issuer themselves: a
// message says that they should, and contains nothing that they would have to believe.
type tokenNews struct {
	Issuer string `json:"issuer"`
	// Keys is the hexadecimal SHA-256 of the issuer's new keys, or "".
	Keys string `json:"keys,omitempty"`
	// Token is the hexadecimal SHA-256 of a token that the issuer no longer accepts, or "".
	Token string `json:"token,omitempty"`
}

// sharingVerifier is a [Verifier] that remembers what an issuer said.
type sharingVerifier interface {
	Verifier
	// share makes the verifier call publish, which does not wait, for what it learns.
	share(publish func(tokenNews))
	// receive drops what another replica has learned to be outdated. The result is a key set that
	// has to be fetched, or nil. Empty news mean that messages may have been lost.
	receive(news *tokenNews) *keySet
}

var (
	_ sharingVerifier = (*JWT)(nil)
	_ sharingVerifier = (*Introspection)(nil)
)

// tokenSharing makes a token that one replica refuses, because it was revoked or its key withdrawn,
// invalid at all of them.
type tokenSharing struct {
	replica    *cluster.Replica
	log        *slog.Logger
	admissions []*admission
	// out has the messages to send, and wake signals that fetch is not empty.
	out  chan tokenNews
	wake chan struct{}

	mu    sync.Mutex
	fetch map[*keySet]*keyNews
}

// keyNews is a fetch of keys that is due because of a message.
type keyNews struct {
	sum      string // of the keys that another replica has; "" if it is not known
	attempts int
	at       time.Time // of the next attempt
}

// Limits of messages about tokens.
const (
	maxTokenNews = 1000 // that wait to be published; more are dropped
	keyAttempts  = 4    // to fetch keys that another replica has
	keyPause     = 2 * time.Second
)

// shareTokens connects the verifiers of admissions with those of the other replicas.
func (p *hop) shareTokens(admissions ...*admission) {
	s := &tokenSharing{
		replica:    p.replica,
		log:        p.log,
		admissions: admissions,
		out:        make(chan tokenNews, maxTokenNews),
		wake:       make(chan struct{}, 1),
		fetch:      make(map[*keySet]*keyNews),
	}
	p.tokens = s
	s.connect()
	p.replica.Handle(tokenNewsKind, func(_ string, data json.RawMessage) {
		var news tokenNews
		if json.Unmarshal(data, &news) == nil && news.Issuer != "" {
			s.receive(&news)
		}
	}, func() { s.receive(&tokenNews{}) })
}

// followTokens connects the verifiers that a [Control] has put in place. p may be nil.
func (p *hop) followTokens() {
	if p != nil {
		p.tokens.connect()
	}
}

// connect makes the verifiers in use publish what they learn.
func (s *tokenSharing) connect() {
	for v := range s.verifiers {
		v.share(s.publish)
	}
}

// verifiers yields the verifiers in use.
func (s *tokenSharing) verifiers(yield func(sharingVerifier) bool) {
	for _, d := range s.admissions {
		auth := d.policy.Load().auth
		if auth == nil {
			continue
		}
		for _, v := range auth.Verifiers {
			if v, ok := v.(sharingVerifier); ok && !yield(v) {
				return
			}
		}
	}
}

// publish queues a message to the other replicas. It never blocks a request; a full queue drops the
// message.
func (s *tokenSharing) publish(news tokenNews) {
	select {
	case s.out <- news:
	default: // the others find out when what they remember is too old
	}
}

// receive applies a message of another replica to all verifiers. Keys that must be fetched again
// are fetched by the goroutine that it wakes.
func (s *tokenSharing) receive(news *tokenNews) {
	for v := range s.verifiers {
		if k := v.receive(news); k != nil {
			s.mu.Lock()
			s.fetch[k] = &keyNews{sum: news.Keys}
			s.mu.Unlock()
		}
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run publishes, and fetches keys, until ctx ends.
func (s *tokenSharing) run(ctx context.Context) {
	var fetching sync.WaitGroup
	defer fetching.Wait()
	fetching.Go(func() { s.fetchKeys(ctx) })
	for {
		select {
		case <-ctx.Done():
			return
		case news := <-s.out:
			if news.Token != "" { // endpoints of this replica may have accepted it
				s.receive(&news)
			}
			limited, cancel := context.WithTimeout(ctx, publishIn)
			err := s.replica.Publish(limited, tokenNewsKind, news)
			cancel()
			if err != nil && ctx.Err() == nil {
				s.log.Warn("other replicas not notified of revoked tokens",
					"issuer", news.Issuer,
					"error", err,
				)
			}
		}
	}
}

// fetchKeys fetches the keys that other replicas have, until ctx ends.
func (s *tokenSharing) fetchKeys(ctx context.Context) {
	timer := time.NewTimer(keyPause) // runs while an attempt is to come
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		now := time.Now()
		s.mu.Lock()
		due := make(map[*keySet]*keyNews)
		for k, news := range s.fetch {
			if !now.Before(news.at) {
				due[k] = news
			}
		}
		s.mu.Unlock()
		for k, news := range due {
			done, err := k.refetch(ctx, news.sum)
			if err != nil && ctx.Err() == nil {
				s.log.Warn("keys of an issuer not fetched, keeping the previous ones", "error", err)
			}
			s.mu.Lock()
			news.attempts++
			news.at = time.Now().Add(keyPause << news.attempts)
			if s.fetch[k] == news && (done || news.attempts == keyAttempts) {
				delete(s.fetch, k)
			}
			s.mu.Unlock()
		}
		s.mu.Lock()
		if len(s.fetch) > 0 {
			timer.Reset(keyPause / 2)
		}
		s.mu.Unlock()
	}
}

// share implements sharingVerifier. Endpoints have the same keys.
func (v *JWT) share(publish func(tokenNews)) {
	issuer := v.opts.Issuer
	changed := func(k *keys) {
		publish(tokenNews{
			Issuer: issuer,
			Keys:   k.sum(),
		})
	}
	v.keys.changed.Store(&changed)
}

// receive implements sharingVerifier.
func (v *JWT) receive(news *tokenNews) *keySet {
	if news.Issuer != "" && (news.Issuer != v.opts.Issuer || news.Keys == "") ||
		!v.keys.outdated(news.Keys) {
		return nil
	}
	return v.keys
}

// share implements sharingVerifier.
func (v *Introspection) share(publish func(tokenNews)) {
	issuer := v.opts.Issuer
	revoked := func(token string) {
		sum := sumOf(token)
		publish(tokenNews{
			Issuer: issuer,
			Token:  hex.EncodeToString(sum[:]),
		})
	}
	v.revoked.Store(&revoked)
}

// receive implements sharingVerifier: the issuer is asked again about a token that was accepted.
func (v *Introspection) receive(news *tokenNews) *keySet {
	if news.Issuer != v.opts.Issuer {
		return nil
	}
	raw, err := hex.DecodeString(news.Token)
	sum := sumOf("")
	if err != nil || len(raw) != len(sum) {
		return nil
	}
	copy(sum[:], raw)
	v.mu.Lock()
	defer v.mu.Unlock()
	switch a := v.known[sum]; {
	case a == nil:
	case a.until.IsZero(): // the question may have been asked before the token was revoked
		a.outdated = true
	case a.err == nil:
		delete(v.known, sum)
	}
	return nil
}
