package mcpb

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// family is the machine code of one package, in all its variants if there is a package
// for each system.
type family struct {
	name    string
	systems map[string][]string // CPUs, by system
	example map[string]string   // a file, by system
	pythons map[string]bool     // Python versions such as "3.11"; "" for any
	tagged  string              // a file for a single version
}

// checkLibraries reports packages without machine code for a system, a CPU or a Python
// version that the manifest declares. checkPlatforms checks the programs that are
// started.
func (c *checker) checkLibraries(declared []string, started map[string]bool) {
	families := map[string]*family{}
	for i := range c.natives {
		n := &c.natives[i]
		if started[n.name] || n.platform == "" {
			continue
		}
		name := familyOf(n.name)
		f := families[name]
		if f == nil {
			f = &family{
				name:    name,
				systems: map[string][]string{},
				example: map[string]string{},
				pythons: map[string]bool{},
			}
			families[name] = f
		}
		f.systems[n.platform] = append(f.systems[n.platform], n.cpus...)
		f.example[n.platform] = n.name
		// The empty version is that of libraries for any Python.
		version := pythonTag(n.name)
		f.pythons[version] = true
		if version != "" {
			f.tagged = n.name
		}
	}
	for _, name := range sortedKeys(families) {
		f := families[name]
		if c.m.Server.Type != TypeBinary {
			c.checkSystems(f, declared)
		}
		c.checkPython(f)
	}
}

// checkSystems reports declared systems and CPUs for which a package has no code.
func (c *checker) checkSystems(f *family, declared []string) {
	have := sortedKeys(f.systems)
	var missing []string
	for _, platform := range declared {
		cpus, ok := f.systems[platform]
		if !ok {
			missing = append(missing, platform)
			continue
		}
		for _, cpu := range []string{"amd64", "arm64"} {
			if !slices.Contains(cpus, cpu) {
				slices.Sort(cpus)
				c.Add(ruleBinaryCPU, "/compatibility/platforms",
					"a manifest cannot say for which CPU a bundle is; install the package for both, or say it in the name of the file",
					"%s has machine code for %s on %s and none for %s, such as %s", f.name,
					strings.Join(slices.Compact(cpus), " and "), platform, cpu, f.example[platform])
				break
			}
		}
	}
	if len(missing) == 0 {
		return
	}
	c.Add(ruleBinaryPlatform.As(check.Warning), "/compatibility/platforms", fmt.Sprintf(
		"name in compatibility.platforms only what it runs on, such as %q, or install the package for the others, too",
		have[0]), "%s has machine code for %s, such as %s, and none for %s", f.name, strings.Join(have, " and "),
		f.example[have[0]], strings.Join(missing, " and "))
}

// pythonVersions returns the versions that machine code is built for.
func pythonVersions() []string {
	return []string{"3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"}
}

// checkPython reports packages whose machine code does not fit a Python version that the
// manifest allows.
func (c *checker) checkPython(f *family) {
	if c.m.Server.Type != TypePython || f.tagged == "" || f.pythons[""] {
		return
	}
	allowed := "any version"
	wanted := ""
	k := c.m.Compatibility
	if k != nil && k.Runtimes["python"] != "" {
		wanted = k.Runtimes["python"]
		allowed = k.Runtimes["python"]
	}
	fits := slices.ContainsFunc(pythonVersions(), func(v string) bool {
		in := true
		if wanted != "" {
			var err error
			if in, err = InRange(v+".0", wanted); err != nil {
				return false // another rule reports the range
			}
		}
		return in && !f.pythons[v]
	})
	if !fits {
		return
	}
	have := slices.SortedFunc(maps.Keys(f.pythons), func(a, b string) int {
		return slices.Index(pythonVersions(), a) - slices.Index(pythonVersions(), b)
	})
	c.Add(ruleBinaryPython, "/compatibility/runtimes/python", fmt.Sprintf(`"runtimes": {"python": "==%s.*"}`,
		have[len(have)-1]), "%s has machine code for Python %s only, such as %s, and the manifest allows %s",
		f.name, strings.Join(have, " and "), path.Base(f.tagged), allowed)
}

// pythonABI matches the name of an extension module for one minor version of Python, such as
// _x.cpython-312-darwin.so. Modules for the stable ABI (abi3) fit several and do not match.
var pythonABI = lazyregexp.New(`\.(?:cpython-|cp|pypy)(3)(\d{1,2})\b[^/]*\.(?:so|pyd)$`)

// pythonTag returns the Python version that an extension module was built for, according
// to its name: "3.11", or "" for none or any.
func pythonTag(name string) string {
	m := pythonABI().FindStringSubmatch(name)
	if m == nil {
		return ""
	}
	return m[1] + "." + m[2]
}

// variants are words in package names that denote the system or CPU.
const variants = " linux darwin win32 windows android freebsd openbsd netbsd sunos aix linuxmusl macos osx " +
	"x64 x86 x86_64 amd64 ia32 i686 arm64 aarch64 arm armv6 armv7 armv7l riscv64 ppc64 ppc64le s390x loong64 mips64el " +
	"gnu musl msvc gnueabihf musleabihf glibc eabi eabihf universal universal2 64 32 "

// familyOf returns the family of a machine code file: its package in node_modules without
// the words for the system, the Python package, or else its folder.
func familyOf(name string) string {
	if dir := packageOf(name); dir != "" {
		parent, base := path.Split(dir)
		var words []string
		for _, word := range strings.Split(base, "-") {
			if !strings.Contains(variants, " "+word+" ") {
				words = append(words, word)
			}
		}
		return strings.TrimSuffix(parent+strings.Join(words, "-"), "/")
	}
	segments := strings.Split(name, "/")
	for i, segment := range segments[:len(segments)-1] {
		if segment == "site-packages" ||
			segment == "lib" && i == 1 && segments[0] == "server" || segment == "deps" {
			return path.Join(segments[:min(i+2, len(segments)-1)]...)
		}
	}
	return path.Dir(name)
}
