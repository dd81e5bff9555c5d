package identity

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// Limits of a store.
const (
	maxStoreBytes = 16 << 20
	maxEntries    = 2000
	lockTimeout   = 30 * time.Second
)

// Store keeps logins and registrations in an encrypted file, or in a cluster; see
// [OpenSharedStore]. Several processes may use it at once; it is safe for concurrent use.
//
// Each entry is encrypted on its own with AES-256-GCM, together with its name, so entries
// cannot be exchanged. The key is in the keychain of the operating system or in a file;
// see [StoreOptions]. The folder contains credentials.json, its lock, and locks of single
// logins while they are refreshed.
type Store struct {
	dir    string
	opts   StoreOptions
	shared *sharedStore // instead of the file, or nil

	mu     sync.Mutex // guards the following fields
	recent contents   // as read last by followed; nil: read again
	seen   storeStamp // of the file then
}

// StoreOptions configure a [Store]. The zero value and nil are the defaults.
type StoreOptions struct {
	// KeyFile is the file that contains the key. It is created if it does not exist, and
	// must not be readable by other users. Empty means the keychain of the operating
	// system or, without one, credentials.key in the folder of the store.
	KeyFile string
	// NoKeychain never uses the keychain.
	NoKeychain bool
	// Created, if not nil, is called when a new key has been saved, with its place in
	// words.
	Created func(place string)
}

// StoreError reports a store that cannot be used. Its file is never overwritten.
type StoreError struct {
	// Path is the file, Text what is wrong with it, and Hint how to go on.
	Path, Text, Hint string
}

// Error implements the error interface.
func (e *StoreError) Error() string { return e.Path + ": " + e.Text }

// OpenStore returns the store in a folder. Nothing is read or created before it is needed.
func OpenStore(dir string, opts *StoreOptions) *Store {
	s := &Store{dir: dir}
	if opts != nil {
		s.opts = *opts
	}
	return s
}

// storeFile is the content of credentials.json.
type storeFile struct {
	// Format is the name of the format, and Version its version.
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Keychain reports that the key is in the keychain, and Key is its ID.
	Keychain bool   `json:"keychain,omitempty"`
	Key      string `json:"key"`
	// Entries are the encrypted entries by name.
	Entries map[string][]byte `json:"entries"`
}

// storeFormat is the format name in the file: other JSON files are refused.
const storeFormat = "slipway-credentials"

// entry is the plain content of an entry; one of its fields is set.
type entry struct {
	Login  *record       `json:"login,omitempty"`
	Client *clientRecord `json:"client,omitempty"`
	Kept   *keptRecord   `json:"kept,omitempty"`
}

// contents are the decrypted entries of a store by name.
type contents map[string]entry

func (s *Store) path() string { return filepath.Join(s.dir, "credentials.json") }

// damaged is the error for a file that is no store of ours.
func (s *Store) damaged(format string, args ...any) error {
	return &StoreError{
		Path: s.path(),
		Text: fmt.Sprintf(format, args...),
		Hint: "move the file away and log in again: slipway login SERVER",
	}
}

// load reads and decrypts the store. A missing file is empty, and file is nil.
func (s *Store) load() (file *storeFile, all contents, err error) {
	if s.shared != nil {
		return nil, s.shared.load(), nil
	}
	text, err := fsutil.ReadFile(s.path(), maxStoreBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, contents{}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	file = &storeFile{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(file); err != nil || file.Format != storeFormat {
		return nil, nil, s.damaged("not a store of slipway, or damaged")
	}
	if file.Version != 1 {
		return nil, nil, s.damaged("version %d was written by another slipway", file.Version)
	}
	if len(file.Entries) > maxEntries {
		return nil, nil, s.damaged("more than %d entries", maxEntries)
	}
	key, err := s.key(file)
	if err != nil {
		return nil, nil, err
	}
	all, err = s.decrypt(file, key)
	return file, all, err
}

// storeStamp identifies the content of a store: by its file, which is nil if it does not
// exist, or by the version of the records of a cluster.
type storeStamp struct {
	info    fs.FileInfo
	version uint64
}

// is reports whether two stamps are of the same content: of the same file with the same time and
// size, or of the same version in a group.
func (a storeStamp) is(b storeStamp) bool {
	if a.info == nil || b.info == nil {
		return a.info == b.info && a.version == b.version
	}
	return os.SameFile(a.info, b.info) &&
		a.info.ModTime().Equal(b.info.ModTime()) &&
		a.info.Size() == b.info.Size()
}

// stamp returns that of the current content.
func (s *Store) stamp() storeStamp {
	if s.shared != nil {
		return storeStamp{version: s.shared.group.Version()}
	}
	info, err := os.Stat(s.path())
	if err != nil {
		return storeStamp{} // load reports the error
	}
	return storeStamp{info: info}
}

// forgetRecent makes followed read the file again, even if its stamp is the same: two changes
// may be closer than the clock of the file system can tell.
func (s *Store) forgetRecent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent = nil
}

// followed is login for many readers: the file is decrypted only when it has changed. seen
// identifies the content.
func (s *Store) followed(principal, server string) (login *record, seen storeStamp, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, err = s.refreshLocked()
	if err != nil {
		return nil, seen, err
	}
	return s.recent.login(principal, server), seen, nil
}

// refreshLocked reads the file again if it has changed.
func (s *Store) refreshLocked() (seen storeStamp, err error) {
	seen = s.stamp()
	if s.recent != nil && seen.is(s.seen) {
		return seen, nil
	}
	_, all, err := s.load()
	if err != nil {
		return seen, err
	}
	s.recent = all
	s.seen = seen
	return seen, nil
}

// decrypt decrypts all entries.
func (s *Store) decrypt(file *storeFile, key []byte) (contents, error) {
	sealer, err := newSealer(key)
	if err != nil {
		return nil, err
	}
	all := contents{}
	for name, sealed := range file.Entries {
		plain, err := sealer.Open(nil, nil, sealed, additionalData(name))
		if err != nil {
			return nil, s.damaged("an entry was changed, or was encrypted with another key")
		}
		var e entry
		if err := json.Unmarshal(plain, &e); err != nil {
			return nil, s.damaged("an entry is damaged")
		}
		all[name] = e
	}
	return all, nil
}

// newSealer returns AES-GCM with a random nonce per message. key has keySize bytes.
func newSealer(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// additionalData binds a sealed entry to its name and to the format.
func additionalData(name string) []byte { return []byte(storeFormat + "/1/" + name) }

// save encrypts and writes all entries with a key.
func (s *Store) save(file *storeFile, all contents, key []byte) error {
	if len(all) > maxEntries {
		return fmt.Errorf("the store has %d logins and registrations: log out of some first", maxEntries)
	}
	sealer, err := newSealer(key)
	if err != nil {
		return err
	}
	file.Entries = map[string][]byte{}
	for name, e := range all {
		plain, err := json.Marshal(e)
		if err != nil {
			return err
		}
		file.Entries[name] = sealer.Seal(nil, nil, plain, additionalData(name))
	}
	text, err := json.Marshal(file)
	if err != nil {
		return err
	}
	return fsutil.Replace(s.path(), 0o600, fsutil.Content(append(text, '\n')))
}

// update changes the store under its lock. change reports whether there is something to
// save. The change is on disk when update returns.
func (s *Store) update(ctx context.Context, change func(all contents) (changed bool)) error {
	if s.shared != nil {
		defer s.forgetRecent()
		return s.shared.update(ctx, change)
	}
	unlock, err := s.lock(ctx, "credentials")
	if err != nil {
		return err
	}
	defer unlock()
	file, all, err := s.load()
	if err != nil {
		return err
	}
	if !change(all) {
		return nil
	}
	var key []byte
	if file == nil {
		file = &storeFile{
			Format:  storeFormat,
			Version: 1,
		}
		key, err = s.createKey(file)
	} else {
		key, err = s.key(file)
	}
	if err != nil {
		return err
	}
	defer s.forgetRecent()
	return s.save(file, all, key)
}

// lock takes a lock of the store, which the system releases if the process is killed.
func (s *Store) lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	l, err := fsutil.LockExclusive(ctx, filepath.Join(s.dir, name+".lock"))
	if err != nil {
		return nil, fmt.Errorf("another process uses the credentials: %w", err)
	}
	return func() { _ = l.Unlock() }, nil // it holds no data
}

// tryLockLogin is lockLogin without waiting; ok is false if another process refreshes the
// login.
func (s *Store) tryLockLogin(name string) (unlock func(), ok bool) {
	if s.shared != nil {
		return s.shared.tryLock(name)
	}
	l, err := fsutil.TryLock(filepath.Join(s.dir, loginLock(name)+".lock"))
	if err != nil {
		return nil, false
	}
	return func() { _ = l.Unlock() }, true // it holds no data
}

// lockLogin takes the lock for refreshing a login.
func (s *Store) lockLogin(ctx context.Context, name string) (unlock func(), err error) {
	if s.shared != nil {
		return s.shared.lock(ctx, name)
	}
	return s.lock(ctx, loginLock(name))
}

// loginLock returns the name of the lock of a login. There are 256, so that removed logins
// leave no files.
func loginLock(name string) string { return "refresh-" + name[:2] }

// entryName returns the name of an entry: a digest, so that the file does not show who
// logs in where.
func entryName(kind string, parts ...string) string {
	hash := sha256.New()
	for _, part := range append([]string{kind}, parts...) {
		fmt.Fprintf(hash, "%d:%s,", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// clientRecord is a stored registration.
type clientRecord struct {
	// Issuer and Kind identify the registration. Kind is the type of the grant, followed by the
	// redirect address if that is of a gateway.
	Issuer       string       `json:"issuer"`
	Kind         string       `json:"kind"`
	Registration registration `json:"registration"`
}

// clientName returns the name of the entry of a registered client. One issuer can have several, one
// for each kind of grant.
func clientName(issuer, kind string) string { return entryName("client", issuer, kind) }

// registration returns the client that was registered at an issuer for a grant, or nil.
func (s *Store) registration(_ context.Context, issuer, kind string) (*registration, error) {
	_, all, err := s.load()
	if err != nil {
		return nil, err
	}
	c := all[clientName(issuer, kind)].Client
	if c == nil || c.Issuer != issuer {
		return nil, nil
	}
	return &c.Registration, nil
}

// saveRegistration stores a client that was registered.
func (s *Store) saveRegistration(
	ctx context.Context,
	issuer, kind string,
	r *registration,
) error {
	return s.update(ctx, func(all contents) bool {
		all[clientName(issuer, kind)] = entry{Client: &clientRecord{
			Issuer:       issuer,
			Kind:         kind,
			Registration: *r,
		}}
		return true
	})
}

// forgetRegistration removes a registration that the issuer no longer knows.
func (s *Store) forgetRegistration(ctx context.Context, issuer, id string) error {
	return s.update(ctx, func(all contents) (changed bool) {
		for name, e := range all {
			if e.Client != nil &&
				e.Client.Issuer == issuer &&
				e.Client.Registration.ID == id {
				delete(all, name)
				changed = true
			}
		}
		return changed
	})
}

// Rekey encrypts the store with a new key and deletes the previous one. If the process is
// killed meanwhile, the store remains readable: both keys exist until the new file is on
// disk. A store that does not exist has no key.
func (s *Store) Rekey(ctx context.Context) error {
	if s.shared != nil {
		return errors.New("the logins of a cluster are sealed with its key: rotate that")
	}
	unlock, err := s.lock(ctx, "credentials")
	if err != nil {
		return err
	}
	defer unlock()
	file, all, err := s.load()
	if err != nil || file == nil {
		return err
	}
	previous := *file
	key, err := s.createKey(file)
	if err != nil {
		return err
	}
	if err := s.save(file, all, key); err != nil {
		return errors.Join(err, s.deleteKey(file))
	}
	return s.deleteKey(&previous)
}

// Path returns the path of the store's file, for messages, or "" for that of a cluster.
func (s *Store) Path() string {
	if s.shared != nil {
		return ""
	}
	return s.path()
}

// sync makes the next read see all changes that were made before, by any process. A file is
// read anyway.
func (s *Store) sync(ctx context.Context) error {
	if s.shared == nil {
		return nil
	}
	return s.shared.sync(ctx)
}

// trimmedLines returns the lines of a text that are not empty.
func trimmedLines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}
