package mcpb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/order"
)

// Links specifies how packing handles symbolic links, which bundles cannot contain.
type Links string

const (
	// LinksFollow packs the targets of links within the folder, and refuses links that
	// point outside it.
	LinksFollow Links = "follow"
	// LinksSkip omits links.
	LinksSkip Links = "skip"
	// LinksRefuse refuses every link.
	LinksRefuse Links = "refuse"
)

// LinkError means that a link, or another file that is neither regular nor a folder,
// cannot be packed.
type LinkError struct {
	// Name is the path in the folder.
	Name string
	// Reason is the problem in words.
	Reason string
	// Link reports whether it is a symbolic link, which [LinksSkip] excludes.
	Link bool
}

// Error implements the error interface.
func (e *LinkError) Error() string { return e.Name + ": " + e.Reason }

// Selection is the set of files in a folder to pack. Use [Select] to create one.
type Selection struct {
	// Files are the files to pack, sorted by name after manifest.json.
	Files []SelectedFile
	// Excluded are the excluded files and folders, sorted by name. A folder includes its
	// content.
	Excluded []Exclusion

	// dir is the folder, and rules are what it excludes.
	dir   string
	rules ignoreRules
	// links is the action for symbolic links, and except are files that are never packed, such as
	// the archive itself.
	links  Links
	except []os.FileInfo
}

// SelectedFile is a file to pack.
type SelectedFile struct {
	// Name is the slash-separated path in the archive.
	Name string `json:"name"`
	Size int64  `json:"size"`

	executable bool
	source     string // its path in the folder, if it differs
}

// Exclusion is an excluded file or folder, and the reason.
type Exclusion struct {
	Name string `json:"name"`
	// Folder reports whether it is a folder.
	Folder bool `json:"folder,omitempty"`
	// Rule is the rule that excludes it, or nil if there is another reason.
	Rule *IgnoreRule `json:"rule,omitempty"`
	// Reason is the reason in words.
	Reason string `json:"reason"`
}

// Select walks the folder dir and selects the files to pack: all except those that the
// built-in rules and the file .mcpbignore exclude. except are additional files to
// exclude, such as the bundle to be written; missing ones are ignored. manifest.json is
// never excluded.
//
// A file that can be neither packed nor excluded, such as a link out of the folder, is a
// [*LinkError].
func Select(dir string, links Links, except ...string) (*Selection, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if links == "" {
		links = LinksFollow
	}
	text, err := fsutil.ReadRegular(root.FS(), IgnoreName, MaxManifest)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	s := &Selection{
		dir:   dir,
		rules: newIgnoreRules(text),
		links: links,
	}
	s.except = filesOf(except)
	if err := s.walk(root, ".", nil); err != nil {
		return nil, err
	}
	order.By(s.Files, func(a, b SelectedFile) int {
		if (a.Name == ManifestName) != (b.Name == ManifestName) {
			return map[bool]int{true: -1, false: 1}[a.Name == ManifestName]
		}
		return strings.Compare(a.Name, b.Name)
	})
	order.By(s.Excluded, func(a, b Exclusion) int {
		return strings.Compare(a.Name, b.Name)
	})
	return s, nil
}

// filesOf returns the files and folders of these names that exist.
func filesOf(names []string) (files []os.FileInfo) {
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			files = append(files, info)
		}
	}
	return files
}

// contains reports whether a file or folder is one of files.
func contains(files []os.FileInfo, file os.FileInfo) bool {
	return slices.ContainsFunc(files, func(f os.FileInfo) bool {
		return os.SameFile(f, file)
	})
}

// walk adds the content of the folder at name. above are the folders that links led
// through, to detect cycles.
func (s *Selection) walk(root *os.Root, name string, above []os.FileInfo) error {
	folder, err := root.Open(name)
	if err != nil {
		return err
	}
	entries, err := folder.ReadDir(-1)
	if err = errors.Join(err, folder.Close()); err != nil {
		return err
	}
	for _, entry := range entries {
		err := s.visit(root, path.Join(name, entry.Name()), entry, above)
		if err != nil {
			return err
		}
	}
	return nil
}

// visit adds or excludes one entry of a folder. Rules are applied to the target of a link,
// so that a rule for folders matches a link to one.
func (s *Selection) visit(
	root *os.Root,
	name string,
	entry fs.DirEntry,
	above []os.FileInfo,
) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	link := info.Mode()&fs.ModeSymlink != 0
	if link && s.links != LinksSkip {
		// A rule can still exclude a broken link.
		if target, err := root.Stat(name); err == nil {
			info = target
		}
	}
	rule := s.rules.match(name, info.IsDir())
	if name != ManifestName && rule != nil && !rule.rule.Include {
		s.exclude(Exclusion{
			Name:   name,
			Folder: info.IsDir(),
			Rule:   rule,
			Reason: rule.String(),
		})
		return nil
	}
	if link {
		if s.links == LinksSkip {
			s.exclude(Exclusion{
				Name:   name,
				Reason: "it is a link",
			})
			return nil
		}
		if above, err = s.follow(root, name, info, above); err != nil {
			return err
		}
	}
	switch {
	case info.IsDir() && s.links == LinksFollow && isIsolated(root, name):
		return s.isolated(root, name)
	case info.IsDir():
		return s.walk(root, name, above)
	case !info.Mode().IsRegular():
		return &LinkError{
			Name:   name,
			Reason: "it is a device, a pipe or a socket",
			Link:   link,
		}
	case contains(s.except, info):
		s.exclude(Exclusion{
			Name:   name,
			Reason: "it is written by packing",
		})
		return nil
	}
	s.Files = append(s.Files, SelectedFile{
		Name:       name,
		Size:       info.Size(),
		executable: info.Mode()&0o100 != 0,
	})
	return nil
}

// follow handles a link. It returns above with the target folder added.
func (s *Selection) follow(
	root *os.Root,
	name string,
	target os.FileInfo,
	above []os.FileInfo,
) ([]os.FileInfo, error) {
	if s.links == LinksRefuse {
		return nil, &LinkError{
			Name:   name,
			Reason: "it is a link",
			Link:   true,
		}
	}
	if target.Mode()&fs.ModeSymlink != 0 {
		reason := "it is a link that points outside the folder"
		_, err := os.Stat(filepath.Join(s.dir, filepath.FromSlash(name)))
		if err != nil {
			reason = "it is a broken link"
		}
		return nil, &LinkError{
			Name:   name,
			Reason: reason,
			Link:   true,
		}
	}
	if !target.IsDir() {
		return above, nil
	}
	// A link to a folder above it would never end.
	for up := path.Dir(name); ; up = path.Dir(up) {
		info, err := root.Stat(up)
		if err == nil && os.SameFile(info, target) {
			return nil, &LinkError{
				Name:   name,
				Reason: "it is a link to a folder that it is in",
				Link:   true,
			}
		}
		if up == "." {
			break
		}
	}
	if contains(above, target) {
		return nil, &LinkError{
			Name:   name,
			Reason: "it is a link to a folder that it is in",
			Link:   true,
		}
	}
	return append(slices.Clone(above), target), nil
}

// exclude records that a file or folder is not packed, and by which rule.
func (s *Selection) exclude(e Exclusion) {
	s.Excluded = append(s.Excluded, e)
}

// String returns the rule and its location.
func (rule *IgnoreRule) String() string {
	if rule.File == defaultsName {
		return fmt.Sprintf("%s (built in)", rule.Pattern)
	}
	return fmt.Sprintf("%s (%s:%d)", rule.Pattern, rule.File, rule.Line)
}

// Explain returns why a path in the folder is excluded, or nil if no rule excludes it.
// The path need not exist.
func (s *Selection) Explain(name string) *Exclusion {
	name = path.Clean(filepath.ToSlash(name))
	for i := range s.Excluded {
		e := &s.Excluded[i]
		if name == e.Name || (e.Folder && strings.HasPrefix(name, e.Name+"/")) {
			return e
		}
	}
	rule, at := s.rules.decide(name, false)
	if rule != nil && name != ManifestName {
		return &Exclusion{
			Name:   at,
			Folder: at != name,
			Rule:   rule,
			Reason: rule.String(),
		}
	}
	return nil
}

// skips returns the [CheckOptions.Skip] function of the selection.
func (s *Selection) skips() func(name string, dir bool) bool {
	out := make(map[string]bool, len(s.Excluded))
	for _, e := range s.Excluded {
		out[e.Name] = true
	}
	return func(name string, _ bool) bool {
		for ; name != "."; name = path.Dir(name) {
			if out[name] {
				return true
			}
		}
		return false
	}
}

// warnings returns findings about rules that exclude installed packages: a rule for the
// project's own files is seldom meant for those.
func (s *Selection) warnings() []check.Finding {
	var found []check.Finding
	counts := map[*IgnoreRule]int{}
	for i := range s.Excluded {
		e := &s.Excluded[i]
		if e.Rule == nil || e.Rule.File == defaultsName || !inPackages(e.Name) ||
			strings.Contains(strings.TrimSuffix(e.Rule.Pattern, "/"), "/") {
			continue
		}
		if counts[e.Rule]++; counts[e.Rule] > 1 {
			continue
		}
		f := check.Reporter{File: filepath.Join(s.dir, IgnoreName)}.Finding(ruleIgnored, "",
			fmt.Sprintf("write /%s for the one next to the manifest",
				strings.TrimPrefix(e.Rule.Pattern, "/")),
			"the rule %q also excludes %s, which was installed and may be needed", e.Rule.Pattern, e.Name)
		f.Line = e.Rule.Line
		f.Column = 1
		found = append(found, f)
	}
	return found
}

// inPackages reports whether a path is in a folder of installed packages.
func inPackages(name string) bool {
	for segment := range strings.SplitSeq(path.Dir(name), "/") {
		if segment == "node_modules" || segment == "site-packages" || segment == "deps" {
			return true
		}
	}
	return strings.HasPrefix(name, "server/lib/")
}
