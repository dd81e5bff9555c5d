package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
)

// buildOptions are the flags of release build.
type buildOptions struct {
	Out       string   // output folder
	Root      string   // folder of the repository
	Snapshot  bool     // build a commit without a tag, or changed files
	Platforms []string // default: all
}

// newBuild returns the command release build.
func newBuild() *cobra.Command {
	var o buildOptions
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build all files of a release from a clean git tag",
		Long: `Build the programs of all platforms and pack them. The current commit needs a
version tag such as v1.2.3, and the work tree must have no changes. All times in the
files are that of the commit, so every build of a commit gives the same bytes.`,
		Example: `  go -C release run . build --snapshot --platform linux-amd64`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return buildRelease(cmd.Context(), cmd.OutOrStdout(), &o)
		},
	}
	outFlag(cmd, &o.Out)
	cmd.Flags().StringVar(&o.Root, "root", "..", "`folder` of the repository")
	cmd.Flags().BoolVar(&o.Snapshot, "snapshot", false,
		"build a test version of the current files, without a tag")
	cmd.Flags().StringSliceVar(&o.Platforms, "platform", nil,
		"build only these `platforms`, such as linux-amd64")
	return cmd
}

// buildRelease builds the files of a release and prints the path of each to w.
func buildRelease(ctx context.Context, w io.Writer, o *buildOptions) error {
	targets, err := parsePlatforms(o.Platforms)
	if err != nil {
		return err
	}
	s, err := readStamp(ctx, o.Root, o.Snapshot)
	if err != nil {
		return err
	}
	out, err := createOutput(o.Out, s)
	if err != nil {
		return err
	}
	for _, p := range targets {
		name := out.binary(p)
		file, err := filepath.Abs(out.path(name))
		if err != nil {
			return err
		}
		if err := compile(ctx, o.Root, s, p, file); err != nil {
			return err
		}
		if err := out.add(name, kindBinary, p); err != nil {
			return err
		}
		fmt.Fprintln(w, out.path(name))
	}
	shared, err := sharedFiles(ctx, o.Root, out)
	if err != nil {
		return err
	}
	modules, err := readModules(ctx, o.Root, out)
	if err != nil {
		return err
	}
	shared = append(shared, thirdPartyLicenses(modules))
	err = runSteps(w, out, shared,
		writeArchives,
		writePackages,
		writeImage,
		writeFormula,
		writeScoop,
		writeNPM,
		writeWheels,
		func(out *Output, _ []File) error { return writeSBOM(ctx, o.Root, out, modules) },
	)
	if err != nil {
		return err
	}
	return out.save()
}

// runSteps writes artefacts and prints the path of each to w.
func runSteps(
	w io.Writer,
	out *Output,
	shared []File,
	steps ...func(*Output, []File) error,
) error {
	for _, step := range steps {
		before := slices.Clone(out.Artefacts)
		if err := step(out, shared); err != nil {
			return err
		}
		for _, a := range out.Artefacts {
			if !slices.Contains(before, a) {
				fmt.Fprintln(w, out.path(a.Path))
			}
		}
	}
	return nil
}

// licenseFiles returns the licence of the program and those of its libraries.
func licenseFiles(ctx context.Context, root string, out *Output) ([]File, error) {
	own, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	modules, err := readModules(ctx, root, out)
	if err != nil {
		return nil, err
	}
	return []File{{"LICENSE", 0o644, own}, thirdPartyLicenses(modules)}, nil
}

// sharedFiles returns what all packages contain besides the program: the licence, the
// README, shell completions and man pages.
func sharedFiles(ctx context.Context, root string, out *Output) ([]File, error) {
	var files []File
	for _, name := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		files = append(files, File{name, 0o644, data})
	}
	temp, err := os.MkdirTemp("", "slipway-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	host := out.path(out.binary(hostPlatform()))
	if _, built := out.find(kindBinary, hostPlatform()); !built {
		host = filepath.Join(temp, hostPlatform().Binary())
		if err := compile(ctx, root, out.Stamp, hostPlatform(), host); err != nil {
			return nil, err
		}
	}
	if host, err = filepath.Abs(host); err != nil {
		return nil, err
	}
	generated, err := generatedFiles(ctx, host, temp)
	return append(files, generated...), err
}

// generatedFiles returns the completions and man pages that the program writes.
func generatedFiles(ctx context.Context, program, temp string) ([]File, error) {
	var files []File
	for _, c := range []struct{ shell, name string }{
		{"bash", "completions/slipway.bash"},
		{"fish", "completions/slipway.fish"},
		{"powershell", "completions/slipway.ps1"},
		{"zsh", "completions/_slipway"},
	} {
		text, err := output(ctx, temp, program, "completion", c.shell)
		if err != nil {
			return nil, err
		}
		files = append(files, File{c.name, 0o644, []byte(text + "\n")})
	}
	if _, err := output(ctx, temp, program, "man", "man"); err != nil {
		return nil, err
	}
	pages, err := os.ReadDir(filepath.Join(temp, "man"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		data, err := os.ReadFile(filepath.Join(temp, "man", page.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, File{"man/" + page.Name(), 0o644, data})
	}
	return files, nil
}
