// Package cms implements the subset of Cryptographic Message Syntax (RFC 5652) that bundle
// signatures use: SignedData without content, one signer, signed attributes.
//
// [Sign] makes a signature and [Parse] reads one. Keys, hashes and certificates come from
// the standard library. The syntax is parsed here because signed attributes must be hashed
// in the order of the file, which their writer chose, and because there are two ways to
// name the signer.
package cms

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	_ "crypto/sha256" // hashes of signatures
	_ "crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/slipway-mcp/slipway/internal/visible"
)

// Object identifiers.
const (
	oidData          = "1.2.840.113549.1.7.1"
	oidSignedData    = "1.2.840.113549.1.7.2"
	oidContentType   = "1.2.840.113549.1.9.3"
	oidMessageDigest = "1.2.840.113549.1.9.4"
	oidSigningTime   = "1.2.840.113549.1.9.5"
	oidSHA256        = "2.16.840.1.101.3.4.2.1"
	oidSHA384        = "2.16.840.1.101.3.4.2.2"
	oidSHA512        = "2.16.840.1.101.3.4.2.3"
	oidRSA           = "1.2.840.113549.1.1.1"
	oidRSAPSS        = "1.2.840.113549.1.1.10"
	oidMGF1          = "1.2.840.113549.1.1.8"
	oidRSASHA256     = "1.2.840.113549.1.1.11"
	oidRSASHA384     = "1.2.840.113549.1.1.12"
	oidRSASHA512     = "1.2.840.113549.1.1.13"
	oidECPublicKey   = "1.2.840.10045.2.1"
	oidECDSASHA256   = "1.2.840.10045.4.3.2"
	oidECDSASHA384   = "1.2.840.10045.4.3.3"
	oidECDSASHA512   = "1.2.840.10045.4.3.4"
	oidEd25519       = "1.3.101.112"
)

// hashes are the accepted hashes.
var hashes = map[string]crypto.Hash{
	oidSHA256: crypto.SHA256,
	oidSHA384: crypto.SHA384,
	oidSHA512: crypto.SHA512,
}

// algorithms are the accepted algorithms of signatures, by the hash that they are used with.
var algorithms = map[string]map[crypto.Hash]x509.SignatureAlgorithm{
	oidRSA:         rsaAlgorithms,
	oidRSASHA256:   {crypto.SHA256: x509.SHA256WithRSA},
	oidRSASHA384:   {crypto.SHA384: x509.SHA384WithRSA},
	oidRSASHA512:   {crypto.SHA512: x509.SHA512WithRSA},
	oidECPublicKey: ecdsaAlgorithms,
	oidECDSASHA256: {crypto.SHA256: x509.ECDSAWithSHA256},
	oidECDSASHA384: {crypto.SHA384: x509.ECDSAWithSHA384},
	oidECDSASHA512: {crypto.SHA512: x509.ECDSAWithSHA512},
	oidEd25519: {
		crypto.SHA256: x509.PureEd25519,
		crypto.SHA384: x509.PureEd25519,
		crypto.SHA512: x509.PureEd25519,
	},
}

// rsaAlgorithms are those of the identifier rsaEncryption, which leaves the hash open.
var rsaAlgorithms = map[crypto.Hash]x509.SignatureAlgorithm{
	crypto.SHA256: x509.SHA256WithRSA,
	crypto.SHA384: x509.SHA384WithRSA,
	crypto.SHA512: x509.SHA512WithRSA,
}

// ecdsaAlgorithms are those of the identifier ecPublicKey, which some writers use where RFC 5754
// requires one with the hash.
var ecdsaAlgorithms = map[crypto.Hash]x509.SignatureAlgorithm{
	crypto.SHA256: x509.ECDSAWithSHA256,
	crypto.SHA384: x509.ECDSAWithSHA384,
	crypto.SHA512: x509.ECDSAWithSHA512,
}

// contentInfo is the outermost type, ContentInfo of RFC 5652, section 3.
type contentInfo struct {
	Type    asn1.ObjectIdentifier
	Content asn1.RawValue `asn1:"explicit,tag:0"`
}

// signedData is SignedData of RFC 5652, section 5.1. The certificates stay raw: their parser is
// that of package x509.
type signedData struct {
	Version      int
	Digests      []pkix.AlgorithmIdentifier `asn1:"set"`
	Encapsulated encapsulated
	Certificates asn1.RawValue `asn1:"optional,tag:0"`
	CRLs         asn1.RawValue `asn1:"optional,tag:1"`
	Signers      []signerInfo  `asn1:"set"`
}

// encapsulated is EncapsulatedContentInfo. Its content is absent in a detached signature.
type encapsulated struct {
	Type    asn1.ObjectIdentifier
	Content asn1.RawValue `asn1:"optional,explicit,tag:0"`
}

// signerInfo is SignerInfo of RFC 5652, section 5.3.
type signerInfo struct {
	Version    int
	ID         asn1.RawValue // issuer and serial number, or [0] a key identifier
	Digest     pkix.AlgorithmIdentifier
	Attributes asn1.RawValue `asn1:"optional,tag:0"`
	Algorithm  pkix.AlgorithmIdentifier
	Signature  []byte
	Unsigned   asn1.RawValue `asn1:"optional,tag:1"`
}

// issuerAndSerial is IssuerAndSerialNumber. The issuer is compared byte by byte.
type issuerAndSerial struct {
	Issuer asn1.RawValue
	Serial *big.Int
}

// attribute is Attribute of RFC 5652, section 5.3: an identifier and a set of values.
type attribute struct {
	Type   asn1.ObjectIdentifier
	Values asn1.RawValue `asn1:"set"`
}

// Signature is a parsed detached signature.
type Signature struct {
	// Certificate is that of the signer, Others are the other included certificates.
	Certificate *x509.Certificate
	Others      []*x509.Certificate
	// Digest is that of the content according to the signer, computed with Hash.
	Digest []byte
	Hash   crypto.Hash
	// Time is the signing time according to the signer, and zero if it is absent.
	Time time.Time

	algorithm x509.SignatureAlgorithm
	pss       *rsa.PSSOptions // of RSASSA-PSS signatures, else nil
	signed    []byte          // the signed data, in DER
	// value is the signature itself.
	value []byte
}

// maxCertificates is the maximum number of certificates in a signature.
const maxCertificates = 32

// Errors of [Parse] for a signature that may be valid, but cannot be checked.
var (
	ErrAlgorithm    = errors.New("it uses an algorithm that is unknown or too weak")
	ErrNoAttributes = errors.New("it has no signed attributes")
)

// Parse parses a detached signature. It does not verify it. If an error is about the
// signer or later parts, the signature is not nil and has at least the certificates.
func Parse(der []byte) (*Signature, error) {
	var info contentInfo
	if err := decode(der, &info, "it"); err != nil {
		return nil, err
	}
	var data signedData
	if info.Type.String() != oidSignedData {
		return nil, errors.New("it is not SignedData")
	}
	if err := decode(info.Content.Bytes, &data, "its SignedData"); err != nil {
		return nil, err
	}
	switch {
	case data.Encapsulated.Type.String() != oidData:
		return nil, errors.New("it signs something else than data")
	case len(data.Encapsulated.Content.FullBytes) > 0:
		return nil, errors.New("it has content of its own")
	case len(data.Signers) != 1:
		return nil, fmt.Errorf("it has %d signers, not one", len(data.Signers))
	}
	certificates, err := x509.ParseCertificates(data.Certificates.Bytes)
	if err != nil {
		return nil, fmt.Errorf("its certificates cannot be read: %.200s", visible.Line(err.Error()))
	}
	if len(certificates) > maxCertificates {
		return nil, fmt.Errorf("it has %d certificates, more than %d",
			len(certificates), maxCertificates)
	}
	// Only the certificate that the signer names is used; the others may complete its chain.
	signer := &data.Signers[0]
	s := &Signature{value: signer.Signature}
	for _, c := range certificates {
		if s.Certificate == nil && signer.names(c) {
			s.Certificate = c
		} else {
			s.Others = append(s.Others, c)
		}
	}
	if s.Certificate == nil {
		return nil, errors.New("the certificate of its signer is missing")
	}
	if err := s.readAttributes(signer.Attributes); err != nil {
		return s, err
	}
	return s, s.readAlgorithm(signer)
}

// names reports whether c is the signer's certificate.
func (signer *signerInfo) names(c *x509.Certificate) bool {
	if signer.ID.Class == asn1.ClassContextSpecific && signer.ID.Tag == 0 {
		return len(c.SubjectKeyId) > 0 && bytes.Equal(signer.ID.Bytes, c.SubjectKeyId)
	}
	var id issuerAndSerial
	if decode(signer.ID.FullBytes, &id, "the name of its signer") != nil {
		return false
	}
	return id.Serial.Cmp(c.SerialNumber) == 0 &&
		bytes.Equal(id.Issuer.FullBytes, c.RawIssuer)
}

// readAttributes reads the signed attributes. Each relevant one must occur once, with one
// value.
func (s *Signature) readAttributes(raw asn1.RawValue) error {
	if len(raw.FullBytes) == 0 {
		return ErrNoAttributes
	}
	var kind asn1.ObjectIdentifier
	relevant := map[string]any{oidContentType: &kind, oidMessageDigest: &s.Digest, oidSigningTime: &s.Time}
	seen := map[string]bool{}
	for rest := raw.Bytes; len(rest) > 0; {
		var a attribute
		var err error
		if rest, err = asn1.Unmarshal(rest, &a); err != nil {
			return errors.New("its attributes are not PKCS #7 in DER")
		}
		name := a.Type.String()
		if seen[name] {
			return fmt.Errorf("it has the attribute %s twice", name)
		}
		seen[name] = true
		if into := relevant[name]; into != nil {
			if err := decode(a.Values.Bytes, into, "its attribute "+name); err != nil {
				return err
			}
		}
	}
	switch {
	case !seen[oidContentType] || !seen[oidMessageDigest]:
		return errors.New("it does not identify what it signs")
	case kind.String() != oidData:
		return errors.New("it signs something else than data")
	}
	// The signature is over the attributes as a SET, in the order of the file.
	s.signed = bytes.Clone(raw.FullBytes)
	s.signed[0] = 0x31
	return nil
}

// readAlgorithm sets the hash and the algorithm. Unknown and weak ones are [ErrAlgorithm].
func (s *Signature) readAlgorithm(signer *signerInfo) error {
	s.Hash = hashes[signer.Digest.Algorithm.String()]
	name := signer.Algorithm.Algorithm.String()
	if name == oidRSAPSS && s.Hash != 0 {
		return s.readPSS(signer.Algorithm.Parameters)
	}
	s.algorithm = algorithms[name][s.Hash]
	if s.algorithm == x509.UnknownSignatureAlgorithm {
		return ErrAlgorithm
	}
	return nil
}

// Check verifies the signature over the attributes with the key of the signer. The caller
// verifies the digest.
func (s *Signature) Check() error {
	if s.pss != nil {
		return s.checkPSS()
	}
	return s.Certificate.CheckSignature(s.algorithm, s.signed, s.value)
}

// decode decodes der, and fails if bytes follow it. what names it in errors.
func decode(der []byte, into any, what string) error {
	rest, err := asn1.Unmarshal(der, into)
	switch {
	case err != nil: // its text is about the implementation of the parser
		return fmt.Errorf("%s is not PKCS #7 in DER", what)
	case len(rest) > 0:
		return fmt.Errorf("%s is followed by %d bytes", what, len(rest))
	}
	return nil
}
