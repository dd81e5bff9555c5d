package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"debug/macho"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/spf13/cobra"
)

// maxBinary is the largest size of a program. People download it on slow lines.
const maxBinary = 40_000_000

// verifyOptions are the flags of release verify.
type verifyOptions struct {
	Out            string // output folder
	AllowedSigners string // file as in ssh-keygen(1); without it no signature is required
	Signer         string // identity in that file
}

// newVerify returns the command release verify.
func newVerify() *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify the files of a release",
		Long: `Verify sums, contents and metadata of all files in the output folder, and the
signature of SHA256SUMS with --allowed-signers. A release must have all platforms; a
snapshot may have fewer.`,
		Example: `  go -C release run . verify`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := openOutput(o.Out)
			if err != nil {
				return err
			}
			if err := out.verify(cmd.Context(), &o); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s: %d files verified\n",
				out.Name, out.Version, len(out.Artefacts))
			return err
		},
	}
	outFlag(cmd, &o.Out)
	cmd.Flags().StringVar(&o.AllowedSigners, "allowed-signers", "",
		"`file` of signers, as for ssh-keygen -Y verify")
	cmd.Flags().StringVar(&o.Signer, "signer", "release",
		"`identity` of the signer in that file")
	return cmd
}

// verify returns all faults of the output folder.
func (o *Output) verify(ctx context.Context, options *verifyOptions) error {
	faults := []error{
		o.verifySums(),
		o.verifyListed(),
		o.verifyPlatforms(),
		o.verifySBOM(),
		o.verifyImage(),
	}
	for _, p := range o.platforms() {
		if err := o.verifyArchive(p); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", archiveName(p), err))
		}
		faults = append(faults, o.verifyNPM(p), o.verifyWheel(p))
	}
	if options.AllowedSigners != "" {
		faults = append(faults, o.verifySignature(ctx, options.AllowedSigners,
			options.Signer))
	}
	return errors.Join(faults...)
}

// verifySums verifies each file against release.json, and SHA256SUMS against both.
func (o *Output) verifySums() error {
	for _, a := range o.Artefacts {
		sum, size, err := digestFile(o.path(a.Path))
		if err != nil {
			return err
		}
		if sum != a.SHA256 || size != a.Size {
			return fmt.Errorf("%s: does not match %s", a.Path, indexFile)
		}
	}
	want, err := o.sums()
	if err != nil {
		return err
	}
	got, err := os.ReadFile(o.path(sumsFile))
	if err == nil && string(got) != want {
		err = fmt.Errorf("%s: does not match %s", sumsFile, indexFile)
	}
	return err
}

// verifyListed reports files that would be uploaded without a sum.
func (o *Output) verifyListed() error {
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		listed := func(a Artefact) bool { return a.Path == e.Name() }
		if e.IsDir() || e.Name() == indexFile || strings.HasPrefix(e.Name(), sumsFile) {
			continue
		}
		if !slices.ContainsFunc(o.Artefacts, listed) {
			return fmt.Errorf("%s: not listed in %s", e.Name(), indexFile)
		}
	}
	return nil
}

// verifyPlatforms verifies that the programs are what their names say.
func (o *Output) verifyPlatforms() error {
	built := o.platforms()
	if !o.Snapshot && len(built) != len(platforms()) {
		return fmt.Errorf("a release needs %d platforms, %d were built",
			len(platforms()), len(built))
	}
	for _, p := range built {
		info, err := buildinfo.ReadFile(o.path(o.binary(p)))
		if err != nil {
			return err
		}
		want := map[string]string{
			"GOOS":        p.OS,
			"GOARCH":      p.Arch,
			"CGO_ENABLED": "0",
			"-trimpath":   "true",
		}
		for _, s := range info.Settings {
			value, ok := want[s.Key]
			if ok && value == s.Value {
				delete(want, s.Key)
			}
		}
		if len(want) > 0 || info.GoVersion != o.Go {
			return fmt.Errorf("%s: built by %s, without the settings %v",
				o.binary(p), info.GoVersion, want)
		}
		if a, _ := o.find(kindBinary, p); a.Size > maxBinary {
			return fmt.Errorf("%s: %d bytes, at most %d", a.Path, a.Size, maxBinary)
		}
		if p.OS == "darwin" && p.Arch == "arm64" {
			if err := verifyMacSignature(o.path(o.binary(p))); err != nil {
				return err
			}
		}
	}
	return nil
}

// verifyMacSignature verifies that a program is signed, if only by the linker: Apple silicon
// runs no others.
func verifyMacSignature(file string) error {
	program, err := macho.Open(file)
	if err != nil {
		return err
	}
	defer program.Close()
	const codeSignature = 0x1d // LC_CODE_SIGNATURE
	for _, load := range program.Loads {
		if program.ByteOrder.Uint32(load.Raw()) == codeSignature {
			return nil
		}
	}
	return fmt.Errorf("%s: not signed", file)
}

// verifyArchive verifies that an archive has the program and everything that comes with it.
func (o *Output) verifyArchive(p Platform) error {
	contents, err := readArchive(o.path(archiveName(p)))
	if err != nil {
		return err
	}
	top := archiveFolder(p) + "/"
	program, err := os.ReadFile(o.path(o.binary(p)))
	if err != nil {
		return err
	}
	if !bytes.Equal(contents[top+p.Binary()], program) {
		return fmt.Errorf("%s differs from the program that was built", p.Binary())
	}
	pages := 0
	for name, data := range contents {
		if len(data) == 0 {
			return fmt.Errorf("%s is empty", name)
		}
		if path.Dir(name) == top+"man" {
			pages++
		}
	}
	for _, name := range []string{"LICENSE", "README.md", thirdPartyFile, "completions/slipway.bash",
		"completions/slipway.fish", "completions/slipway.ps1", "completions/_slipway", "man/slipway.1"} {
		if contents[top+name] == nil {
			return fmt.Errorf("%s is missing", name)
		}
	}
	if pages < 10 {
		return fmt.Errorf("has only %d man pages", pages)
	}
	return nil
}

// readArchive returns the files of an archive by name.
func readArchive(file string) (map[string][]byte, error) {
	contents := make(map[string][]byte)
	if ext := filepath.Ext(file); ext == ".zip" || ext == ".whl" {
		z, err := zip.OpenReader(file)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		for _, f := range z.File {
			if f.FileInfo().IsDir() {
				continue
			}
			r, err := f.Open()
			if err != nil {
				return nil, err
			}
			if contents[f.Name], err = io.ReadAll(r); err != nil {
				return nil, err
			}
		}
		return contents, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return contents, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if contents[h.Name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
}

// verifySBOM verifies that the bill of materials lists every module inside the programs.
func (o *Output) verifySBOM() error {
	f, err := os.Open(o.path(sbomFile))
	if err != nil {
		return err
	}
	defer f.Close()
	bom := new(cdx.BOM)
	if err := cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(bom); err != nil {
		return fmt.Errorf("%s: %w", sbomFile, err)
	}
	listed := make(map[string]bool)
	if bom.Components != nil {
		for _, c := range *bom.Components {
			listed[c.PackageURL] = true
		}
	}
	for _, p := range o.platforms() {
		info, err := buildinfo.ReadFile(o.path(o.binary(p)))
		if err != nil {
			return err
		}
		for _, d := range info.Deps {
			if !listed[packageURL(d.Path, d.Version)] {
				return fmt.Errorf("%s: %s@%s is missing", sbomFile, d.Path, d.Version)
			}
		}
	}
	return nil
}

// verifyImage verifies all digests of the image and that it has the platforms with Linux.
func (o *Output) verifyImage() error {
	want := 0
	for _, p := range o.platforms() {
		if p.OS == "linux" {
			want++
		}
	}
	if want == 0 {
		return nil
	}
	index, err := o.image()
	if err != nil {
		return fmt.Errorf("%s: %w", imageFolder, err)
	}
	if err := validate.Index(index); err != nil {
		return fmt.Errorf("%s: %w", imageFolder, err)
	}
	manifest, err := index.IndexManifest()
	if err == nil && len(manifest.Manifests) != want {
		err = fmt.Errorf("%s: has %d platforms, not %d", imageFolder,
			len(manifest.Manifests), want)
	}
	return err
}
