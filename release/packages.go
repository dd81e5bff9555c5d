package main

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// packageFormat is a format of Linux packages.
type packageFormat struct {
	kind     string
	packager nfpm.Packager
	copying  string   // path of the licence
	zsh      string   // folder of zsh completions
	folders  []string // the package's own, removed with it
}

// packageFormats returns the formats of Linux packages. They differ in where distributions
// expect licences and completions.
func packageFormats() []packageFormat {
	return []packageFormat{
		{
			kind:     kindDeb,
			packager: deb.Default,
			copying:  "/usr/share/doc/slipway/copyright",
			zsh:      "/usr/share/zsh/vendor-completions/",
			folders:  []string{"/usr/share/doc/slipway"},
		},
		{
			kind:     kindRPM,
			packager: rpm.DefaultRPM,
			copying:  "/usr/share/licenses/slipway/LICENSE",
			zsh:      "/usr/share/zsh/site-functions/",
			folders:  []string{"/usr/share/doc/slipway", "/usr/share/licenses/slipway"},
		},
	}
}

// writePackages packs the programs for Linux as deb and rpm packages.
func writePackages(out *Output, shared []File) error {
	for _, p := range out.platforms() {
		if p.OS != "linux" {
			continue
		}
		for _, format := range packageFormats() {
			if err := writePackage(out, p, shared, format); err != nil {
				return err
			}
		}
	}
	return nil
}

// packageName returns the name of a deb or rpm package.
func packageName(p Platform, kind string) string { return archiveFolder(p) + "." + kind }

// writePackage writes the package of one platform in one format. All files have the date of
// the release, so that the same source gives the same bytes.
func writePackage(out *Output, p Platform, shared []File, format packageFormat) error {
	program, err := os.ReadFile(out.path(out.binary(p)))
	if err != nil {
		return err
	}
	installed := []File{{"/usr/bin/" + projectName, 0o755, program}}
	for _, f := range shared {
		if f.Name = installedName(f.Name, format); f.Name == "" {
			continue
		}
		if strings.HasPrefix(f.Name, "/usr/share/man/") {
			f.Data, err = compressPage(f.Data)
		}
		if err != nil {
			return err
		}
		installed = append(installed, f)
	}
	staged, err := os.MkdirTemp("", "slipway-package-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(staged)
	contents, err := stage(staged, installed, out.Date)
	if err != nil {
		return err
	}
	for _, folder := range format.folders {
		contents = append(contents, &files.Content{
			Destination: folder,
			Type:        files.TypeDir,
			FileInfo: &files.ContentFileInfo{
				Owner: "root",
				Group: "root",
				Mode:  0o755,
				MTime: out.Date,
			},
		})
	}
	packed := &bytes.Buffer{}
	if err := format.packager.Package(packageInfo(out.Stamp, p, contents), packed); err != nil {
		return err
	}
	name := packageName(p, format.kind)
	if err := os.WriteFile(out.path(name), packed.Bytes(), 0o644); err != nil {
		return err
	}
	return out.add(name, format.kind, p)
}

// installedName returns where a package installs a shared file, or "" for a file that Linux
// packages omit.
func installedName(name string, format packageFormat) string {
	switch {
	case name == "LICENSE":
		return format.copying
	case name == "completions/slipway.bash":
		return "/usr/share/bash-completion/completions/slipway"
	case name == "completions/slipway.fish":
		return "/usr/share/fish/vendor_completions.d/slipway.fish"
	case name == "completions/_slipway":
		return format.zsh + "_slipway"
	case path.Dir(name) == "completions":
		return ""
	case path.Dir(name) == "man":
		return "/usr/share/man/man" + name[len(name)-1:] + "/" + path.Base(name) + ".gz"
	}
	return "/usr/share/doc/slipway/" + name
}

// compressPage compresses a man page as distributions do, without name and time.
func compressPage(page []byte) ([]byte, error) {
	out := &bytes.Buffer{}
	w, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(page); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// stage writes files below dir, since nfpm packs files on disk only.
func stage(dir string, list []File, date time.Time) (files.Contents, error) {
	var contents files.Contents
	for _, f := range list {
		source := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(source, f.Data, f.Mode); err != nil {
			return nil, err
		}
		contents = append(contents, &files.Content{
			Source:      source,
			Destination: f.Name,
			FileInfo: &files.ContentFileInfo{
				Owner: "root",
				Group: "root",
				Mode:  f.Mode & fs.ModePerm,
				MTime: date,
			},
		})
	}
	return contents, nil
}

// packageInfo returns the metadata of a Linux package. The program is static, so it depends
// on nothing; remote servers need certificates.
func packageInfo(s *Stamp, p Platform, contents files.Contents) *nfpm.Info {
	return nfpm.WithDefaults(&nfpm.Info{
		Name:            projectName,
		Arch:            p.Arch,
		Platform:        p.OS,
		Version:         s.Version,
		Release:         "1",
		Section:         "utils",
		Priority:        "optional",
		Maintainer:      projectMaintainer,
		Description:     projectSummary + "\n" + projectDetails,
		Vendor:          "The Slipway authors",
		Homepage:        siteURL,
		License:         projectLicense,
		DisableGlobbing: true,
		MTime:           s.Date,
		Overridables: nfpm.Overridables{
			Recommends: []string{"ca-certificates"},
			Contents:   contents,
			RPM: nfpm.RPM{
				BuildHost:   "localhost", // the default is the name of this machine
				Summary:     projectSummary,
				Compression: "gzip:9",
			},
			Deb: nfpm.Deb{Compression: "gzip:9"},
		},
	})
}
