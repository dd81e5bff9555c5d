package stax

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// SecretFiles tracks the files at fixed paths (exposeAs.file) that contain secrets while
// servers use them. The zero value is ready to use and safe for concurrent use.
type SecretFiles struct {
	// mu guards all, and is held while a file is written or removed.
	mu sync.Mutex
	// all has the files by path.
	all map[string]*secretFile
}

// secretFile is a file that exists on disk as long as a server uses it.
type secretFile struct {
	secret Secret
	// users counts the running servers that need the file.
	users int
}

// maxSecretFile limits how much of a file is compared with a secret.
const maxSecretFile = 1 << 20

// place writes a secret to the file at path, where it stays until every caller of place
// has called remove. An existing file of other origin is used if it contains exactly the
// secret, and is never deleted.
func (s *SecretFiles) place(path string, secret Secret) (remove func() error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	write := fsutil.Content(secret.Reveal())
	f := s.all[path]
	switch {
	case f == nil:
		err := fsutil.Create(path, 0o600, write)
		if errors.Is(err, fs.ErrExist) {
			return func() error { return nil }, holdsSecret(path, secret)
		}
		if err != nil {
			return nil, fmt.Errorf("write the file of a secret: %w", err)
		}
		f = &secretFile{}
		if s.all == nil {
			s.all = make(map[string]*secretFile)
		}
		s.all[path] = f
	case f.secret.Reveal() != secret.Reveal():
		if err := fsutil.Replace(path, 0o600, write); err != nil {
			return nil, fmt.Errorf("write the file of a secret: %w", err)
		}
	}
	f.secret = secret
	f.users++
	return func() error { return s.leave(path, f) }, nil
}

// leave removes the file after its last user, unless its content has been replaced.
func (s *SecretFiles) leave(path string, f *secretFile) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.users--; f.users > 0 {
		return nil
	}
	delete(s.all, path)
	if holdsSecret(path, f.secret) != nil {
		return nil // replaced or deleted since
	}
	return os.Remove(path)
}

// holdsSecret returns an error unless a file contains exactly the secret.
func holdsSecret(path string, secret Secret) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecretFile))
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(text, []byte(secret.Reveal())) == 0 {
		return fmt.Errorf(
			"%s exists and has other content than the secret: remove the file, or set another path in exposeAs", path)
	}
	return nil
}
