package mcpb

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/textproto"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/order"
)

// inventory is the subset of CycloneDX 1.6 that is written.
type inventory struct {
	Format      string `json:"bomFormat"`
	SpecVersion string `json:"specVersion"`
	// Serial is derived from the content, so that the same bundle has the same inventory.
	Serial     string      `json:"serialNumber"`
	Version    int         `json:"version"`
	Metadata   inventoryOf `json:"metadata"`
	Components []component `json:"components"`

	// seen has the Ref of each component.
	seen map[string]bool
}

// inventoryOf is the metadata of an inventory in CycloneDX: the component that it is about.
type inventoryOf struct {
	Component component `json:"component"`
}

// component is a package or file of the bundle, in CycloneDX.
type component struct {
	Type string `json:"type"`
	// Ref is unique within the inventory; PURL is the package URL.
	Ref        string        `json:"bom-ref"`
	Name       string        `json:"name"`
	Version    string        `json:"version,omitempty"`
	Licenses   []licenceName `json:"licenses,omitempty"`
	PURL       string        `json:"purl,omitempty"`
	Properties []property    `json:"properties,omitempty"`
}

// licenceName is a licence as its package names it. It may be no SPDX identifier.
type licenceName struct {
	License struct {
		Name string `json:"name"`
	} `json:"license"`
}

// property is a fact for which CycloneDX has no field.
type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// maxProgram is the size of the largest program that is searched for build information.
const maxProgram = 256 << 20

// SBOM returns the packages in a bundle as CycloneDX 1.6 (ECMA-424) in JSON: those in
// node_modules folders, by their package.json; Python packages, by their METADATA; and
// the modules of Go programs, by their build information. The same bundle results in the
// same bytes: there is no time in it, and its serial number is derived from its content.
func SBOM(a *Archive) ([]byte, error) {
	m, err := ReadManifest(a.FS())
	if err != nil {
		return nil, err
	}
	b := &inventory{
		Format:      "CycloneDX",
		SpecVersion: "1.6",
		Version:     1,
		Components:  []component{},
		seen:        map[string]bool{},
	}
	b.Metadata.Component = component{
		Type:    "application",
		Ref:     "bundle",
		Name:    m.Name,
		Version: m.Version,
	}
	if m.License != "" {
		b.Metadata.Component.license(m.License)
	}
	for e := range a.Entries() {
		if err := b.inspect(a, &e); err != nil {
			return nil, err
		}
	}
	order.By(b.Components, func(x, y component) int {
		return cmp.Or(strings.Compare(x.PURL, y.PURL), strings.Compare(x.Ref, y.Ref))
	})
	content, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8 (RFC 9562)
	b.Serial = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8],
		sum[8:10], sum[10:16])
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(b)
	return out.Bytes(), err
}

// license sets the only license of the component.
func (c *component) license(name string) {
	l := licenceName{}
	l.License.Name = name
	c.Licenses = []licenceName{l}
}

// add adds a package, once for each place.
func (b *inventory) add(c component, place string) {
	c.Type = "library"
	c.Ref = c.PURL + "#" + place
	if b.seen[c.Ref] {
		return
	}
	b.seen[c.Ref] = true
	c.Properties = []property{{"slipway:path", place}}
	b.Components = append(b.Components, c)
}

// inspect adds the packages that an entry describes.
func (b *inventory) inspect(a *Archive, e *Entry) error {
	switch base := path.Base(e.Name); {
	case e.Mode.IsDir():
		return nil
	case base == "package.json" && packageOf(e.Name) == path.Dir(e.Name):
		return b.addNode(a, e)
	case base == "METADATA" && strings.HasSuffix(path.Dir(e.Name), ".dist-info"):
		return b.addPython(a, e)
	}
	return b.addGo(a, e)
}

// addNode adds a package of node_modules.
func (b *inventory) addNode(a *Archive, e *Entry) error {
	p, text, err := readPackageJSON(a.FS(), path.Dir(e.Name))
	switch {
	case text == nil:
		return err
	case err != nil || p.Name == "":
		return nil // many packages contain such files that do not describe a package
	}
	c := component{
		Name:    p.Name,
		Version: p.Version,
		PURL:    "pkg:npm/" + escapePURL(p.Name) + "@" + url.PathEscape(p.Version),
	}
	var name string
	if json.Unmarshal(p.License, &name) == nil && name != "" {
		c.license(name)
	}
	b.add(c, path.Dir(e.Name))
	return nil
}

// escapePURL escapes a package name, but keeps the slash of a scope.
func escapePURL(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(url.PathEscape(name), "%2F", "/"), "@", "%40")
}

// addPython adds an installed Python package, by the METADATA in its dist-info folder.
func (b *inventory) addPython(a *Archive, e *Entry) error {
	text, err := fsutil.ReadRegular(a.FS(), e.Name, 4<<20)
	if err != nil {
		return err
	}
	header, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(text))).ReadMIMEHeader()
	name := header.Get("Name")
	if (err != nil && !errors.Is(err, io.EOF)) || name == "" {
		return nil
	}
	// Python package names are compared in this form.
	plain := strings.ToLower(regexp.MustCompile(`[-_.]+`).ReplaceAllString(name, "-"))
	c := component{
		Name:    name,
		Version: header.Get("Version"),
		PURL:    "pkg:pypi/" + url.PathEscape(plain) + "@" + url.PathEscape(header.Get("Version")),
	}
	l := cmp.Or(header.Get("License-Expression"), header.Get("License"))
	if l != "" && !strings.Contains(l, "\n") {
		c.license(l)
	}
	b.add(c, path.Dir(e.Name))
	return nil
}

// addGo adds the modules of a Go program.
func (b *inventory) addGo(a *Archive, e *Entry) error {
	if e.Mode&0o100 == 0 || e.Size > maxProgram {
		return nil
	}
	f, err := a.FS().Open(e.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	if _, ok := readNative(e.Name, head[:n]); !ok {
		return nil
	}
	program, err := fs.ReadFile(a.FS(), e.Name)
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil // not built by Go
	}
	version := strings.TrimPrefix(info.GoVersion, "go")
	b.add(component{
		Name:    "stdlib",
		Version: version,
		PURL:    "pkg:golang/stdlib@" + url.PathEscape(version),
	}, e.Name)
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		c := component{
			Name:    dep.Path,
			Version: dep.Version,
			PURL:    "pkg:golang/" + escapePURL(dep.Path) + "@" + url.PathEscape(dep.Version),
		}
		b.add(c, e.Name)
	}
	return nil
}
