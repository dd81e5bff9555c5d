package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/open"
)

func newBundle() *cobra.Command {
	return withoutURLs(group(&cobra.Command{
		Use:   "bundle",
		Short: "Create, check, inspect and run MCP bundles",
		Long: `Create, check, inspect and run MCP bundles (.mcpb): zip archives with an MCP
server, its dependencies and a manifest.json that describes how to start it.`,
		Example: `  slipway bundle validate examples/clock-bundle`,
	},
		newBundleInit(),
		newBundleInfo(),
		newBundleValidate(),
		newBundleClean(),
		newBundlePack(),
		newBundleUnpack(),
		newBundleSign(),
		newBundleVerify(),
		newBundleUnsign(),
		newBundleRun(),
		newBundleTest(),
		newBundleCache(),
	))
}

// withoutURLs makes the commands of a group refuse the URL of a bundle, with a hint: they
// only read files.
func withoutURLs(bundle *cobra.Command) *cobra.Command {
	for _, cmd := range bundle.Commands() {
		cmd.PreRunE = func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if err := open.Argument(args[0]).BundleURLError(); err != nil {
				return badInput(err.Hint, "%s: a bundle is read from a file, not from a URL", args[0])
			}
			return nil
		}
	}
	return bundle
}

// unreadableBundle returns the failure for a bundle or manifest that cannot be read.
func unreadableBundle(name string, err error) *failure {
	why := err.Error()
	hint := ""
	var path *fs.PathError
	if errors.As(err, &path) {
		why = path.Err.Error()
		if path.Path != name {
			why = path.Path + ": " + why
		}
	}
	switch {
	case !errors.Is(err, fs.ErrNotExist):
	case path != nil && path.Path == mcpb.ManifestName:
		hint = "slipway bundle init " + shell.PathWord(name) + " creates one"
	default:
		hint = "name a folder with a manifest.json, a manifest, or an .mcpb file"
	}
	return badInput(hint, "%s: %s", name, why)
}

// bundleError returns the failure for err, which concerns the bundle at name.
func bundleError(name string, err error) *failure {
	if f := bundleFailure(name, err); f != nil {
		return f
	}
	return unreadableBundle(name, err)
}

// bundleFailure returns the failure for a bundle that is refused, invalid or cannot be
// started, or nil for other errors.
func bundleFailure(name string, err error) *failure {
	word := shell.PathWord(name)
	validate := "slipway bundle validate " + word
	var (
		digest   *mcpb.DigestError
		signer   *mcpb.SignerError
		values   *mcpb.ExpandError
		archive  *mcpb.ArchiveError
		manifest *mcpb.ManifestError
		runtime  *mcpb.RuntimeError
		start    *mcpb.StartError
	)
	// What the user must not trust comes first, then what is wrong with the bundle, then what is
	// missing on this machine.
	switch {
	case errors.As(err, &digest):
		return denied("slipway bundle info "+word+" shows what it is; add it again if you trust it", "%s: %v", name, digest)
	case errors.As(err, &signer):
		hint := "name an .mcpb file"
		if signer.Verification != nil {
			hint = "slipway bundle verify " + word + " shows who signed it"
		}
		return denied(hint, "%s: %v", name, signer)
	case errors.As(err, &values):
		return unusableValues(name, values)
	case errors.As(err, &archive) && archive.Unsafe:
		return denied(cmp.Or(archive.Hint(name), validate), "%s: %v", name, archive)
	case errors.As(err, &archive):
		return badInput(cmp.Or(archive.Hint(name), validate), "%s: %v", name, archive)
	case errors.As(err, &manifest):
		return no(validate, "%s: %v", name, manifest)
	case errors.As(err, &runtime):
		return remoteFailed(runtime.Hint, "%s: %v", name, runtime)
	case errors.As(err, &start) && !errors.Is(err, context.Canceled):
		return remoteFailed("", "%s: %v", name, start)
	}
	return nil
}

// unusableValues returns the failure for options that do not suffice to start a bundle.
func unusableValues(name string, values *mcpb.ExpandError) *failure {
	fail := usage
	hint := "slipway bundle info " + shell.PathWord(name) + " lists the options"
	if missing := values.Missing(); len(missing) > 0 {
		hint = valueHint(missing[0], values.Sensitive(missing[0]))
	}
	for _, f := range values.Findings {
		hint = cmp.Or(f.Hint, hint)
		if f.Rule.ID == "mcpb/platform" {
			fail = no
		}
	}
	return fail(hint, "%s: %v", name, values)
}
