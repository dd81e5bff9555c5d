package stax

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/identity"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/netguard"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/lock"
)

// Launch contains everything needed to start a local server. No shell is involved, and
// nothing is expanded.
type Launch struct {
	// Server is the name of the server in its definitions.
	Server string
	Path   string // the program, found on the PATH
	// Args are the arguments, which never contain secrets: others can read command lines.
	Args    []string
	Dir     string            // empty: that of this process
	Env     map[string]string // static variables
	Secrets map[string]Secret // by variable
	Files   map[string]Secret // by the variable for the path of a file with the secret, or by that path
	Without []string          // optional secrets that were not found

	secretFiles *SecretFiles // tracks the Files at absolute paths; nil: tracked per launch
}

// Endpoint contains everything needed to connect to a remote server.
type Endpoint struct {
	// Server is the name of the server in its definitions.
	Server string
	// URL is the http or https URL, and Transport the protocol that it speaks.
	URL       string
	Transport Transport
	Headers   map[string]string // static headers
	Secrets   map[string]Secret // by header, including the text around the secret
	Without   []string          // secrets that were not found, and those without a header
	Networks  []netip.Prefix    // allowed in addition to the public internet
	Loopback  bool              // also allow this machine, where the URL names it
}

// Resolver finds secrets and programs. The zero value searches the environment of this
// process.
type Resolver struct {
	// Stores are queried in this order. Nil means the environment alone.
	Stores []SecretStore
	// Disabled also allows disabled servers.
	Disabled bool
	// AllowNetwork lists networks that remote servers may be in, in addition to the public
	// internet. Without this restriction, the author of a definition could make this machine
	// send requests to addresses that only it can reach. Addresses are checked on connect,
	// after name resolution and redirects. A server whose URL names this machine (localhost,
	// 127.0.0.1, [::1]) may always connect to it. [ParseNetwork] parses user input.
	AllowNetwork []netip.Prefix
	// Identity supplies the tokens of remote servers that the user has logged in to, or
	// whose definition has auth. Nil means none.
	Identity *identity.Client
	// Shared reports that several callers use the servers of this process. A server with auth
	// by user is then used with the login that each caller has in Vault, and refused without
	// one.
	Shared bool
	// Vault keeps the logins of callers. Nil means none.
	Vault *identity.Vault
	// CheckVault, if not nil, is called before a server with auth by user is opened. It returns an
	// error if no caller could ever prove who they are; the server is then refused with it.
	CheckVault func() error
	// Tokens reports that callers have tokens of an issuer. With Shared, servers that get the
	// token or the claims of each caller are refused without it.
	Tokens bool
	// Files is shared by servers whose secrets are files at the same absolute paths, such as
	// a server and its replacement. Nil: each launch has its own.
	Files *SecretFiles
	// Guard verifies servers against a lock when they are opened. Nil means no lock.
	Guard *lock.Guard
	// Self is the absolute path of a program that is found by its name even if the PATH does
	// not contain it, such as the running program: definitions of bundles start it. Empty
	// means none.
	Self string
	// GOOS and LookupEnv are the system and the environment in which programs are searched.
	// Zero means those of this process.
	GOOS      string
	LookupEnv func(string) (string, bool)
}

// Found describes where a secret is available.
type Found struct {
	// Key is the name of the secret; its value is never part of a Found.
	Key string `json:"key"`
	// Kind and Required are those of its declaration.
	Kind     string `json:"kind,omitempty"`
	Required bool   `json:"required"`
	// the servers that use it; disabled ones only if Resolver.Disabled is set
	Servers []string `json:"servers"`
	Source  string   `json:"source,omitempty"` // empty: no store has it
	// Problems are why stores could not be asked, without secrets.
	Problems []string `json:"problems,omitempty"`
}

// ErrDisabled is returned when a disabled server is resolved.
var ErrDisabled = errors.New("the server is disabled")

// ServerError is why one server cannot be resolved.
type ServerError struct {
	// Server is the name of the server, and Err why it cannot be started or reached.
	Server string
	Err    error
}

// Error implements the error interface.
func (e *ServerError) Error() string {
	return fmt.Sprintf("server %q: %v", e.Server, e.Err)
}

// Unwrap returns the reason.
func (e *ServerError) Unwrap() error { return e.Err }

// MissingError lists required secrets that no store has.
type MissingError struct {
	// Server is the name of the server, and Keys the required secrets that no store has.
	Server string
	Keys   []string
	Causes []error // from stores that failed
}

// Error implements the error interface.
func (e *MissingError) Error() string {
	text := fmt.Sprintf("server %q needs %s, and no source has it", e.Server,
		strings.Join(e.Keys, ", "))
	if len(e.Causes) > 0 {
		text += ": " + errors.Join(e.Causes...).Error()
	}
	return text
}

// add adds causes that are not listed yet: a store that fails returns the same error for
// every key.
func (e *MissingError) add(causes []error) {
	for _, c := range causes {
		if !slices.ContainsFunc(e.Causes, func(old error) bool {
			return old.Error() == c.Error()
		}) {
			e.Causes = append(e.Causes, c)
		}
	}
}

// Unwrap returns the causes.
func (e *MissingError) Unwrap() []error { return e.Causes }

// secretLookup queries the stores of a resolver, once for each key: a lookup may start a
// program or wait for a hardware key.
type secretLookup struct {
	// resolver has the stores; known remembers their answers, because a store may prompt
	// the user.
	resolver *Resolver
	known    map[string]lookedUp
}

// lookedUp is the result of a lookup. store is empty if no store has the secret.
type lookedUp struct {
	// secret is the value; store is empty if none has it.
	secret   Secret
	store    string
	problems []error
}

// With returns a copy of r that queries another store first.
func (r *Resolver) With(first SecretStore) *Resolver {
	copied := *r
	copied.Stores = append([]SecretStore{first}, r.stores()...)
	return &copied
}

// stores returns the stores, by default the environment.
func (r *Resolver) stores() []SecretStore {
	if r.Stores == nil {
		return []SecretStore{environment{}}
	}
	return r.Stores
}

// newLookup returns a lookup without known answers, for one operation of the resolver.
func (r *Resolver) newLookup() *secretLookup {
	return &secretLookup{
		resolver: r,
		known:    make(map[string]lookedUp),
	}
}

// find returns what the stores know of a key. Each key is looked up once.
func (l *secretLookup) find(ctx context.Context, key string) lookedUp {
	found, ok := l.known[key]
	if !ok {
		found = l.resolver.queryStores(ctx, key)
		l.known[key] = found
	}
	return found
}

// queryStores queries the stores in turn.
func (r *Resolver) queryStores(ctx context.Context, key string) (found lookedUp) {
	for _, store := range r.stores() {
		secret, ok, err := store.Lookup(ctx, key)
		if err != nil {
			found.problems = append(found.problems, err)
		} else if ok {
			return lookedUp{
				secret: secret,
				store:  store.String(),
			}
		}
	}
	return found
}

// Find looks up every secret of the enabled servers and returns where each is available,
// without its value.
func (r *Resolver) Find(ctx context.Context, m *Merged) []Found {
	var all []Found
	for i := range m.Config.Servers {
		s := &m.Config.Servers[i]
		if s.Disabled() && !r.Disabled {
			continue
		}
		for _, key := range s.SecretKeys() {
			at := slices.IndexFunc(all, func(f Found) bool { return f.Key == key })
			if at >= 0 {
				all[at].Servers = append(all[at].Servers, s.Name)
				continue
			}
			f := Found{
				Key:      key,
				Required: true,
				Servers:  []string{s.Name},
			}
			if d := m.Config.Declaration(key); d != nil {
				f.Required = !d.Optional()
				f.Kind = d.Kind
			}
			found := r.queryStores(ctx, key)
			f.Source = found.store
			for _, p := range found.problems {
				f.Problems = append(f.Problems, p.Error())
			}
			all = append(all, f)
		}
	}
	return all
}

// secrets resolves all secrets of a server.
func (l *secretLookup) secrets(
	ctx context.Context, t *Target,
) (secrets map[string]Secret, without []string, err error) {
	m := t.merged
	s := t.server
	secrets = map[string]Secret{}
	missing := &MissingError{Server: s.Name}
	for _, key := range s.Secrets {
		found := l.find(ctx, key)
		switch d := m.Config.Declaration(key); {
		case found.store != "":
			secrets[key] = found.secret
		case d != nil && d.Optional():
			without = append(without, key)
			if len(found.problems) > 0 {
				warning := fmt.Errorf("it starts without the secret %s: %w", key,
					errors.Join(found.problems...))
				t.Warnings = append(t.Warnings, warning)
			}
		default:
			missing.Keys = append(missing.Keys, key)
			missing.add(found.problems)
		}
	}
	if len(missing.Keys) > 0 {
		return nil, nil, missing
	}
	return secrets, without, nil
}

// Target is a server with everything needed to start or reach it: either a Launch or an
// Endpoint.
type Target struct {
	// Launch is set for local servers, Endpoint for remote ones.
	Launch   *Launch
	Endpoint *Endpoint
	// Warnings are non-fatal problems, such as a store that failed for an optional secret.
	Warnings []error

	// merged and server are the definition it was resolved from.
	merged *Merged
	server *Server
}

// Resolve resolves a server: its program on the PATH and its secrets in the stores. The
// error is a [*MissingError] if no store has a required secret, matches [ErrDisabled] if
// the server is disabled, and matches fs.ErrNotExist if the program is missing.
func (r *Resolver) Resolve(ctx context.Context, m *Merged, name string) (*Target, error) {
	return r.newLookup().resolve(ctx, m, name)
}

// ResolveAll is [Resolver.Resolve] for several servers. It returns a target or an error for
// each name. Each secret is looked up once, even if several servers use it.
func (r *Resolver) ResolveAll(
	ctx context.Context, m *Merged, names []string,
) (targets map[string]*Target, errs map[string]error) {
	lookup := r.newLookup()
	targets = make(map[string]*Target)
	errs = make(map[string]error)
	for _, name := range names {
		if t, err := lookup.resolve(ctx, m, name); err != nil {
			errs[name] = err
		} else {
			targets[name] = t
		}
	}
	return targets, errs
}

// resolve returns how to reach a server, with all of its secrets.
func (l *secretLookup) resolve(ctx context.Context, m *Merged, name string) (*Target, error) {
	s := m.Config.Server(name)
	switch {
	case s == nil:
		return nil, fmt.Errorf("no server is named %q", name)
	case s.Disabled() && !l.resolver.Disabled:
		return nil, &ServerError{
			Server: name,
			Err:    ErrDisabled,
		}
	}
	t := &Target{
		merged: m,
		server: s,
	}
	var err error
	if s.Remote() {
		t.Endpoint, err = l.endpoint(ctx, t)
	} else {
		t.Launch, err = l.launch(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Fingerprint returns a digest of the definition and of everything that was resolved for
// it, secrets included.
func (t *Target) Fingerprint() [sha256.Size]byte {
	sum := sha256.New()
	enc := json.NewEncoder(sum) // quotes delimit each value
	note := func(v any) { _ = enc.Encode(v) }
	note(t.server)
	note(t.merged.Config.OverridesOf(t.server.Name))
	if e := t.Endpoint; e != nil {
		note(e.URL)
		note(e.Header())
		note(e.Networks)
	} else {
		l := t.Launch
		note([]string{l.Path, l.Dir})
		note(l.Args)
		note(l.Env)
		note(revealAll(l.Secrets))
		note(revealAll(l.Files))
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

// revealAll returns the plain values, for the environment or the headers of a server.
func revealAll(secrets map[string]Secret) map[string]string {
	values := make(map[string]string, len(secrets))
	for key, secret := range secrets {
		values[key] = secret.Reveal()
	}
	return values
}

// launch resolves a local server.
func (l *secretLookup) launch(ctx context.Context, t *Target) (*Launch, error) {
	s := t.server
	launch := &Launch{
		Server:      s.Name,
		Args:        s.Args,
		Dir:         s.Cwd,
		Env:         s.Env,
		Secrets:     map[string]Secret{},
		Files:       map[string]Secret{},
		secretFiles: l.resolver.Files,
	}
	var err error
	if launch.Path, err = l.resolver.LookPath(s.Command); err != nil {
		return nil, &ServerError{
			Server: s.Name,
			Err:    err,
		}
	}
	secrets, without, err := l.secrets(ctx, t)
	if err != nil {
		return nil, err
	}
	launch.Without = without
	for key, secret := range secrets {
		expose := ExposeAs{}
		if d := t.merged.Config.Declaration(key); d != nil {
			expose = d.ExposeAs
		}
		if expose.File != "" {
			launch.Files[expose.File] = secret
		}
		if expose.Env != "" {
			launch.Secrets[expose.Env] = secret
		} else if expose.File == "" {
			launch.Secrets[key] = secret
		}
	}
	return launch, nil
}

// secretsPrefix is the prefix of temporary directories for secrets.
const secretsPrefix = "slipway-secrets-"

// Environ returns the environment variables of the server as sorted "KEY=VALUE" pairs,
// secrets included; the caller adds the inherited variables it permits. Secrets exposed
// as files are written to a new directory that only this user can read; call remove to
// delete it after the server has exited. Directories left by killed processes are deleted
// first.
func (l *Launch) Environ() (env []string, remove func() error, err error) {
	for key, value := range l.Env {
		env = append(env, key+"="+value)
	}
	for key, secret := range l.Secrets {
		env = append(env, key+"="+secret.Reveal())
	}
	remove = func() error { return nil }
	placed := l.secretFiles
	if placed == nil {
		placed = &SecretFiles{}
	}
	fsutil.SweepTemp(os.TempDir(), secretsPrefix)
	if len(l.Files) > 0 {
		dir, release, err := fsutil.TempDir(os.TempDir(), secretsPrefix) // mode 0700
		if err != nil {
			return nil, nil, err
		}
		removes := []func() error{release}
		remove = func() error {
			var all error
			for _, one := range removes {
				all = errors.Join(all, one())
			}
			return all
		}
		for key, secret := range l.Files {
			if isSecretPath(key) {
				one, err := placed.place(key, secret)
				if err != nil {
					return nil, nil, errors.Join(err, remove())
				}
				removes = append(removes, one)
				continue
			}
			name := filepath.Join(dir, key)
			if err := fsutil.Create(name, 0o600, fsutil.Content(secret.Reveal())); err != nil {
				return nil, nil, errors.Join(err, remove())
			}
			env = append(env, key+"="+name)
		}
	}
	slices.Sort(env)
	return env, remove, nil
}

// endpoint resolves a remote server. Bindings assign its secrets to headers. Without any
// binding, a single secret becomes the bearer token. Other unbound secrets are not sent.
func (l *secretLookup) endpoint(ctx context.Context, t *Target) (*Endpoint, error) {
	m := t.merged
	s := t.server
	found, without, err := l.secrets(ctx, t)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{
		Server:    s.Name,
		URL:       s.URL,
		Transport: s.Transport,
		Headers:   s.Headers,
		Secrets:   map[string]Secret{},
		Without:   without,
		Networks:  slices.Clone(l.resolver.AllowNetwork),
		Loopback:  netguard.NamesLoopback(s.URL),
	}
	for _, b := range m.BindingsOf(s) {
		value := b.Template
		complete := true
		for _, key := range b.Keys() {
			secret, ok := found[key]
			complete = complete && ok
			value = strings.ReplaceAll(value, "{"+key+"}", secret.Reveal())
		}
		if complete {
			e.Secrets[b.Header] = NewSecret(value)
		}
	}
	for _, key := range m.Unbound(s) {
		if _, ok := found[key]; ok {
			e.Without = append(e.Without, key)
		}
	}
	return e, nil
}

// ParseNetwork returns the networks for a word, for use in [Resolver.AllowNetwork]: a
// network such as 10.1.0.0/16, one address, "private" (10.0.0.0/8, 172.16.0.0/12,
// 192.168.0.0/16 and fc00::/7), "loopback", or "any".
func ParseNetwork(word string) ([]netip.Prefix, error) {
	return netguard.ParseNetwork(word)
}

// Header returns the headers of every request, secrets included.
func (e *Endpoint) Header() http.Header {
	h := http.Header{}
	for name, value := range e.Headers {
		h.Set(name, value)
	}
	for name, secret := range e.Secrets {
		h.Set(name, secret.Reveal())
	}
	return h
}

// BindingsOf returns the bindings of a remote server, including the implicit bearer token
// of a server with one secret.
func (m *Merged) BindingsOf(s *Server) []Binding {
	bindings := ofServer(m.Config.Bindings, s.Name)
	if bindings == nil && s.Remote() && s.Auth == nil && len(s.Secrets) == 1 {
		return []Binding{{
			Server:   s.Name,
			Header:   "Authorization",
			Template: "Bearer {" + s.Secrets[0] + "}",
		}}
	}
	return bindings
}

// LookPath finds the program of a command the way the operating system does: a path is
// used as is; a name is searched on the PATH, on Windows with the extensions in PATHEXT.
// Relative directories on the PATH are skipped. A name that is not found may still be
// Self. The error matches fs.ErrNotExist.
func (r *Resolver) LookPath(command string) (string, error) {
	goos := r.GOOS
	lookup := r.LookupEnv
	if goos == "" {
		goos = runtime.GOOS
	}
	if lookup == nil {
		lookup = os.LookupEnv
	}
	path, err := process.LookPath(command, goos, lookup)
	if err == nil {
		return path, nil
	}
	if r.Self != "" && strings.TrimSuffix(filepath.Base(r.Self), ".exe") == command {
		return r.Self, nil
	}
	return "", err
}
