package mcpb

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
	Hash    pkix.AlgorithmIdentifier `asn1:"explicit,tag:0"`
	MGF     pkix.AlgorithmIdentifier `asn1:"explicit,tag:1"`
	Salt    int                      `asn1:"optional,explicit,tag:2,default:20"`
	Trailer int                      `asn1:"optional,explicit,tag:3,default:1"`
}

// maxSalt limits the salt: even a 16,384-bit key has room for less.
const maxSalt = 2048

// readPSS reads the parameters of a signature, which must use the same hash throughout.
func (s *signature) readPSS(raw asn1.RawValue) error {
	var p pssParameters
	if exactly(raw.FullBytes, &p, "") != nil {
		return errAlgorithm
	}
	var mask pkix.AlgorithmIdentifier
	if !p.MGF.Algorithm.Equal(oidMGF1) || exactly(p.MGF.Parameters.FullBytes, &mask, "") != nil {
		return errAlgorithm
	}
	for _, used := range []asn1.ObjectIdentifier{p.Hash.Algorithm, mask.Algorithm} {
		if hash, ok := hashOf(used); !ok || hash != s.hash {
			return errAlgorithm
		}
	}
	if p.Salt <= 0 || p.Salt > maxSalt || p.Trailer != 1 {
		return errAlgorithm
	}
	s.pss = &rsa.PSSOptions{SaltLength: p.Salt, Hash: s.hash}
	return nil
}

// checkPSS is [signature.check] for RSASSA-PSS.
func (s *signature) checkPSS() error {
	key, err := rsaKey(s.certificate)
	if err != nil {
		return err
	}
	h := s.hash.New()
	h.Write(s.signed)
	return rsa.VerifyPSS(key, s.hash, h.Sum(nil), s.value, s.pss)
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
	if err := exactly(c.RawSubjectPublicKeyInfo, &info, ""); err != nil || !info.Algorithm.Algorithm.Equal(oidRSAPSS) {
		return nil, errors.New("the key of the certificate is no RSA key")
	}
	return x509.ParsePKCS1PublicKey(info.Key.RightAlign())
}
