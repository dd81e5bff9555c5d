package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// The bill of materials of the program, in CycloneDX.
const (
	sbomFile    = "slipway.cdx.json"
	sbomVersion = cdx.SpecVersion1_6
)

// writeSBOM writes the software bill of materials as CycloneDX: the modules that the linker
// recorded in the programs, with sums and licences, and which requires which.
func writeSBOM(ctx context.Context, root string, out *Output, modules []*Module) error {
	graph, err := output(ctx, root, "go", "mod", "graph")
	if err != nil {
		return err
	}
	main := applicationComponent(out.Stamp)
	bom := cdx.NewBOM()
	bom.SerialNumber = serialNumber(out.Stamp)
	bom.Metadata = &cdx.Metadata{
		Timestamp: out.Date.Format(time.RFC3339),
		Component: main,
		Tools: &cdx.ToolsChoice{
			Components: &[]cdx.Component{{
				Type:    cdx.ComponentTypeApplication,
				Name:    projectModule + "/release",
				Version: out.Tag,
			}},
		},
	}
	var components []cdx.Component
	for _, m := range modules {
		c, err := moduleComponent(m, out)
		if err != nil {
			return err
		}
		components = append(components, c)
	}
	bom.Components = &components
	bom.Dependencies = dependencies(main.BOMRef, modules, graph)
	text := &bytes.Buffer{}
	encoder := cdx.NewBOMEncoder(text,
		cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false)
	if err := encoder.EncodeVersion(bom, sbomVersion); err != nil {
		return err
	}
	if err := os.WriteFile(out.path(sbomFile), text.Bytes(), 0o644); err != nil {
		return err
	}
	return out.add(sbomFile, kindSBOM, Platform{})
}

// applicationComponent describes Slipway itself.
func applicationComponent(s *Stamp) *cdx.Component {
	purl := packageURL(projectModule, s.Tag)
	return &cdx.Component{
		BOMRef:      purl,
		Type:        cdx.ComponentTypeApplication,
		Name:        projectName,
		Version:     s.Tag,
		Description: projectSummary,
		PackageURL:  purl,
		Licenses:    licenseChoices([]string{projectLicense}),
		ExternalReferences: &[]cdx.ExternalReference{
			{URL: siteURL, Type: cdx.ERTypeWebsite},
			{URL: repositoryURL, Type: cdx.ERTypeVCS, Comment: "commit " + s.Commit},
		},
	}
}

// moduleComponent describes a module. Its hash is that of go.sum, which covers the names and
// contents of all files.
func moduleComponent(m *Module, out *Output) (cdx.Component, error) {
	purl := packageURL(m.Path, m.Version)
	c := cdx.Component{
		BOMRef:     purl,
		Type:       cdx.ComponentTypeLibrary,
		Name:       m.Path,
		Version:    m.Version,
		Scope:      cdx.ScopeRequired,
		PackageURL: purl,
		Licenses:   licenseChoices(m.Licenses),
	}
	if m.Sum != "" {
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
		if err != nil {
			return c, fmt.Errorf("read the sum of %s: %w", m.Path, err)
		}
		c.Hashes = &[]cdx.Hash{{
			Algorithm: cdx.HashAlgoSHA256,
			Value:     hex.EncodeToString(sum),
		}}
	}
	if m.onSomePlatforms(out) {
		var properties []cdx.Property
		for _, p := range m.Platforms {
			properties = append(properties, cdx.Property{
				Name:  "slipway:platform",
				Value: p.String(),
			})
		}
		c.Properties = &properties
	}
	return c, nil
}

// licenseChoices returns SPDX ids as the licences of a component.
func licenseChoices(ids []string) *cdx.Licenses {
	var list cdx.Licenses
	for _, id := range ids {
		list = append(list, cdx.LicenseChoice{License: &cdx.License{ID: id}})
	}
	return &list
}

// packageURL returns the package URL (purl) of a Go module.
func packageURL(module, version string) string { return "pkg:golang/" + module + "@" + version }

// dependencies returns which component requires which, from the output of go mod graph.
// That output names versions that were not selected, so only paths count.
func dependencies(main string, modules []*Module, graph string) *[]cdx.Dependency {
	refs := map[string]string{projectModule: main}
	for _, m := range modules {
		refs[m.Path] = packageURL(m.Path, m.Version)
	}
	edges := make(map[string][]string)
	for line := range strings.Lines(graph) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
		from, version, _ := strings.Cut(from, "@")
		to, _, _ = strings.Cut(to, "@")
		selected := version == "" || refs[from] == packageURL(from, version)
		if selected && refs[from] != "" && refs[to] != "" {
			edges[refs[from]] = append(edges[refs[from]], refs[to])
		}
	}
	edges[main] = append(edges[main], refs["std"])
	var list []cdx.Dependency
	for _, ref := range refs {
		targets := edges[ref]
		slices.Sort(targets)
		targets = slices.Compact(targets)
		list = append(list, cdx.Dependency{
			Ref:          ref,
			Dependencies: &targets,
		})
	}
	slices.SortFunc(list,
		func(a, b cdx.Dependency) int { return strings.Compare(a.Ref, b.Ref) })
	return &list
}

// serialNumber returns a UUID of version 8 derived from the commit and version, since a
// random one would differ from build to build.
func serialNumber(s *Stamp) string {
	u := sha256.Sum256([]byte(projectModule + "\n" + s.Tag + "\n" + s.Commit))
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
