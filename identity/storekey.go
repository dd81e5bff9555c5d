package identity

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/zalando/go-keyring"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/process"
)

// keychainService is the service of keys in the keychain.
const keychainService = "slipway-credentials"

// keySize is the size of a key of AES-256 in bytes.
const keySize = 32

// keyFile returns the file of keys.
func (s *Store) keyFile() string {
	if s.opts.KeyFile != "" {
		return s.opts.KeyFile
	}
	return filepath.Join(s.dir, "credentials.key")
}

// key returns the key of a store. It never creates one: a new key could not read the
// entries.
func (s *Store) key(file *storeFile) ([]byte, error) {
	if file.Keychain {
		text, err := keyring.Get(keychainService, file.Key)
		switch {
		case errors.Is(err, keyring.ErrNotFound):
			return nil, s.noKey("its key is not in the keychain", "")
		case err != nil:
			return nil, s.noKey(fmt.Sprintf("its key is in the keychain, which is not available: %v", err),
				"unlock the keychain, or run the command in the desktop session")
		}
		return s.decodeKey(text, file.Key)
	}
	lines, err := s.keyLines()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.noKey("its key file "+s.keyFile()+" does not exist", "")
	}
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		if id, text, _ := strings.Cut(line, " "); id == file.Key {
			return s.decodeKey(text, id)
		}
	}
	return nil, s.noKey("its key is not in "+s.keyFile(), "")
}

// noKey is the error for a store whose key cannot be read.
func (s *Store) noKey(text, hint string) error {
	if hint == "" {
		hint = "restore the key, or move " + s.path() + " away and log in again: slipway login SERVER"
	}
	return &StoreError{
		Path: s.path(),
		Text: text,
		Hint: hint,
	}
}

// decodeKey returns the key that text contains in base64. id is its ID, for the error.
func (s *Store) decodeKey(text, id string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != keySize {
		return nil, s.noKey("its key "+id+" is damaged", "")
	}
	return key, nil
}

// createKey saves a new key, and names it in file. The keychain is used if it works,
// unless the options name a file.
func (s *Store) createKey(file *storeFile) ([]byte, error) {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	id := make([]byte, 8)
	_, _ = rand.Read(id)
	file.Key = hex.EncodeToString(id)
	text := base64.StdEncoding.EncodeToString(key)
	if s.opts.KeyFile == "" &&
		!s.opts.NoKeychain &&
		keyring.Set(keychainService, file.Key, text) == nil {
		// Some keychains accept a value without keeping it.
		if got, err := keyring.Get(keychainService, file.Key); err == nil && got == text {
			file.Keychain = true
			s.created("the keychain")
			return key, nil
		}
	}
	file.Keychain = false
	lines, err := s.keyLines()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := s.writeKeys(append(lines, file.Key+" "+text)); err != nil {
		return nil, err
	}
	s.created(s.keyFile())
	return key, nil
}

// created reports that a key was created, and where: in the keychain, or in a file.
func (s *Store) created(place string) {
	if s.opts.Created != nil {
		s.opts.Created(place)
	}
}

// deleteKey deletes the key that file names.
func (s *Store) deleteKey(file *storeFile) error {
	if file.Keychain {
		err := keyring.Delete(keychainService, file.Key)
		if errors.Is(err, keyring.ErrNotFound) {
			return nil
		}
		return err
	}
	lines, err := s.keyLines()
	if err != nil {
		return err
	}
	return s.writeKeys(slices.DeleteFunc(lines, func(line string) bool {
		id, _, _ := strings.Cut(line, " ")
		return id == file.Key
	}))
}

// keyLines reads the file of keys: lines of an ID and a key. It refuses a file that other
// users can read.
func (s *Store) keyLines() ([]string, error) {
	name := s.keyFile()
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, &StoreError{
			Path: name,
			Text: "other users can read this key",
			Hint: "chmod 600 " + process.PathWord(name),
		}
	}
	if who, err := fsutil.ReadableBy(name); err == nil && who != "" {
		return nil, &StoreError{
			Path: name,
			Text: who + " can read this key",
			Hint: "remove that permission from the file",
		}
	}
	text, err := fsutil.ReadText(name, maxSecret)
	if err != nil {
		return nil, err
	}
	return trimmedLines(string(text)), nil
}

// writeKeys replaces the key file, which only its owner may read.
func (s *Store) writeKeys(lines []string) error {
	name := s.keyFile()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return fsutil.Replace(name, 0o600, fsutil.Content(strings.Join(lines, "\n")+"\n"))
}
