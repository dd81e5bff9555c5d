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

// Status is what [Verify] says about a bundle.
type Status string

const (
	// StatusSigned is an intact signature by somebody who is trusted.
	StatusSigned Status = "signed"
	// StatusSelfSigned is an intact signature for which nobody but the signer
	// vouches. It shows that nothing changed since, and not who signed.
	StatusSelfSigned Status = "self-signed"
	// StatusUnsigned is a bundle without a signature.
	StatusUnsigned Status = "unsigned"
	// StatusTampered is a bundle that is not what was signed, or with a signature
	// that is broken.
	StatusTampered Status = "tampered"
	// StatusUntrusted is an intact signature by somebody who is not trusted, or
	// with a certificate or an algorithm that is not for this.
	StatusUntrusted Status = "untrusted"
	// StatusExpired is an intact signature with a certificate that is not valid
	// any more, or not yet.
	StatusExpired Status = "expired"
)

// OK reports whether the bundle is what somebody signed, as far as was asked.
func (s Status) OK() bool { return s == StatusSigned || s == StatusSelfSigned }

// The ways in which a zip and its signature go together.
const (
	dialectTrailing = "trailing" // the zip does not mention the signature
	dialectZeroed   = "zeroed"   // it names it as its comment, and the digest takes that for zero
	dialectComment  = "comment"  // it names it as its comment, and the digest covers that
)

// VerifyOptions say whom to trust. Nil and the zero value are the defaults.
type VerifyOptions struct {
	// Trust are certificates in PEM, of the signer or of those who vouch for it.
	// With them nothing else is trusted: neither the system's, nor a bundle that is
	// self-signed. The default are the roots of the system.
	Trust []byte
	// Fingerprint is the SHA-256 of the one certificate that must have signed, in
	// hexadecimal; colons and blanks do not count. With it no root is needed.
	Fingerprint string
	// Time is when certificates must be valid. The default is now: when a bundle
	// was signed is what its signer says, and nobody else.
	Time time.Time
	// Limits are those of [OpenArchive].
	Limits *Limits
}

// Verification is what [Verify] found.
type Verification struct {
	// Archive is the file.
	Archive string `json:"archive"`
	// Status is the answer, Reason says in words why it is not "signed".
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Signer is the certificate of the signature, Chain what came with it.
	Signer *Certificate  `json:"signer,omitempty"`
	Chain  []Certificate `json:"chain,omitempty"`
	// SignedAt is when the bundle was signed, as the signer says. Nobody vouches.
	SignedAt *time.Time `json:"signedAt,omitempty"`
	// Dialect is how zip and signature go together: "comment" where the zip names
	// the signature as its comment and every byte is signed, "zeroed" where the
	// length of the comment is not, "trailing" where the zip does not mention the
	// signature and strict readers refuse it.
	Dialect string `json:"dialect,omitempty"`
}

func (v *Verification) is(status Status, format string, args ...any) (*Verification, error) {
	v.Status, v.Reason = status, fmt.Sprintf(format, args...)
	return v, nil
}

// Verify checks the signature of the bundle at name: that the bundle is what was
// signed, then who signed it. It reads every dialect that is known to be written.
//
// The error is for a file that cannot be read, and an [*ArchiveError] for one that
// is no safe archive, signed or not. What was asked about the signature is in the
// [Verification].
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

// verify is [Verify] for the first size bytes of f; the answer is in v.
func verify(ctx context.Context, f io.ReaderAt, size int64, v *Verification, opts *VerifyOptions) (*Verification, error) {
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

// unsigned is the answer for a file without a block at its end.
func (v *Verification) unsigned(f io.ReaderAt, size int64, broken error) (*Verification, error) {
	if broken == nil {
		return v.is(StatusUnsigned, "there is no signature")
	}
	// A block that does not end with the file was cut, or something was added.
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

// digest holds the content before the block against what was signed. ok is false
// if v has the answer.
func (v *Verification) digest(ctx context.Context, f io.ReaderAt, block *block, size int64, s *signature) (ok bool, err error) {
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

// trust returns the certificates of Trust, nil for those of the system.
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

// judge says whether the signer of an intact signature is trusted.
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
		return v.is(StatusExpired, "the certificate of the signer is valid from %s on", c.NotBefore.UTC().Format(time.DateOnly))
	}
	if opts.Fingerprint != "" && trust == nil {
		v.Status = StatusSigned
		return v, nil
	}
	if trust == nil && isSelfSigned(c) {
		return v.is(StatusSelfSigned, "nobody but the signer vouches for it")
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
		return v.is(StatusUntrusted, "no certificate that is trusted vouches for the signer: %s", strings.TrimPrefix(err.Error(), "x509: "))
	}
	v.Status = StatusSigned
	return v, nil
}

// plainFingerprint returns a fingerprint in the form that is compared.
func plainFingerprint(s string) string {
	return strings.ToLower(strings.NewReplacer(":", "", " ", "").Replace(strings.TrimPrefix(strings.ToLower(s), "sha256:")))
}

// CheckFingerprint reports whether s is a SHA-256 fingerprint in hexadecimal.
func CheckFingerprint(s string) bool {
	s = plainFingerprint(s)
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
