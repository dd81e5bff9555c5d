package server

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/base64url"
	"github.com/slipway-mcp/slipway/internal/canonical"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// Multi round-trip requests, which 2026-07-28 uses to ask the client: the request ends
// with the questions, and the client repeats it with the answers. Answers of earlier
// rounds are sealed into requestState, so the server keeps nothing between the rounds.

// rounds is the state of a request from earlier rounds, and its questions in this round.
type rounds struct {
	mu      sync.Mutex // guards all fields
	state   roundsState
	count   int32                      // questions asked so far, for their default keys
	answers map[string]json.RawMessage // by key
	private json.RawMessage            // set by the source
	open    map[string]*question
	refused map[string]int // wrong answers so far, by key
}

// State implements [mcp.Request.State].
func (rc *request) State() (json.RawMessage, error) {
	if rc.version.Modern() {
		if err := rc.loadRounds(); err != nil {
			return nil, err
		}
	}
	rc.rounds.mu.Lock()
	defer rc.rounds.mu.Unlock()
	return rc.rounds.private, nil
}

// SetState implements [mcp.Request.SetState].
func (rc *request) SetState(state json.RawMessage) {
	rc.rounds.mu.Lock()
	defer rc.rounds.mu.Unlock()
	rc.rounds.private = state
}

// askModern returns the answers if all of them exist. Otherwise it records the open
// questions.
func (rc *request) askModern(questions []*question) ([]json.RawMessage, error) {
	if !rc.mayAsk() {
		return nil, fmt.Errorf("%s cannot ask the client", rc.msg.method)
	}
	if err := rc.loadRounds(); err != nil {
		return nil, err
	}
	rc.rounds.mu.Lock()
	defer rc.rounds.mu.Unlock()
	answers := make([]json.RawMessage, len(questions))
	open := false
	for i, q := range questions {
		key := q.key
		if key == "" {
			rc.rounds.count++
			key = "input-" + strconv.Itoa(int(rc.rounds.count))
		}
		answer := rc.rounds.answers[key]
		if answer != nil && string(answer) != "null" {
			why := q.check(answer)
			if why == nil {
				answers[i] = answer
				continue
			}
			if rc.rounds.refuse(key) >= maxAttempts {
				rc.rounds.open = nil
				return nil, refusedAnswer(q, why)
			}
			q = q.withNote(why)
		}
		if rc.rounds.open == nil {
			rc.rounds.open = make(map[string]*question)
		}
		rc.rounds.open[key] = q
		open = true
	}
	if open {
		return nil, mcp.ErrInputRequired
	}
	return answers, nil
}

// refuse deletes a wrong answer, so that it does not stay in the state, and returns the
// number of wrong answers to the question.
func (r *rounds) refuse(key string) int {
	delete(r.answers, key)
	if r.refused == nil {
		r.refused = make(map[string]int)
	}
	r.refused[key]++
	return r.refused[key]
}

// mayAsk reports whether the method may answer with questions.
func (rc *request) mayAsk() bool {
	return rc.msg.is("tools/call") || rc.msg.is("prompts/get") ||
		rc.msg.is("resources/read")
}

// roundsState says whether the earlier rounds of a request have been read.
type roundsState int8

const (
	roundsUnread roundsState = iota
	roundsLoaded
	roundsInvalid
)

// loadRounds reads requestState and inputResponses, once per request. Answers of this
// round replace earlier ones. After an error, each call returns one.
func (rc *request) loadRounds() error {
	rc.rounds.mu.Lock()
	defer rc.rounds.mu.Unlock()
	switch rc.rounds.state {
	case roundsInvalid:
		return errState
	case roundsLoaded:
		return nil
	}
	if err := rc.readRounds(); err != nil {
		rc.rounds.state = roundsInvalid
		return err
	}
	rc.rounds.state = roundsLoaded
	return nil
}

// readRounds is loadRounds without the lock.
func (rc *request) readRounds() error {
	rc.rounds.answers = make(map[string]json.RawMessage)
	if raw, ok := rc.param("requestState"); ok {
		state, isString := jsonscan.Unquote(raw)
		if !isString {
			return invalidParams("params.requestState must be a string")
		}
		if err := rc.openState(state); err != nil {
			return err
		}
	}
	raw, ok := rc.param("inputResponses")
	if !ok || string(raw) == "null" {
		return nil
	}
	if !jsonscan.IsObject(raw) {
		return invalidParams("params.inputResponses must be an object")
	}
	_, err := jsonscan.Object(raw, 0, 0, func(key []byte, i int) (int, error) {
		end, err := jsonscan.Value(raw, i)
		rc.rounds.answers[string(key)] = raw[i:end]
		return end, err
	})
	return err
}

// checkState rejects a request whose requestState was not sealed by this server for this
// request, before the Source sees the request.
func (rc *request) checkState() error {
	if !rc.version.Modern() || !rc.mayAsk() ||
		!bytes.Contains(rc.msg.params, []byte("requestState")) {
		return nil
	}
	return rc.loadRounds()
}

// sealedState is the plain text of a requestState.
type sealedState struct {
	Expires int64 `json:"e"` // Unix seconds
	// Answers, Private and Refused are as in rounds. The state is with the client between
	// rounds, so it is encrypted and bound to the request.
	Answers map[string]json.RawMessage `json:"a,omitempty"`
	Private json.RawMessage            `json:"p,omitempty"`
	Refused map[string]int             `json:"r,omitempty"`
}

var errState = invalidParams("params.requestState is not valid here: it was changed, has expired," +
	" or belongs to another request")

// openState restores the state of earlier rounds. The same error for all failures
// reveals nothing about the key.
func (rc *request) openState(state string) error {
	sealed, err := base64url.Decode(state)
	if err != nil || len(sealed) < rc.server.keys.Load().overhead() {
		return errState // at once: the context below is a digest of all arguments
	}
	plain, err := rc.server.keys.Load().open(sealed, rc.stateContext())
	if err != nil {
		return errState
	}
	var s sealedState
	if json.Unmarshal(plain, &s) != nil || time.Now().Unix() > s.Expires {
		return errState
	}
	rc.rounds.private = s.Private
	rc.rounds.refused = s.Refused
	for key, answer := range s.Answers {
		rc.rounds.answers[key] = answer
	}
	return nil
}

// stateContext binds a state to the request: its principal, its method, and a digest of
// the parameters that does not depend on the order of members or the spelling of values, so
// that a client may encode the same arguments differently in the next round.
func (rc *request) stateContext() []byte {
	var arguments []byte
	if raw := rc.msg.arguments; raw != nil {
		arguments = canonical.AppendExact(make([]byte, 0, len(raw)), raw)
	}
	sum := sha256.New()
	for _, part := range [][]byte{
		[]byte(principalID(mcp.PrincipalFrom(rc))), rc.msg.method, rc.msg.name, rc.msg.uri, arguments,
	} {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		sum.Write(part)
	}
	return sum.Sum(nil)
}

// inputRequired writes the open questions as the result.
func (a *answer) inputRequired(rc *request, cat *mcp.Catalog) error {
	questions, err := encodeQuestions(rc.rounds.open)
	if err != nil {
		return err
	}
	a.buf = a.buf[:0]
	a.body = nil
	a.begin(rc)
	a.buf = append(append(a.buf, `{"resultType":"input_required","inputRequests":`...), questions...)
	state, err := rc.sealState()
	if err != nil {
		return err
	}
	a.buf = append(append(append(a.buf, `,"requestState":"`...), state...), '"')
	a.finish(rc, cat)
	return nil
}

// encodeQuestions returns an InputRequests object, sorted by key.
func encodeQuestions(open map[string]*question) (json.RawMessage, error) {
	keys := make([]string, 0, len(open))
	for key := range open {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	dst := []byte{'{'}
	for i, key := range keys {
		params, err := open[key].params(mcp.LatestVersion)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendQuote(dst, key)
		dst = append(append(append(dst, `:{"method":"`...), open[key].Method()...), `","params":`...)
		dst = append(append(dst, params...), '}')
	}
	return append(dst, '}'), nil
}

// sealState returns the state for the next round. rounds.mu need not be held: the Source
// has returned.
func (rc *request) sealState() (string, error) {
	plain, err := mcp.Marshal(sealedState{
		Expires: time.Now().Add(rc.server.opts.StateTTL).Unix(),
		Answers: rc.rounds.answers,
		Private: rc.rounds.private,
		Refused: rc.rounds.refused,
	})
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(rc.server.keys.Load().seal(plain, rc.stateContext())), nil
}

// sealKeys seals with the first key and opens with any, so that keys can be replaced
// while clients still have state sealed with an old one.
type sealKeys []cipher.AEAD

// newSealKeys derives a key for AES-256-GCM from each secret, or from a random one
// without secrets.
func newSealKeys(secrets [][]byte) sealKeys {
	if len(secrets) == 0 {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails: it exits the program instead
		secrets = [][]byte{secret}
	}
	keys := make(sealKeys, 0, len(secrets))
	for _, secret := range secrets {
		sum := sha256.Sum256(append([]byte("slipway request state 1\x00"), secret...))
		block, err := aes.NewCipher(sum[:])
		if err != nil {
			panic(err) // a key of 32 bytes is always accepted
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			panic(err)
		}
		keys = append(keys, aead)
	}
	return keys
}

// overhead returns the number of bytes of nonce and tag, by which a state is longer than its plain text.
func (k sealKeys) overhead() int { return k[0].Overhead() }

func (k sealKeys) seal(plain, context []byte) []byte {
	return k[0].Seal(nil, nil, plain, context)
}

// open decrypts a state with whichever key sealed it: keys are replaced while states are
// with clients.
func (k sealKeys) open(sealed, context []byte) ([]byte, error) {
	for _, aead := range k {
		if plain, err := aead.Open(nil, nil, sealed, context); err == nil {
			return plain, nil
		}
	}
	return nil, errors.New("not sealed with any of the keys")
}
