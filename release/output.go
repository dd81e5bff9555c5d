package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kinds of artefacts.
const (
	kindBinary  = "binary"  // binaries/<platform>/slipway[.exe]; not uploaded
	kindArchive = "archive" // slipway-<platform>.tar.gz or .zip
	kindDeb     = "deb"
	kindRPM     = "rpm"
	kindImage   = "image"   // an OCI layout in a tar archive
	kindSBOM    = "sbom"    // CycloneDX
	kindFormula = "formula" // of Homebrew
	kindScoop   = "scoop"
	kindNPM     = "npm"   // npm/*.tgz; published to the npm registry, not uploaded
	kindWheel   = "wheel" // wheels/*.whl; published to the Python package index, not uploaded
)

// Artefact is a file of a release.
type Artefact struct {
	Path   string `json:"path"` // relative to the output folder, with slashes
	Kind   string `json:"kind"`
	OS     string `json:"os,omitempty"`
	Arch   string `json:"arch,omitempty"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Output is the folder of a release:
//
//	release.json                            the stamp, and each artefact with its size and sum
//	binaries/<platform>/slipway[.exe]       the programs
//	slipway-<platform>.tar.gz, ...          what is uploaded
//	image/                                  the container image as an OCI layout
//	npm/, wheels/                           packages for npm and Python
//	SHA256SUMS                              the sums of what is uploaded
//	SHA256SUMS.sig, .sigstore.json          its signatures
//
// A command that adds artefacts calls openOutput, add for each file, and save at the end.
type Output struct {
	*Stamp
	Artefacts []Artefact `json:"artefacts"`

	dir string
}

const (
	// The files about the others: the index of all artefacts, and their SHA-256 sums.
	indexFile = "release.json"
	sumsFile  = "SHA256SUMS"
)

// createOutput empties the folder of an earlier build, or creates it. A folder that no
// build wrote is an error unless it is empty.
func createOutput(dir string, s *Stamp) (*Output, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(entries) > 0 {
		if _, err := openOutput(dir); err != nil {
			return nil, fmt.Errorf("refusing to replace %s: %w\nhint: delete it, or choose another folder with --out", dir, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	o := &Output{
		Stamp: s,
		dir:   dir,
	}
	return o, o.save() // an interrupted build can be replaced
}

// openOutput reads the index of a folder that build wrote.
func openOutput(dir string) (*Output, error) {
	data, err := os.ReadFile(filepath.Join(dir, indexFile))
	if err != nil {
		return nil, err
	}
	o := &Output{dir: dir}
	if err := json.Unmarshal(data, o); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, indexFile), err)
	}
	if o.Stamp == nil || o.Name != projectName {
		return nil, fmt.Errorf("%s is not the index of a release",
			filepath.Join(dir, indexFile))
	}
	return o, nil
}

// path returns the file name of an artefact.
func (o *Output) path(name string) string {
	return filepath.Join(o.dir,
		filepath.FromSlash(name))
}

// binary returns the path of the program of a platform in the output folder.
func (o *Output) binary(p Platform) string {
	return "binaries/" + p.String() + "/" + p.Binary()
}

// platforms returns the platforms whose programs were built.
func (o *Output) platforms() []Platform {
	var list []Platform
	for _, a := range o.Artefacts {
		if a.Kind == kindBinary {
			list = append(list, Platform{a.OS, a.Arch})
		}
	}
	return list
}

// add records a file that was written to the output folder. The zero Platform means that
// it is for all.
func (o *Output) add(name, kind string, p Platform) error {
	sum, size, err := digestFile(o.path(name))
	if err != nil {
		return err
	}
	o.Artefacts = slices.DeleteFunc(o.Artefacts, func(a Artefact) bool {
		return a.Path == name
	})
	o.Artefacts = append(o.Artefacts, Artefact{
		Path:   name,
		Kind:   kind,
		OS:     p.OS,
		Arch:   p.Arch,
		Size:   size,
		SHA256: sum,
	})
	slices.SortFunc(o.Artefacts, func(a, b Artefact) int {
		return cmp.Compare(a.Path, b.Path)
	})
	return nil
}

// save writes release.json and SHA256SUMS.
func (o *Output) save() error {
	data, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.path(indexFile), append(data, '\n'), 0o644); err != nil {
		return err
	}
	sums, err := o.sums()
	if err != nil {
		return err
	}
	return os.WriteFile(o.path(sumsFile), []byte(sums), 0o644)
}

// sums returns the sums of what is uploaded, the index included, in the format of
// sha256sum.
func (o *Output) sums() (string, error) {
	out := &strings.Builder{}
	index, _, err := digestFile(o.path(indexFile))
	if err != nil {
		return "", err
	}
	fmt.Fprintf(out, "%s  %s\n", index, indexFile)
	for _, a := range o.Artefacts {
		if !strings.Contains(a.Path, "/") {
			fmt.Fprintf(out, "%s  %s\n", a.SHA256, a.Path)
		}
	}
	return out.String(), nil
}

// find returns the artefact of a kind for a platform. ok is false if this release has none.
func (o *Output) find(kind string, p Platform) (Artefact, bool) {
	for _, a := range o.Artefacts {
		if a.Kind == kind && a.OS == p.OS && a.Arch == p.Arch {
			return a, true
		}
	}
	return Artefact{}, false
}

// digestFile returns the SHA-256 of a file in hexadecimal, and its size.
func digestFile(name string) (sum string, size int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}
