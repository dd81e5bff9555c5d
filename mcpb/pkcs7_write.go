package mcpb

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"slices"
	"time"
)

// signingOf returns the hash and algorithms for a key.
func signingOf(key crypto.PublicKey) (hash crypto.Hash, digest, algorithm pkix.AlgorithmIdentifier, err error) {
	null := asn1.NullRawValue
	switch key := key.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() < 2048 {
			return 0, digest, algorithm, fmt.Errorf("an RSA key of %d bits is too weak, 2048 is the least", key.N.BitLen())
		}
		return crypto.SHA256, pkix.AlgorithmIdentifier{
			Algorithm:  oidSHA256,
			Parameters: null,
		}, pkix.AlgorithmIdentifier{Algorithm: oidRSA, Parameters: null}, nil
	case *ecdsa.PublicKey:
		switch key.Curve.Params().BitSize {
		case 256:
			return crypto.SHA256, pkix.AlgorithmIdentifier{
				Algorithm: oidSHA256,
			}, pkix.AlgorithmIdentifier{Algorithm: oidECDSASHA256}, nil
		case 384:
			return crypto.SHA384, pkix.AlgorithmIdentifier{
				Algorithm: oidSHA384,
			}, pkix.AlgorithmIdentifier{Algorithm: oidECDSASHA384}, nil
		case 521:
			return crypto.SHA512, pkix.AlgorithmIdentifier{
				Algorithm: oidSHA512,
			}, pkix.AlgorithmIdentifier{Algorithm: oidECDSASHA512}, nil
		}
	case ed25519.PublicKey: // RFC 8419
		return crypto.SHA512, pkix.AlgorithmIdentifier{Algorithm: oidSHA512}, pkix.AlgorithmIdentifier{
			Algorithm: oidEd25519,
		}, nil
	}
	return 0, digest, algorithm, fmt.Errorf("a key of the kind %T cannot sign; use RSA, ECDSA or Ed25519", key)
}

// digestOf returns the hash of content.
func digestOf(hash crypto.Hash, content []byte) []byte {
	switch hash {
	case crypto.SHA384:
		sum := sha512.Sum384(content)
		return sum[:]
	case crypto.SHA512:
		sum := sha512.Sum512(content)
		return sum[:]
	}
	sum := sha256.Sum256(content)
	return sum[:]
}

// signedAttributes returns content type, digest and time as a DER-encoded SET, in DER
// order.
func signedAttributes(digest []byte, at time.Time) ([]byte, error) {
	var parts [][]byte
	for _, a := range []struct {
		oid   asn1.ObjectIdentifier
		value any
	}{{oidContentType, oidData}, {oidMessageDigest, digest}, {oidSigningTime, at.UTC()}} {
		value, err := asn1.Marshal(a.value)
		if err != nil {
			return nil, err
		}
		set := asn1.RawValue{Class: asn1.ClassUniversal, Tag: asn1.TagSet, IsCompound: true, Bytes: value}
		der, err := asn1.Marshal(struct {
			Type   asn1.ObjectIdentifier
			Values asn1.RawValue
		}{a.oid, set})
		if err != nil {
			return nil, err
		}
		parts = append(parts, der)
	}
	slices.SortFunc(parts, bytes.Compare)
	return asn1.Marshal(asn1.RawValue{
		Class:      asn1.ClassUniversal,
		Tag:        asn1.TagSet,
		IsCompound: true,
		Bytes:      bytes.Join(parts, nil),
	})
}

// makeSignature signs digest, the hash of the content, and returns a detached SignedData
// with the certificates of chain, the signer's first.
func makeSignature(key crypto.Signer, chain []*x509.Certificate, digest []byte, at time.Time) ([]byte, error) {
	hash, digestAlgorithm, algorithm, err := signingOf(key.Public())
	if err != nil {
		return nil, err
	}
	attributes, err := signedAttributes(digest, at)
	if err != nil {
		return nil, err
	}
	toSign, opts := attributes, crypto.SignerOpts(crypto.Hash(0))
	if _, pure := key.Public().(ed25519.PublicKey); !pure {
		toSign, opts = digestOf(hash, attributes), hash
	}
	value, err := key.Sign(rand.Reader, toSign, opts)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	id, err := asn1.Marshal(issuerAndSerial{asn1.RawValue{FullBytes: chain[0].RawIssuer}, chain[0].SerialNumber})
	if err != nil {
		return nil, err
	}
	attributes[0] = 0xa0 // [0] IMPLICIT
	var certificates []byte
	for _, c := range chain {
		certificates = append(certificates, c.Raw...)
	}
	content, err := asn1.Marshal(signedData{
		Version:      1,
		Digests:      []pkix.AlgorithmIdentifier{digestAlgorithm},
		Encapsulated: encapsulated{Type: oidData},
		Certificates: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: certificates},
		Signers: []signerInfo{{
			Version: 1, ID: asn1.RawValue{FullBytes: id}, Digest: digestAlgorithm,
			Attributes: asn1.RawValue{FullBytes: attributes}, Algorithm: algorithm, Signature: value,
		}},
	})
	if err != nil {
		return nil, err
	}
	return asn1.Marshal(struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue
	}{oidSignedData, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: content}})
}
