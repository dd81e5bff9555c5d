package check

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/visible"
)

// The types below are the parts of SARIF 2.1.0 that reports use; the numbers are sections
// of the standard.
type (
	sarifLog struct { // 3.13
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct { // 3.14
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct { // 3.18
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct { // 3.19
		Name           string      `json:"name"`
		Version        string      `json:"semanticVersion,omitempty"`
		InformationURI string      `json:"informationUri,omitempty"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct { // 3.49
		ID      string       `json:"id"`
		Short   sarifText    `json:"shortDescription"`
		Help    *sarifText   `json:"help,omitempty"`
		HelpURI string       `json:"helpUri,omitempty"`
		Default sarifDefault `json:"defaultConfiguration"`
	}
	sarifDefault struct { // 3.50
		Level string `json:"level"`
	}
	sarifText struct { // 3.11, 3.12
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifResult struct { // 3.27
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct { // 3.28
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct { // 3.29
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct { // 3.4
		URI    string `json:"uri"`
		BaseID string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct { // 3.30
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
	sarifLogical struct { // 3.33
		Name string `json:"fullyQualifiedName"`
	}
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	// sourceRoot is the base of relative URIs: the root of the repository. Its address is
	// not written, so that the report is the same on every machine.
	sourceRoot = "%SRCROOT%"
	// fingerprintName is the only fingerprint that GitHub compares.
	fingerprintName = "primaryLocationLineHash"
)

// writeSARIF writes the report as one SARIF run.
func (r *Report) writeSARIF(w io.Writer, opts *WriteOptions) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name:           "Slipway",
			Version:        opts.Version,
			InformationURI: opts.RulesURL,
			Rules:          []sarifRule{},
		}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	index := make(map[string]int)
	seen := make(map[string]int)
	found := r.Findings()
	for i := range found {
		f := &found[i]
		at, ok := index[f.Rule.ID]
		if !ok {
			at = len(run.Tool.Driver.Rules)
			index[f.Rule.ID] = at
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, opts.sarifRule(f.Rule))
		}
		p := opts.placeOf(f)
		hash := fingerprint(f, p)
		seen[hash]++
		run.Results = append(run.Results, sarifResult{
			RuleID:       f.Rule.ID,
			RuleIndex:    at,
			Level:        f.Severity.String(), // SARIF has the same three words
			Message:      sarifText{Text: f.describe()},
			Locations:    sarifLocations(f, p),
			Fingerprints: map[string]string{fingerprintName: fmt.Sprintf("%s:%d", hash, seen[hash])},
		})
	}
	enc := json.NewEncoder(visible.JSONWriter{To: w})
	enc.SetEscapeHTML(false)
	return enc.Encode(sarifLog{
		Schema:  sarifSchema,
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

// sarifRule returns the description of a rule. The severity of a finding's rule may have
// been changed, so the known rules have precedence.
func (o *WriteOptions) sarifRule(r Rule) sarifRule {
	if at := slices.IndexFunc(o.Rules, r.Is); at >= 0 {
		r = o.Rules[at]
	}
	rule := sarifRule{
		ID: r.ID,
		Short: sarifText{
			Text:     strings.ReplaceAll(r.Title, "`", ""),
			Markdown: r.Title,
		},
		Default: sarifDefault{r.Severity.String()},
	}
	if r.Title == "" { // the rule is not known
		rule.Short = sarifText{Text: r.ID}
	}
	if r.Hint != "" {
		rule.Help = &sarifText{Text: r.Hint}
	}
	if o.RulesURL != "" {
		rule.HelpURI = o.RulesURL + "#" + r.Anchor()
	}
	return rule
}

// sarifLocations returns the place of a finding: the file for tools that show files, and
// the entry of an archive with the JSON pointer for people.
func sarifLocations(f *Finding, p place) []sarifLocation {
	var l sarifLocation
	if p.file != "" {
		l.Physical = &sarifPhysical{Artifact: sarifURI(p.file)}
		if p.line > 0 {
			l.Physical.Region = &sarifRegion{
				StartLine:   p.line,
				StartColumn: p.column,
				EndColumn:   p.endColumn,
			}
		}
	}
	if name := p.entry + f.Pointer; name != "" {
		l.Logical = []sarifLogical{{visible.Line(name)}}
	}
	if l.Physical == nil && l.Logical == nil {
		return nil
	}
	return []sarifLocation{l}
}

// sarifURI returns the reference to a file: relative to the root of the repository, or
// absolute.
func sarifURI(file string) sarifArtifact {
	u, err := url.Parse(file)
	if isURL(file) && err == nil {
		return sarifArtifact{URI: u.String()}
	}
	if filepath.IsAbs(filepath.FromSlash(file)) {
		return sarifArtifact{URI: fileURI(file)}
	}
	relative := url.URL{Path: file}
	return sarifArtifact{
		URI:    relative.String(),
		BaseID: sourceRoot,
	}
}

// fileURI returns the file URI of an absolute path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/work
		path = "/" + path
	}
	u := url.URL{
		Scheme: "file",
		Path:   path,
	}
	return u.String()
}

// fingerprint identifies a finding across versions of a file: a line that moves keeps its
// findings, so lines and columns do not count.
func fingerprint(f *Finding, p place) string {
	of := []string{f.Rule.ID, p.file, p.entry, f.Pointer}
	if f.Pointer == "" {
		of = append(of, f.Message)
	}
	sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
	return fmt.Sprintf("%x", sum[:8])
}
