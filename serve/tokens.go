package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/servercard"
	"github.com/slipway-mcp/slipway/mcp"
)

// Token is a manually issued bearer token.
type Token struct {
	// Name is the holder: letters, digits and ._@- up to 64. During rotation, the old and
	// the new token of one holder share the name.
	Name string `json:"name"`
	// Token is the token, of at least 16 characters, or "sha256:" and its SHA-256 in
	// hexadecimal, so that reading the list is not enough to use it.
	Token string `json:"token"`
	// Scopes are the scopes of the holder, see [Auth].
	Scopes []string `json:"scopes,omitempty"`
}

// Tokens is a [Verifier] for a list of tokens. It stores only their hashes, and compares
// a token with all of them in constant time, however much of it is correct.
type Tokens struct {
	// known is replaced as a whole when the file changes.
	known atomic.Pointer[[]knownToken]

	// Only for tokens from a file.
	path  string
	watch *fileWatch
	log   *slog.Logger
}

var _ Verifier = (*Tokens)(nil)

// knownToken is a configured token, of which only the hash is kept.
type knownToken struct {
	// hash is compared in constant time, so neither the time nor the memory reveals
	// tokens.
	hash      [sha256.Size]byte
	principal *mcp.Principal
}

// Limits of a list of tokens.
const (
	maxHolder      = 64
	minTokenLength = 16
	maxTokens      = 1000
	maxTokenFile   = 1 << 20
	hashPrefix     = "sha256:"
)

// NewTokens returns a verifier for 1 to 1000 tokens, of which it keeps only the hashes. The
// error names the holder of an invalid token, never the token.
func NewTokens(list ...Token) (*Tokens, error) {
	t := &Tokens{}
	if err := t.set(list); err != nil {
		return nil, err
	}
	return t, nil
}

// OpenTokens returns a verifier for the tokens in a file, see [ParseTokens]. When the
// file changes, it is read again within a second, without a restart. If it is then
// unreadable or invalid, that is logged to log, which may be nil, and the tokens stay
// unchanged.
func OpenTokens(path string, log *slog.Logger) (*Tokens, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	t := &Tokens{
		path:  path,
		log:   log,
		watch: newFileWatch(path),
	}
	if _, err := t.load(); err != nil {
		return nil, err
	}
	return t, nil
}

// load reads the file and returns the number of tokens. On error the tokens stay
// unchanged.
func (t *Tokens) load() (n int, err error) {
	text, err := fsutil.ReadText(t.path, maxTokenFile)
	if err != nil {
		return 0, fmt.Errorf("token file: %w", err)
	}
	list, err := ParseTokens(text)
	if err == nil {
		err = t.set(list)
	}
	if err != nil {
		return 0, fmt.Errorf("token file %s: %w", t.path, err)
	}
	return len(list), nil
}

// ParseTokens parses a list of tokens, in one of two forms:
//
//	{"tokens": [{"name": "ci", "token": "...", "scopes": ["read"]}]}
//
// or lines of name, token and scopes, separated by blanks:
//
//	# who  token                          scopes
//	ci     k3Wq0cYw7m1nJ4s8xZ2bTf         read
//	ann    sha256:9f86d081884c7d65...     read admin
//
// A line with a single word is a token whose holder is called "token". Errors name the
// line and never the token.
func ParseTokens(text []byte) ([]Token, error) {
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) > 0 && trimmed[0] == '{' {
		return parseTokensJSON(trimmed)
	}
	var list []Token
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		t := Token{
			Name:  "token",
			Token: words[0],
		}
		if len(words) > 1 {
			t = Token{
				Name:   words[0],
				Token:  words[1],
				Scopes: words[2:],
			}
		}
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		list = append(list, t)
	}
	return list, nil
}

// parseTokensJSON parses a token file. Unknown members are errors: a misspelt "scopes"
// would grant everything.
func parseTokensJSON(text []byte) ([]Token, error) {
	var file struct {
		Tokens []Token `json:"tokens"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil || d.More() {
		return nil, errors.New(`want JSON like {"tokens": [{"name": "...", "token": "...", "scopes": ["..."]}]}`)
	}
	for i := range file.Tokens {
		if err := file.Tokens[i].check(); err != nil {
			return nil, fmt.Errorf("tokens[%d]: %w", i, err)
		}
	}
	return file.Tokens, nil
}

// check returns an error for an invalid token without revealing it.
func (t *Token) check() error {
	switch hash, hashed := strings.CutPrefix(t.Token, hashPrefix); {
	case !servercard.IsWord(t.Name, "._@-") || len(t.Name) > maxHolder:
		return errors.New("the name must be of letters, digits and ._@-, up to 64")
	case hashed && !isHash(hash):
		return errors.New("sha256: must be followed by 64 hexadecimal digits")
	case hashed:
	case len(t.Token) < minTokenLength:
		return fmt.Errorf("the token is shorter than %d characters; openssl rand -hex 32 creates one",
			minTokenLength)
	case !isToken(t.Token):
		return errors.New("a token consists of letters, digits and -._~+/, with = at its end")
	}
	for _, s := range t.Scopes {
		if !isScope(s) {
			return errors.New("a scope consists of visible ASCII without quotes and backslashes")
		}
	}
	return nil
}

// isHash reports whether s is a SHA-256 sum in hexadecimal.
func isHash(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size
}

// isScope reports whether s has the syntax that RFC 6749 gives to scopes.
func isScope(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}

// set replaces the tokens. Only their hashes are kept.
func (t *Tokens) set(list []Token) error {
	switch {
	case len(list) == 0:
		return errors.New("no tokens")
	case len(list) > maxTokens:
		return fmt.Errorf("%d tokens, want at most %d", len(list), maxTokens)
	}
	known := make([]knownToken, 0, len(list))
	for _, token := range list {
		if err := token.check(); err != nil {
			return fmt.Errorf("token of %q: %w", token.Name, err)
		}
		k := knownToken{
			hash: sumOf(token.Token),
			principal: &mcp.Principal{
				Name:   token.Name,
				Scopes: slices.Clone(token.Scopes),
			},
		}
		if digits, ok := strings.CutPrefix(token.Token, hashPrefix); ok {
			_, _ = hex.Decode(k.hash[:], []byte(digits)) // checked above
		}
		known = append(known, k)
	}
	t.known.Store(&known)
	return nil
}

// reload reads the file again. An invalid file changes nothing.
func (t *Tokens) reload() {
	if n, err := t.load(); err != nil {
		t.log.Error("tokens not reloaded, keeping the previous ones", "error", err)
	} else {
		t.log.Info("tokens reloaded", "tokens", n)
	}
}

// Verify implements [Verifier].
func (t *Tokens) Verify(_ context.Context, token string) (*mcp.Principal, error) {
	if t.watch != nil {
		t.watch.refresh(t.reload)
	}
	hash := sumOf(token)
	var found *mcp.Principal
	for i, known := 0, *t.known.Load(); i < len(known); i++ {
		if subtle.ConstantTimeCompare(known[i].hash[:], hash[:]) == 1 {
			found = known[i].principal
		}
	}
	if found == nil {
		return nil, ErrToken
	}
	return found, nil
}
