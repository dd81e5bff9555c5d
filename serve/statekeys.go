package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcp/server"
)

// StateKeys are the secrets that seal the state that clients carry for the server:
// session ids, and the requestState of 2026-07-28. Replicas with the same keys, and a
// server that has them again after a restart, accept each other's state. The first key
// seals, all keys open, so a key is rotated in three steps: append the new one
// everywhere, move it to the front, remove the old one.
//
// Use separate keys for each service. StateKeys are safe for concurrent use.
type StateKeys struct {
	path string // "" without a file

	mu sync.Mutex
	// fixed are keys that were given as a value, rather than in a file.
	fixed [][]byte
	keys  [][]byte
	// servers receive the keys when the file changes.
	servers []*server.Server
}

// Limits of state keys.
const (
	minStateKey     = 43 // characters: 32 bytes in base64
	maxStateKey     = 1 << 10
	maxStateKeys    = 16
	maxStateKeyFile = 64 << 10
)

// ErrKeyExposed is wrapped by the error for a key file that other users can read or
// write.
var ErrKeyExposed = errors.New("other users can access it")

// ParseStateKeys parses keys, one per line: at least 43 printable ASCII characters, such
// as 32 random bytes in base64 or hexadecimal digits. Lines that begin with "#" are
// comments. Errors name the line and never the key.
func ParseStateKeys(text []byte) (keys [][]byte, err error) {
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		for _, word := range strings.Fields(line) {
			if err := checkStateKey(word); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			keys = append(keys, []byte(word))
		}
	}
	switch {
	case len(keys) == 0:
		return nil, errors.New("no keys")
	case len(keys) > maxStateKeys:
		return nil, fmt.Errorf("%d keys, want at most %d", len(keys), maxStateKeys)
	}
	return keys, nil
}

// checkStateKey rejects keys that could be guessed. It cannot prove that a key is random.
func checkStateKey(word string) error {
	distinct := make(map[byte]bool)
	for i := range len(word) {
		if word[i] < '!' || word[i] > '~' {
			return errors.New("a key consists of visible ASCII characters")
		}
		distinct[word[i]] = true
	}
	switch {
	case len(word) < minStateKey:
		return fmt.Errorf("the key is shorter than %d characters", minStateKey)
	case len(word) > maxStateKey:
		return fmt.Errorf("the key is longer than %d characters", maxStateKey)
	case len(distinct) < 8:
		return errors.New("the key is not random")
	}
	return nil
}

// OpenStateKeys returns the keys in a file, which only its owner may access, followed by
// more keys, see [ParseStateKeys]. path may be empty. [StateKeys.Reload] reads the file
// again.
func OpenStateKeys(path string, more ...[]byte) (*StateKeys, error) {
	k := &StateKeys{
		path:  path,
		fixed: more,
	}
	if err := k.Reload(); err != nil {
		return nil, err
	}
	return k, nil
}

// Reload reads the file again. On error the keys stay unchanged. Servers use the new keys
// from the next request on.
func (k *StateKeys) Reload() error {
	var keys [][]byte
	if k.path != "" {
		var err error
		if keys, err = readStateKeys(k.path); err != nil {
			return fmt.Errorf("state key file %s: %w", k.path, err)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	keys = append(keys, k.fixed...)
	if len(keys) == 0 {
		return errors.New("no state keys")
	}
	k.keys = keys
	for _, s := range k.servers {
		s.SetStateKeys(keys)
	}
	return nil
}

// Replace replaces the keys that were given as a value, as [OpenStateKeys] checks them, and
// reads the file again. On error the keys stay unchanged.
func (k *StateKeys) Replace(more ...[]byte) error {
	k.mu.Lock()
	before := k.fixed
	k.fixed = more
	k.mu.Unlock()
	err := k.Reload()
	if err != nil {
		k.mu.Lock()
		k.fixed = before
		k.mu.Unlock()
	}
	return err
}

// readStateKeys reads a key file, which no other user may be able to read.
func readStateKeys(path string) ([][]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, reasonOf(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%w: its mode is %04o, want 0600", ErrKeyExposed, info.Mode().Perm())
	}
	if who, err := fsutil.ReadableBy(path); err != nil || who != "" {
		if err != nil {
			return nil, reasonOf(err)
		}
		return nil, fmt.Errorf("%w: %s can read it", ErrKeyExposed, who)
	}
	text, err := fsutil.ReadText(path, maxStateKeyFile)
	if err != nil {
		return nil, reasonOf(err)
	}
	return ParseStateKeys(text)
}

// reasonOf returns the cause of an error without the path, which the caller adds.
func reasonOf(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// follow makes a server use the current and future keys.
func (k *StateKeys) follow(s *server.Server) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s.SetStateKeys(k.keys)
	k.servers = append(k.servers, s)
}
