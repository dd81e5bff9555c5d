package mcpb

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
)

// CheckOptions are the options of [Check]. Nil and the zero value mean the defaults.
type CheckOptions struct {
	// Where returns how findings refer to the file at a path in the bundle. The default
	// is the path itself.
	Where func(name string) string
	// Alone restricts the check to the manifest: a missing file that it names is only a
	// warning, and no other file is checked.
	Alone bool
	// Reference applies the verdicts of the reference CLI, version 2.1.2: what it accepts
	// is not reported, and what it refuses contrary to the specification is an error.
	Reference bool
	// NoModes means that fsys does not know which files are executable.
	NoModes bool
	// Skip reports whether a file or folder of fsys is not part of the bundle, such as
	// one that packing excludes. The default is to skip none.
	Skip func(name string, dir bool) bool

	// Limits are those of [OpenArchive], for [CheckPath].
	Limits *Limits

	moved []string // files that fsys opens but does not list
}

// Check checks the bundle with the content fsys against every rule: its manifest and its
// files. [Rules] lists them. All problems are reported at once.
//
// The manifest is nil if none can be parsed. The error is non-nil if the manifest is
// missing, unreadable or larger than [MaxManifest], or if the file system fails.
func Check(fsys fs.FS, opts *CheckOptions) (*Manifest, *check.Report, error) {
	text, err := fsutil.ReadRegular(fsys, ManifestName, MaxManifest)
	if err != nil {
		return nil, nil, err
	}
	c := newChecker(fsys, opts)
	return c.check(text)
}

// CheckManifest is [Check] for a manifest that is not in a bundle yet. Its icon and the
// other files it names are checked in fsys as described at [CheckOptions.Alone]; if fsys
// is nil, they are not checked.
func CheckManifest(
	text []byte,
	fsys fs.FS,
	opts *CheckOptions,
) (*Manifest, *check.Report, error) {
	c := newChecker(fsys, opts)
	c.opts.Alone = true
	return c.check(text)
}

// checker checks one bundle.
type checker struct {
	*document
	fsys     fs.FS // nil if no files are available
	opts     CheckOptions
	m        *Manifest
	natives  []native          // the machine code in the bundle
	options  map[string]Option // by key
	reported string            // file that checkEntryPoint has already reported
	content  []contentEntry    // of fsys, without what is skipped
}

// contentEntry is a file or a folder of the bundle.
type contentEntry struct {
	// name is the slash-separated path in the bundle.
	name    string
	dir     bool
	regular bool
}

// newChecker returns a checker with defaults for missing options.
func newChecker(fsys fs.FS, opts *CheckOptions) *checker {
	c := &checker{
		fsys: fsys,
		opts: valueOf(opts),
	}
	if c.opts.Where == nil {
		c.opts.Where = func(name string) string { return name }
	}
	if c.opts.Skip == nil {
		c.opts.Skip = func(string, bool) bool { return false }
	}
	return c
}

// check runs every check on the text of a manifest and on the files of the bundle. Checks of
// files need the manifest, so none of them runs without one.
func (c *checker) check(text []byte) (*Manifest, *check.Report, error) {
	report := &check.Report{Limit: maxFindings}
	c.document = readDocument(text, c.opts.Where(ManifestName), report)
	c.m = c.manifest()
	if c.m == nil {
		return nil, report, nil
	}
	c.checkVisible(c.root, nil)
	if !c.opts.Alone && c.fsys != nil {
		if err := c.walk(); err != nil {
			return c.m, report, err
		}
	}
	for _, rule := range []func(){
		c.checkIdentity, c.checkNames, c.checkCompatibility, c.checkMeta, c.checkPrivacy,
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

// referenceOnly keeps the findings that the reference CLI would report as errors.
func referenceOnly(all *check.Report) *check.Report {
	kept := &check.Report{}
	for _, f := range all.Findings() {
		switch {
		case f.Rule.Is(ruleReference):
			f.Severity = check.Error
		case f.Severity != check.Error || !isReferenceRule(f.Rule):
			continue
		}
		kept.Add(f)
	}
	return kept
}

// in returns a reporter for a file of the bundle other than the manifest.
func (c *checker) in(name string) check.Reporter {
	return c.In(c.opts.Where(name))
}

// inText is in for a file whose findings have positions in a text.
func (c *checker) inText(name string, text *check.Document) check.Reporter {
	r := c.in(name)
	r.Document = text
	return r
}

// missingSeverity is the severity of a missing file that the server needs.
func (c *checker) missingSeverity() check.Severity {
	if c.opts.Alone {
		return check.Warning
	}
	return check.Error
}

// cleanPath converts a path in the manifest to a path in the bundle: relative, with slashes,
// without "." and "..". why is the problem with it, or "".
func cleanPath(name string) (clean, why string) {
	switch {
	case name == "":
		return "", "it is empty"
	case strings.HasPrefix(name, "/"), strings.HasPrefix(name, `\`), len(name) > 1 &&
		name[1] == ':':
		return "", "it is absolute, but other machines have only the bundle itself"
	case strings.ContainsRune(name, 0):
		return "", "it contains a NUL character"
	}
	clean = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", "it points outside the bundle"
	}
	return clean, ""
}

// stat returns the info of a file of the bundle. If no files are available, every file
// exists.
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

// isSkipped reports whether a file is missing only because it is skipped.
func (c *checker) isSkipped(name string) bool {
	info, err := fs.Stat(c.fsys, name)
	return err == nil && info.Mode().IsRegular()
}

// head returns up to n bytes from the start of a file, or nil if it cannot be read.
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

// hintSimilar returns a hint with the most similar path in the bundle.
func (c *checker) hintSimilar(name string) string {
	if c.fsys == nil || c.full(check.Error) || c.full(check.Warning) {
		return ""
	}
	entries, err := fs.ReadDir(c.fsys, path.Dir(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	var names []string
	for _, e := range entries[:min(len(entries), maxFindings)] {
		names = append(names, path.Join(path.Dir(name), e.Name()))
	}
	return c.near(name, names)
}
