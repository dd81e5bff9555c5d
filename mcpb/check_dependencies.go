package mcpb

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// checkDependencies reports packages that package.json, or a package in the bundle, needs and
// that are missing.
func (k *code) checkDependencies() {
	k.checkDeclared()
	queue := sortedKeys(k.used)
	seen := map[string]bool{}
	for len(queue) > 0 && len(seen) < maxWalk {
		dir := queue[0]
		queue = queue[1:]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		p := k.readPackage(dir)
		for _, name := range sortedKeys(p.Dependencies) {
			found := k.findPackage(dir, name)
			switch {
			case found != "":
				queue = append(queue, found)
			case p.OptionalDependencies[name] == "" &&
				!strings.HasPrefix(name, "@types/") && k.first(name):
				k.in(path.Join(dir,
					"package.json")).Add(ruleDependency, "", "npm install --omit=dev",
					"%s needs the package %s, which is not in the bundle", p.Name, name)
			}
		}
	}
}

// checkDeclared reports dependencies in package.json that are neither in the bundle
// nor already reported. A server that was bundled into one file looks the same as one
// whose packages were never installed, so the severity depends on what is known about its
// imports. If all of them are known, a dependency that no file loads is a note. Otherwise
// it is an error in handwritten code, and a warning in bundled code, because the bundler
// may have merged it.
func (k *code) checkDeclared() {
	top := k.readPackage(".")
	var absent []string
	for _, name := range sortedKeys(top.Dependencies) {
		switch {
		case k.findPackage(".", name) != "", k.findPackage("server", name) != "":
			if slices.ContainsFunc(k.unclear, func(u unclear) bool {
				return !u.bundled
			}) {
				// Its file may be imported in a way that the scan does not see, so it counts as
				// used.
				k.used[cmp.Or(k.findPackage(".", name),
					k.findPackage("server", name))] = "package.json"
			}
		case k.reported[name], top.OptionalDependencies[name] != "", strings.HasPrefix(name, "@types/"), k.merged[name]:
		default:
			absent = append(absent, name)
		}
	}
	if len(absent) == 0 {
		return
	}
	message := fmt.Sprintf("it names %s, which the bundle does not have",
		firstNames(absent, 3))
	hint := "npm install --omit=dev; if the server was bundled into one file, move them to devDependencies"
	severity := check.Note
	switch at := slices.IndexFunc(k.unclear, func(u unclear) bool {
		return !u.bundled
	}); {
	case at >= 0:
		severity = check.Error
		message += "; whether the server needs them cannot be seen, as " + k.unclear[at].why
	case len(k.unclear) > 0:
		severity = check.Warning
		message += "; whether the server needs them cannot be seen, as " + k.unclear[0].why
	default:
		message += "; no file was found that loads " + pronoun(absent)
	}
	k.in("package.json").Add(ruleDependency.As(severity), "", hint, "%s", message)
}

func pronoun(names []string) string {
	if len(names) == 1 {
		return "it"
	}
	return "them"
}

// bundlerNames returns identifiers that bundlers write into their output.
func bundlerNames() []string {
	return []string{
		"__commonJS", "__toESM(", "__webpack_require__", "__nccwpck_require__", "getDefaultExportFromCjs", "parcelRequire",
	}
}

// bundlerComment matches the comments with which bundlers mark the files of packages.
var bundlerComment = lazyregexp.New(`(?m)^//(?:#region)? (?:\.\./)*node_modules/`)

const (
	minMinified     = 512 // size of a file that looks minified, in bytes
	minMinifiedLine = 300 // average length of its lines, in bytes
)

// isBundled reports whether a file looks like the output of a bundler, which merges
// packages into the code of the server.
func isBundled(text []byte) bool {
	lines := 1 + bytes.Count(bytes.TrimSpace(text), []byte("\n"))
	if len(text) >= minMinified && len(text)/lines >= minMinifiedLine {
		return true
	}
	return bundlerComment().Match(text) ||
		slices.ContainsFunc(bundlerNames(), func(name string) bool {
			return bytes.Contains(text, []byte(name))
		})
}

// mergedPackage matches the packages that a bundler names as merged.
var mergedPackage = lazyregexp.New(`node_modules/((?:@[\w.~-]+/)?[\w.~-]+)/`)

// merge records the packages that are merged into the output of a bundler.
func (k *code) merge(text []byte) {
	for _, m := range mergedPackage().FindAllSubmatch(text, -1) {
		k.merged[string(m[1])] = true
	}
}
