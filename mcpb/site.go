package mcpb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/staticmcp"
)

// siteFolder is the folder of the site in a bundle that serves one.
const siteFolder = "site"

// sitePrograms are the systems that such a bundle can serve its site on, with the path of
// each program in the bundle. The first one in a bundle is its entry point. All paths
// differ, because a bundle may contain all three programs.
var sitePrograms = []struct{ platform, path string }{
	{"linux", "server/slipway"},
	{"darwin", "server/slipway-darwin"},
	{"win32", "server/slipway.exe"},
}

// siteProgram returns the path of the program for a platform in the bundle.
func siteProgram(platform string) (string, bool) {
	for _, p := range sitePrograms {
		if p.platform == platform {
			return p.path, true
		}
	}
	return "", false
}

// SiteOptions are the metadata of a bundle for a StaticMCP site. Empty fields are taken
// from the site.
type SiteOptions struct {
	Name, Version, Description, Author string
}

// SiteManifest returns the manifest of a standalone bundle for the site in dir: with the
// site below site/ and a slipway binary for each of platforms, as server/slipway on
// "linux", server/slipway-darwin on "darwin" and server/slipway.exe on "win32". If there
// are several, each has an override.
func SiteManifest(
	ctx context.Context,
	dir string,
	platforms []string,
	opts *SiteOptions,
) ([]byte, error) {
	if opts == nil {
		opts = &SiteOptions{}
	}
	site, err := staticmcp.OpenDir(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	cat, err := site.Catalog(ctx)
	if err := errors.Join(err, site.Close()); err != nil {
		return nil, err
	}
	m := &Manifest{
		SpecVersion: DefaultSpecVersion,
		Name:        cmp.Or(opts.Name, machineName(cat.Server.Name)),
		DisplayName: cat.Server.Title,
		Version:     cmp.Or(opts.Version, cat.Server.Version),
		Description: cmp.Or(opts.Description, cat.Server.Description,
			firstSentence(cat.Instructions), "The StaticMCP site "+cat.Server.Name),
		Author:           Author{Name: cmp.Or(opts.Author, cat.Server.Name)},
		PromptsGenerated: len(cat.Prompts) > 0,
		Compatibility:    &Compatibility{Platforms: slices.Sorted(slices.Values(platforms))},
	}
	for i := range cat.Tools {
		m.Tools = append(m.Tools, Tool{
			Name:        cat.Tools[i].Name,
			Description: cat.Tools[i].Description,
		})
	}
	if m.Server, err = siteServer(platforms); err != nil {
		return nil, err
	}
	return m.encode()
}

// siteServer returns how the bundle is started on each of platforms.
func siteServer(platforms []string) (s Server, err error) {
	for _, platform := range platforms {
		if _, ok := siteProgram(platform); !ok {
			return s, fmt.Errorf("unknown platform %q: the platforms are darwin, linux and win32", platform)
		}
	}
	s.Type = TypeBinary
	overrides := map[string]Override{}
	for _, p := range sitePrograms {
		if !slices.Contains(platforms, p.platform) {
			continue
		}
		start := Override{Command: "${" + varDir + "}/" + p.path}
		if s.Config == nil {
			start.Args = []string{"serve", "--stdio", "${" + varDir + "}/" + siteFolder}
			s.EntryPoint = p.path
			s.Config = &Config{
				Command: start.Command,
				Args:    start.Args,
			}
		}
		start.Args = nil
		overrides[p.platform] = start
	}
	if len(overrides) > 1 {
		s.Config.Overrides = overrides
	}
	return s, nil
}

// firstSentence returns the first sentence or line of a text.
func firstSentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if sentence, _, ok := strings.Cut(line, ". "); ok {
		return sentence
	}
	return line
}

// IsSite reports whether the folder dir contains a StaticMCP site and no bundle.
func IsSite(dir string) bool {
	_, none := os.Stat(filepath.Join(dir, ManifestName))
	_, err := os.Stat(filepath.Join(dir, "mcp.json"))
	return err == nil && errors.Is(none, fs.ErrNotExist)
}

// PackSite packs the StaticMCP site in the folder dir into a standalone bundle. programs
// are the slipway binaries to include, by platform ("darwin", "linux", "win32"); nil
// means the running program for the current platform. An empty out means the name and
// version of the site. Otherwise PackSite works like [Pack].
func PackSite(
	ctx context.Context,
	dir, out string,
	programs map[string]string,
	as *SiteOptions,
	opts *PackOptions,
) (*PackReport, error) {
	if len(programs) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		programs = map[string]string{ThisPlatform(): self}
	}
	text, err := SiteManifest(ctx, dir, sortedKeys(programs), as)
	if err != nil {
		return nil, err
	}
	if out == "" {
		m, err := ParseManifest(text)
		if err != nil {
			return nil, err
		}
		out = m.FileName()
	}
	// Next to the bundle, where files of the site can usually be linked instead of
	// copied.
	stage, release, err := fsutil.TempDir(filepath.Dir(out), ".slipway-site-")
	if err != nil {
		return nil, err
	}
	defer release()
	var staged PackOptions
	if opts != nil {
		staged = *opts
	}
	// The bundle may be written into the site's own folder, and so is the stage then.
	written := filesOf(append(slices.Clone(staged.Except), stage, out, out+checksumSuffix, staged.SBOM))
	if err := stageSite(ctx, stage, dir, text, programs, written); err != nil {
		return nil, err
	}
	// The stage is removed before the findings are read.
	staged.where = func(name string) string { return out + "!" + name }
	return Pack(ctx, stage, out, &staged)
}

// stageSite lays out the folder to pack. Files and folders in except are not copied.
func stageSite(
	ctx context.Context,
	stage, dir string,
	manifest []byte,
	programs map[string]string,
	except []fs.FileInfo,
) error {
	for _, folder := range []string{"server", siteFolder} {
		if err := os.Mkdir(filepath.Join(stage, folder), 0o755); err != nil {
			return err
		}
	}
	// A site's files may have any name, so none is excluded.
	keep := "!/" + siteFolder + "/**\n"
	if err := errors.Join(os.WriteFile(filepath.Join(stage, ManifestName), manifest, 0o644),
		os.WriteFile(filepath.Join(stage, IgnoreName), []byte(keep), 0o644)); err != nil {
		return err
	}
	for platform, program := range programs {
		name, _ := siteProgram(platform) // SiteManifest has refused other platforms
		err := copyFile(program, filepath.Join(stage, filepath.FromSlash(name)), 0o755)
		if err != nil {
			return fmt.Errorf("program for %s: %w", platform, err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		to := filepath.Join(stage, siteFolder, filepath.FromSlash(name))
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case name == ".":
			return nil
		}
		info, err := e.Info()
		switch {
		case err != nil:
			return err
		case contains(except, info) && e.IsDir():
			return fs.SkipDir
		case contains(except, info):
			return nil
		case e.IsDir():
			return os.Mkdir(to, 0o755)
		case !e.Type().IsRegular():
			return &LinkError{
				Name:   name,
				Reason: "a site in a bundle has files and folders only",
			}
		}
		from := filepath.Join(dir, filepath.FromSlash(name))
		if os.Link(from, to) == nil {
			return nil
		}
		return copyFile(from, to, 0o644)
	})
}

// copyFile copies a file to a new one. An existing file is not replaced.
func copyFile(from, to string, mode fs.FileMode) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	return errors.Join(err, f.Close())
}
