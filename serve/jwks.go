package serve

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/netguard"
)

// keys is one version of an issuer's keys. It is immutable.
type keys struct {
	text []byte // as published
	all  []jose.JSONWebKey
}

// candidates returns the keys that may have signed a token with that header.
func (k *keys) candidates(h jose.Header) (fitting []jose.JSONWebKey) {
	for _, key := range k.all {
		if (h.KeyID == "" || key.KeyID == h.KeyID) &&
			(key.Algorithm == "" || key.Algorithm == h.Algorithm) {
			fitting = append(fitting, key)
		}
	}
	return fitting
}

// sum returns the hexadecimal SHA-256 of the keys as published.
func (k *keys) sum() string {
	sum := sha256.Sum256(k.text)
	return hex.EncodeToString(sum[:])
}

// has reports whether a key with the ID exists. Tokens without an ID may be signed with any key.
func (k *keys) has(id string) bool {
	return id == "" || slices.ContainsFunc(k.all, func(key jose.JSONWebKey) bool {
		return key.KeyID == id
	})
}

// keySet caches an issuer's keys. They are fetched when the server starts or else for the
// first token, again in the background once they are old, and when a token is signed with
// an unknown key, which is how an issuer rotates its keys. The requests with such tokens
// wait for one fetch, which begins at the earliest a pause after the last one.
type keySet struct {
	opts   *JWTOptions
	client *http.Client

	// state is read without a lock by every request.
	state atomic.Pointer[fetched]
	// changed, if set, is called with keys that differ from those before, if this replica was the
	// first to know.
	changed atomic.Pointer[func(*keys)]

	// fetching is held by the goroutine that fetches, or waits until it may.
	fetching chan struct{}
	waiting  waitingRoom
	begun    atomic.Uint64 // the fetches that have begun
	mu       sync.Mutex
	// tried is the time of the last attempt to fetch, or zero if the next one need not wait.
	tried   time.Time // guarded by mu
	failure error     // of the last attempt; guarded by mu
	jwksURL string    // guarded by fetching
}

// fetched is the outcome of the last successful fetch.
type fetched struct {
	// keys are valid for a time after at.
	keys *keys
	at   time.Time
}

// Limits on the documents of an issuer.
const (
	maxDocument = 1 << 20
	maxKeys     = 100
	minRSABits  = 2048
)

// Limits on the requests that wait for the keys of an issuer: in total, and of one address, so
// that a client with invented tokens does not keep others from waiting.
const (
	maxWaiting          = 256
	maxWaitingOfAddress = 32
)

// waitingRoom counts the requests that wait for a fetch. The zero value is empty.
type waitingRoom struct {
	mu     sync.Mutex
	all    int
	byAddr map[clientKey]int // has the addresses of the requests that wait, and no others
}

// enter counts a request, unless too many wait already: of its address at most ofAddress, or
// any number if ctx has no caller with an address. leave ends the wait.
func (w *waitingRoom) enter(ctx context.Context, ofAddress int) (leave func(), ok bool) {
	remote := remoteOf(ctx)
	key := addressKey(remote)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all >= maxWaiting || remote != "" && w.byAddr[key] >= ofAddress {
		return nil, false
	}
	w.all++
	if w.byAddr == nil {
		w.byAddr = make(map[clientKey]int)
	}
	w.byAddr[key]++
	return func() { w.leave(key) }, true
}

// leave gives back the place of a request that waited, in total and of its client.
func (w *waitingRoom) leave(key clientKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all--
	if w.byAddr[key]--; w.byAddr[key] == 0 {
		delete(w.byAddr, key)
	}
}

// newKeySet returns a key set that has not fetched anything. Redirects must stay on the
// host: the address of the keys decides who can issue tokens.
func newKeySet(o *JWTOptions) *keySet {
	client := *http.DefaultClient
	if o.Client != nil {
		client = *o.Client
	}
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > 5 ||
			r.URL.Host != via[0].URL.Host ||
			r.URL.Scheme != via[0].URL.Scheme {
			return errors.New("redirected to another host")
		}
		return nil
	}
	return &keySet{
		opts:     o,
		client:   &client,
		jwksURL:  o.JWKSURL,
		fetching: make(chan struct{}, 1),
	}
}

// loaded returns the keys if they are available and not too old, without waiting. If they
// are getting old, it starts fetching new ones.
func (s *keySet) loaded(now time.Time) *keys {
	f := s.state.Load()
	switch {
	case f == nil, now.Sub(f.at) > s.opts.Stale:
		return nil
	case now.Sub(f.at) > s.opts.Refresh && s.due(now):
		select {
		case s.fetching <- struct{}{}:
			go s.refresh() // ends at its timeout, and is the only one
		default:
		}
	}
	return f.keys
}

// refresh fetches the keys again. The caller has acquired fetching, which refresh releases.
func (s *keySet) refresh() {
	defer func() { <-s.fetching }()
	_ = s.fetch(context.Background(), true) // the error is kept as failure; the old keys stay in use
}

// outdated reports whether there are keys, and not those with that sum.
func (s *keySet) outdated(sum string) bool {
	f := s.state.Load()
	return f != nil && f.keys.sum() != sum
}

// refetch fetches the keys because another replica has those with that sum, or any that differ. done
// reports whether they have been fetched.
func (s *keySet) refetch(ctx context.Context, sum string) (done bool, err error) {
	select {
	case s.fetching <- struct{}{}:
		defer func() { <-s.fetching }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if !s.outdated(sum) {
		return true, nil
	}
	wait, failure := s.untilDue(time.Now())
	if failure != nil { // another replica was answered, so the pause is not that after a failure
		wait -= 9 * s.opts.Pause
	}
	if wait > 0 {
		pause := time.NewTimer(wait)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	if err := s.fetch(ctx, false); err != nil {
		return false, err
	}
	return sum == "" || !s.outdated(sum), nil
}

// prepare fetches the keys before the first token needs them, unless a token is fetching them. A failure
// is returned, and does not make the first token wait for the pause after a failure.
func (s *keySet) prepare(ctx context.Context) error {
	select {
	case s.fetching <- struct{}{}:
		defer func() { <-s.fetching }()
	default:
		return nil
	}
	if s.state.Load() != nil {
		return nil
	}
	err := s.fetch(ctx, false)
	if err != nil {
		s.mu.Lock()
		s.tried = time.Time{}
		s.mu.Unlock()
	}
	return err
}

// due reports whether the last fetch was long enough ago for another one.
func (s *keySet) due(now time.Time) bool {
	wait, _ := s.untilDue(now)
	return wait <= 0
}

// untilDue returns how long it takes until the next fetch may begin, and why the last one
// failed. An issuer that does not answer is left alone for longer.
func (s *keySet) untilDue(now time.Time) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pause := s.opts.Pause
	if s.failure != nil {
		pause *= 10
	}
	if s.tried.IsZero() {
		return 0, s.failure
	}
	return pause - now.Sub(s.tried), s.failure
}

// withID returns keys among which is one with that id, if the issuer has it.
func (s *keySet) withID(ctx context.Context, id string) (*keys, error) {
	return s.with(ctx, func(k *keys) bool { return k.has(id) })
}

// newer returns keys other than the old ones, if the issuer has changed them.
func (s *keySet) newer(ctx context.Context, old *keys) (*keys, error) {
	return s.with(ctx, func(k *keys) bool { return k != old })
}

// with returns keys that suit a token, and fetches them if those at hand do not. Only a
// fetch that began after the token arrived proves that the issuer does not have its key:
// one that was under way may have read the keys before they changed.
func (s *keySet) with(ctx context.Context, suit func(*keys) bool) (*keys, error) {
	begun := s.begun.Load()
	k := s.loaded(time.Now())
	if k != nil && suit(k) {
		return k, nil
	}
	ofAddress := maxWaitingOfAddress
	if k == nil { // all clients wait, with valid tokens too, and many may be behind one proxy
		ofAddress = maxWaiting
	}
	leave, ok := s.waiting.enter(ctx, ofAddress)
	if !ok {
		return nil, &throttledError{
			after:  s.opts.Pause,
			reason: "the token names a key that is not known yet",
		}
	}
	defer leave()
	select {
	case s.fetching <- struct{}{}:
		defer func() { <-s.fetching }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// The requests that waited before this one may have fetched the keys.
	k = s.loaded(time.Now())
	if k != nil && suit(k) {
		return k, nil
	}
	if s.begun.Load() == begun {
		if err := s.fetchWhenDue(ctx); err != nil {
			return nil, err
		}
		k = s.loaded(time.Now())
	}
	_, failure := s.untilDue(time.Now())
	switch {
	case k != nil && suit(k):
		return k, nil
	case failure != nil:
		return nil, failure // the key may exist but could not be fetched
	case k == nil:
		return nil, errors.New("the keys of the issuer are not available")
	}
	return nil, invalid("signed with a key that the issuer does not have")
}

// fetchWhenDue fetches the keys after what remains of the pause. After a failure it does not
// wait, and returns the failure instead. The caller holds fetching, so that others wait with it.
func (s *keySet) fetchWhenDue(ctx context.Context) error {
	if wait, failure := s.untilDue(time.Now()); wait > 0 {
		if failure != nil {
			return failure
		}
		pause := time.NewTimer(wait)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// The fetch serves all callers, so it continues when this client disconnects.
	_ = s.fetch(context.WithoutCancel(ctx), true) // the error is kept as failure
	return nil
}

// throttledError means that the issuer has to be asked about a token, and that too many requests
// wait for its answers already.
type throttledError struct {
	after  time.Duration
	reason string // for the client
}

func (e *throttledError) Error() string { return e.reason }

// fetch fetches the keys once. The caller holds fetching. announce says whether other replicas are
// notified of a change; they do not notify others in turn.
func (s *keySet) fetch(ctx context.Context, announce bool) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	s.begun.Add(1)
	k, err := s.get(ctx)
	now := time.Now()
	s.mu.Lock()
	s.tried = now
	s.failure = err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	was := s.state.Load()
	same := was != nil && bytes.Equal(was.keys.text, k.text)
	if same {
		k = was.keys // tokens verified with these keys stay remembered
	}
	s.state.Store(&fetched{k, now})
	f := s.changed.Load()
	if f != nil && was != nil && !same && announce {
		(*f)(k)
	}
	return nil
}

// get downloads the keys, and remembers their address once that has worked.
func (s *keySet) get(ctx context.Context) (*keys, error) {
	if s.opts.Keys != nil {
		text, err := s.opts.Keys(ctx)
		if err != nil {
			return nil, err
		}
		return parseKeys(text)
	}
	address := s.jwksURL
	if address == "" {
		var err error
		if address, err = s.discover(ctx); err != nil {
			return nil, err
		}
	}
	text, err := s.download(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("fetch keys: %w", err)
	}
	k, err := parseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("fetch keys: %s: %w", address, err)
	}
	s.jwksURL = address
	return k, nil
}

// discover reads the location of the keys from the issuer's metadata, trying the
// addresses in the same order as MCP clients.
func (s *keySet) discover(ctx context.Context) (string, error) {
	var failures []error
	for _, address := range identity.MetadataAddresses(s.opts.Issuer) {
		text, err := s.download(ctx, address)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		var metadata struct {
			Issuer  string `json:"issuer"`
			JWKSURI string `json:"jwks_uri"`
		}
		if err := json.Unmarshal(text, &metadata); err != nil || metadata.Issuer != s.opts.Issuer {
			return "", fmt.Errorf("%s: not the metadata of issuer %s", address, s.opts.Issuer)
		}
		if _, err := secureURL(metadata.JWKSURI); err != nil {
			return "", fmt.Errorf("%s: jwks_uri: %w", address, err)
		}
		return metadata.JWKSURI, nil
	}
	return "", fmt.Errorf("find the keys of issuer %s: %w", s.opts.Issuer, errors.Join(failures...))
}

// download returns a document of at most maxDocument bytes.
func (s *keySet) download(ctx context.Context, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, application/jwk-set+json")
	got, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, got.Status)
	}
	text, err := io.ReadAll(io.LimitReader(got.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", address, err)
	case len(text) > maxDocument:
		return nil, fmt.Errorf("%s: larger than %d bytes", address, maxDocument)
	}
	return text, nil
}

// parseKeys parses a JWK Set (RFC 7517). Unusable keys are skipped: those of unknown
// types, for encryption, secret, or too weak.
func parseKeys(text []byte) (*keys, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New("not a JWK set")
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("%d keys, want at most %d", len(set.Keys), maxKeys)
	}
	k := &keys{text: text}
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) == nil && usable(&key) {
			k.all = append(k.all, key)
		}
	}
	if len(k.all) == 0 {
		return nil, errors.New("no key that can be used")
	}
	return k, nil
}

// usable reports whether a key may verify signatures: public, not for encryption, and
// not a weak RSA key.
func usable(key *jose.JSONWebKey) bool {
	if !key.Valid() || !key.IsPublic() || key.Use == "enc" {
		return false
	}
	r, ok := key.Key.(*rsa.PublicKey)
	return !ok || r.N.BitLen() >= minRSABits
}

// secureURL parses an address that must be https, or on this machine.
func secureURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return nil, fmt.Errorf("%q is not an https address", address)
	case u.Scheme == "https", u.Scheme == "http" && netguard.IsLoopbackHost(u.Hostname()):
		return u, nil
	}
	return nil, fmt.Errorf("%q must be an https address", address)
}
