package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// The package that users name contains a launcher. The programs are in optional
// dependencies, of which npm installs the one for its platform.
var (
	//go:embed npm/slipway.cjs
	npmLauncher []byte
	//go:embed npm/README.md
	npmReadme []byte
	// npmPlugins are hooks of documentation generators, which run the program of the package.
	//
	//go:embed npm/plugins
	npmPlugins embed.FS
)

// npmManifest is a package.json.
type npmManifest struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	Keywords             []string          `json:"keywords,omitempty"`
	License              string            `json:"license"`
	Homepage             string            `json:"homepage"`
	Repository           npmRepository     `json:"repository"`
	Bugs                 npmBugs           `json:"bugs"`
	Bin                  map[string]string `json:"bin,omitempty"`
	Exports              map[string]string `json:"exports,omitempty"`
	Engines              map[string]string `json:"engines"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
	Slipway              *npmLauncherFacts `json:"slipway,omitempty"`
	PublishConfig        npmPublishConfig  `json:"publishConfig"`
}

// npmRepository is the field repository of a package.json. With provenance, npm requires it to be
// the repository of the workflow.
type npmRepository struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// npmBugs is where problems are reported.
type npmBugs struct {
	URL string `json:"url"`
}

// npmLauncherFacts is what the launcher reads besides the standard members.
type npmLauncherFacts struct {
	GoInstall string `json:"goInstall"`
}

// npmPublishConfig are the settings of npm publish.
type npmPublishConfig struct {
	Access string `json:"access"`
	// Provenance has the registry record which workflow built the package.
	Provenance bool `json:"provenance"`
}

// newPack returns a command that packs the programs of an earlier build again.
func newPack(name, what string, step func(*Output, []File) error) *cobra.Command {
	var o buildOptions
	cmd := &cobra.Command{
		Use:     name,
		Short:   "Pack the built programs as " + what,
		Long:    "Pack the programs in the output folder as " + what + ", as build does.",
		Example: "  go -C release run . " + name,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := openOutput(o.Out)
			if err != nil {
				return fmt.Errorf("%w\nhint: go -C release run . build", err)
			}
			shared, err := licenseFiles(cmd.Context(), o.Root, out)
			if err != nil {
				return err
			}
			if err := runSteps(cmd.OutOrStdout(), out, shared, step); err != nil {
				return err
			}
			return out.save()
		},
	}
	outFlag(cmd, &o.Out)
	cmd.Flags().StringVar(&o.Root, "root", "..", "`folder` of the repository")
	return cmd
}

// writeNPM packs the programs and the launcher as npm packages in the folder npm. Publish
// the package of the launcher last: it depends on the others.
func writeNPM(out *Output, shared []File) error {
	legal := licenses(shared)
	for _, p := range out.platforms() {
		program, err := os.ReadFile(out.path(out.binary(p)))
		if err != nil {
			return err
		}
		m := npmBase(out)
		m.Name = npmPlatformPackage(p)
		m.Description = fmt.Sprintf("The %s program for %s. Install the package %s instead.", projectTitle,
			npmPlatform(p), npmPackage)
		m.OS = []string{npmOS(p)}
		m.CPU = []string{npmCPU(p)}
		m.PreferUnplugged = true // a program inside a zip file cannot be run
		files := append(slices.Clone(legal),
			File{"bin/" + p.Binary(), 0o755, program},
			File{"README.md", 0o644, []byte("# " + m.Name + "\n\n" + m.Description + "\n")},
		)
		if err := writeNPMPackage(out, m, p, files); err != nil {
			return err
		}
	}
	m := npmBase(out)
	m.Name = npmPackage
	m.Description = projectSummary
	m.Keywords = []string{"mcp", "mcp-server", "model-context-protocol", "staticmcp", "mcpb", "cli"}
	m.Bin = map[string]string{projectName: "bin/slipway.cjs"}
	m.Exports = map[string]string{
		"./package.json": "./package.json",
		"./docusaurus":   "./plugins/docusaurus.cjs",
		"./vitepress":    "./plugins/vitepress.cjs",
	}
	m.OptionalDependencies = make(map[string]string)
	for _, p := range platforms() {
		m.OptionalDependencies[npmPlatformPackage(p)] = out.Version
	}
	m.Slipway = &npmLauncherFacts{"go install " + projectModule + "/cmd/slipway@" + out.Tag}
	files := []File{
		{"bin/slipway.cjs", 0o755, npmLauncher},
		{"README.md", 0o644, npmReadme},
	}
	for _, name := range []string{"plugins/build.cjs", "plugins/docusaurus.cjs", "plugins/vitepress.cjs"} {
		text, err := npmPlugins.ReadFile("npm/" + name)
		if err != nil {
			return err
		}
		files = append(files, File{name, 0o644, text})
	}
	for _, f := range legal {
		if f.Name != thirdPartyFile { // the launcher contains none
			files = append(files, f)
		}
	}
	return writeNPMPackage(out, m, Platform{}, files)
}

// npmBase returns the members that all packages share.
func npmBase(out *Output) *npmManifest {
	return &npmManifest{
		Version:    out.Version,
		License:    projectLicense,
		Homepage:   siteURL,
		Repository: npmRepository{"git", "git+" + repositoryURL + ".git"},
		Bugs:       npmBugs{repositoryURL + "/issues"},
		Engines:    map[string]string{"node": ">=14"},
		PublishConfig: npmPublishConfig{
			Access:     "public",
			Provenance: true,
		},
	}
}

// writeNPMPackage writes the tarball of a package, named as by npm pack.
func writeNPMPackage(out *Output, m *npmManifest, p Platform, files []File) error {
	manifest := &bytes.Buffer{}
	enc := json.NewEncoder(manifest)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return err
	}
	files = append(files, File{"package.json", 0o644, manifest.Bytes()})
	for i := range files {
		files[i].Name = "package/" + files[i].Name
	}
	packed, err := tarGzip(files, out.Date)
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(strings.TrimPrefix(m.Name, "@"), "/", "-") + "-" + m.Version + ".tgz"
	return writeArtefact(out, "npm/"+name, kindNPM, p, packed)
}

// maxDownload is the largest size of a package that npm downloads.
const maxDownload = 15_000_000

// verifyNPM verifies that the package of a platform has the program that was built.
func (o *Output) verifyNPM(p Platform) error {
	a, ok := o.find(kindNPM, p)
	if !ok {
		return fmt.Errorf("npm: no package for %s", p)
	}
	if a.Size > maxDownload {
		return fmt.Errorf("%s: %d bytes, at most %d", a.Path, a.Size, maxDownload)
	}
	contents, err := readArchive(o.path(a.Path))
	if err != nil {
		return err
	}
	program, err := os.ReadFile(o.path(o.binary(p)))
	if err != nil {
		return err
	}
	if !bytes.Equal(contents["package/bin/"+p.Binary()], program) {
		return fmt.Errorf("%s: the program differs from the one that was built", a.Path)
	}
	m := new(npmManifest)
	if err := json.Unmarshal(contents["package/package.json"], m); err != nil {
		return fmt.Errorf("%s: %w", a.Path, err)
	}
	if m.Version != o.Version || m.Name != npmPlatformPackage(p) {
		return fmt.Errorf("%s: is %s %s", a.Path, m.Name, m.Version)
	}
	return nil
}

// writeArtefact writes and records a file, and creates its folder.
func writeArtefact(out *Output, name, kind string, p Platform, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(out.path(name)), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(out.path(name), data, 0o644); err != nil {
		return err
	}
	return out.add(name, kind, p)
}

// licenses returns the licence of the program and those of its libraries.
func licenses(shared []File) (list []File) {
	for _, f := range shared {
		if strings.Contains(f.Name, "LICENSE") {
			list = append(list, f)
		}
	}
	return list
}

// npmPlatformPackage returns the name of the package with the program of a platform.
func npmPlatformPackage(p Platform) string { return npmScope + "/" + npmPlatform(p) }

// npmPlatform returns the name of a platform in Node.js, such as win32-x64.
func npmPlatform(p Platform) string { return npmOS(p) + "-" + npmCPU(p) }

// npmOS returns the name that package.json uses for an operating system.
func npmOS(p Platform) string {
	if p.OS == "windows" {
		return "win32"
	}
	return p.OS
}

// npmCPU returns the name that package.json uses for an architecture.
func npmCPU(p Platform) string {
	if p.Arch == "amd64" {
		return "x64"
	}
	return p.Arch
}
