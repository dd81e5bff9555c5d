package cms

import (
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
)

// RSASSA-PSS (RFC 4055, RFC 4056) is implemented here, because crypto/x509 accepts
// neither salts of another length than the hash nor certificates whose key is only for
// RSASSA-PSS. Writers such as OpenSSL use the longest salt that fits.

// pssParameters are the parameters of RSASSA-PSS. Omitted ones mean SHA-1, which is
// refused.
type pssParameters struct {
	Hash pkix.AlgorithmIdentifier `asn1:"explicit,tag:0"`
	MGF  pkix.AlgorithmIdentifier `asn1:"explicit,tag:1"`
	// Salt is the length of the salt in bytes. Trailer is 1, the only value that RFC 4055 defines.
	Salt    int `asn1:"optional,explicit,tag:2,default:20"`
	Trailer int `asn1:"optional,explicit,tag:3,default:1"`
}

// maxSalt limits the salt: even a 16,384-bit key has room for less.
const maxSalt = 2048

// readPSS reads the parameters of a signature, which must use the same hash throughout.
func (s *Signature) readPSS(raw asn1.RawValue) error {
	var p pssParameters
	var mask pkix.AlgorithmIdentifier
	if decode(raw.FullBytes, &p, "its parameters") != nil ||
		decode(p.MGF.Parameters.FullBytes, &mask, "its mask") != nil {
		return ErrAlgorithm
	}
	sameHash := hashes[p.Hash.Algorithm.String()] == s.Hash &&
		hashes[mask.Algorithm.String()] == s.Hash
	if p.MGF.Algorithm.String() != oidMGF1 || !sameHash || p.Salt <= 0 ||
		p.Salt > maxSalt || p.Trailer != 1 {
		return ErrAlgorithm
	}
	s.pss = &rsa.PSSOptions{
		SaltLength: p.Salt,
		Hash:       s.Hash,
	}
	return nil
}

// checkPSS is [Signature.Check] for RSASSA-PSS.
func (s *Signature) checkPSS() error {
	key, err := rsaKey(s.Certificate)
	if err != nil {
		return err
	}
	h := s.Hash.New()
	h.Write(s.signed)
	return rsa.VerifyPSS(key, s.Hash, h.Sum(nil), s.value, s.pss)
}

// rsaKey returns the RSA key of a certificate, including a key that is only for
// RSASSA-PSS.
func rsaKey(c *x509.Certificate) (*rsa.PublicKey, error) {
	if key, ok := c.PublicKey.(*rsa.PublicKey); ok {
		return key, nil
	}
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if decode(c.RawSubjectPublicKeyInfo, &info, "its key") != nil ||
		info.Algorithm.Algorithm.String() != oidRSAPSS {
		return nil, errors.New("the key of the certificate is not an RSA key")
	}
	return x509.ParsePKCS1PublicKey(info.Key.RightAlign())
}
