package mcpb

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcpb/internal/zip"
)

// CheckPath is [Check] for the file or folder at name: a folder with a manifest, a packed
// bundle, or a manifest. For a manifest, and for a folder that contains only a manifest
// and images, only the manifest is checked. Files of a folder that packing excludes are
// ignored.
//
// Findings name files by their path from the working directory; files of a packed bundle
// follow its name and "!". CheckPath sets the fields Where, Alone and NoModes of opts.
//
// A refused archive is a finding. An error means that name, or the manifest in it, cannot
// be read.
func CheckPath(name string, opts *CheckOptions) (*Manifest, *check.Report, error) {
	o := valueOf(opts)
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return checkFolder(name, o)
	}
	packed, err := isPacked(name)
	if err != nil {
		return nil, nil, err
	}
	if packed {
		return checkArchive(name, o)
	}
	folder := filepath.Dir(name)
	o.Where = func(file string) string {
		if file == ManifestName {
			return name
		}
		return filepath.Join(folder, filepath.FromSlash(file))
	}
	o.NoModes = runtime.GOOS == "windows"
	text, err := fsutil.ReadRegular(os.DirFS(folder), filepath.Base(name), MaxManifest)
	if err != nil {
		return nil, nil, err
	}
	return CheckManifest(text, os.DirFS(folder), &o)
}

// checkFolder checks only the files that packing would put into the bundle.
func checkFolder(name string, o CheckOptions) (*Manifest, *check.Report, error) {
	o.Where = func(file string) string {
		return filepath.Join(name, filepath.FromSlash(file))
	}
	// The file system of Windows has no executable bit.
	o.NoModes = runtime.GOOS == "windows"
	var more []check.Finding
	s, err := Select(name, LinksFollow)
	view := os.DirFS(name)
	var link *LinkError
	switch {
	case errors.As(err, &link):
		hint := "add /" + link.Name + " to " + IgnoreName
		if link.Link {
			hint = "slipway bundle pack --links skip excludes links"
		}
		more = append(more, check.Reporter{File: o.Where(link.Name)}.Finding(rulePackLink, "",
			hint, "%s", link.Reason))
	case err != nil:
		return nil, nil, err
	default:
		more = append(s.warnings(), s.development(o.Where)...)
		more = append(more, s.collision(o.Where)...)
		if o.Skip == nil {
			o.Skip = s.skips()
		}
		view, o.moved = s.fs(), s.moved()
		if s.bare() {
			o.Alone = true
			more = append(more, check.Reporter{File: name}.Finding(ruleBare, "", "",
				"the folder has nothing to start yet, so only the manifest was checked"))
		}
	}
	m, report, err := Check(view, &o)
	if err == nil && !o.Reference {
		report.Add(more...)
	}
	return m, report, err
}

// collision returns the finding for two names that packing refuses because some systems treat
// them as the same file.
func (s *Selection) collision(where func(string) string) []check.Finding {
	var refused *ArchiveError
	if !errors.As(zip.CheckNames(s.names(), nil), &refused) || !refused.Rule.Is(zip.RuleCollision) {
		return nil
	}
	return []check.Finding{
		check.Reporter{File: where(refused.Name)}.Finding(refused.Rule, "",
			"rename one of them, or exclude it with "+IgnoreName, "%s", refused.Reason),
	}
}

// bare reports whether the selection contains only a manifest and images: a draft, which
// need not be startable.
func (s *Selection) bare() bool {
	return !slices.ContainsFunc(s.Files, func(f SelectedFile) bool {
		return f.Name != ManifestName && !strings.EqualFold(path.Ext(f.Name), ".png")
	})
}

// isPacked reports whether a file is a packed bundle, by its name or its first bytes.
func isPacked(name string) (bool, error) {
	f, err := fsutil.OpenRegular(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var head [4]byte
	if _, err := io.ReadFull(f, head[:]); err == nil && string(head[:]) == "PK\x03\x04" {
		return true, nil
	}
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".mcpb" || ext == ".dxt", nil
}

// checkArchive checks the content of an archive, reads every file to its end, and refuses
// one that was changed after signing.
func checkArchive(name string, o CheckOptions) (*Manifest, *check.Report, error) {
	report := &check.Report{}
	a, err := OpenArchive(name, o.Limits)
	if addRefusal(report, name, err) {
		return nil, report, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer a.Close()
	o.Where = func(file string) string { return name + "!" + file }
	m, checked, err := Check(a.FS(), &o)
	if errors.Is(err, os.ErrNotExist) {
		check.Reporter{
			Report: report,
			File:   name,
		}.Add(ruleNoManifest, "", "slipway bundle pack DIR puts it there",
			"no manifest.json at the root of the bundle")
		return nil, report, nil
	}
	if err != nil {
		return nil, nil, err
	}
	report = checked
	for _, f := range a.Notes() {
		f.File = o.Where(f.File)
		report.Add(f)
	}
	if o.Reference {
		return m, report, nil
	}
	// Damage in a file only shows when it is read.
	for e := range a.Entries() {
		if !e.Mode.IsDir() {
			addRefusal(report, name, readThrough(a, e.Name))
		}
	}
	v, err := Verify(context.Background(), name, &VerifyOptions{Limits: o.Limits})
	if err != nil {
		return nil, nil, err
	}
	addRefusal(report, name, v.Refusal())
	return m, report, nil
}

// readThrough reads a file of an archive to its end, where its size and checksum are
// verified.
func readThrough(a *Archive, name string) error {
	f, err := a.FS().Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// addRefusal reports whether err is an [*ArchiveError], and adds that to the report.
func addRefusal(report *check.Report, name string, err error) bool {
	var refused *ArchiveError
	if !errors.As(err, &refused) {
		return false
	}
	report.Add(refused.Finding(name))
	return true
}
