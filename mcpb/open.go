package mcpb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/live"
	"github.com/slipway-mcp/slipway/mcp"
)

// OpenOptions configure [Open]. The zero value and nil are the defaults.
type OpenOptions struct {
	// Values are what the user filled in, as in [ExpandOptions].
	Values map[string]any
	// Lookup finds the value of an option that Values leave out elsewhere, such as
	// in the environment. Nil stands for nowhere.
	Lookup func(o Option) (value any, ok bool)
	// Ask is called with the options that are required and have no value, and
	// returns their values. Nil stands for asking nobody: they are an error.
	Ask func(ctx context.Context, missing []Option) (map[string]any, error)
	// AnyPlatform starts the bundle on a platform that its manifest leaves out.
	AnyPlatform bool
	// Locale is the language in which the bundle presents itself, such as "de" or
	// "pt-BR"; empty stands for the manifest's own.
	Locale string

	// SHA256 is what the packed bundle must be, in hexadecimal digits, as whoever
	// named it said. Another one is a [*DigestError], and so is a folder, which has no
	// such digest. Empty takes any.
	SHA256 string

	// Start says to start the server at once, though the manifest holds what it
	// would answer.
	Start bool

	// CacheDir is where packed bundles are unpacked, each once, under its SHA-256;
	// empty stands for slipway/bundles in the user's folder for caches.
	CacheDir string
	// Limits bound what a packed bundle may unpack to; nil stands for the defaults.
	Limits *Limits

	// Stderr receives what the server writes to stderr, with secrets replaced; nil
	// stands for nobody.
	Stderr io.Writer
	// Live configures the supervision of the server; nil stands for the defaults.
	Live *live.Options
}

// StartError says that the server of a bundle was found and did not start, or did
// not speak MCP.
type StartError struct {
	Err error // the cause, without secrets
}

// Error implements the error interface.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// DigestError says that a bundle is not the one that was meant.
type DigestError struct {
	Got  string // the SHA-256 of the file, or empty for a folder
	Want string
}

// Error implements the error interface.
func (e *DigestError) Error() string {
	if e.Got == "" {
		return "a folder has no SHA-256, and a bundle with " + e.Want + " was asked for"
	}
	return "it is not the bundle that was meant: its SHA-256 is " + e.Got + ", and not " + e.Want
}

// Source is a bundle whose server runs, or will when it is needed.
type Source struct {
	*live.Source
	manifest *Manifest
	launch   *Launch
}

var _ mcp.Source = (*Source)(nil)

// Manifest returns the manifest, in the language that was asked for.
func (s *Source) Manifest() *Manifest { return s.manifest }

// Launch returns how the server is started.
func (s *Source) Launch() *Launch { return s.launch }

// Open starts the server of the bundle at name, a folder or a packed file, and
// returns it as a Source. A server whose answers the manifest holds
// ([Manifest.StaticCatalog]) is not started before it is needed. A packed bundle
// is unpacked into a cache first. Close stops the server; what was unpacked stays
// for the next time.
//
// An error is that of the file; an [*ArchiveError] for an archive that is unsafe,
// or not what somebody signed; a [*DigestError]; a [*ManifestError]; an [*ExpandError] for values
// that are missing or wrong; a [*RuntimeError] for a program that is not here; or a
// [*StartError]. ctx bounds the opening alone.
func Open(ctx context.Context, name string, opts *OpenOptions) (*Source, error) {
	if opts == nil {
		opts = &OpenOptions{}
	}
	dir, err := folderOf(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	fsys := os.DirFS(dir)
	manifest, err := ReadManifest(fsys)
	if err != nil {
		return nil, err
	}
	launch, err := expandAsking(ctx, manifest, dir, opts)
	if err != nil {
		return nil, err
	}
	command, err := launch.transport(ctx, manifest, opts.Stderr)
	if err != nil {
		return nil, err
	}
	if opts.Locale != "" {
		manifest, _ = manifest.Localized(fsys, opts.Locale)
	}
	var supervision live.Options
	if opts.Live != nil {
		supervision = *opts.Live
	}
	if known := manifest.StaticCatalog(); known != nil && !opts.Start {
		supervision.Lazy, supervision.Catalog = true, known
	}
	server, err := live.Open(ctx, command, &supervision)
	if err != nil {
		return nil, &StartError{err}
	}
	return &Source{Source: server, manifest: manifest, launch: launch}, nil
}

// folderOf returns the folder with the content of a bundle.
func folderOf(ctx context.Context, name string, opts *OpenOptions) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	folder, isFolder := name, info.IsDir()
	if filepath.Base(name) == ManifestName {
		folder, isFolder = filepath.Dir(name), true
	}
	switch {
	case isFolder && opts.SHA256 != "":
		return "", &DigestError{Want: strings.ToLower(opts.SHA256)}
	case isFolder:
		return filepath.Abs(folder)
	}
	return unpackOnce(ctx, name, opts)
}

// unpackOnce unpacks a bundle into the cache, unless it is there. A folder of the
// cache appears whole or not at all, so one that is there is whole.
func unpackOnce(ctx context.Context, name string, opts *OpenOptions) (string, error) {
	cache := opts.CacheDir
	if cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no folder to unpack bundles into: %w", err)
		}
		cache = filepath.Join(base, "slipway", "bundles")
	}
	// What is hashed, verified and unpacked is one file, whatever its name comes to
	// stand for meanwhile.
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum, err := sumOf(f)
	if err != nil {
		return "", err
	}
	if opts.SHA256 != "" && !strings.EqualFold(sum, opts.SHA256) {
		return "", &DigestError{Got: sum, Want: strings.ToLower(opts.SHA256)}
	}
	dir, err := filepath.Abs(filepath.Join(cache, sum))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, ManifestName)); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	archive, err := archiveIn(f, opts.Limits)
	if err != nil {
		return "", err
	}
	if err := archive.refuseTampered(ctx); err != nil {
		return "", err
	}
	_, err = archive.unpack(ctx, dir, &UnpackOptions{})
	if errors.Is(err, fs.ErrExist) {
		return dir, nil // another process was faster
	}
	return dir, err
}

// refuseTampered refuses a bundle that is not what somebody signed. One that
// nobody signed, and one that a stranger did, are for the user to judge.
func (a *Archive) refuseTampered(ctx context.Context) error {
	v, err := verify(ctx, a.r, a.size, &Verification{}, &VerifyOptions{Limits: &a.limits})
	if err != nil {
		return err
	}
	if v.Status == StatusTampered {
		return &ArchiveError{Rule: ruleSignature, Reason: v.Reason, Unsafe: true}
	}
	return nil
}

func sumOf(f *os.File) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (o *OpenOptions) lookup(option Option) (any, bool) {
	if o.Lookup == nil {
		return nil, false
	}
	return o.Lookup(option)
}

// expandAsking is [Expand], and asks for what is missing.
func expandAsking(ctx context.Context, m *Manifest, dir string, opts *OpenOptions) (*Launch, error) {
	values := make(map[string]any, len(opts.Values))
	for _, o := range m.UserConfig {
		if v, ok := opts.lookup(o); ok {
			values[o.Key] = v
		}
	}
	maps.Copy(values, opts.Values)
	with := &ExpandOptions{Dir: dir, Values: values, AnyPlatform: opts.AnyPlatform}
	launch, err := Expand(m, with)
	var refused *ExpandError
	if !errors.As(err, &refused) || opts.Ask == nil || len(refused.Missing()) == 0 {
		return launch, err
	}
	var missing []Option
	for _, key := range refused.Missing() {
		if o, ok := m.Option(key); ok {
			missing = append(missing, o)
		}
	}
	answers, err := opts.Ask(ctx, missing)
	if err != nil {
		return nil, err
	}
	maps.Copy(values, answers)
	return Expand(m, with)
}

// transport returns the child process of a launch, started with the runtime that
// is here.
func (l *Launch) transport(ctx context.Context, m *Manifest, stderr io.Writer) (*live.Command, error) {
	var wanted map[string]string
	if m.Compatibility != nil {
		wanted = m.Compatibility.Runtimes
	}
	line, err := thisMachine().find(ctx, l.Command, wanted)
	if err != nil {
		return nil, err
	}
	c := &live.Command{Path: line[0], Args: append(line[1:], l.Args...), Dir: l.Dir, Env: l.Environ(nil), Redact: slices.Clone(l.secrets)}
	if stderr != nil {
		c.Stderr = &redacting{launch: l, to: stderr}
	}
	return c, nil
}

// redacting passes on what a server writes, without secrets.
type redacting struct {
	launch *Launch
	to     io.Writer
	held   string // an end that may be the beginning of a secret
}

// Write implements io.Writer.
func (w *redacting) Write(p []byte) (int, error) {
	text := w.launch.Redact(w.held + string(p))
	w.held = text[len(text)-w.launch.begun(text):]
	if _, err := io.WriteString(w.to, text[:len(text)-len(w.held)]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// begun returns how many bytes at the end of text may be the beginning of a secret.
func (l *Launch) begun(text string) int {
	most := 0
	for _, secret := range l.secrets {
		for n := min(len(secret)-1, len(text)); n > most; n-- {
			if strings.HasSuffix(text, secret[:n]) {
				most = n
			}
		}
	}
	return most
}
