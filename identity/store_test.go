package identity_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"github.com/slipway-mcp/slipway/identity"
)

// TestStoreDamaged opens stores that cannot be used: each gives an error with a hint, and
// the file stays as it is, also after a login.
func TestStoreDamaged(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, store *identity.Store, text []byte) []byte{
		"empty":   func(*testing.T, *identity.Store, []byte) []byte { return nil },
		"cut":     func(_ *testing.T, _ *identity.Store, text []byte) []byte { return text[:len(text)/2] },
		"foreign": func(*testing.T, *identity.Store, []byte) []byte { return []byte(`{"tokens":{}}`) },
		"binary":  func(*testing.T, *identity.Store, []byte) []byte { return []byte{0, 1, 2} },
		"newer": func(_ *testing.T, _ *identity.Store, text []byte) []byte {
			return []byte(strings.Replace(string(text), `"version":1`, `"version":2`, 1))
		},
		"other key":  otherKey,
		"exchanged":  exchangeEntries,
		"no key":     func(t *testing.T, s *identity.Store, text []byte) []byte { return removeKey(t, s, text) },
		"open key":   openKey,
		"bad key":    badKey,
		"large file": func(*testing.T, *identity.Store, []byte) []byte { return make([]byte, 17<<20) },
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t)
			store := newStore(t)
			mustLogin(t, newClient(store), s)
			text, err := os.ReadFile(store.Path())
			if err != nil {
				t.Fatal(err)
			}
			text = change(t, store, text)
			if err := os.WriteFile(store.Path(), text, 0o600); err != nil {
				t.Fatal(err)
			}
			c := newClient(store)
			_, err = c.Logins()
			var bad *identity.StoreError
			if name != "large file" && (!errors.As(err, &bad) || bad.Hint == "") || err == nil {
				t.Errorf("Logins = %v, want a StoreError with a hint", err)
			}
			if _, err := c.Login(t.Context(), s.URL, &identity.LoginOptions{Interaction: browse()}); err == nil {
				t.Error("Login = nil, want an error")
			}
			if after, err := os.ReadFile(store.Path()); err != nil || string(after) != string(text) {
				t.Errorf("the store was changed, or %v", err)
			}
		})
	}
}

func keyFile(store *identity.Store) string {
	return filepath.Join(filepath.Dir(store.Path()), "credentials.key")
}

func otherKey(t *testing.T, store *identity.Store, text []byte) []byte {
	t.Helper()
	key, err := os.ReadFile(keyFile(store))
	if err != nil {
		t.Fatal(err)
	}
	key[20] ^= 1
	if key[20] == ' ' || key[20] == '\n' {
		t.Skip("not a key")
	}
	if err := os.WriteFile(keyFile(store), key, 0o600); err != nil {
		t.Fatal(err)
	}
	return text
}

// exchangeEntries gives each entry the content of another.
func exchangeEntries(t *testing.T, _ *identity.Store, text []byte) []byte {
	t.Helper()
	var file map[string]any
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	entries := file["entries"].(map[string]any)
	var names []string
	for name := range entries {
		names = append(names, name)
	}
	if len(names) != 2 {
		t.Fatalf("%d entries, want a registration and a login", len(names))
	}
	entries[names[0]], entries[names[1]] = entries[names[1]], entries[names[0]]
	changed, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func removeKey(t *testing.T, store *identity.Store, text []byte) []byte {
	t.Helper()
	if err := os.Remove(keyFile(store)); err != nil {
		t.Fatal(err)
	}
	return text
}

func openKey(t *testing.T, store *identity.Store, text []byte) []byte {
	t.Helper()
	if err := os.Chmod(keyFile(store), 0o644); err != nil {
		t.Fatal(err)
	}
	return text
}

func badKey(t *testing.T, store *identity.Store, text []byte) []byte {
	t.Helper()
	key, err := os.ReadFile(keyFile(store))
	if err != nil {
		t.Fatal(err)
	}
	id, _, _ := strings.Cut(string(key), " ")
	if err := os.WriteFile(keyFile(store), []byte(id+" c2hvcnQ=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRekey(t *testing.T) {
	for _, place := range []string{"file", "keychain"} {
		t.Run(place, func(t *testing.T) {
			keyring.MockInit()
			var places []string
			store := identity.OpenStore(filepath.Join(t.TempDir(), "credentials"), &identity.StoreOptions{
				NoKeychain: place == "file",
				Created:    func(place string) { places = append(places, place) },
			})
			if err := store.Rekey(t.Context()); err != nil || len(places) > 0 {
				t.Fatalf("Rekey of an empty store = %v with keys in %v, want nothing", err, places)
			}
			s := startServer(t)
			c := newClient(store)
			mustLogin(t, c, s)
			before, err := os.ReadFile(store.Path())
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Rekey(t.Context()); err != nil {
				t.Fatal(err)
			}
			if all, err := c.Logins(); err != nil || len(all) != 1 {
				t.Errorf("Logins = %v, %v, want one", all, err)
			}
			if want := map[string]string{"file": keyFile(store), "keychain": "the keychain"}[place]; len(places) != 2 ||
				places[1] != want {
				t.Errorf("keys were created in %v, want two in %s", places, want)
			}
			// The previous key is gone.
			if err := os.WriteFile(store.Path(), before, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Logins(); !errors.As(err, new(*identity.StoreError)) {
				t.Errorf("the previous store with the new key: %v, want a StoreError", err)
			}
		})
	}
}

// TestKeychainLost makes the keychain unavailable after a login: no second key is created.
func TestKeychainLost(t *testing.T) {
	keyring.MockInit()
	store := identity.OpenStore(filepath.Join(t.TempDir(), "credentials"), nil)
	s := startServer(t)
	c := newClient(store)
	mustLogin(t, c, s)
	keyring.MockInitWithError(errors.New("locked"))
	_, err := c.Logins()
	var bad *identity.StoreError
	if !errors.As(err, &bad) || !strings.Contains(bad.Text, "locked") || !strings.Contains(bad.Hint, "unlock") {
		t.Errorf("Logins = %v, want a StoreError that names the keychain", err)
	}
	if _, err := os.Stat(keyFile(store)); err == nil {
		t.Error("a key file was created")
	}
	// Without a keychain from the start, the key is in a file.
	store = identity.OpenStore(filepath.Join(t.TempDir(), "credentials"), nil)
	mustLogin(t, newClient(store), s)
	if info, err := os.Stat(keyFile(store)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v, want mode 0600", info, err)
	}
}
