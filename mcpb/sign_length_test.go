package mcpb

import (
	"crypto"
	"crypto/ecdsa"
	"encoding/asn1"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"testing"
)

// oddKey is a key whose first signature has a length that no other has.
type oddKey struct {
	*ecdsa.PrivateKey
	signed int
}

func (k *oddKey) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	if k.signed++; k.signed == 1 {
		return asn1.Marshal([]*big.Int{big.NewInt(1), big.NewInt(1)})
	}
	return k.PrivateKey.Sign(rand, digest, opts)
}

// TestSignOddLength ensures that signing works even if the sample that determines the
// length of the block is much shorter than other signatures.
func TestSignOddLength(t *testing.T) {
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("testdata", "sign", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	id, err := LoadIdentity(read("ec.pem"), read("ec.key"))
	if err != nil {
		t.Fatal(err)
	}
	odd := &oddKey{PrivateKey: id.key.(*ecdsa.PrivateKey)}
	id.key = odd
	name := filepath.Join(t.TempDir(), "x.mcpb")
	if err := os.WriteFile(name, read("plain.mcpb"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Sign(t.Context(), name, id, nil); err != nil {
		t.Fatal(err)
	}
	v, err := Verify(t.Context(), name, &VerifyOptions{Trust: read("root.pem")})
	if err != nil || v.Status != StatusSigned {
		t.Errorf("after %d signatures: %+v, %v", odd.signed, v, err)
	}
}
