package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"
)

// writeFormula writes the formula of Homebrew. It installs the archive of the platform.
func writeFormula(out *Output, _ []File) error {
	type download struct{ URL, SHA256 string }
	downloads := make(map[string]download)
	for _, a := range out.Artefacts {
		if a.Kind == kindArchive {
			downloads[a.OS+"_"+a.Arch] = download{assetURL(out.Tag, a.Path), a.SHA256}
		}
	}
	for _, p := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"} {
		if _, ok := downloads[p]; !ok {
			return nil // a formula has all of its platforms
		}
	}
	text := &bytes.Buffer{}
	err := formula.Execute(text, map[string]any{
		"Class":     strings.ToUpper(projectName[:1]) + projectName[1:],
		"Name":      projectName,
		"Summary":   projectSummary,
		"Home":      siteURL,
		"Version":   out.Version,
		"License":   projectLicense,
		"Downloads": downloads,
	})
	if err != nil {
		return err
	}
	name := projectName + ".rb"
	if err := os.WriteFile(out.path(name), text.Bytes(), 0o644); err != nil {
		return err
	}
	return out.add(name, kindFormula, Platform{})
}

var formula = template.Must(template.New("formula").Parse(`class {{.Class}} < Formula
  desc "{{.Summary}}"
  homepage "{{.Home}}"
  version "{{.Version}}"
  license "{{.License}}"

  on_macos do
    on_arm do
      url "{{.Downloads.darwin_arm64.URL}}"
      sha256 "{{.Downloads.darwin_arm64.SHA256}}"
    end
    on_intel do
      url "{{.Downloads.darwin_amd64.URL}}"
      sha256 "{{.Downloads.darwin_amd64.SHA256}}"
    end
  end

  on_linux do
    on_arm do
      url "{{.Downloads.linux_arm64.URL}}"
      sha256 "{{.Downloads.linux_arm64.SHA256}}"
    end
    on_intel do
      url "{{.Downloads.linux_amd64.URL}}"
      sha256 "{{.Downloads.linux_amd64.SHA256}}"
    end
  end

  def install
    bin.install "{{.Name}}"
    bash_completion.install "completions/{{.Name}}.bash" => "{{.Name}}"
    fish_completion.install "completions/{{.Name}}.fish"
    zsh_completion.install "completions/_{{.Name}}"
    man1.install Dir["man/*.1"]
    man7.install Dir["man/*.7"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/{{.Name}} version")
  end
end
`))

// scoopManifest is a manifest of Scoop, the package manager for Windows.
type scoopManifest struct {
	Version      string                   `json:"version"`
	Description  string                   `json:"description"`
	Homepage     string                   `json:"homepage"`
	License      string                   `json:"license"`
	Architecture map[string]scoopDownload `json:"architecture"`
	Bin          string                   `json:"bin"`
	Checkver     map[string]string        `json:"checkver"`
	Autoupdate   scoopUpdate              `json:"autoupdate"`
}

type scoopDownload struct {
	URL        string `json:"url"`
	Hash       string `json:"hash,omitempty"`
	ExtractDir string `json:"extract_dir,omitempty"`
}

type scoopUpdate struct {
	Architecture map[string]scoopDownload `json:"architecture"`
	Hash         map[string]string        `json:"hash"`
}

// writeScoop writes the manifest of Scoop.
func writeScoop(out *Output, _ []File) error {
	m := scoopManifest{
		Version:      out.Version,
		Description:  projectSummary,
		Homepage:     siteURL,
		License:      projectLicense,
		Architecture: make(map[string]scoopDownload),
		Bin:          Platform{OS: "windows"}.Binary(),
		Checkver:     map[string]string{"github": repositoryURL},
		Autoupdate: scoopUpdate{
			Architecture: make(map[string]scoopDownload),
			Hash:         map[string]string{"url": "$baseurl/" + sumsFile},
		},
	}
	for arch, name := range map[string]string{"amd64": "64bit", "arm64": "arm64"} {
		p := Platform{"windows", arch}
		a, ok := out.find(kindArchive, p)
		if !ok {
			return nil // a manifest has all of its platforms
		}
		m.Architecture[name] = scoopDownload{
			URL:        assetURL(out.Tag, a.Path),
			Hash:       a.SHA256,
			ExtractDir: archiveFolder(p),
		}
		m.Autoupdate.Architecture[name] = scoopDownload{URL: assetURL("v$version", a.Path)}
	}
	text, err := json.MarshalIndent(m, "", "    ")
	if err != nil {
		return err
	}
	name := projectName + ".json"
	if err := os.WriteFile(out.path(name), fmt.Appendln(text), 0o644); err != nil {
		return err
	}
	return out.add(name, kindScoop, Platform{})
}
