package mcpb

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// The subset of Cryptographic Message Syntax (RFC 5652) that bundle signatures use:
// SignedData without content, one signer, signed attributes. Keys, hashes and
// certificates come from the standard library. The syntax is parsed here because signed
// attributes must be hashed in the order of the file, which their writer chose, and
// because there are two ways to name the signer.

var (
	oidData          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSignedData    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidContentType   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidMessageDigest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	oidSigningTime   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 5}
	oidSHA256        = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidSHA384        = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 2}
	oidSHA512        = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 3}
	oidRSA           = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
	oidRSAPSS        = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10}
	oidMGF1          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 8}
	oidRSASHA256     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}
	oidRSASHA384     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 12}
	oidRSASHA512     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 13}
	oidECDSASHA256   = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}
	oidECDSASHA384   = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 3}
	oidECDSASHA512   = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 4}
	oidECPublicKey   = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}
	oidEd25519       = asn1.ObjectIdentifier{1, 3, 101, 112}
)

type contentInfo struct {
	Type    asn1.ObjectIdentifier
	Content asn1.RawValue `asn1:"explicit,tag:0"`
}

type signedData struct {
	Version      int
	Digests      []pkix.AlgorithmIdentifier `asn1:"set"`
	Encapsulated encapsulated
	Certificates asn1.RawValue `asn1:"optional,tag:0"`
	CRLs         asn1.RawValue `asn1:"optional,tag:1"`
	Signers      []signerInfo  `asn1:"set"`
}

type encapsulated struct {
	Type    asn1.ObjectIdentifier
	Content asn1.RawValue `asn1:"optional,explicit,tag:0"`
}

type signerInfo struct {
	Version    int
	ID         asn1.RawValue // issuer and serial number, or [0] a key identifier
	Digest     pkix.AlgorithmIdentifier
	Attributes asn1.RawValue `asn1:"optional,tag:0"`
	Algorithm  pkix.AlgorithmIdentifier
	Signature  []byte
	Unsigned   asn1.RawValue `asn1:"optional,tag:1"`
}

type issuerAndSerial struct {
	Issuer asn1.RawValue
	Serial *big.Int
}

type attribute struct {
	Type   asn1.ObjectIdentifier
	Values asn1.RawValue `asn1:"set"`
}

// signature is a parsed signature block.
type signature struct {
	certificate *x509.Certificate   // of the signer
	others      []*x509.Certificate // other included certificates
	hash        crypto.Hash
	algorithm   x509.SignatureAlgorithm
	pss         *rsa.PSSOptions // for RSASSA-PSS signatures, else nil
	digest      []byte          // of the content, according to the signer
	time        time.Time       // according to the signer; zero if absent
	signed      []byte          // the signed data, in DER
	value       []byte
}

// maxCertificates is the maximum number of certificates in a signature.
const maxCertificates = 32

// These signatures may be valid, but cannot be checked.
var (
	errAlgorithm    = errors.New("it uses an algorithm that is unknown or too weak")
	errNoAttributes = errors.New("it has no signed attributes")
)

// parseSignature parses a detached signature. It does not verify it.
func parseSignature(der []byte) (*signature, error) {
	var info contentInfo
	if err := exactly(der, &info, ""); err != nil {
		return nil, err
	}
	var data signedData
	if !info.Type.Equal(oidSignedData) {
		return nil, errors.New("it is not SignedData")
	}
	if err := exactly(info.Content.Bytes, &data, ""); err != nil {
		return nil, err
	}
	switch {
	case !data.Encapsulated.Type.Equal(oidData):
		return nil, errors.New("it signs something else than data")
	case len(data.Encapsulated.Content.FullBytes) > 0:
		return nil, errors.New("it has content of its own")
	case len(data.Signers) != 1:
		return nil, fmt.Errorf("it has %d signers, not one", len(data.Signers))
	}
	certificates, err := x509.ParseCertificates(data.Certificates.Bytes)
	if err != nil {
		return nil, fmt.Errorf("its certificates cannot be read: %w", err)
	}
	if len(certificates) > maxCertificates {
		return nil, fmt.Errorf("it has %d certificates, more than %d", len(certificates), maxCertificates)
	}
	return readSigner(&data.Signers[0], certificates)
}

func readSigner(signer *signerInfo, certificates []*x509.Certificate) (*signature, error) {
	s := &signature{value: signer.Signature}
	for _, c := range certificates {
		if s.certificate == nil && signer.names(c) {
			s.certificate = c
		} else {
			s.others = append(s.others, c)
		}
	}
	if s.certificate == nil {
		return nil, errors.New("the certificate of its signer is not there")
	}
	if err := s.readAttributes(signer.Attributes); err != nil {
		return s, err
	}
	var ok bool
	if s.hash, ok = hashOf(signer.Digest.Algorithm); !ok {
		return s, errAlgorithm
	}
	if signer.Algorithm.Algorithm.Equal(oidRSAPSS) {
		return s, s.readPSS(signer.Algorithm.Parameters)
	}
	if s.algorithm = algorithmOf(signer.Algorithm.Algorithm, s.hash); s.algorithm == x509.UnknownSignatureAlgorithm {
		return s, errAlgorithm
	}
	return s, nil
}

// names reports whether c is the signer's certificate.
func (signer *signerInfo) names(c *x509.Certificate) bool {
	if signer.ID.Class == asn1.ClassContextSpecific && signer.ID.Tag == 0 {
		return len(c.SubjectKeyId) > 0 && bytes.Equal(signer.ID.Bytes, c.SubjectKeyId)
	}
	var id issuerAndSerial
	if exactly(signer.ID.FullBytes, &id, "") != nil {
		return false
	}
	return id.Serial.Cmp(c.SerialNumber) == 0 && bytes.Equal(id.Issuer.FullBytes, c.RawIssuer)
}

// readAttributes reads the signed attributes. Each relevant one must occur once, with one
// value.
func (s *signature) readAttributes(raw asn1.RawValue) error {
	if len(raw.FullBytes) == 0 {
		return errNoAttributes
	}
	seen := map[string]bool{}
	for rest := raw.Bytes; len(rest) > 0; {
		var a attribute
		var err error
		if rest, err = asn1.Unmarshal(rest, &a); err != nil {
			return err
		}
		if name := a.Type.String(); seen[name] {
			return fmt.Errorf("it has the attribute %s twice", name)
		}
		seen[a.Type.String()] = true
		switch {
		case a.Type.Equal(oidContentType):
			var kind asn1.ObjectIdentifier
			if err := exactly(a.Values.Bytes, &kind, ""); err != nil || !kind.Equal(oidData) {
				return errors.New("it signs something else than data")
			}
		case a.Type.Equal(oidMessageDigest):
			if err := exactly(a.Values.Bytes, &s.digest, ""); err != nil {
				return err
			}
		case a.Type.Equal(oidSigningTime):
			if err := exactly(a.Values.Bytes, &s.time, ""); err != nil {
				return err
			}
		}
	}
	if !seen[oidContentType.String()] || !seen[oidMessageDigest.String()] {
		return errors.New("it does not say what it signs")
	}
	// The signature is over the attributes as a SET, in the order of the file.
	s.signed = bytes.Clone(raw.FullBytes)
	s.signed[0] = 0x31
	return nil
}

// check verifies the signature over the attributes with the key of the signer. It does
// not verify the digest.
func (s *signature) check() error {
	if s.pss != nil {
		return s.checkPSS()
	}
	return s.certificate.CheckSignature(s.algorithm, s.signed, s.value)
}

// exactly decodes der, and fails if bytes follow it.
func exactly(der []byte, into any, params string) error {
	rest, err := asn1.UnmarshalWithParams(der, into, params)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow its end", len(rest))
	}
	return err
}

func hashOf(oid asn1.ObjectIdentifier) (crypto.Hash, bool) {
	switch {
	case oid.Equal(oidSHA256):
		return crypto.SHA256, true
	case oid.Equal(oidSHA384):
		return crypto.SHA384, true
	case oid.Equal(oidSHA512):
		return crypto.SHA512, true
	}
	return 0, false
}

func algorithmOf(oid asn1.ObjectIdentifier, hash crypto.Hash) x509.SignatureAlgorithm {
	rsa := map[crypto.Hash]x509.SignatureAlgorithm{
		crypto.SHA256: x509.SHA256WithRSA,
		crypto.SHA384: x509.SHA384WithRSA,
		crypto.SHA512: x509.SHA512WithRSA,
	}
	ecdsa := map[crypto.Hash]x509.SignatureAlgorithm{
		crypto.SHA256: x509.ECDSAWithSHA256,
		crypto.SHA384: x509.ECDSAWithSHA384,
		crypto.SHA512: x509.ECDSAWithSHA512,
	}
	switch {
	case oid.Equal(oidRSA):
		return rsa[hash]
	case oid.Equal(oidECPublicKey):
		return ecdsa[hash]
	case oid.Equal(oidRSASHA256) && hash == crypto.SHA256, oid.Equal(oidRSASHA384) && hash == crypto.SHA384,
		oid.Equal(oidRSASHA512) && hash == crypto.SHA512:
		return rsa[hash]
	case oid.Equal(oidECDSASHA256) && hash == crypto.SHA256, oid.Equal(oidECDSASHA384) && hash == crypto.SHA384,
		oid.Equal(oidECDSASHA512) && hash == crypto.SHA512:
		return ecdsa[hash]
	case oid.Equal(oidEd25519):
		return x509.PureEd25519
	}
	return x509.UnknownSignatureAlgorithm
}
