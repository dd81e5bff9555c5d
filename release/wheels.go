package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// pypiReadme is the description of the project in the Python package index.
//
//go:embed wheels/README.md
var pypiReadme []byte

// mkdocsPlugin is a module that only MkDocs loads, and mkdocsEntry tells MkDocs of it.
//
//go:embed wheels/slipway_mkdocs.py
var mkdocsPlugin []byte

const mkdocsEntry = "[mkdocs.plugins]\nslipway = slipway_mkdocs:SlipwayPlugin\n"

// writeWheels packs each program as a wheel in the folder wheels. Installers put the
// program into the folder of scripts, so no Python runs when it starts.
//
// Specification: the binary distribution format, and core metadata 2.4 (PEP 639).
func writeWheels(out *Output, shared []File) error {
	version, err := pythonVersion(out.Version)
	if err != nil {
		return err
	}
	base := strings.ReplaceAll(pypiPackage, "-", "_") + "-" + version
	for _, p := range out.platforms() {
		program, err := os.ReadFile(out.path(out.binary(p)))
		if err != nil {
			return err
		}
		info := base + ".dist-info/"
		files := []File{
			{base + ".data/scripts/" + p.Binary(), 0o755, program},
			{"slipway_mkdocs.py", 0o644, mkdocsPlugin},
			{info + "entry_points.txt", 0o644, []byte(mkdocsEntry)},
		}
		var legal []string
		for _, f := range licenses(shared) {
			files = append(files, File{info + "licenses/" + f.Name, 0o644, f.Data})
			legal = append(legal, f.Name)
		}
		files = append(files,
			File{info + "METADATA", 0o644, wheelMetadata(version, legal)},
			File{info + "WHEEL", 0o644, wheelFacts(p)},
		)
		packed, err := packWheel(files, info+"RECORD", out.Date)
		if err != nil {
			return err
		}
		name := base + "-py3-none-" + strings.Join(wheelTags(p), ".") + ".whl"
		if err := writeArtefact(out, "wheels/"+name, kindWheel, p, packed); err != nil {
			return err
		}
	}
	return nil
}

// wheelTags returns the platforms on which a program runs. Static programs need no C
// library of a certain version; Go requires the version of macOS.
func wheelTags(p Platform) []string {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[p.Arch]
	switch p.String() {
	case "darwin-amd64":
		return []string{"macosx_12_0_x86_64"}
	case "darwin-arm64":
		return []string{"macosx_12_0_arm64"}
	case "windows-amd64":
		return []string{"win_amd64"}
	case "windows-arm64":
		return []string{"win_arm64"}
	}
	// Sorted, and with the older name that pip before 20.3 knows.
	return []string{"manylinux2014_" + arch, "manylinux_2_17_" + arch, "musllinux_1_1_" + arch}
}

// wheelFacts returns the file WHEEL.
func wheelFacts(p Platform) []byte {
	b := &strings.Builder{}
	b.WriteString("Wheel-Version: 1.0\nGenerator: slipway-release\nRoot-Is-Purelib: false\n")
	for _, tag := range wheelTags(p) {
		fmt.Fprintf(b, "Tag: py3-none-%s\n", tag)
	}
	return []byte(b.String())
}

// wheelMetadata returns the file METADATA.
func wheelMetadata(version string, legal []string) []byte {
	b := &strings.Builder{}
	fmt.Fprintf(b, "Metadata-Version: 2.4\nName: %s\nVersion: %s\nSummary: %s\n",
		pypiPackage, version, projectSummary)
	b.WriteString("Keywords: mcp,mcp-server,model-context-protocol,staticmcp,mcpb\n")
	fmt.Fprintf(b, "License-Expression: %s\n", projectLicense)
	for _, name := range legal {
		fmt.Fprintf(b, "License-File: %s\n", name)
	}
	for _, link := range [][2]string{
		{"Documentation", siteURL},
		{"Source", repositoryURL},
		{"Issues", repositoryURL + "/issues"},
	} {
		fmt.Fprintf(b, "Project-URL: %s, %s\n", link[0], link[1])
	}
	fmt.Fprintf(b, "Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n%s", pypiReadme)
	return []byte(b.String())
}

// packWheel returns a zip file with the files and their sums in record.
func packWheel(files []File, record string, date time.Time) ([]byte, error) {
	lines := &strings.Builder{}
	for _, f := range files {
		fmt.Fprintf(lines, "%s,%s\n", f.Name, wheelSum(f.Data))
	}
	fmt.Fprintf(lines, "%s,,\n", record)
	out := &bytes.Buffer{}
	w := zip.NewWriter(out)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, f := range append(slices.Clone(files), File{record, 0o644, []byte(lines.String())}) {
		if err := zipFile(w, f, date); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// verifyWheel verifies that a wheel has the program that was built, and no file without a
// correct sum.
func (o *Output) verifyWheel(p Platform) error {
	a, ok := o.find(kindWheel, p)
	if !ok {
		return fmt.Errorf("wheels: no wheel for %s", p)
	}
	contents, err := readArchive(o.path(a.Path))
	if err != nil {
		return err
	}
	program, err := os.ReadFile(o.path(o.binary(p)))
	if err != nil {
		return err
	}
	listed := make(map[string]string)
	found := false
	for name, data := range contents {
		found = found ||
			strings.HasSuffix(name, ".data/scripts/"+p.Binary()) &&
				bytes.Equal(data, program)
		if !strings.HasSuffix(name, ".dist-info/RECORD") {
			continue
		}
		for line := range strings.Lines(string(data)) {
			file, sum, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ",")
			listed[file] = sum
		}
	}
	if !found {
		return fmt.Errorf("%s: without the program that was built", a.Path)
	}
	for name, data := range contents {
		sum := wheelSum(data)
		if listed[name] != sum && listed[name] != "," {
			return fmt.Errorf("%s: RECORD has %q for %s, not %q", a.Path,
				listed[name], name, sum)
		}
	}
	return nil
}

// wheelSum returns the sum and size of a file as in RECORD.
func wheelSum(data []byte) string {
	sum := sha256.Sum256(data)
	return fmt.Sprintf("sha256=%s,%d",
		base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
}

// semanticVersion matches the versions that have a form in Python: major, minor and patch, and a
// prerelease such as -rc.1.
var semanticVersion = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-([a-z]+)(?:\.(\d+))?(?:\..*)?)?$`)

// pythonVersion returns the form of a semantic version that PEP 440 defines: 1.2.3rc1 for
// 1.2.3-rc.1.
func pythonVersion(v string) (string, error) {
	m := semanticVersion.FindStringSubmatch(v)
	if m == nil {
		return "", fmt.Errorf("version %s has no form in Python", v)
	}
	if m[2] == "" {
		return m[1], nil
	}
	number := m[3]
	if number == "" {
		number = "0"
	}
	switch m[2] {
	case "alpha":
		return m[1] + "a" + number, nil
	case "beta":
		return m[1] + "b" + number, nil
	case "rc":
		return m[1] + "rc" + number, nil
	case "snapshot":
		return m[1] + ".dev" + number, nil
	}
	return "", fmt.Errorf("version %s has no form in Python\nhint: use -alpha.1, -beta.1 or -rc.1", v)
}
