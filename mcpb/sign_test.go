package mcpb_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/smallstep/pkcs7"

	"github.com/slipway-mcp/slipway/internal/test/fuzzbound"
	"github.com/slipway-mcp/slipway/internal/test/race"
	"github.com/slipway-mcp/slipway/internal/test/ruletest"
	"github.com/slipway-mcp/slipway/mcpb"
)

func vector(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "sign", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func identity(t *testing.T, name string) *mcpb.Identity {
	t.Helper()
	id, err := mcpb.LoadIdentity(vector(t, name+".pem"), vector(t, name+".key"))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// put writes data to a file in a new folder.
func put(t testing.TB, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.mcpb")
	if err := os.WriteFile(name, data, 0o640); err != nil {
		t.Fatal(err)
	}
	return name
}

func verify(t *testing.T, name string, opts *mcpb.VerifyOptions) *mcpb.Verification {
	t.Helper()
	v, err := mcpb.Verify(t.Context(), name, opts)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// signedBy returns plain.mcpb, signed by us.
func signedBy(t *testing.T, id *mcpb.Identity) string {
	t.Helper()
	name := put(t, vector(t, "plain.mcpb"))
	if _, err := mcpb.Sign(t.Context(), name, id, nil); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestSign(t *testing.T) {
	plain := vector(t, "plain.mcpb")
	root := &mcpb.VerifyOptions{Trust: vector(t, "root.pem")}
	for _, who := range []string{"rsa", "ec", "ec384", "ed25519"} {
		t.Run(who, func(t *testing.T) {
			name := put(t, plain)
			report, err := mcpb.Sign(t.Context(), name, identity(t, who), nil)
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(name)
			if err != nil ||
				info.Mode().Perm() != 0o640 ||
				info.Size() != report.Bytes ||
				report.Signer.Subject != "CN="+who ||
				report.SelfSigned ||
				report.Replaced {
				t.Errorf("got %+v, mode %v, %v", report, info.Mode(), err)
			}
			v := verify(t, name, root)
			if v.Status != mcpb.StatusSigned ||
				v.Dialect != "comment" ||
				v.Signer.Subject != "CN="+who ||
				len(v.Chain) != 1 ||
				time.Since(*v.SignedAt) > time.Minute {
				t.Errorf("got %+v", v)
			}
			strict(t, name)
			if report, err = mcpb.Sign(t.Context(), name, identity(t, "rsa"), nil); err != nil || !report.Replaced {
				t.Fatalf("signed again: %+v, %v", report, err)
			}
			if v := verify(t, name, root); v.Status != mcpb.StatusSigned || v.Signer.Subject != "CN=rsa" {
				t.Errorf("got %+v", v)
			}
			if had, err := mcpb.Unsign(t.Context(), name, nil); err != nil || !had {
				t.Fatalf("unsign: %v, %v", had, err)
			}
			if got, _ := os.ReadFile(name); !bytes.Equal(got, plain) {
				t.Error("without its signature it is not what it was")
			}
			if had, err := mcpb.Unsign(t.Context(), name, nil); err != nil || had {
				t.Errorf("unsign again: %v, %v", had, err)
			}
		})
	}
}

// strict opens a bundle with archive/zip, after checking its comment like strict readers
// do.
func strict(t *testing.T, name string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.Index(data, []byte("PK\x05\x06"))
	if got, want := int(binary.LittleEndian.Uint16(data[end+20:])), len(data)-end-22; got != want {
		t.Errorf("the comment has %d bytes, and %d are said", want, got)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil || len(z.File) != 2 {
		t.Errorf("archive/zip: %v", err)
	}
}

func TestVerify(t *testing.T) {
	root, other := vector(t, "root.pem"), vector(t, "other.pem")
	self := vector(t, "self.pem")
	soon, late := time.Now().AddDate(200, 0, 0), time.Now().AddDate(-50, 0, 0)
	rsaPrint := identity(t, "rsa").Certificate().SHA256
	tests := map[string]struct {
		data   []byte
		opts   mcpb.VerifyOptions
		status mcpb.Status
		reason string
	}{
		"openssl RSA":            {vector(t, "openssl-rsa.mcpb"), mcpb.VerifyOptions{Trust: root}, "signed", ""},
		"openssl SHA-512":        {vector(t, "openssl-rsa-sha512.mcpb"), mcpb.VerifyOptions{Trust: root}, "signed", ""},
		"openssl ECDSA":          {vector(t, "openssl-ec.mcpb"), mcpb.VerifyOptions{Trust: root}, "signed", ""},
		"openssl key identifier": {vector(t, "openssl-keyid.mcpb"), mcpb.VerifyOptions{Trust: root}, "signed", ""},
		"openssl SHA-1": {
			vector(t, "openssl-sha1.mcpb"),
			mcpb.VerifyOptions{Trust: root},
			"untrusted",
			"too weak",
		},
		"openssl no attributes": {
			vector(t, "openssl-noattr.mcpb"),
			mcpb.VerifyOptions{Trust: root},
			"untrusted",
			"no signed attributes",
		},
		"reference": {
			vector(t, "reference.mcpb"),
			mcpb.VerifyOptions{},
			"self-signed",
			"only the signer",
		},
		"trusted intermediate": {
			vector(t, "openssl-rsa.mcpb"),
			mcpb.VerifyOptions{Trust: vector(t, "inter.pem")},
			"signed",
			"",
		},
		"trusted signer": {
			vector(t, "openssl-rsa.mcpb"),
			mcpb.VerifyOptions{Trust: vector(t, "rsa.pem")},
			"signed",
			"",
		},
		"root of the same name": {
			vector(t, "openssl-rsa.mcpb"),
			mcpb.VerifyOptions{Trust: other},
			"untrusted",
			"no certificate that is trusted",
		},
		"roots of the system": {
			vector(t, "openssl-rsa.mcpb"),
			mcpb.VerifyOptions{},
			"untrusted",
			"no certificate that is trusted",
		},
		"fingerprint": {
			vector(t, "openssl-rsa.mcpb"),
			mcpb.VerifyOptions{Fingerprint: "SHA256:" + strings.ToUpper(rsaPrint[:2]) + ":" + rsaPrint[2:]},
			"signed",
			"",
		},
		"fingerprint of another": {
			vector(t, "openssl-ec.mcpb"),
			mcpb.VerifyOptions{Fingerprint: rsaPrint},
			"untrusted",
			"another certificate",
		},
		"fingerprint and root": {
			vector(t, "openssl-rsa.mcpb"),
			mcpb.VerifyOptions{Fingerprint: rsaPrint, Trust: other},
			"untrusted",
			"no certificate that is trusted",
		},
		"expired": {
			vector(t, "openssl-rsa.mcpb"),
			mcpb.VerifyOptions{Trust: root, Time: soon},
			"expired",
			"expired on",
		},
		"not valid yet": {
			vector(t, "openssl-rsa.mcpb"),
			mcpb.VerifyOptions{Trust: root, Time: late},
			"expired",
			"valid from",
		},
		"unsigned":                {vector(t, "plain.mcpb"), mcpb.VerifyOptions{Trust: root}, "unsigned", "no signature"},
		"self-signed":             {selfSigned(t), mcpb.VerifyOptions{}, "self-signed", "only the signer"},
		"self-signed and trusted": {selfSigned(t), mcpb.VerifyOptions{Trust: self}, "signed", ""},
		"self-signed, other trust": {
			selfSigned(t),
			mcpb.VerifyOptions{Trust: root},
			"untrusted",
			"no certificate that is trusted",
		},
		"zeroed comment": {zeroed(t), mcpb.VerifyOptions{Trust: root}, "signed", ""},
		"bytes behind": {
			append(vector(t, "openssl-rsa.mcpb"), "x"...),
			mcpb.VerifyOptions{},
			"tampered",
			"bytes were added or cut",
		},
		"cut": {
			cut(vector(t, "openssl-rsa.mcpb"), 1),
			mcpb.VerifyOptions{},
			"tampered",
			"bytes were added or cut",
		},
		"a mention of the marks": {
			(&rawArchive{entries: []rawEntry{{
				name:    "a",
				content: []byte("MCPB_SIG_V1\x01\x00\x00\x00xMCPB_SIG_END"),
				stored:  true,
			}}}).bytes(),
			mcpb.VerifyOptions{},
			"unsigned",
			"",
		},
		"no PKCS#7": {framed(t, []byte("not DER")), mcpb.VerifyOptions{}, "tampered",
			"the signature is malformed: it is not PKCS #7 in DER"},
		"a negative serial number": {framed(t, negativeSerial(t)), mcpb.VerifyOptions{}, "tampered",
			"its certificates cannot be read: x509: negative serial number"},
		"attributes that are no DER": {framed(t, brokenAttributes(t)), mcpb.VerifyOptions{}, "tampered",
			"the signature is malformed: its attribute 1.2.840.113549.1.9.3 is not PKCS #7 in DER"},
		"nothing":                   {framed(t, nil), mcpb.VerifyOptions{}, "tampered", "malformed"},
		"the certificate of others": {framed(t, swapped(t)), mcpb.VerifyOptions{}, "tampered", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v := verify(t, put(t, test.data), &test.opts)
			if v.Status != test.status ||
				!strings.Contains(v.Reason, test.reason) ||
				(test.status == "signed") != (v.Reason == "") {
				t.Errorf("got %s: %s, want %s: %s", v.Status, v.Reason, test.status, test.reason)
			}
			if v.Status.OK() != (test.status == "signed" || test.status == "self-signed") {
				t.Errorf("%s is fine: %v", v.Status, v.Status.OK())
			}
		})
	}
}

// der returns the signature in a bundle.
func der(t testing.TB, data []byte) []byte {
	t.Helper()
	i := bytes.LastIndex(data, []byte("MCPB_SIG_V1"))
	if i < 0 {
		t.Fatal("no signature")
	}
	return data[i+15 : len(data)-12]
}

func framed(t testing.TB, der []byte) []byte {
	out := append(vector(t, "plain.mcpb"), "MCPB_SIG_V1"...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(der)))
	return append(append(out, der...), "MCPB_SIG_END"...)
}

func cut(data []byte, n int) []byte { return data[:len(data)-n] }

func selfSigned(t *testing.T) []byte {
	data, err := os.ReadFile(signedBy(t, identity(t, "self")))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// zeroed returns a bundle in the dialect that signs the comment length as zero: a
// signature over the plain archive, whose length is then set in the archive.
func zeroed(t *testing.T) []byte {
	data := vector(t, "openssl-rsa.mcpb")
	plain := vector(t, "plain.mcpb")
	binary.LittleEndian.PutUint16(data[len(plain)-2:], uint16(len(data)-len(plain)))
	return data
}

// swapped returns a signature with one bit of the public key changed.
func swapped(t *testing.T) []byte {
	d := bytes.Clone(der(t, vector(t, "openssl-ec.mcpb")))
	value := d[len(d)-10:]
	value[0] ^= 1
	return d
}

// negativeSerial returns a signature whose first certificate has a negative serial number.
func negativeSerial(t *testing.T) []byte {
	d := bytes.Clone(der(t, vector(t, "openssl-ec.mcpb")))
	version := []byte{0xa0, 3, 2, 1, 2, 2} // of the certificate, and the tag of its serial number
	serial := bytes.Index(d, version) + len(version) + 1
	d[serial] |= 0x80
	return d
}

// brokenAttributes returns a signature whose attribute contentType has no object identifier.
func brokenAttributes(t *testing.T) []byte {
	d := bytes.Clone(der(t, vector(t, "openssl-ec.mcpb")))
	contentType := []byte{6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 3, 0x31}
	d[bytes.Index(d, contentType)+len(contentType)+1] = 4 // an octet string
	return d
}

// TestVerifyTampered changes each byte of a signed bundle, one at a time. Changes to unused
// bytes of the signature block, such as those of additional certificates, may stay
// undetected; changes to the content may not.
func TestVerifyTampered(t *testing.T) {
	name := signedBy(t, identity(t, "ec"))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.LastIndex(data, []byte("MCPB_SIG_V1"))
	root := vector(t, "root.pem")
	step := 1
	if race.Short() {
		step = 5
	}
	for i := 0; i < len(data); i += step {
		changed := bytes.Clone(data)
		changed[i] ^= 0x21
		if err := os.WriteFile(name, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := mcpb.Verify(t.Context(), name, &mcpb.VerifyOptions{Trust: root})
		var refused *mcpb.ArchiveError
		switch {
		case err != nil && !errors.As(err, &refused):
			t.Errorf("byte %d: %v", i, err)
		case err == nil && i < content && v.Status.OK():
			t.Errorf("byte %d of the content: %s", i, v.Status)
		case err == nil && i >= content && v.Status.OK() && v.Signer.Subject != "CN=ec":
			t.Errorf("byte %d: signed by %s", i, v.Signer.Subject)
		}
	}
}

// TestVerifyHiddenArchive adds another archive where some readers look for the end of the
// first: after it, signed or not.
func TestVerifyHiddenArchive(t *testing.T) {
	plain, second := vector(t, "plain.mcpb"), (&rawArchive{entries: files("evil", "x")}).bytes()
	signed := vector(t, "openssl-rsa.mcpb")
	block := signed[len(plain):]
	inside := framed(t, second)
	tests := map[string][]byte{
		"between archive and signature": append(append(bytes.Clone(plain), second...), block...),
		"behind the signature":          append(bytes.Clone(signed), second...),
		"inside the signature":          inside,
		"a signature in a signature":    framed(t, block[:len(block)-12]),
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			var refused *mcpb.ArchiveError
			if _, err := open(data, nil); !errors.As(err, &refused) {
				t.Errorf("it opens: %v", err)
			}
			v, err := mcpb.Verify(t.Context(), put(t, data), nil)
			if err == nil && v.Status.OK() {
				t.Errorf("it is %s", v.Status)
			}
		})
	}
}

// TestSignOver replaces signatures of other programs, including repeated ones.
func TestSignOver(t *testing.T) {
	reference := vector(t, "reference.mcpb")
	twice := append(bytes.Clone(reference), reference[len(vector(t, "plain.mcpb")):]...)
	for name, data := range map[string][]byte{
		"once":                   reference,
		"twice":                  twice,
		"comment in the archive": (&rawArchive{entries: files("a", "x"), comment: []byte("mine")}).bytes(),
	} {
		t.Run(name, func(t *testing.T) {
			file := put(t, data)
			if _, err := mcpb.Sign(t.Context(), file, identity(t, "ec"), nil); err != nil {
				t.Fatal(err)
			}
			if v := verify(t, file, &mcpb.VerifyOptions{Trust: vector(t, "root.pem")}); v.Status != mcpb.StatusSigned {
				t.Errorf("got %+v", v)
			}
			if _, err := mcpb.Unsign(t.Context(), file, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := mcpb.OpenArchive(file, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSignRefuses(t *testing.T) {
	name := put(t, vector(t, "plain.mcpb"))
	for who, want := range map[string]string{"tls": "not for signing code"} {
		if _, err := mcpb.Sign(t.Context(), name, identity(t, who), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", who, err, want)
		}
	}
	if _, err := mcpb.Sign(t.Context(), name, identity(t, "rsa"),
		&mcpb.SignOptions{Time: time.Now().AddDate(200, 0, 0)}); err == nil || !strings.Contains(err.Error(), "expired on") {
		t.Errorf("got %v", err)
	}
	if _, err := mcpb.Sign(t.Context(), put(t, []byte("no zip")), identity(t, "rsa"), nil); err == nil {
		t.Error("it signs what is not an archive")
	}
	if got, _ := os.ReadFile(name); !bytes.Equal(got, vector(t, "plain.mcpb")) {
		t.Error("the file changed")
	}
	chain := bytes.Repeat(vector(t, "inter.pem"), 100)
	id, err := mcpb.LoadIdentity(append(vector(t, "rsa.pem"), chain...), vector(t, "rsa.key"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mcpb.Sign(t.Context(), name, id, nil); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v", err)
	}
}

func TestIdentity(t *testing.T) {
	tests := map[string]struct{ cert, key, want string }{
		"PKCS#8":         {"rsa.pem", "rsa.key", ""},
		"PKCS#1":         {"rsa.pem", "rsa-pkcs1.key", ""},
		"SEC 1":          {"ec.pem", "ec-sec1.key", ""},
		"key of another": {"rsa.pem", "ec.key", "does not belong"},
		"encrypted":      {"rsa.pem", "encrypted.key", "encrypted"},
		"no key":         {"rsa.pem", "root.pem", "no private key"},
		"no certificate": {"rsa.key", "rsa.key", "no certificate"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := mcpb.LoadIdentity(vector(t, test.cert), vector(t, test.key))
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestSelfSigned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	now := time.Now()
	first, created, err := mcpb.SelfSignedIdentity(dir, now)
	if err != nil || !created {
		t.Fatal(created, err)
	}
	again, created, err := mcpb.SelfSignedIdentity(dir, now)
	if err != nil || created || cmp.Diff(first.Certificate(), again.Certificate()) != "" {
		t.Fatal(created, err)
	}
	info, err := os.Stat(filepath.Join(dir, "key.pem"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v, %v", info.Mode(), err)
	}
	if v := verify(t, signedBy(t, first), nil); v.Status != mcpb.StatusSelfSigned ||
		v.Signer.SHA256 != first.Certificate().SHA256 {
		t.Errorf("got %+v", v)
	}
}

// TestSelfSignedUnfinished verifies that a key without a certificate, which a killed process leaves,
// is completed, also by several processes at once.
func TestSelfSignedUnfinished(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	if _, _, err := mcpb.SelfSignedIdentity(dir, now); err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "cert.pem")); err != nil {
		t.Fatal(err)
	}
	var all [4]mcpb.Certificate
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			id, _, err := mcpb.SelfSignedIdentity(dir, now)
			if err != nil {
				t.Error(err)
				return
			}
			all[i] = id.Certificate()
		})
	}
	group.Wait()
	for _, c := range all {
		if c.SHA256 == "" || c.SHA256 != all[0].SHA256 {
			t.Errorf("certificates %q and %q, want one", c.SHA256, all[0].SHA256)
		}
	}
	if again, err := os.ReadFile(filepath.Join(dir, "key.pem")); err != nil || !bytes.Equal(again, key) {
		t.Errorf("the key was replaced: %v", err)
	}
}

// TestSignWithPKCS7 verifies our signatures with another library.
func TestSignWithPKCS7(t *testing.T) {
	for _, who := range []string{"rsa", "ec", "ec384"} {
		data, err := os.ReadFile(signedBy(t, identity(t, who)))
		if err != nil {
			t.Fatal(err)
		}
		p7, err := pkcs7.Parse(der(t, data))
		if err != nil {
			t.Fatal(err)
		}
		p7.Content = data[:bytes.LastIndex(data, []byte("MCPB_SIG_V1"))]
		if err := p7.Verify(); err != nil {
			t.Errorf("%s: %v", who, err)
		}
	}
}

// TestOpenSSL verifies our signatures with OpenSSL.
func TestOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not installed")
	}
	for _, who := range []string{"rsa", "ec", "ec384"} { // OpenSSL 3.0 does not support Ed25519 in CMS
		data, err := os.ReadFile(signedBy(t, identity(t, who)))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		content, sig := filepath.Join(dir, "content"), filepath.Join(dir, "sig")
		if err := errors.Join(os.WriteFile(content, data[:bytes.LastIndex(data, []byte("MCPB_SIG_V1"))], 0o600),
			os.WriteFile(sig, der(t, data), 0o600)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(openssl, "cms", "-verify", "-binary", "-inform", "DER", "-in", sig, "-content", content,
			"-CAfile", filepath.Join("testdata", "sign", "root.pem"), "-purpose", "any", "-out", os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", who, err, out)
		}
	}
}

func FuzzVerify(f *testing.F) {
	for _, name := range []string{
		"plain.mcpb", "openssl-rsa.mcpb", "openssl-ec.mcpb", "openssl-keyid.mcpb",
		"reference.mcpb",
	} {
		f.Add(vector(f, name))
	}
	good := map[[32]byte]bool{}
	for _, name := range []string{"openssl-rsa.mcpb", "openssl-ec.mcpb", "openssl-keyid.mcpb"} {
		good[sha256.Sum256(vector(f, name)[:len(vector(f, "plain.mcpb"))])] = true
	}
	root := vector(f, "root.pem")
	name := filepath.Join(f.TempDir(), "x.mcpb")
	fuzzbound.Fuzz(f, func(t *testing.T, data []byte) {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := mcpb.Verify(t.Context(), name, &mcpb.VerifyOptions{Trust: root})
		var path *fs.PathError
		if errors.As(err, &path) && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if err == nil &&
			v.Status == mcpb.StatusSigned &&
			v.Dialect == "trailing" &&
			!good[sha256.Sum256(data[:bytes.LastIndex(data, []byte("MCPB_SIG_V1"))])] {
			t.Error("it has a signature that was never made")
		}
	})
}

// TestVerifyPSS verifies RSASSA-PSS signatures by OpenSSL: with the longest salt, and
// with a key that is only for RSASSA-PSS. Every change must be detected.
func TestVerifyPSS(t *testing.T) {
	block, _ := pem.Decode(vector(t, "pss.pem"))
	fingerprint := fmt.Sprintf("%x", sha256.Sum256(block.Bytes))
	for name, opts := range map[string]mcpb.VerifyOptions{
		"openssl-pss.mcpb":     {Trust: vector(t, "root.pem")},
		"openssl-pss-key.mcpb": {Fingerprint: fingerprint},
	} {
		t.Run(name, func(t *testing.T) {
			data := vector(t, name)
			at := filepath.Join(t.TempDir(), "x.mcpb")
			verify := func(data []byte) mcpb.Status {
				if err := os.WriteFile(at, data, 0o600); err != nil {
					t.Fatal(err)
				}
				v, err := mcpb.Verify(t.Context(), at, &opts)
				if err != nil {
					return ""
				}
				return v.Status
			}
			if got := verify(data); got != mcpb.StatusSigned {
				t.Errorf("got %q, want signed", got)
			}
			// Bytes of the content, and of the signature itself at the end of the block.
			for _, i := range []int{0, 40, len(vector(t, "plain.mcpb")) - 1, len(data) - 13, len(data) - 100, len(data) - 250} {
				changed := bytes.Clone(data)
				changed[i] ^= 4
				if verify(changed) == mcpb.StatusSigned {
					t.Errorf("signed with byte %d changed", i)
				}
			}
		})
	}
}

// TestSignedTwice requires the same error and hint from every reader.
func TestSignedTwice(t *testing.T) {
	plain := vector(t, "plain.mcpb")
	for name, first := range map[string][]byte{
		"openssl": vector(t, "openssl-rsa.mcpb"),
		"ours":    selfSigned(t),
		"zeroed":  zeroed(t),
	} {
		t.Run(name, func(t *testing.T) {
			at := filepath.Join(t.TempDir(), "x.mcpb")
			twice := append(bytes.Clone(first), vector(t, "openssl-ec.mcpb")[len(plain):]...)
			if err := os.WriteFile(at, twice, 0o600); err != nil {
				t.Fatal(err)
			}
			for reader, read := range map[string]func() error{
				"verify":  func() error { _, err := mcpb.Verify(t.Context(), at, nil); return err },
				"info":    func() error { _, err := mcpb.ReadInfo(t.Context(), at, nil); return err },
				"archive": func() error { _, err := mcpb.OpenArchive(at, nil); return err },
				"unpack": func() error {
					_, err := mcpb.Unpack(t.Context(),
						at, filepath.Join(t.TempDir(), "u"), nil)
					return err
				},
				"open": func() error {
					_, err := mcpb.Open(t.Context(), at, &mcpb.OpenOptions{CacheDir: cacheFolder(t)})
					return err
				},
			} {
				var refused *mcpb.ArchiveError
				if err := read(); !errors.As(err, &refused) ||
					ruletest.Record(refused.Finding(at))[0].Rule.ID != "mcpb/signature" ||
					!strings.Contains(refused.Reason, "signed more than once") {
					t.Errorf("%s: %v", reader, err)
				}
			}
			if had, err := mcpb.Unsign(t.Context(), at, nil); err != nil || !had {
				t.Fatalf("unsigned: %v, %v", had, err)
			}
			if got, err := os.ReadFile(at); err != nil || !bytes.Equal(got, plain) {
				t.Errorf("unsigned it is not what it was: %v", err)
			}
		})
	}
}
