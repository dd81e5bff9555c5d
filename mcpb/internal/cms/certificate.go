package cms

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A ValidityError means that a certificate is not valid at a time.
type ValidityError struct{ when string }

// Error completes a sentence that begins with the certificate.
func (e *ValidityError) Error() string { return e.when }

// CheckValidity returns a [*ValidityError] if the certificate is not valid at that time.
func CheckValidity(c *x509.Certificate, at time.Time) error {
	switch {
	case at.After(c.NotAfter):
		return &ValidityError{"expired on " + c.NotAfter.UTC().Format(time.DateOnly)}
	case at.Before(c.NotBefore):
		return &ValidityError{"is valid from " + c.NotBefore.UTC().Format(time.DateOnly) + " on"}
	}
	return nil
}

// CheckPurpose returns why a certificate is unsuitable for signing code, or nil.
func CheckPurpose(c *x509.Certificate) error {
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < 2048 {
			return fmt.Errorf("its RSA key has %d bits, too few", bits)
		}
	case *ecdsa.PublicKey:
		if key.Curve.Params().BitSize < 256 {
			return errors.New("its key is too short")
		}
	}
	if c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return errors.New("its certificate is not for signatures")
	}
	anyPurpose := len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) == 0 ||
		slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny)
	if !anyPurpose && !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageCodeSigning) {
		return errors.New("its certificate is not for signing code")
	}
	return nil
}

// IsSelfSigned reports whether a certificate is verified by its own key. Equal names
// alone prove nothing.
func IsSelfSigned(c *x509.Certificate) bool {
	return bytes.Equal(c.RawIssuer, c.RawSubject) &&
		c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}
