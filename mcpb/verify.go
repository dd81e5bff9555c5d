package mcpb

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcpb/internal/cms"
	"github.com/slipway-mcp/slipway/mcpb/internal/zip"
)

// Status is the result of [Verify].
type Status string

const (
	// StatusSigned is an intact signature by a trusted signer.
	StatusSigned Status = "signed"
	// StatusSelfSigned is an intact signature with a self-signed certificate. It proves
	// that nothing has changed since, but not who signed.
	StatusSelfSigned Status = "self-signed"
	// StatusUnsigned is a bundle without a signature.
	StatusUnsigned Status = "unsigned"
	// StatusTampered is a bundle that was changed after signing, or has a broken
	// signature.
	StatusTampered Status = "tampered"
	// StatusUntrusted is an intact signature by an untrusted signer, or with an
	// unsuitable certificate or algorithm.
	StatusUntrusted Status = "untrusted"
	// StatusExpired is an intact signature with a certificate that has expired or is not
	// yet valid.
	StatusExpired Status = "expired"
)

// OK reports whether the bundle is what was signed, with the required trust.
func (s Status) OK() bool {
	return s == StatusSigned || s == StatusSelfSigned
}

// Ways to attach a signature to a zip.
const (
	dialectTrailing = "trailing" // the zip does not mention the signature
	dialectZeroed   = "zeroed"   // the zip comment contains the signature, but the digest assumes length zero
	dialectComment  = "comment"  // the zip comment contains the signature, and the digest covers its length
)

// VerifyOptions specify whom to trust. Nil and the zero value mean the defaults.
type VerifyOptions struct {
	// Trust are PEM certificates of the signer or of issuers. If set, nothing else is
	// trusted, neither the system's roots nor a self-signed bundle. The default is the
	// system's roots.
	Trust []byte
	// Fingerprint is the SHA-256 of the required signing certificate, in hexadecimal;
	// colons and spaces are ignored. If set, no root is needed.
	Fingerprint string
	// Time is when certificates must be valid. The default is now, because the signing
	// time in a signature is not trusted.
	Time time.Time
	// Limits are those of [OpenArchive].
	Limits *Limits
	// Progress is that of [SignOptions].
	Progress func(done, all int64)
}

// Verification is the result of [Verify].
type Verification struct {
	// Archive is the name of the file.
	Archive string `json:"archive"`
	// Status is the result, Reason is why it is not "signed".
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Signer is the signing certificate, Chain are the included certificates.
	Signer *Certificate  `json:"signer,omitempty"`
	Chain  []Certificate `json:"chain,omitempty"`
	// SignedAt is the signing time according to the signer. It is not verified.
	SignedAt *time.Time `json:"signedAt,omitempty"`
	// Dialect is how the signature is attached to the zip:
	//
	//   - "comment": the zip declares the signature as its comment, and every byte is
	//     signed
	//   - "zeroed": the same, but the length of the comment is not signed
	//   - "trailing": the zip does not mention the signature, and strict readers refuse
	//     it
	Dialect string `json:"dialect,omitempty"`
}

// set records the result.
func (v *Verification) set(status Status, format string, args ...any) {
	v.Status, v.Reason = status, fmt.Sprintf(format, args...)
}

// Verify verifies the signature of the bundle at name: first that the bundle is what was
// signed, then who signed it. It supports all known dialects.
//
// The error is non-nil if the file cannot be read, and an [*ArchiveError] if the archive
// is unsafe, signed or not. The result for the signature is in the [Verification].
func Verify(ctx context.Context, name string, opts *VerifyOptions) (*Verification, error) {
	f, err := fsutil.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return verify(ctx, f, info.Size(), name, opts)
}

// verify is [Verify] for the first size bytes of f, the content of the file called name.
func verify(
	ctx context.Context,
	f io.ReaderAt,
	size int64,
	name string,
	opts *VerifyOptions,
) (*Verification, error) {
	o := valueOf(opts)
	trust, err := o.trust()
	if err != nil {
		return nil, err
	}
	block, err := zip.FindBlock(f, size)
	if err != nil {
		return nil, err
	}
	v := &Verification{Archive: name}
	_, broken := zip.New(f, size, o.Limits)
	if block.DER == nil {
		return v, v.setUnsigned(f, size, broken)
	}
	s, err := cms.Parse(block.DER)
	if s != nil {
		v.describe(s)
	}
	switch {
	case errors.Is(err, cms.ErrAlgorithm), errors.Is(err, cms.ErrNoAttributes):
		v.set(StatusUntrusted, "%v", err)
		return v, nil
	case err != nil:
		v.set(StatusTampered, "the signature is malformed: %v", err)
		return v, nil
	}
	progress := func(r io.Reader) io.Reader {
		return fsutil.ProgressReader(r, size, o.Progress)
	}
	if v.Dialect, err = dialectOf(ctx, f, block, s, progress); err != nil {
		return nil, err
	}
	switch {
	case v.Dialect == "":
		v.set(StatusTampered, "the bundle was modified after signing")
	case s.Check() != nil:
		v.set(StatusTampered, "the signature is not by the key of its certificate")
	case broken != nil:
		return nil, broken
	default:
		v.judge(s, trust, &o)
	}
	return v, nil
}

// setUnsigned sets the result for a file without a block at its end.
func (v *Verification) setUnsigned(f io.ReaderAt, size int64, broken error) error {
	if broken == nil {
		v.set(StatusUnsigned, "no signature")
		return nil
	}
	lost, err := zip.HasLostBlock(f, size)
	if err != nil || !lost {
		return cmp.Or(err, broken)
	}
	v.set(StatusTampered, "the signature does not end with the file: bytes were added or cut")
	return nil
}

// describe copies the certificates and the signing time, also of a signature that is not
// trusted.
func (v *Verification) describe(s *cms.Signature) {
	signer := certificateOf(s.Certificate)
	v.Signer = &signer
	for _, c := range s.Others {
		v.Chain = append(v.Chain, certificateOf(c))
	}
	if !s.Time.IsZero() {
		at := s.Time.UTC()
		v.SignedAt = &at
	}
}

// dialectOf verifies the content before the block against the signed digest, and returns
// the dialect in which it matches, or "".
func dialectOf(
	ctx context.Context, f io.ReaderAt, block *zip.Block, s *cms.Signature, progress func(io.Reader) io.Reader,
) (string, error) {
	before, undeclared, err := block.Signed(f)
	if err != nil {
		return "", err
	}
	whole := dialectTrailing
	if undeclared != nil {
		whole = dialectComment
	}
	for _, form := range []struct {
		dialect string
		content io.Reader
	}{{whole, before}, {dialectZeroed, undeclared}} {
		if form.content == nil {
			continue
		}
		digest, err := hashContent(ctx, s.Hash, progress(form.content))
		if err != nil {
			return "", err
		}
		if subtle.ConstantTimeCompare(digest, s.Digest) == 1 {
			return form.dialect, nil
		}
	}
	return "", nil
}

// trust returns the certificates of Trust, or nil to use the system's.
func (o *VerifyOptions) trust() (*x509.CertPool, error) {
	if o.Trust == nil {
		return nil, nil
	}
	certificates, err := cms.ParseCertificates(o.Trust)
	return poolOf(certificates), err
}

// poolOf returns a pool with the certificates.
func poolOf(certificates []*x509.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, c := range certificates {
		pool.AddCert(c)
	}
	return pool
}

// judge determines whether the signer of an intact signature is trusted.
func (v *Verification) judge(s *cms.Signature, trust *x509.CertPool, opts *VerifyOptions) {
	at := opts.Time
	if at.IsZero() {
		at = time.Now()
	}
	c := s.Certificate
	if opts.Fingerprint != "" && plainFingerprint(opts.Fingerprint) != v.Signer.SHA256 {
		v.set(StatusUntrusted, "it was signed with another certificate")
		return
	}
	if err := cms.CheckPurpose(c); err != nil {
		v.set(StatusUntrusted, "%v", err)
		return
	}
	if err := cms.CheckValidity(c, at); err != nil {
		v.set(StatusExpired, "the certificate of the signer %v", err)
		return
	}
	switch {
	case opts.Fingerprint != "" && trust == nil:
		v.Status = StatusSigned
		return
	case trust == nil && cms.IsSelfSigned(c):
		v.set(StatusSelfSigned, "only the signer vouches for it")
		return
	}
	_, err := c.Verify(x509.VerifyOptions{
		Roots:         trust,
		Intermediates: poolOf(s.Others),
		CurrentTime:   at,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	})
	var invalid x509.CertificateInvalidError
	switch {
	case err == nil:
		v.Status = StatusSigned
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		v.set(StatusExpired, "a certificate that vouches for the signer is not valid at this time")
	default:
		v.set(StatusUntrusted, "no certificate that is trusted vouches for the signer: %v", err)
	}
}

// plainFingerprint returns a fingerprint in normalized form.
func plainFingerprint(s string) string {
	s = strings.TrimPrefix(strings.ToLower(s), "sha256:")
	return strings.NewReplacer(":", "", " ", "").Replace(s)
}

// ValidFingerprint reports whether s is a SHA-256 fingerprint in hexadecimal, possibly with
// colons, spaces or the prefix "SHA256:".
func ValidFingerprint(s string) bool {
	sum, err := hex.DecodeString(plainFingerprint(s))
	return err == nil && len(sum) == sha256.Size
}
