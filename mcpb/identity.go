package mcpb

import (
	"crypto"
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
	"slices"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcpb/internal/cms"
)

// Identity is a signer: a private key and its certificate. Use [LoadIdentity] or
// [SelfSignedIdentity] to create one. It never exposes its key.
type Identity struct {
	key   crypto.Signer
	chain []*x509.Certificate // the signer's first
}

// Certificate is the main content of a certificate.
type Certificate struct {
	// Subject and Issuer are distinguished names in the form of RFC 2253, and Serial is in
	// hexadecimal.
	Subject   string    `json:"subject"`
	Issuer    string    `json:"issuer"`
	Serial    string    `json:"serial"`
	NotBefore time.Time `json:"notBefore"`
	NotAfter  time.Time `json:"notAfter"`
	// SHA256 is the fingerprint: the hash of the whole certificate, in hexadecimal.
	SHA256 string `json:"sha256"`
}

// certificateOf returns what reports show of a certificate. The hash is that of the whole
// certificate, which users compare with the one that the author publishes.
func certificateOf(c *x509.Certificate) Certificate {
	sum := sha256.Sum256(c.Raw)
	return Certificate{
		Subject:   c.Subject.String(),
		Issuer:    c.Issuer.String(),
		Serial:    c.SerialNumber.Text(16),
		NotBefore: c.NotBefore.UTC(),
		NotAfter:  c.NotAfter.UTC(),
		SHA256:    hex.EncodeToString(sum[:]),
	}
}

// ErrEncryptedKey means that a private key is protected by a passphrase.
var ErrEncryptedKey = cms.ErrEncryptedKey

// LoadIdentity parses a certificate and its private key, both PEM. Intermediate
// certificates may follow the certificate. The key is RSA with at least 2048 bits, ECDSA
// or Ed25519, in PKCS#8, PKCS#1 or SEC 1. A key that matches none of the certificates is
// an error; if the key has a passphrase, the error is [ErrEncryptedKey].
func LoadIdentity(certificates, key []byte) (*Identity, error) {
	chain, err := cms.ParseCertificates(certificates)
	if err != nil {
		return nil, err
	}
	signer, err := cms.ParseKey(key)
	if err != nil {
		return nil, err
	}
	if _, err := cms.HashOf(signer.Public()); err != nil {
		return nil, err
	}
	own := slices.IndexFunc(chain, func(c *x509.Certificate) bool {
		public, ok := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
		return ok && public.Equal(signer.Public())
	})
	if own < 0 {
		return nil, errors.New("the key does not belong to the certificate")
	}
	chain[0], chain[own] = chain[own], chain[0]
	return &Identity{
		key:   signer,
		chain: chain,
	}, nil
}

// ParseCertificates parses the certificates in a PEM text, in order, and skips its other
// blocks. Text without a certificate, or with an invalid one, is an error. It does not
// verify signatures or dates.
func ParseCertificates(text []byte) ([]*x509.Certificate, error) {
	return cms.ParseCertificates(text)
}

// checkUsable returns why the certificate cannot sign at that time, or nil.
func (id *Identity) checkUsable(at time.Time) error {
	if err := cms.CheckValidity(id.chain[0], at); err != nil {
		return fmt.Errorf("the certificate %w", err)
	}
	return cms.CheckPurpose(id.chain[0])
}

// Certificate returns the certificate of the signer.
func (id *Identity) Certificate() Certificate {
	return certificateOf(id.chain[0])
}

// Self-signed certificates: the size of their RSA keys, how long they are valid, and their common
// name.
const (
	selfSignedBits  = 3072
	selfSignedYears = 5
	selfSignedName  = "self-signed MCP bundles"
)

// SelfSignedIdentity returns the identity in the folder dir, from the files cert.pem and
// key.pem. If they do not exist, it creates a key (RSA, 3072 bits) and a self-signed
// certificate for five years, and created is true. An existing key without a certificate, which a
// killed process leaves, gets one. Only the owner can read the key.
func SelfSignedIdentity(dir string, now time.Time) (id *Identity, created bool, err error) {
	certName := filepath.Join(dir, "cert.pem")
	keyName := filepath.Join(dir, "key.pem")
	if _, err := os.Stat(certName); errors.Is(err, fs.ErrNotExist) {
		err := createSelfSigned(certName, keyName, now)
		if err != nil && !errors.Is(err, fs.ErrExist) { // else another process was faster
			return nil, false, err
		}
		created = err == nil
	}
	certText, certErr := fsutil.ReadFile(certName, fsutil.MaxPEM)
	keyText, keyErr := fsutil.ReadFile(keyName, fsutil.MaxPEM)
	if err := errors.Join(certErr, keyErr); err != nil {
		return nil, false, err
	}
	id, err = LoadIdentity(certText, keyText)
	return id, created, err
}

// createSelfSigned writes the key before the certificate, so that a certificate without a
// key never exists.
func createSelfSigned(certName, keyName string, now time.Time) error {
	key, err := selfSignedKey(keyName)
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
	certificate, err := x509.CreateCertificate(rand.Reader, template, template,
		key.Public(), key)
	if err != nil {
		return err
	}
	return writePEM(certName, 0o644, "CERTIFICATE", certificate)
}

// selfSignedKey returns the key in a file, which it creates if it does not exist.
func selfSignedKey(keyName string) (crypto.Signer, error) {
	if _, err := os.Stat(keyName); errors.Is(err, fs.ErrNotExist) {
		key, err := rsa.GenerateKey(rand.Reader, selfSignedBits)
		if err != nil {
			return nil, err
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(filepath.Dir(keyName), 0o700); err != nil {
			return nil, err
		}
		err = writePEM(keyName, 0o600, "PRIVATE KEY", private)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return key, err
		}
	}
	text, err := fsutil.ReadFile(keyName, fsutil.MaxPEM)
	if err != nil {
		return nil, err
	}
	return cms.ParseKey(text)
}

// writePEM writes a new file with one PEM block. An existing file is an error: it may be a key in
// use.
func writePEM(name string, mode fs.FileMode, kind string, der []byte) error {
	return fsutil.Create(name, mode, func(w io.Writer) error {
		return pem.Encode(w, &pem.Block{
			Type:  kind,
			Bytes: der,
		})
	})
}
