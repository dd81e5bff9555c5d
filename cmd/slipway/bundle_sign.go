package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/mcpb"
)

func newBundleSign() *cobra.Command {
	var selfSigned, asJSON bool
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
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var id *mcpb.Identity
			var err error
			switch {
			case selfSigned && (cert != "" || key != ""):
				return usage("", "bundle sign: --self-signed needs no --cert and no --key")
			case selfSigned:
				id, err = selfSignedIdentity(cmd, keys)
			case cert == "" || key == "":
				return usage("name both, or use --self-signed", "bundle sign: --cert and --key say who signs")
			default:
				id, err = loadIdentity(cert, key)
			}
			if err != nil {
				return err
			}
			report, err := mcpb.Sign(cmd.Context(), args[0], id, nil)
			if err != nil {
				return signFailure(args[0], err)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), report)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: signed by %s\n  sha256 of the certificate: %s\n", report.Archive, report.Signer.Subject, report.Signer.SHA256)
			return err
		},
	}
	cmd.Flags().BoolVar(&selfSigned, "self-signed", false, "sign with a self-signed certificate, created if missing")
	cmd.Flags().StringVar(&cert, "cert", "", "PEM `FILE` with the certificate and its intermediate certificates")
	cmd.Flags().StringVar(&key, "key", "", "PEM `FILE` with the private key")
	cmd.Flags().StringVar(&keys, "keys", "", "`FOLDER` for the key and certificate of --self-signed")
	jsonFlag(cmd, &asJSON, "the report")
	return cmd
}

func selfSignedIdentity(cmd *cobra.Command, dir string) (*mcpb.Identity, error) {
	if dir == "" {
		base, err := os.UserConfigDir()
		if err != nil {
			return nil, &failure{code: exitInput, text: "sign: " + err.Error(), hint: "name a folder: --keys FOLDER"}
		}
		dir = filepath.Join(base, "slipway", "signing")
	}
	id, created, err := mcpb.SelfSignedIdentity(dir, time.Now())
	if err != nil {
		return nil, &failure{code: exitInput, text: dir + ": " + err.Error()}
	}
	if created {
		fmt.Fprintf(cmd.ErrOrStderr(), "made a key and a certificate in %s\n", dir)
	}
	return id, nil
}

func loadIdentity(cert, key string) (*mcpb.Identity, error) {
	certText, err := os.ReadFile(cert)
	if err != nil {
		return nil, err
	}
	keyText, err := os.ReadFile(key)
	if err != nil {
		return nil, err
	}
	id, err := mcpb.LoadIdentity(certText, keyText)
	switch {
	case errors.Is(err, mcpb.ErrEncryptedKey):
		return nil, no("take its passphrase off for this: openssl pkey -in "+key+" -out plain.pem", "%s: the key is encrypted, and no passphrase is asked for", key)
	case err != nil:
		return nil, no("", "%s, %s: %v", cert, key, err)
	}
	return id, nil
}

// signFailure returns the error for failing to add or remove a signature.
func signFailure(name string, err error) error {
	failed := archiveFailure(name, err)
	var f *failure
	var refused *mcpb.ArchiveError
	if errors.As(failed, &f) && !errors.As(err, &refused) && !isPathError(err) {
		f.code = exitNo
	}
	return failed
}
