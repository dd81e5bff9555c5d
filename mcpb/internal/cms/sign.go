package cms

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scheme is how a key signs.
type scheme struct {
	hash              crypto.Hash
	digest, algorithm string        // object identifiers
	parameters        asn1.RawValue // of both
}

// schemeOf returns the scheme for a public key. The hash is as strong as the key, so that neither
// is the weak part. Small RSA keys and other kinds of key are refused.
func schemeOf(key crypto.PublicKey) (s scheme, err error) {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() < 2048 {
			return s, fmt.Errorf("an RSA key of %d bits is too weak, want at least 2048", key.N.BitLen())
		}
		return scheme{crypto.SHA256, oidSHA256, oidRSA, asn1.NullRawValue}, nil
	case *ecdsa.PublicKey:
		switch key.Curve.Params().BitSize {
		case 256:
			return scheme{
				hash:      crypto.SHA256,
				digest:    oidSHA256,
				algorithm: oidECDSASHA256,
			}, nil
		case 384:
			return scheme{
				hash:      crypto.SHA384,
				digest:    oidSHA384,
				algorithm: oidECDSASHA384,
			}, nil
		case 521:
			return scheme{
				hash:      crypto.SHA512,
				digest:    oidSHA512,
				algorithm: oidECDSASHA512,
			}, nil
		}
	case ed25519.PublicKey: // RFC 8419
		return scheme{
			hash:      crypto.SHA512,
			digest:    oidSHA512,
			algorithm: oidEd25519,
		}, nil
	}
	return s, fmt.Errorf("a key of the kind %T cannot sign; use RSA, ECDSA or Ed25519", key)
}

// HashOf returns the hash that [Sign] uses with a key, or why the key cannot sign.
func HashOf(key crypto.PublicKey) (crypto.Hash, error) {
	s, err := schemeOf(key)
	return s.hash, err
}

// identifier parses an object identifier of this package.
func identifier(dotted string) (oid asn1.ObjectIdentifier) {
	for arc := range strings.SplitSeq(dotted, ".") {
		n, _ := strconv.Atoi(arc)
		oid = append(oid, n)
	}
	return oid
}

// encoder encodes values up to the first error.
type encoder struct{ err error }

// encode returns the DER of a value, which is incomplete after an error.
func (e *encoder) encode(value any) []byte {
	der, err := asn1.Marshal(value)
	if e.err == nil {
		e.err = err
	}
	return der
}

// attributes returns content type, digest and time as a DER-encoded SET, in DER order.
func (e *encoder) attributes(digest []byte, at time.Time) []byte {
	set := func(parts ...[]byte) asn1.RawValue {
		slices.SortFunc(parts, bytes.Compare)
		return asn1.RawValue{
			Tag:        asn1.TagSet,
			IsCompound: true,
			Bytes:      bytes.Join(parts, nil),
		}
	}
	one := func(oid string, value any) []byte {
		return e.encode(struct {
			Type   asn1.ObjectIdentifier
			Values asn1.RawValue
		}{identifier(oid), set(e.encode(value))})
	}
	return e.encode(set(one(oidContentType,
		identifier(oidData)), one(oidMessageDigest, digest),
		one(oidSigningTime, at.UTC())))
}

// Sign signs digest, the hash of the content, and returns a detached SignedData with the
// certificates of chain, the signer's first. at is the signing time.
func Sign(
	key crypto.Signer,
	chain []*x509.Certificate,
	digest []byte,
	at time.Time,
) ([]byte, error) {
	scheme, err := schemeOf(key.Public())
	if err != nil {
		return nil, err
	}
	e := &encoder{}
	attributes := e.attributes(digest, at)
	toSign := attributes
	opts := crypto.Hash(0)
	if _, pure := key.Public().(ed25519.PublicKey); !pure {
		opts = scheme.hash
		h := opts.New()
		h.Write(attributes)
		toSign = h.Sum(nil)
	}
	value, err := key.Sign(rand.Reader, toSign, opts)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	attributes[0] = 0xa0 // [0] IMPLICIT
	var certificates []byte
	for _, c := range chain {
		certificates = append(certificates, c.Raw...)
	}
	tagged := func(content []byte) asn1.RawValue {
		return asn1.RawValue{
			Class:      asn1.ClassContextSpecific,
			IsCompound: true,
			Bytes:      content,
		}
	}
	id := e.encode(issuerAndSerial{asn1.RawValue{FullBytes: chain[0].RawIssuer}, chain[0].SerialNumber})
	hash := pkix.AlgorithmIdentifier{
		Algorithm:  identifier(scheme.digest),
		Parameters: scheme.parameters,
	}
	content := e.encode(signedData{
		Version:      1,
		Digests:      []pkix.AlgorithmIdentifier{hash},
		Encapsulated: encapsulated{Type: identifier(oidData)},
		Certificates: tagged(certificates),
		Signers: []signerInfo{{
			Version:    1,
			ID:         asn1.RawValue{FullBytes: id},
			Digest:     hash,
			Attributes: asn1.RawValue{FullBytes: attributes},
			Algorithm: pkix.AlgorithmIdentifier{
				Algorithm:  identifier(scheme.algorithm),
				Parameters: scheme.parameters,
			},
			Signature: value,
		}},
	})
	der := e.encode(struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue
	}{identifier(oidSignedData), tagged(content)})
	return der, e.err
}
