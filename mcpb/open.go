package mcpb

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
)

// OpenOptions configure [Open]. Nil and the zero value mean the defaults.
type OpenOptions struct {
	// Values are the user's values, as in [ExpandOptions].
	Values map[string]any
	// Lookup returns the value of an option that Values does not contain, such as from
	// the environment. It may be nil.
	Lookup func(o Option) (value any, ok bool)
	// Ask is called with the required options that have no value, and returns their
	// values. If it is nil, such options are an error.
	Ask func(ctx context.Context, missing []Option) (map[string]any, error)
	// AnyPlatform allows starting the bundle on a platform that its manifest does not
	// list.
	AnyPlatform bool
	// Locale is the language of the bundle's texts, such as "de" or "pt-BR"; empty means
	// the language of the manifest.
	Locale string

	// SHA256 is the required SHA-256 of the packed bundle, in hexadecimal. A mismatch is
	// a [*DigestError], and so is a folder, which has no digest. Empty accepts any.
	SHA256 string
	// Signer is the required signer of the packed bundle; see [ParseSigner]. Any status
	// other than [StatusSigned] is a [*SignerError], and so is a folder, which has no
	// signature. Nil accepts any bundle that is not [StatusTampered].
	Signer *VerifyOptions

	// Start starts the server immediately, even if the manifest contains its answers.
	Start bool

	// CacheDir is the folder for unpacked bundles, which are named by their SHA-256;
	// empty means slipway/bundles in the user's cache folder.
	CacheDir string
	// CacheBytes is the maximum size of all unpacked bundles. When one is added, the
	// least recently used ones are removed, except running ones. 0 means
	// [DefaultCacheBytes], a negative value no limit.
	CacheBytes int64
	// Limits restricts what a packed bundle may unpack to; nil means the defaults.
	Limits *Limits

	// Warn is called with each of [Launch.Warnings] before the server starts; nil
	// discards them.
	Warn func(check.Finding)
	// Stderr receives the stderr output of the server, with secrets redacted; nil
	// discards it.
	Stderr io.Writer
	// Stray is called with each line of stdout that is not a message; see
	// [client.Command.Stray].
	Stray func(line []byte)
	// Live configures the supervision of the server; nil means the defaults.
	Live *client.Options
}

// StartError means that the server of a bundle could not be started, or did not speak
// MCP.
type StartError struct {
	Err error // the cause, without secrets
}

// Error implements the error interface.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// DigestError means that a bundle does not have the required digest.
type DigestError struct {
	Got  string // the SHA-256 of the file, or empty for a folder
	Want string
}

// Error implements the error interface.
func (e *DigestError) Error() string {
	if e.Got == "" {
		return "a folder has no SHA-256, but the bundle with " + e.Want + " is required"
	}
	return "it is another bundle: its SHA-256 is " + e.Got + ", not " + e.Want
}

// Source is a bundle whose server is running, or starts on demand.
type Source struct {
	*client.Source
	// manifest is that of the bundle, and launch how its server was started.
	manifest *Manifest
	launch   *Launch
	release  func() error // releases the unpacked content
}

var _ mcp.Source = (*Source)(nil)

// Manifest returns the manifest, in the requested language.
func (s *Source) Manifest() *Manifest { return s.manifest }

// Launch returns the command line of the server.
func (s *Source) Launch() *Launch { return s.launch }

// Close stops the server and releases its unpacked content, which [PruneCache] may then
// remove. It waits until the process has ended. The error is that of releasing the content.
func (s *Source) Close() error {
	return errors.Join(s.Source.Close(), s.release())
}

// Open starts the server of the bundle at name, a folder or a packed file, and returns it
// as a Source. If the manifest contains the server's answers ([Manifest.StaticCatalog]),
// the server starts only when needed. Open first unpacks a packed bundle into a read-only
// cache. The unpacked copy stays there after Close. Before the next start it is compared
// with the archive byte for byte; if it differs, it is replaced, and the warnings of
// [Source.Launch] include that. Digest, signature and running content are those of the
// same bytes, even if the file changes in the meantime.
//
// ctx only bounds Open itself. The error is one of these:
//
//   - the error of the file system
//   - an [*ArchiveError], if the archive is unsafe or was changed after signing
//   - a [*DigestError] or a [*SignerError]
//   - a [*ManifestError]
//   - an [*ExpandError], if values are missing or invalid
//   - a [*RuntimeError], if a program is missing
//   - a [*StartError]
func Open(ctx context.Context, name string, opts *OpenOptions) (_ *Source, err error) {
	if opts == nil {
		opts = &OpenOptions{}
	}
	c, err := openContent(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	// On success the Source owns the content, and releases it.
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
	var supervision client.Options
	if opts.Live != nil {
		supervision = *opts.Live
	}
	// A manifest that lists everything lets the server start with the first call.
	known := c.shown.StaticCatalog()
	if known != nil && !opts.Start {
		supervision.Lazy = true
		supervision.Previous.Catalog = known
	}
	command.Stray = opts.Stray
	server, err := client.Open(ctx, command, &supervision)
	if err != nil {
		return nil, &StartError{err}
	}
	return &Source{
		Source:   server,
		manifest: c.shown,
		launch:   launch,
		release:  c.release,
	}, nil
}

// lookup returns the caller's value of an option, and whether it has one.
func (o *OpenOptions) lookup(option Option) (any, bool) {
	if o.Lookup == nil {
		return nil, false
	}
	return o.Lookup(option)
}

// expandAsking is [Expand], but requests missing values with Ask.
func expandAsking(
	ctx context.Context,
	m *Manifest,
	dir string,
	opts *OpenOptions,
) (*Launch, error) {
	values := make(map[string]any, len(opts.Values))
	for _, o := range m.UserConfig {
		if v, ok := opts.lookup(o); ok {
			values[o.Key] = v
		}
	}
	maps.Copy(values, opts.Values)
	with := &ExpandOptions{
		Dir:         dir,
		Values:      values,
		AnyPlatform: opts.AnyPlatform,
	}
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

// transport returns the child process of a launch, using an available runtime.
func (l *Launch) transport(
	ctx context.Context,
	m *Manifest,
	stderr io.Writer,
) (*client.Command, error) {
	var wanted map[string]string
	if m.Compatibility != nil {
		wanted = m.Compatibility.Runtimes
	}
	line, err := thisMachine().find(ctx, l.Command, wanted)
	if err != nil {
		return nil, err
	}
	return &client.Command{
		Path:   line[0],
		Args:   append(line[1:], l.Args...),
		Dir:    l.Dir,
		Env:    l.Environ(nil),
		Stderr: stderr,
		Redact: slices.Clone(l.secrets),
	}, nil
}
