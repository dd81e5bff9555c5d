package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// packed returns an output folder with npm packages and wheels of programs that are only
// their names.
func packed(t *testing.T, version string) *Output {
	t.Helper()
	out, err := createOutput(filepath.Join(t.TempDir(), "out"), &Stamp{
		Name:    projectName,
		Version: version,
		Tag:     "v" + version,
		Date:    time.Date(2026, 11, 23, 7, 0, 0, 0, time.UTC),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range platforms() {
		if err := writeArtefact(out, out.binary(p), kindBinary, p, []byte("program of "+p.String())); err != nil {
			t.Fatal(err)
		}
	}
	shared := []File{
		{"LICENSE", 0o644, []byte("MIT")},
		{"README.md", 0o644, []byte("of the repository")},
		{thirdPartyFile, 0o644, []byte("other licences")},
	}
	for _, step := range []func(*Output, []File) error{writeNPM, writeWheels} {
		if err := step(out, shared); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestNPMPackages(t *testing.T) {
	out := packed(t, "1.2.3")
	contents, err := readArchive(out.path("npm/slipway-1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	m := new(npmManifest)
	if err := json.Unmarshal(contents["package/package.json"], m); err != nil {
		t.Fatal(err)
	}
	if contents["package/"+m.Bin["slipway"]] == nil || contents["package/LICENSE"] == nil {
		t.Error("the launcher or the licence is missing")
	}
	if len(m.OptionalDependencies) != 6 {
		t.Errorf("%d optional dependencies", len(m.OptionalDependencies))
	}
	for name, version := range m.OptionalDependencies {
		platform := strings.TrimPrefix(name, npmScope+"/")
		contents, err := readArchive(out.path("npm/slipway-mcp-" + platform + "-" + version + ".tgz"))
		if err != nil {
			t.Fatal(err)
		}
		p := new(npmManifest)
		if err := json.Unmarshal(contents["package/package.json"], p); err != nil {
			t.Fatal(err)
		}
		if p.Name != name || p.Version != version || p.OS[0]+"-"+p.CPU[0] != platform || contents["package/LICENSE"] == nil {
			t.Errorf("%s is %+v", name, p)
		}
	}
	for _, p := range platforms() {
		if err := out.verifyNPM(p); err != nil {
			t.Error(err)
		}
		if err := out.verifyWheel(p); err != nil {
			t.Error(err)
		}
	}
}

func TestWheelNames(t *testing.T) {
	out := packed(t, "1.2.3-rc.1")
	var got []string
	for _, a := range out.Artefacts {
		if a.Kind == kindWheel {
			got = append(got, strings.TrimPrefix(a.Path, "wheels/slipway_mcp-1.2.3rc1-py3-none-"))
		}
	}
	slices.Sort(got)
	want := []string{
		"macosx_12_0_arm64.whl",
		"macosx_12_0_x86_64.whl",
		"manylinux2014_aarch64.manylinux_2_17_aarch64.musllinux_1_1_aarch64.whl",
		"manylinux2014_x86_64.manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl",
		"win_amd64.whl",
		"win_arm64.whl",
	}
	if !slices.Equal(got, want) {
		t.Errorf("wheels %q", got)
	}
}

// TestPackagesAreReproducible verifies that the same programs give the same bytes.
func TestPackagesAreReproducible(t *testing.T) {
	first := packed(t, "1.2.3").Artefacts
	if second := packed(t, "1.2.3").Artefacts; !slices.Equal(first, second) {
		t.Errorf("%v\n%v", first, second)
	}
}

// TestVerifyFindsAnotherProgram verifies that verification compares contents.
func TestVerifyFindsAnotherProgram(t *testing.T) {
	out := packed(t, "1.2.3")
	p := Platform{"linux", "amd64"}
	if err := os.WriteFile(out.path(out.binary(p)), []byte("another program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out.verifyNPM(p) == nil || out.verifyWheel(p) == nil {
		t.Error("a package with another program was accepted")
	}
}

func TestPythonVersion(t *testing.T) {
	for v, want := range map[string]string{
		"1.2.3":          "1.2.3",
		"1.2.3-rc.1":     "1.2.3rc1",
		"1.2.3-alpha":    "1.2.3a0",
		"10.0.0-beta.12": "10.0.0b12",
		"0.0.0-snapshot.20261123070721.gbd28c5fb.dirty": "0.0.0.dev20261123070721",
		"1.2.3-nightly.1": "",
		"1.2":             "",
	} {
		got, err := pythonVersion(v)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("pythonVersion(%s) = %s, %v, want %s", v, got, err, want)
		}
	}
}
