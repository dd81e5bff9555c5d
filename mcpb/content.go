package mcpb

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcpb/internal/zip"
)

// content is a bundle that is ready to start: its folder and the data read from it.
type content struct {
	// dir is the folder with the unpacked bundle, and manifest its manifest.
	dir      string
	manifest *Manifest
	shown    *Manifest         // in the requested language
	env      map[string]string // additional variables of the server, unless the manifest sets them
	warnings []check.Finding
	// release allows the content to be removed from the cache.
	release func() error
}

// openContent returns the content of the bundle at name. The caller releases it.
func openContent(ctx context.Context, name string, opts *OpenOptions) (*content, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	folder := name
	isFolder := info.IsDir()
	if filepath.Base(name) == ManifestName {
		folder, isFolder = filepath.Dir(name), true
	}
	switch {
	case !isFolder:
		return openPackedContent(ctx, name, opts)
	case opts.SHA256 != "":
		return nil, &DigestError{Want: strings.ToLower(opts.SHA256)}
	case opts.Signer != nil:
		return nil, &SignerError{}
	}
	c := &content{release: func() error { return nil }}
	if c.dir, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	return c, c.read(os.DirFS(c.dir), opts)
}

// read reads the manifest, and its texts in the requested language.
func (c *content) read(fsys fs.FS, opts *OpenOptions) (err error) {
	if c.manifest, err = ReadManifest(fsys); err != nil {
		return err
	}
	c.shown = c.manifest
	if opts.Locale != "" {
		c.shown, _ = c.manifest.Localized(fsys, opts.Locale)
	}
	return nil
}

// openPackedContent verifies a packed bundle and returns its folder in the cache. The
// file is opened once, and all later reads are compared with the bytes that were hashed
// first.
func openPackedContent(ctx context.Context, name string, opts *OpenOptions) (_ *content, err error) {
	f, err := fsutil.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := zip.FileSize(f, opts.Limits); err != nil {
		return nil, err
	}
	s, err := takeSnapshot(ctx, f)
	if err != nil {
		return nil, err
	}
	if opts.SHA256 != "" && !strings.EqualFold(s.sha256, opts.SHA256) {
		return nil, &DigestError{
			Got:  s.sha256,
			Want: strings.ToLower(opts.SHA256),
		}
	}
	if err := s.refuseSigner(ctx, name, opts); err != nil {
		return nil, err
	}
	archive, err := NewArchive(s, s.size, opts.Limits)
	if err != nil {
		return nil, err
	}

	c := &content{}
	if err := c.read(archive.FS(), opts); err != nil {
		return nil, err
	}
	cache, err := cacheDir(opts.CacheDir)
	if err != nil {
		return nil, err
	}
	unpacked, err := openCached(ctx, cache, s.sha256, newLayout(archive, c.manifest))
	if err != nil {
		return nil, err
	}
	c.dir = unpacked.dir
	c.release = unpacked.lock.Unlock
	if unpacked.changed != nil {
		c.warnings = append(c.warnings, *unpacked.changed)
	}
	if unpacked.fresh {
		// Failing to prune the cache must not keep the bundle from starting.
		_, _ = PruneCache(ctx, &PruneOptions{
			Dir:      cache,
			MaxBytes: opts.CacheBytes,
		})
	}
	// The server must not write into its own folder, not even as root.
	c.env = map[string]string{"PYTHONDONTWRITEBYTECODE": "1"}
	if c.manifest.runsUV() {
		c.env["UV_PROJECT_ENVIRONMENT"] = unpacked.dir + pythonSuffix
	}
	return c, nil
}

// refuseSigner refuses a bundle that was changed after signing, or is not signed by the
// required signer.
func (s *snapshot) refuseSigner(ctx context.Context, name string, opts *OpenOptions) error {
	o := valueOf(opts.Signer)
	o.Limits = opts.Limits
	v, err := verify(ctx, s, s.size, name, &o)
	if err == nil {
		err = v.Refusal()
	}
	switch {
	case err != nil:
		return err
	case opts.Signer != nil && v.Status != StatusSigned:
		return &SignerError{Verification: v}
	}
	return nil
}

// Refusal returns an [*ArchiveError] if the bundle was changed after it was signed, and
// nil otherwise.
func (v *Verification) Refusal() error {
	if v.Status == StatusTampered {
		return &ArchiveError{
			Rule:   zip.RuleSignature,
			Reason: v.Reason,
			Unsafe: true,
		}
	}
	return nil
}

// SignerError means that a bundle is not signed by the required signer.
type SignerError struct {
	// Verification is the result of [Verify]. It is nil if the bundle is not packed.
	Verification *Verification
}

// Error implements the error interface.
func (e *SignerError) Error() string {
	if e.Verification == nil {
		return "it is not a packed bundle, so it has no signature, and a signed bundle is required"
	}
	return "the bundle is not signed by the required signer: " + e.Verification.Reason
}

// ParseSigner parses a required signer: the SHA-256 fingerprint of a certificate, or the
// name of a PEM file with certificates of the signer or of issuers. The error is about
// the file or its content.
func ParseSigner(text string) (*VerifyOptions, error) {
	if ValidFingerprint(text) {
		return &VerifyOptions{Fingerprint: text}, nil
	}
	certificates, err := fsutil.ReadRegular(os.DirFS(filepath.Dir(text)),
		filepath.Base(text), zip.MaxBlock)
	if err != nil {
		return nil, err
	}
	if _, err := ParseCertificates(certificates); err != nil {
		return nil, err
	}
	return &VerifyOptions{Trust: certificates}, nil
}
