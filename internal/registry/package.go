package registry

import (
	"fmt"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// Names and versions of packages, as their registries allow them.
var (
	npmName     = lazyregexp.New(`^(@[A-Za-z0-9~_][A-Za-z0-9._~-]*/)?[A-Za-z0-9~_][A-Za-z0-9._~-]*$`)
	pypiName    = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._,-]+\])?$`)
	crateName   = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]*$`)
	packVersion = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9.+!_-]*$`)
)

// maxPackage limits the text of a package, in bytes. The longest names that registries allow
// are below it.
const maxPackage = 300

// IsPackage reports whether text is meant for [ParsePackage].
func IsPackage(text string) bool {
	return strings.HasPrefix(text, "npm:") || strings.HasPrefix(text, "pypi:")
}

// ParsePackage returns the document of a server in a package that speaks over stdin and
// stdout: npm:NAME, npm:NAME@VERSION, pypi:NAME, pypi:NAME@VERSION or pypi:NAME==VERSION.
// args are the arguments of its program. Whether the package exists is not verified.
func ParsePackage(text string, args []string) (*Document, error) {
	kind, rest, _ := strings.Cut(text, ":")
	p := Package{
		RegistryType: kind,
		Identifier:   rest,
		Transport:    Transport{Type: "stdio"},
	}
	name := npmName
	if kind == "pypi" {
		name = pypiName
		p.Identifier, p.Version, _ = strings.Cut(strings.Replace(rest, "==", "@", 1), "@")
	} else if i := strings.LastIndexByte(rest, '@'); i > 0 {
		p.Identifier = rest[:i]
		p.Version = rest[i+1:]
	}
	versioned := len(p.Identifier) < len(rest)
	switch {
	case len(text) > maxPackage, !IsPackage(text), !name().MatchString(p.Identifier):
		return nil, fmt.Errorf("%.100q is not a name of a package", p.Identifier)
	case versioned && !packVersion().MatchString(p.Version):
		return nil, fmt.Errorf("%.100q is not a version of a package", p.Version)
	}
	for _, word := range args {
		p.PackageArguments = append(p.PackageArguments, Argument{
			Type:  "positional",
			Input: Input{Value: word},
		})
	}
	return &Document{
		Name:     p.Identifier,
		Version:  p.Version,
		Packages: []Package{p},
	}, nil
}
