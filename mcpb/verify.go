package mcpb

import (
	"bytes"
	"context"
	"crypto/subtle"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
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
func (s Status) OK() bool { return s == StatusSigned || s == StatusSelfSigned }

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

func (v *Verification) is(status Status, format string, args ...any) (*Verification, error) {
	v.Status, v.Reason = status, fmt.Sprintf(format, args...)
	return v, nil
}

// Verify verifies the signature of the bundle at name: first that the bundle is what was
// signed, then who signed it. It supports all known dialects.
//
// The error is non-nil if the file cannot be read, and an [*ArchiveError] if the archive
// is unsafe, signed or not. The result for the signature is in the [Verification].
func Verify(ctx context.Context, name string, opts *VerifyOptions) (*Verification, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return verify(ctx, f, info.Size(), &Verification{Archive: name}, opts)
}

// verify is [Verify] for the first size bytes of f; the result is in v.
func verify(
	ctx context.Context,
	f io.ReaderAt,
	size int64,
	v *Verification,
	opts *VerifyOptions,
) (*Verification, error) {
	if opts == nil {
		opts = &VerifyOptions{}
	}
	trust, err := opts.trust()
	if err != nil {
		return nil, err
	}
	block, err := findBlock(f, size)
	if err != nil {
		return nil, err
	}
	if err := refuseTwice(f, block); err != nil {
		return nil, err
	}
	archive, broken := NewArchive(f, size, opts.Limits)
	if !block.found {
		return v.unsigned(f, size, broken)
	}
	s, err := parseSignature(block.der)
	if s != nil {
		v.describe(s)
	}
	switch {
	case errors.Is(err, errAlgorithm), errors.Is(err, errNoAttributes):
		return v.is(StatusUntrusted, "%v", err)
	case err != nil:
		return v.is(StatusTampered, "the signature is malformed: %v", err)
	}
	if ok, err := v.digest(ctx, f, block, size, s); err != nil || !ok {
		return v, err
	}
	if s.check() != nil {
		return v.is(StatusTampered, "the signature is not by the key of its certificate")
	}
	if broken != nil {
		return nil, broken
	}
	defer archive.Close()
	return v.judge(s, trust, opts)
}

// unsigned sets the result for a file without a block at its end.
func (v *Verification) unsigned(f io.ReaderAt, size int64, broken error) (*Verification, error) {
	if broken == nil {
		return v.is(StatusUnsigned, "there is no signature")
	}
	// If a block does not end with the file, it was cut, or bytes were added.
	tail, _, err := readTail(f, size, maxBlock)
	if err != nil {
		return nil, err
	}
	if i := bytes.LastIndex(tail, []byte(blockHeader)); i >= 0 && bytes.Contains(tail[:i], []byte(endSignature)) {
		return v.is(StatusTampered, "the signature does not end with the file: bytes were added or cut")
	}
	return nil, broken
}

func (v *Verification) describe(s *signature) {
	signer := certificateOf(s.certificate)
	v.Signer = &signer
	for _, c := range s.others {
		v.Chain = append(v.Chain, certificateOf(c))
	}
	if !s.time.IsZero() {
		at := s.time.UTC()
		v.SignedAt = &at
	}
}

// digest verifies the content before the block against the signed digest. ok is false if
// v already has the result.
func (v *Verification) digest(
	ctx context.Context,
	f io.ReaderAt,
	block *block,
	size int64,
	s *signature,
) (ok bool, err error) {
	tail, begin, err := readTail(f, block.begin, endLen+maxComment)
	if err != nil {
		return false, err
	}
	content := &Archive{zipSize: block.begin, end: -1}
	comment := 0
	if i := bytes.LastIndex(tail, []byte(endSignature)); i >= 0 && len(tail)-i >= endLen {
		content.end = begin + int64(i)
		comment = int(binary.LittleEndian.Uint16(tail[i+20:]))
	}
	v.Dialect = dialectTrailing
	named := content.end >= 0 && int64(comment) == size-content.end-endLen
	if named {
		v.Dialect = dialectComment
	}
	stored, err := hashContent(ctx, s.hash, io.NewSectionReader(f, 0, block.begin))
	if err != nil {
		return false, err
	}
	if subtle.ConstantTimeCompare(stored, s.digest) == 1 {
		return true, nil
	}
	if named {
		own := int(content.zipSize - content.end - endLen)
		zeroed, err := hashContent(ctx, s.hash, zipContent(f, content, own))
		if err != nil {
			return false, err
		}
		if subtle.ConstantTimeCompare(zeroed, s.digest) == 1 {
			v.Dialect = dialectZeroed
			return true, nil
		}
	}
	v.Dialect = ""
	_, err = v.is(StatusTampered, "the bundle is not what was signed")
	return false, err
}

// trust returns the certificates of Trust, or nil to use the system's.
func (o *VerifyOptions) trust() (*x509.CertPool, error) {
	if o.Trust == nil {
		return nil, nil
	}
	certificates, err := ParseCertificates(o.Trust)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, c := range certificates {
		pool.AddCert(c)
	}
	return pool, nil
}

// judge determines whether the signer of an intact signature is trusted.
func (v *Verification) judge(s *signature, trust *x509.CertPool, opts *VerifyOptions) (*Verification, error) {
	at := opts.Time
	if at.IsZero() {
		at = time.Now()
	}
	c := s.certificate
	if opts.Fingerprint != "" && plainFingerprint(opts.Fingerprint) != v.Signer.SHA256 {
		return v.is(StatusUntrusted, "it was signed with another certificate")
	}
	if err := purpose(c); err != nil {
		return v.is(StatusUntrusted, "%v", err)
	}
	if at.After(c.NotAfter) {
		return v.is(StatusExpired, "the certificate of the signer expired on %s", c.NotAfter.UTC().Format(time.DateOnly))
	}
	if at.Before(c.NotBefore) {
		return v.is(StatusExpired, "the certificate of the signer is valid from %s on",
			c.NotBefore.UTC().Format(time.DateOnly))
	}
	if opts.Fingerprint != "" && trust == nil {
		v.Status = StatusSigned
		return v, nil
	}
	if trust == nil && isSelfSigned(c) {
		return v.is(StatusSelfSigned, "only the signer vouches for it")
	}
	intermediates := x509.NewCertPool()
	for _, other := range s.others {
		intermediates.AddCert(other)
	}
	_, err := c.Verify(x509.VerifyOptions{
		Roots: trust, Intermediates: intermediates, CurrentTime: at,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	})
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return v.is(StatusExpired, "a certificate that vouches for the signer is not valid at this time")
	case err != nil:
		return v.is(StatusUntrusted, "no certificate that is trusted vouches for the signer: %s",
			strings.TrimPrefix(err.Error(), "x509: "))
	}
	v.Status = StatusSigned
	return v, nil
}

// plainFingerprint returns a fingerprint in normalized form.
func plainFingerprint(s string) string {
	return strings.ToLower(strings.NewReplacer(":", "", " ", "").Replace(strings.TrimPrefix(strings.ToLower(s),
		"sha256:")))
}

// CheckFingerprint reports whether s is a SHA-256 fingerprint in hexadecimal.
func CheckFingerprint(s string) bool {
	s = plainFingerprint(s)
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
