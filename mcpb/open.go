package mcpb

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
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

	// SHA256 is the SHA-256 that the packed bundle must have, in hexadecimal digits.
	// Another one is a [*DigestError], and so is a folder, which has no such digest.
	// Empty accepts any.
	SHA256 string
	// Signer says who must have signed the packed bundle; see [ParseSigner]. Any
	// status other than [StatusSigned] is a [*SignerError], and so is a folder, which
	// has no signature. Nil accepts any bundle that is not [StatusTampered].
	Signer *VerifyOptions

	// Start says to start the server at once, though the manifest holds what it
	// would answer.
	Start bool

	// CacheDir is where packed bundles are unpacked, each once, under its SHA-256;
	// empty stands for slipway/bundles in the user's folder for caches.
	CacheDir string
	// CacheBytes is how much the unpacked bundles may take together before those that
	// were not used for the longest time are removed, when one is added. A bundle that
	// runs is never removed. 0 means [DefaultCacheBytes], less than 0 for no limit.
	CacheBytes int64
	// Limits bound what a packed bundle may unpack to; nil stands for the defaults.
	Limits *Limits

	// Warn is called with each of [Launch.Warnings] before the server is started; nil
	// discards them.
	Warn func(check.Finding)
	// Stderr receives what the server writes to stderr, with secrets replaced; nil
	// stands for nobody.
	Stderr io.Writer
	// Stray is called with each line of stdout that is no message; see
	// [live.Command.Stray].
	Stray func(line []byte)
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
	release  func() error // the unpacked content
}

var _ mcp.Source = (*Source)(nil)

// Manifest returns the manifest, in the language that was asked for.
func (s *Source) Manifest() *Manifest { return s.manifest }

// Launch returns how the server is started.
func (s *Source) Launch() *Launch { return s.launch }

// Close stops the server, and lets its unpacked content be pruned.
func (s *Source) Close() error { return errors.Join(s.Source.Close(), s.release()) }

// Open starts the server of the bundle at name, a folder or a packed file, and
// returns it as a Source. A server whose answers the manifest holds
// ([Manifest.StaticCatalog]) is not started before it is needed. A packed bundle
// is unpacked into a cache first, read-only. Close stops the server; what was unpacked
// stays for the next time, and is compared with the archive, byte for byte, before it
// runs again: a copy that differs is replaced, and a warning among those of
// [Source.Launch] says so. The digest, the signature and the content that runs are
// those of the same bytes, even if the file changes meanwhile.
//
// An error is that of the file; an [*ArchiveError] for an archive that is unsafe,
// or changed after it was signed; a [*DigestError]; a [*SignerError]; a
// [*ManifestError]; an [*ExpandError] for values that are missing or wrong; a
// [*RuntimeError] for a program that is not here; or a [*StartError]. ctx bounds the
// opening alone.
func Open(ctx context.Context, name string, opts *OpenOptions) (_ *Source, err error) {
	if opts == nil {
		opts = &OpenOptions{}
	}
	c, err := openContent(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.release())
		}
	}()
	launch, err := expandAsking(ctx, c.manifest, c.dir, opts)
	if err != nil {
		return nil, err
	}
	launch.Warnings = append(launch.Warnings, c.warnings...)
	for name, value := range c.env {
		launch.preset(name, value)
	}
	for _, f := range launch.Warnings {
		if opts.Warn != nil {
			opts.Warn(f)
		}
	}
	command, err := launch.transport(ctx, c.manifest, opts.Stderr)
	if err != nil {
		return nil, err
	}
	var supervision live.Options
	if opts.Live != nil {
		supervision = *opts.Live
	}
	if known := c.shown.StaticCatalog(); known != nil && !opts.Start {
		supervision.Lazy, supervision.Catalog = true, known
	}
	command.Stray = opts.Stray
	server, err := live.Open(ctx, command, &supervision)
	if err != nil {
		return nil, &StartError{err}
	}
	return &Source{Source: server, manifest: c.shown, launch: launch, release: c.release}, nil
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
