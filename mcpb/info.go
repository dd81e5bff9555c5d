package mcpb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/slipway-mcp/slipway/internal/order"
)

// Info is a bundle's metadata and size. Fields may be added.
type Info struct {
	SpecVersion     string            `json:"manifestVersion"`
	Name            string            `json:"name"`
	Title           string            `json:"title"` // display name, or Name if there is none
	Version         string            `json:"version"`
	Description     string            `json:"description"`
	LongDescription string            `json:"longDescription,omitempty"`
	Author          Author            `json:"author"`
	License         string            `json:"license,omitempty"`
	Homepage        string            `json:"homepage,omitempty"`
	Keywords        []string          `json:"keywords,omitempty"`
	PrivacyPolicies []string          `json:"privacyPolicies,omitempty"`
	Type            string            `json:"type"`
	EntryPoint      string            `json:"entryPoint"`
	Command         []string          `json:"command,omitempty"` // as written, with variables
	Platforms       []string          `json:"platforms"`         // all of them if the manifest names none
	Runtimes        map[string]string `json:"runtimes,omitempty"`
	Clients         map[string]string `json:"clients,omitempty"`
	Tools           []Tool            `json:"tools"`
	MoreTools       bool              `json:"moreTools,omitempty"` // more are known only at run time
	Prompts         []Prompt          `json:"prompts"`
	MorePrompts     bool              `json:"morePrompts,omitempty"`
	Options         []Option          `json:"options"`                // defaults of sensitive ones are redacted
	Locales         []string          `json:"locales,omitempty"`      // available translations
	Translations    []string          `json:"translations,omitempty"` // translations in use, the best first
	Files           int               `json:"files"`
	Bytes           int64             `json:"bytes"`                 // unpacked
	PackedBytes     int64             `json:"packedBytes,omitempty"` // of the archive, without a signature
	Largest         []FileInfo        `json:"largest"`
	// Signature is the result of [Verify] with default options. It is nil for a folder.
	Signature *Verification `json:"signature,omitempty"`
}

// FileInfo is a file of a bundle.
type FileInfo struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// InfoOptions are the options of [ReadInfo]. Nil and the zero value mean the defaults.
type InfoOptions struct {
	// Locale is the language of the texts, such as "de-AT". The default is the language
	// of the manifest.
	Locale string
	// Largest is the number of largest files to list. The default is 5; a negative number
	// means none.
	Largest int
	// Limits are those of [OpenArchive].
	Limits *Limits
}

// ReadInfo reads the metadata of the bundle at name, a folder or a packed bundle, and
// verifies the signature of a packed one. If the manifest is invalid, the error is a
// [*ManifestError]; if the archive is refused, an [*ArchiveError].
func ReadInfo(ctx context.Context, name string, opts *InfoOptions) (*Info, error) {
	var o InfoOptions
	if opts != nil {
		o = *opts
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return readInfo(os.DirFS(name), &o)
	}
	if filepath.Base(name) == ManifestName {
		return readInfo(os.DirFS(filepath.Dir(name)), &o)
	}
	a, err := OpenArchive(name, o.Limits)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	i, err := readInfo(a.FS(), &o)
	if err != nil {
		return nil, err
	}
	i.PackedBytes = a.PackedSize()
	i.Signature, err = Verify(ctx, name, &VerifyOptions{Limits: o.Limits})
	return i, err
}

// readInfo describes the bundle in fsys. With a locale, the texts are those of its translation, if
// it has one.
func readInfo(fsys fs.FS, o *InfoOptions) (*Info, error) {
	m, err := ReadManifest(fsys)
	if err != nil {
		return nil, err
	}
	i := &Info{Locales: m.Locales(fsys)}
	if o.Locale != "" {
		m, i.Translations = m.Localized(fsys, o.Locale)
	}
	i.describe(m)
	return i, i.countFiles(fsys, max(cmp.Or(o.Largest, 5), 0))
}

// describe copies the metadata. Lists are copied, because the manifest is read-only.
func (i *Info) describe(m *Manifest) {
	i.SpecVersion, i.Name, i.Title, i.Version, i.Description = m.SpecVersion, m.Name, m.Title(), m.Version, m.Description
	i.LongDescription = m.LongDescription
	i.Author = m.Author
	i.License = m.License
	i.Homepage = m.Homepage
	i.Keywords = m.Keywords
	i.PrivacyPolicies = m.PrivacyPolicies
	i.Type = m.Server.Type
	i.EntryPoint = m.Server.EntryPoint
	if c := m.Server.Config; c != nil {
		i.Command = append([]string{c.Command}, c.Args...)
	}
	i.Platforms = platforms()
	if k := m.Compatibility; k != nil {
		i.Runtimes, i.Clients = maps.Clone(k.Runtimes), maps.Clone(k.Clients)
		if len(k.Platforms) > 0 {
			i.Platforms = k.Platforms
		}
	}
	i.Tools = append([]Tool{}, m.Tools...)
	i.MoreTools = m.ToolsGenerated
	i.Prompts = append([]Prompt{}, m.Prompts...)
	i.MorePrompts = m.PromptsGenerated
	i.Options = append([]Option{}, m.UserConfig...)
	for k := range i.Options {
		o := &i.Options[k]
		if o.Sensitive && o.Default != nil {
			o.Default = Redacted
		}
	}
}

// countFiles counts the files, and keeps the largest.
func (i *Info) countFiles(fsys fs.FS, largest int) error {
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // deleted in the meantime
		}
		if err != nil {
			return err
		}
		i.Files++
		i.Bytes += info.Size()
		i.Largest = append(i.Largest, FileInfo{name, info.Size()})
		if len(i.Largest) > 4*largest {
			i.keepLargest(largest)
		}
		return nil
	})
	i.keepLargest(largest)
	if err != nil {
		return fmt.Errorf("count the files: %w", err)
	}
	return nil
}

// keepLargest sorts the files by size, largest first, and keeps that number of them.
func (i *Info) keepLargest(largest int) {
	order.By(i.Largest, func(a, b FileInfo) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	i.Largest = i.Largest[:min(len(i.Largest), largest)]
}
