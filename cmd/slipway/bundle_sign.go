package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/mcpb"
)

func newBundleSign() *cobra.Command {
	var selfSigned bool
	var cert, key, keys string
	cmd := &cobra.Command{
		Use:   "sign ARCHIVE (--cert FILE --key FILE | --self-signed)",
		Short: "Sign a bundle",
		Long: `Sign a bundle, replacing an existing signature. The file is replaced atomically;
zip readers open it as before.

--cert is a PEM file with the certificate and its intermediate certificates,
--key its private key: RSA with at least 2048 bits, ECDSA or Ed25519, without a
passphrase. If the certificate restricts its usage, it must allow code signing.

--self-signed creates a key and certificate once, and stores them in the user's
configuration folder, or in --keys. Such a signature proves that a bundle was
not modified, but identifies the signer only to those who know the certificate's
fingerprint.

Exit codes: 1 unusable key or certificate, 3 a file is unreadable, 6 unsafe
archive.`,
		Example: `  slipway bundle sign my-server.mcpb --self-signed --keys keys
  slipway bundle sign my-server.mcpb --cert chain.pem --key key.pem`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var id *mcpb.Identity
			var err error
			switch {
			case selfSigned && (cert != "" || key != ""):
				return usage("", "bundle sign: --self-signed excludes --cert and --key")
			case selfSigned:
				if _, err := os.Stat(args[0]); err != nil { // no key is created in vain
					return signFailure(args[0], err)
				}
				id, err = selfSignedIdentity(cmd, keys)
			case cert == "" || key == "":
				return usage("name both, or use --self-signed", "bundle sign: --cert and --key are required")
			default:
				id, err = loadIdentity(cert, key)
			}
			if err != nil {
				return err
			}
			report, err := mcpb.Sign(cmd.Context(), args[0], id, &mcpb.SignOptions{Progress: byteProgress(cmd, "signing")})
			if err != nil {
				return signFailure(args[0], err)
			}
			return show(cmd, report, func(w io.Writer, r *mcpb.SignReport) error {
				_, err := fmt.Fprintf(w, "%s: signed by %s\n  sha256 of the certificate: %s\n",
					r.Archive, r.Signer.Subject, r.Signer.SHA256)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&selfSigned, "self-signed", false, "sign with a self-signed certificate, created if missing")
	cmd.Flags().StringVar(&cert, "cert", "", "PEM `FILE` with the certificate and its intermediate certificates")
	cmd.Flags().StringVar(&key, "key", "", "PEM `FILE` with the private key")
	cmd.Flags().StringVar(&keys, "keys", "", "`FOLDER` for the key and certificate of --self-signed")
	jsonFlag(cmd, "the report")
	return cmd
}

// selfSignedIdentity returns the key and certificate in dir, by default a folder of the
// user's configuration, and creates them on first use. Only the user can read the key.
func selfSignedIdentity(cmd *cobra.Command, dir string) (*mcpb.Identity, error) {
	if dir == "" {
		base, err := os.UserConfigDir()
		if err != nil {
			return nil, badInput("name a folder: --keys FOLDER", "sign: %v", err)
		}
		dir = filepath.Join(base, "slipway", "signing")
	}
	id, created, err := mcpb.SelfSignedIdentity(dir, time.Now())
	if err != nil {
		return nil, badInput("", "%s: %v", dir, err)
	}
	if created {
		fmt.Fprintf(cmd.ErrOrStderr(), "created a key and a certificate in %s\n", dir)
	}
	return id, nil
}

// loadIdentity reads a certificate with its chain and a key, both as PEM. Keys with a
// passphrase are refused with the command that removes it.
func loadIdentity(cert, key string) (*mcpb.Identity, error) {
	certText, err := fsutil.ReadSecret(cert, fsutil.MaxPEM)
	if err != nil {
		return nil, err
	}
	keyText, err := fsutil.ReadSecret(key, fsutil.MaxPEM)
	if err != nil {
		return nil, err
	}
	id, err := mcpb.LoadIdentity(certText, keyText)
	switch {
	case errors.Is(err, mcpb.ErrEncryptedKey):
		return nil, no("remove its passphrase: openssl pkey -in "+shell.PathWord(key)+" -out plain.pem",
			"%s: encrypted keys are not supported", key)
	case err != nil:
		return nil, no("", "%s, %s: %v", cert, key, err)
	}
	return id, nil
}

// signFailure returns the failure of adding or removing a signature. Apart from broken
// archives and unreadable files, the cause is the key or certificate.
func signFailure(name string, err error) *failure {
	var path *fs.PathError
	if f := bundleFailure(name, err); f != nil {
		return f
	}
	if errors.As(err, &path) {
		return unreadableBundle(name, err)
	}
	return no("", "%s: %v", name, err)
}
