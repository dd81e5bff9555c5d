package mcpb

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// Identity is a signer: a private key and its certificate. Use [LoadIdentity] or
// [SelfSignedIdentity] to create one. It never exposes its key.
type Identity struct {
	key   crypto.Signer
	chain []*x509.Certificate // the signer's first
}

// Certificate is the main content of a certificate.
type Certificate struct {
	Subject   string    `json:"subject"`
	Issuer    string    `json:"issuer"`
	Serial    string    `json:"serial"`
	NotBefore time.Time `json:"notBefore"`
	NotAfter  time.Time `json:"notAfter"`
	// SHA256 is the fingerprint: the hash of the whole certificate, in hexadecimal.
	SHA256 string `json:"sha256"`
}

func certificateOf(c *x509.Certificate) Certificate {
	sum := sha256.Sum256(c.Raw)
	return Certificate{
		Subject: c.Subject.String(), Issuer: c.Issuer.String(), Serial: c.SerialNumber.Text(16),
		NotBefore: c.NotBefore.UTC(), NotAfter: c.NotAfter.UTC(), SHA256: hex.EncodeToString(sum[:]),
	}
}

// ErrEncryptedKey means that a private key is protected by a passphrase.
var ErrEncryptedKey = errors.New("the key is encrypted")

// LoadIdentity parses a certificate and its private key, both PEM. Intermediate
// certificates may follow the certificate. The key is RSA with at least 2048 bits, ECDSA
// or Ed25519, in PKCS#8, PKCS#1 or SEC 1. A key that matches none of the certificates is
// an error; if the key has a passphrase, the error is [ErrEncryptedKey].
func LoadIdentity(certificates, key []byte) (*Identity, error) {
	chain, err := ParseCertificates(certificates)
	if err != nil {
		return nil, err
	}
	signer, err := parseKey(key)
	if err != nil {
		return nil, err
	}
	if _, _, _, err := signingOf(signer.Public()); err != nil {
		return nil, err
	}
	for i, c := range chain {
		if public, ok := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); ok && public.Equal(signer.Public()) {
			chain[0], chain[i] = chain[i], chain[0]
			return &Identity{key: signer, chain: chain}, nil
		}
	}
	return nil, errors.New("the key does not belong to the certificate")
}

// ParseCertificates parses PEM certificates, at least one.
func ParseCertificates(text []byte) ([]*x509.Certificate, error) {
	var found []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
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
		return nil, errors.New("there is no certificate (-----BEGIN CERTIFICATE-----)")
	}
	return found, nil
}

func parseKey(text []byte) (crypto.Signer, error) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return nil, errors.New("there is no private key (-----BEGIN PRIVATE KEY-----)")
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || bytes.Contains([]byte(block.Headers["Proc-Type"]), []byte("ENCRYPTED")) {
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
			return nil, errors.New("the private key cannot be read") // its error may quote the key
		}
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, errors.New("the private key is none that signs")
	}
}

// usable returns why the certificate cannot sign at that time, or nil.
func (id *Identity) usable(at time.Time) error {
	switch c := id.chain[0]; {
	case at.After(c.NotAfter):
		return fmt.Errorf("the certificate expired on %s", c.NotAfter.UTC().Format(time.DateOnly))
	case at.Before(c.NotBefore):
		return fmt.Errorf("the certificate is valid from %s on", c.NotBefore.UTC().Format(time.DateOnly))
	default:
		return purpose(c)
	}
}

// Certificate returns the certificate of the signer.
func (id *Identity) Certificate() Certificate { return certificateOf(id.chain[0]) }

const (
	selfSignedBits  = 3072
	selfSignedYears = 5
	selfSignedName  = "self-signed MCP bundles"
)

// SelfSignedIdentity returns the identity in the folder dir, from the files cert.pem and
// key.pem. If they do not exist, it creates a key (RSA, 3072 bits) and a self-signed
// certificate for five years, and created is true. Only the owner can read the key.
func SelfSignedIdentity(dir string, now time.Time) (id *Identity, created bool, err error) {
	certName, keyName := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certText, err := os.ReadFile(certName)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeSelfSigned(dir, certName, keyName, now); err != nil {
			return nil, false, err
		}
		created = true
		certText, err = os.ReadFile(certName)
	}
	if err != nil {
		return nil, false, err
	}
	keyText, err := os.ReadFile(keyName)
	if err != nil {
		return nil, false, err
	}
	id, err = LoadIdentity(certText, keyText)
	return id, created, err
}

func makeSelfSigned(dir, certName, keyName string, now time.Time) error {
	key, err := rsa.GenerateKey(rand.Reader, selfSignedBits)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber:          serial.Add(serial, big.NewInt(1)),
		Subject:               pkix.Name{CommonName: selfSignedName},
		NotBefore:             now.Add(-time.Hour), // tolerates clock differences
		NotAfter:              now.AddDate(selfSignedYears, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := writePEM(keyName, 0o600, "PRIVATE KEY", private); err != nil {
		return err
	}
	return writePEM(certName, 0o644, "CERTIFICATE", certificate)
}

func writePEM(name string, mode fs.FileMode, kind string, der []byte) error {
	return fsutil.Create(name, mode, func(w io.Writer) error {
		return pem.Encode(w, &pem.Block{Type: kind, Bytes: der})
	})
}

// isSelfSigned reports whether a certificate is verified by its own key. Equal names
// alone prove nothing.
func isSelfSigned(c *x509.Certificate) bool {
	return bytes.Equal(c.RawIssuer, c.RawSubject) &&
		c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

// purpose returns why a certificate is unsuitable for signing bundles, or nil.
func purpose(c *x509.Certificate) error {
	if key, ok := c.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() < 2048 {
		return fmt.Errorf("its RSA key has %d bits, too few", key.N.BitLen())
	}
	if key, ok := c.PublicKey.(*ecdsa.PublicKey); ok && key.Curve.Params().BitSize < 256 {
		return errors.New("its key is too short")
	}
	if c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return errors.New("its certificate is not for signatures")
	}
	if len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) == 0 {
		return nil // any purpose
	}
	for _, usage := range c.ExtKeyUsage {
		if usage == x509.ExtKeyUsageCodeSigning || usage == x509.ExtKeyUsageAny {
			return nil
		}
	}
	return errors.New("its certificate is not for signing code")
}
