package sitewriter

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/tree"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// maxServerName is the maximum length of a site name derived from a title. It is short
// because clients prefix the names of tools with it.
const maxServerName = 32

// ServerName derives a name for programs from a title for people: lower-case words
// separated by sep, without the subtitle, as many as fit in 32 characters. Words in
// tellNothing are skipped unless there are no others. The name is empty if the title has
// no letter or digit that a name can contain.
func ServerName(title, sep string, tellNothing ...string) string {
	title = strings.ReplaceAll(title, "’", "'")
	title = possessive().ReplaceAllString(title, "$1")
	title = strings.ReplaceAll(title, "'", "")
	for _, subtitle := range []string{" - ", " – ", " — ", " | ", ": ", " + "} {
		if head, _, _ := strings.Cut(title, subtitle); len(nameWords(head)) > 0 {
			title = head
		}
	}
	words := nameWords(title)
	telling := slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return slices.Contains(tellNothing, word)
	})
	if len(telling) > 0 {
		words = telling
	}
	name := ""
	for _, word := range words {
		if name == "" {
			name = word[:min(len(word), maxServerName)]
			continue
		}
		if len(name)+len(sep)+len(word) > maxServerName {
			break
		}
		name += sep + word
	}
	return name
}

// possessive matches the "'s" of "GitHub's".
var possessive = lazyregexp.New(`(\pL)'s\b`)

func nameWords(text string) []string {
	return strings.FieldsFunc(staticmcp.EncodeName(text), func(r rune) bool {
		return r == '_' || r == '-'
	})
}

// contentFolders are folder names that do not identify a project.
var contentFolders = []string{
	"docs", "doc", "documentation", "content", "contents", "src", "source", "website", "site", "web", "www", "pages",
	"guide", "guides", "manual", "book", "packages",
}

// IsContentFolder reports whether a folder name, such as "docs", only indicates that the
// folder has content.
func IsContentFolder(name string) bool {
	return slices.Contains(contentFolders, strings.ToLower(name))
}

// GeneratorFolders returns the names of folders next to one with documents in which the configuration
// of its generator is looked for.
func GeneratorFolders() []string {
	return []string{"website", "site", "www", "docusaurus", "documentation"}
}

// ProjectFolder returns the folder of the project that a content folder belongs to: the
// nearest folder at or above dir whose name is more specific than "docs".
func ProjectFolder(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	const most = 3
	folder := abs
	for range most {
		up := filepath.Dir(folder)
		if !IsContentFolder(filepath.Base(folder)) || up == folder ||
			filepath.Base(up) == string(filepath.Separator) {
			return folder
		}
		folder = up
	}
	return folder
}

// ProjectVersion returns the version of the project that a folder belongs to, from the first
// of these that has one:
//
//   - a Git tag of the current commit, if the project is a repository,
//   - package.json, pyproject.toml or Cargo.toml,
//   - a Git tag of the current commit of the repository that the project is a folder of, which
//     may have other projects,
//   - the greatest Git tag of a release, since projects without such a file are rarely at
//     the commit of a tag.
//
// It is empty if none has. The number of commits since a tag is not part of the version: it
// would change the site with every commit.
func ProjectVersion(dir string) string {
	root := ProjectFolder(dir)
	repository := repositoryOf(root)
	here, greatest := gitVersions(filepath.Join(repository, ".git"), filepath.Base(root))
	if repository == root {
		return cmp.Or(here, packageVersion(root), greatest)
	}
	return cmp.Or(packageVersion(root), here, greatest)
}

// repositoryOf returns the nearest folder at or above dir that is a Git repository, or dir if
// none is. The home folder and what is above it belong to no project.
func repositoryOf(dir string) string {
	home, _ := os.UserHomeDir()
	folder := dir
	for range 32 {
		if info, err := os.Stat(filepath.Join(folder, ".git")); err == nil && info.IsDir() {
			return folder
		}
		up := filepath.Dir(folder)
		if up == folder || up == home {
			break
		}
		folder = up
	}
	return dir
}

// packageFiles are files with the version of a project, and where it is in them.
var packageFiles = []struct {
	name   string
	format tree.Format
	paths  [][]string
}{
	{"package.json", tree.JSON, [][]string{{"version"}}},
	{"pyproject.toml", tree.TOML, [][]string{{"project", "version"}, {"tool", "poetry", "version"}}},
	{"Cargo.toml", tree.TOML, [][]string{{"package", "version"}, {"workspace", "package", "version"}}},
}

// packageVersion returns the version in one of the package files of a folder, or "".
// Versions of only zeros mean that there is no release, as in workspaces.
func packageVersion(root string) string {
	for _, f := range packageFiles {
		text, err := readSmall(filepath.Join(root, f.name))
		if err != nil {
			continue
		}
		file, problems := tree.Parse(text, f.format)
		if len(problems) > 0 {
			continue
		}
		for _, path := range f.paths {
			node := file
			for _, member := range path {
				node = node.Get(member)
			}
			if node == nil || node.Kind != tree.String {
				continue
			}
			if strings.Trim(node.Text, "0.") != "" && versionTag().MatchString(node.Text) {
				return node.Text
			}
		}
	}
	return ""
}

// maxProjectFile limits the size of each file that is read to find a version.
const maxProjectFile = 4 << 20

// readSmall reads a project file. Unexpectedly large ones are ignored.
func readSmall(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxProjectFile {
		return nil, os.ErrInvalid
	}
	return os.ReadFile(name)
}

// versionTag matches tags that are versions.
var versionTag = lazyregexp.New(`^v?([0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(?:-[0-9A-Za-z.-]{1,40})?)$`)

// objectID matches a Git object hash.
var objectID = lazyregexp.New(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// gitVersions returns the greatest version in a tag of the current commit, and the greatest
// of all releases, with numbers compared as numbers. In repositories of several packages,
// tags have the form PROJECT@1.2.3. It reads files only: running git would execute commands
// that the repository configures.
func gitVersions(git, project string) (here, greatest string) {
	head := gitRef(git, "HEAD")
	if head == "" {
		return "", ""
	}
	var current, releases []string
	add := func(tag, commit string) {
		m := versionTag().FindStringSubmatch(strings.TrimPrefix(tag, project+"@"))
		if m == nil {
			return
		}
		if commit == head {
			current = append(current, m[1])
		}
		if !strings.Contains(m[1], "-") {
			releases = append(releases, m[1])
		}
	}
	packed, _ := readSmall(filepath.Join(git, "packed-refs"))
	for tag, commit := range packedTags(packed) {
		add(tag, commit)
	}
	const most = 10_000
	loose, _ := os.ReadDir(filepath.Join(git, "refs", "tags"))
	for _, entry := range loose[:min(len(loose), most)] {
		if !versionTag().MatchString(strings.TrimPrefix(entry.Name(), project+"@")) {
			continue
		}
		id := gitRef(git, "refs/tags/"+entry.Name())
		if id != head && id != "" {
			id = taggedCommit(git, id)
		}
		add(entry.Name(), id)
	}
	return maxVersion(current), maxVersion(releases)
}

// maxVersion returns the greatest version, or "".
func maxVersion(versions []string) string {
	if len(versions) == 0 {
		return ""
	}
	return slices.MaxFunc(versions, compareVersions)
}

// compareVersions compares two versions that match versionTag: 1.10.0 is greater than
// 1.9.0, and a release is greater than its pre-releases.
func compareVersions(a, b string) int {
	a, preA, isPreA := strings.Cut(a, "-")
	b, preB, isPreB := strings.Cut(b, "-")
	x := strings.Split(a, ".")
	y := strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		numberA, _ := strconv.Atoi(x[i])
		numberB, _ := strconv.Atoi(y[i])
		if c := cmp.Compare(numberA, numberB); c != 0 {
			return c
		}
	}
	if isPreA != isPreB {
		return strings.Compare(preB, preA) // the release has no text
	}
	return strings.Compare(preA, preB)
}

// gitRef returns the hash of a reference, or "".
func gitRef(git, name string) string {
	text, err := readSmall(filepath.Join(git, filepath.FromSlash(name)))
	value := strings.TrimSpace(string(text))
	if branch, ok := strings.CutPrefix(value, "ref: refs/heads/"); ok && name == "HEAD" && filepath.IsLocal(branch) {
		name = "refs/heads/" + branch
		if text, err = readSmall(filepath.Join(git, filepath.FromSlash(name))); err == nil {
			value = strings.TrimSpace(string(text))
		}
	}
	if err == nil && objectID().MatchString(value) {
		return value
	}
	packed, _ := readSmall(filepath.Join(git, "packed-refs"))
	for line := range strings.Lines(string(packed)) {
		id, ref, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && ref == name && objectID().MatchString(id) {
			return id
		}
	}
	return ""
}

// packedTags returns the commits of the tags in packed-refs, where a line "^hash" after
// an annotated tag gives its commit.
func packedTags(packed []byte) map[string]string {
	tags := make(map[string]string)
	last := ""
	scanner := bufio.NewScanner(bytes.NewReader(packed))
	for scanner.Scan() {
		line := scanner.Text()
		if commit, ok := strings.CutPrefix(line, "^"); ok {
			if last != "" {
				tags[last] = commit
			}
			continue
		}
		id, ref, _ := strings.Cut(line, " ")
		tag, ok := strings.CutPrefix(ref, "refs/tags/")
		if last = ""; ok {
			tags[tag] = id
			last = tag
		}
	}
	return tags
}

// taggedCommit returns the commit of an annotated tag stored as a loose object.
func taggedCommit(git, id string) string {
	if !objectID().MatchString(id) {
		return ""
	}
	packed, err := readSmall(filepath.Join(git, "objects", id[:2], id[2:]))
	if err != nil {
		return ""
	}
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return ""
	}
	const most = 1 << 10
	text, _ := io.ReadAll(io.LimitReader(r, most))
	header, body, _ := strings.Cut(string(text), "\x00")
	commit, ok := strings.CutPrefix(body, "object ")
	if !ok || !strings.HasPrefix(header, "tag ") {
		return ""
	}
	commit, _, _ = strings.Cut(commit, "\n")
	return commit
}
