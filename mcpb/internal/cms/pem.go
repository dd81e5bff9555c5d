package cms

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
)

// ErrEncryptedKey means that a private key is protected by a passphrase.
var ErrEncryptedKey = errors.New("the key is encrypted")

// ParseCertificates parses PEM certificates, at least one.
func ParseCertificates(text []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	if len(found) == 0 {
		return nil, errors.New("no certificate found (-----BEGIN CERTIFICATE-----)")
	}
	return found, nil
}

// ParseKey parses the first PEM private key that can sign, in PKCS#8, PKCS#1 or SEC 1. If
// it has a passphrase, the error is [ErrEncryptedKey].
func ParseKey(text []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "ENCRYPTED PRIVATE KEY" ||
			strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return nil, ErrEncryptedKey
		}
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		default:
			continue // such as the parameters of a curve
		}
		if err != nil {
			// Its error may quote the key.
			return nil, errors.New("the private key cannot be read")
		}
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, errors.New("the private key cannot sign")
	}
	return nil, errors.New("no private key found (-----BEGIN PRIVATE KEY-----)")
}
