package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
)

// signatureFile is the SSH signature of SHA256SUMS. Keyless signatures are made by cosign
// in CI, see .github/workflows/release.yml.
const (
	signatureFile      = sumsFile + ".sig"
	signatureNamespace = "file" // the one ssh-keygen suggests for files
)

// newSign returns the command release sign. The key stays with ssh-keygen or its agent.
func newSign() *cobra.Command {
	var dir, key string
	cmd := &cobra.Command{
		Use:   "sign",
		Short: "Sign the sums of a release with an SSH key",
		Long: `Sign SHA256SUMS with ssh-keygen, which asks for a passphrase, or uses an agent or
hardware key. The signature is SHA256SUMS.sig.`,
		Example: `  go -C release run . sign --key ~/.ssh/id_ed25519`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := openOutput(dir)
			if err != nil {
				return err
			}
			if err := out.sign(cmd.Context(), key); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), out.path(signatureFile))
			return err
		},
	}
	outFlag(cmd, &dir)
	cmd.Flags().StringVar(&key, "key", "",
		"private key `file`, or public key of one in the agent")
	_ = cmd.MarkFlagRequired("key") // it exists
	return cmd
}

// sign writes the signature of SHA256SUMS.
func (o *Output) sign(ctx context.Context, key string) error {
	err := os.Remove(o.path(signatureFile)) // ssh-keygen does not overwrite it
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	cmd := exec.CommandContext(ctx, "ssh-keygen", "-Y", "sign", "-n",
		signatureNamespace, "-f", key, o.path(sumsFile))
	cmd.Stdin = os.Stdin // for the passphrase
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ssh-keygen -Y sign: %w: %s", err, text)
	}
	return nil
}

// verifySignature verifies the signature of SHA256SUMS by a file of allowed signers.
func (o *Output) verifySignature(ctx context.Context, allowed, signer string) error {
	sums, err := os.Open(o.path(sumsFile))
	if err != nil {
		return err
	}
	defer sums.Close()
	cmd := exec.CommandContext(ctx, "ssh-keygen", "-Y", "verify", "-n", signatureNamespace,
		"-f", allowed, "-I", signer, "-s", o.path(signatureFile))
	cmd.Stdin = sums
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", signatureFile, err, text)
	}
	return nil
}
