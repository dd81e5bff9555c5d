package main

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcpb"
)

func newBundleVerify() *cobra.Command {
	var opts mcpb.VerifyOptions
	var trust string
	cmd := &cobra.Command{
		Use:   "verify ARCHIVE",
		Short: "Verify the signature of a bundle",
		Long: `Verify that a bundle has not been modified since it was signed, and by whom. The
result is one of:

  signed       intact, signed by a trusted certificate
  self-signed  intact, signed by a certificate that only vouches for itself
  unsigned     no signature
  tampered     modified since it was signed, or broken signature
  untrusted    intact, signed by a certificate that is not trusted
  expired      intact, signed by a certificate that is not valid now

The system's root certificates are trusted, or only those in --trust, which must
then include self-signed ones, or only the certificate with --fingerprint. The
signing time is not trusted, so the certificate must be valid now.

Exit codes: 0 signed or self-signed, 1 any other result, 3 unreadable file, 6
unsafe archive.`,
		Example: `  slipway bundle sign my-server.mcpb --cert chain.pem --key key.pem
  slipway bundle verify my-server.mcpb --trust chain.pem
  slipway bundle verify my-server.mcpb --trust chain.pem --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("fingerprint") && !mcpb.ValidFingerprint(opts.Fingerprint) {
				return usage("slipway bundle verify prints it", "bundle verify: %q is not a SHA-256 fingerprint", opts.Fingerprint)
			}
			if cmd.Flags().Changed("trust") {
				if trust == "" {
					return usage("--trust FILE names the certificates to trust", "bundle verify: --trust is empty")
				}
				text, err := fsutil.ReadSecret(trust, fsutil.MaxPEM)
				if err != nil {
					return err
				}
				if _, err := mcpb.ParseCertificates(text); err != nil {
					return badInput("", "%s: %v", trust, err)
				}
				opts.Trust = text
			}
			opts.Progress = byteProgress(cmd, "verifying")
			v, err := mcpb.Verify(cmd.Context(), args[0], &opts)
			if err != nil {
				return bundleError(args[0], err)
			}
			if err := show(cmd, v, printVerification); err != nil || v.Status.OK() {
				return err
			}
			return no(verifyHint(v), "%s: %s: %s", v.Archive, v.Status, v.Reason)
		},
	}
	cmd.Flags().StringVar(&trust, "trust", "", "trust only the certificates in this PEM `FILE`")
	cmd.Flags().StringVar(&opts.Fingerprint, "fingerprint", "", "require the certificate with this `SHA-256`")
	jsonFlag(cmd, "the answer")
	return cmd
}

// verifyHint returns the next step for a bundle that did not verify. An invalid signature has
// none: the bundle must not be used.
func verifyHint(v *mcpb.Verification) string {
	switch v.Status {
	case mcpb.StatusUnsigned:
		return "slipway bundle sign signs it"
	case mcpb.StatusUntrusted:
		return "--trust FILE names certificates to trust"
	}
	return ""
}

// printVerification prints the status and signer of a bundle. The time of signing is only a
// claim, since no timestamp authority confirms it.
func printVerification(w io.Writer, v *mcpb.Verification) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: %s\n", v.Archive, v.Status)
	if v.Status == mcpb.StatusSelfSigned {
		fmt.Fprintf(out, "  %s\n", v.Reason)
	}
	if c := v.Signer; c != nil {
		fmt.Fprintf(out, "  signer: %s\n  issuer: %s\n  valid:  %s to %s\n  sha256: %s\n", c.Subject, c.Issuer,
			c.NotBefore.Format(time.DateOnly), c.NotAfter.Format(time.DateOnly), c.SHA256)
	}
	if v.SignedAt != nil {
		fmt.Fprintf(out, "  signed: %s (claimed by the signer)\n", v.SignedAt.Format(time.RFC3339))
	}
	return out.Flush()
}
