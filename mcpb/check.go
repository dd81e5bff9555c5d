package mcpb

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
)

// CheckOptions say how a bundle is checked. Nil and the zero value are the
// defaults.
type CheckOptions struct {
	// Where returns how findings call the file with a path in the bundle. The
	// default is the path itself.
	Where func(name string) string
	// Alone says that only the manifest was asked about: a file that it names
	// and that is not there is a warning, and no other file is looked at.
	Alone bool
	// Reference keeps to the verdicts of the reference CLI, version 2.1.2: what it
	// accepts is not mentioned, and what it refuses against the specification is
	// an error.
	Reference bool
	// NoModes says that fsys does not know which files are executable.
	NoModes bool
	// Skip reports whether a file or folder of fsys does not belong to the bundle,
	// such as one that packing leaves out. The default is to skip none.
	Skip func(name string, dir bool) bool

	moved []string // files that fsys opens, and does not list
}

// Check holds the bundle whose content is fsys against every rule: its manifest,
// and the files beside it. [Rules] lists what is looked at. All problems come at
// once.
//
// The manifest is nil where there is nothing that could be read as one. The error
// is for a manifest that is missing, unreadable or larger than [MaxManifest], and
// for a file system that fails.
func Check(fsys fs.FS, opts *CheckOptions) (*Manifest, *check.Report, error) {
	text, err := readLimited(fsys, ManifestName, MaxManifest)
	if err != nil {
		return nil, nil, err
	}
	c := newChecker(fsys, opts)
	return c.check(text)
}

// CheckManifest is [Check] for a manifest that is not in a bundle yet. Its icon
// and its other files are looked for in fsys as [CheckOptions.Alone] says; a nil
// fsys leaves them out.
func CheckManifest(text []byte, fsys fs.FS, opts *CheckOptions) (*Manifest, *check.Report, error) {
	c := newChecker(fsys, opts)
	c.opts.Alone = true
	return c.check(text)
}

// checker holds one bundle against the rules.
type checker struct {
	*document
	fsys    fs.FS // nil when there are no files to look at
	opts    CheckOptions
	m       *Manifest
	natives []native          // the machine code in the bundle
	options map[string]Option // by key
	told    string            // the file that checkEntryPoint has reported already
	modules map[string]bool   // what hasPython has found
}

func newChecker(fsys fs.FS, opts *CheckOptions) *checker {
	c := &checker{fsys: fsys}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.Where == nil {
		c.opts.Where = func(name string) string { return name }
	}
	if c.opts.Skip == nil {
		c.opts.Skip = func(string, bool) bool { return false }
	}
	return c
}

func (c *checker) check(text []byte) (*Manifest, *check.Report, error) {
	report := &check.Report{Limit: maxFindings}
	c.document = readDocument(text, c.opts.Where(ManifestName), report)
	c.m = c.manifest()
	if c.m == nil {
		return nil, report, nil
	}
	c.checkVisible(c.root, "")
	if !c.opts.Alone && c.fsys != nil {
		if err := c.walk(); err != nil {
			return c.m, report, err
		}
	}
	for _, rule := range []func(){
		c.checkIdentity, c.checkLists, c.checkCompatibility, c.checkMeta, c.checkPrivacy,
		c.checkServer, c.checkVariables, c.checkPrompts, c.checkOptions,
		c.checkIcon, c.checkIcons, c.checkScreenshots, c.checkLocalization, c.checkPlatforms, c.checkCode,
	} {
		rule()
	}
	if c.opts.Reference {
		report = referenceOnly(report)
	}
	return c.m, report, nil
}

// referenceOnly keeps what the reference CLI would say no to.
func referenceOnly(all *check.Report) *check.Report {
	kept := &check.Report{}
	for _, f := range all.Findings() {
		switch {
		case f.Rule == ruleReference && strings.Contains(f.Message, "refuses"):
			f.Severity = check.Error
		case f.Severity != check.Error || !slices.Contains(referenceRules(), f.Rule):
			continue
		}
		kept.Add(f)
	}
	return kept
}

// file reports something about a file of the bundle other than the manifest.
func (c *checker) file(rule string, s check.Severity, name, message, hint string) {
	c.report.Add(check.Finding{Rule: rule, Severity: s, File: c.opts.Where(name), Message: message, Hint: hint})
}

// absent is how bad it is that a file is not there which the server needs.
func (c *checker) absent() check.Severity {
	if c.opts.Alone {
		return check.Warning
	}
	return check.Error
}

// inside turns a path of the manifest into one of the bundle: relative, with
// slashes, without "." and "..". why says what is wrong with it, or is "".
func inside(name string) (clean, why string) {
	switch {
	case name == "":
		return "", "it is empty"
	case strings.HasPrefix(name, "/"), strings.HasPrefix(name, `\`), len(name) > 1 && name[1] == ':':
		return "", "it is absolute, and only the bundle itself is there on other machines"
	case strings.ContainsRune(name, 0):
		return "", "it has a NUL character in it"
	}
	clean = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", "it leads out of the bundle"
	}
	return clean, ""
}

// stat looks a file of the bundle up. Without files to look at, everything exists.
func (c *checker) stat(name string) (info fs.FileInfo, missing bool) {
	if c.fsys == nil {
		return nil, false
	}
	info, err := fs.Stat(c.fsys, name)
	if err != nil || c.opts.Skip(name, info.IsDir()) {
		return nil, true
	}
	return info, false
}

// leftOut reports whether a file is missing only because it is skipped.
func (c *checker) leftOut(name string) bool {
	info, err := fs.Stat(c.fsys, name)
	return err == nil && info.Mode().IsRegular()
}

// head returns the first bytes of a file, at most n of them, and nil when it
// cannot be read.
func (c *checker) head(name string, n int) []byte {
	f, err := c.fsys.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text := make([]byte, n)
	read, err := readHead(f, text)
	if err != nil {
		return nil
	}
	return text[:read]
}

// similar returns a hint with the file of the bundle whose path is nearest.
func (c *checker) similar(name string) string {
	if c.fsys == nil {
		return ""
	}
	entries, err := fs.ReadDir(c.fsys, path.Dir(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	var names []string
	for _, e := range entries {
		names = append(names, path.Join(path.Dir(name), e.Name()))
	}
	return c.near(name, names)
}
