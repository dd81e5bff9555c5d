package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"text/template"
)

// formulaSystem is a system in the formula, with a download for each built processor.
type formulaSystem struct {
	Block     string // on_macos or on_linux
	Downloads []formulaDownload
}

// formulaDownload is the archive for one kind of processor.
type formulaDownload struct {
	Block  string // on_arm or on_intel
	URL    string
	SHA256 string
}

// writeFormula writes the formula of Homebrew, which installs the archive of the platform.
func writeFormula(out *Output, _ []File) error {
	var systems []formulaSystem
	for _, system := range []struct{ block, goos string }{{"on_macos", "darwin"}, {"on_linux", "linux"}} {
		s := formulaSystem{Block: system.block}
		for _, processor := range []struct{ block, goarch string }{{"on_arm", "arm64"}, {"on_intel", "amd64"}} {
			if a, ok := out.find(kindArchive, Platform{system.goos, processor.goarch}); ok {
				s.Downloads = append(s.Downloads, formulaDownload{processor.block, assetURL(out.Tag, a.Path), a.SHA256})
			}
		}
		if len(s.Downloads) > 0 {
			systems = append(systems, s)
		}
	}
	if len(systems) == 0 {
		return nil
	}
	text := &bytes.Buffer{}
	err := formula.Execute(text, map[string]any{
		"Class":   strings.ToUpper(projectName[:1]) + projectName[1:],
		"Name":    projectName,
		"Summary": projectSummary,
		"Home":    siteURL,
		"Version": out.Version,
		"License": projectLicense,
		"Systems": systems,
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

// formula is a formula of Homebrew. It installs the program, its completions and its manual pages.
var formula = template.Must(template.New("formula").Parse(`class {{.Class}} < Formula
  desc "{{.Summary}}"
  homepage "{{.Home}}"
  version "{{.Version}}"
  license "{{.License}}"
{{range .Systems}}
  {{.Block}} do
{{- range .Downloads}}
    {{.Block}} do
      url "{{.URL}}"
      sha256 "{{.SHA256}}"
    end
{{- end}}
  end
{{end}}
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

// scoopDownload is the archive for one kind of processor in a manifest of Scoop.
type scoopDownload struct {
	URL        string `json:"url"`
	Hash       string `json:"hash,omitempty"`
	ExtractDir string `json:"extract_dir,omitempty"`
}

// scoopUpdate is how Scoop finds the archives of later versions, and their hashes in SHA256SUMS.
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
			continue
		}
		m.Architecture[name] = scoopDownload{
			URL:        assetURL(out.Tag, a.Path),
			Hash:       a.SHA256,
			ExtractDir: archiveFolder(p),
		}
		m.Autoupdate.Architecture[name] = scoopDownload{URL: assetURL("v$version", a.Path)}
	}
	if len(m.Architecture) == 0 {
		return nil
	}
	text, err := json.MarshalIndent(m, "", "    ")
	if err != nil {
		return err
	}
	name := projectName + ".json"
	if err := os.WriteFile(out.path(name), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return out.add(name, kindScoop, Platform{})
}
