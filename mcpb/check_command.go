package mcpb

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
)

// developerPath matches home folders and other paths that exist on one machine only.
var developerPath = lazyregexp.New(
	`^(?:file://)?(?:/Users/[^/]+/|/home/[^/]+/|/roo[t]/|/private/(?:tmp|var)/|/var/folders/|` +
		`[A-Za-z]:[\\/](?:Users|Documents and Settings)[\\/])`)

// checkDeveloper reports a path that exists only on the author's machine, with the
// severity s: a server that needs it starts on no other machine.
func (c *checker) checkDeveloper(s check.Severity, pointer, value string) {
	_, after, ok := strings.Cut(value, "=")
	if ok && strings.HasPrefix(value, "-") {
		value = after // --root=/home/me
	}
	for _, word := range strings.FieldsFunc(value, func(r rune) bool {
		return r == ';' || r == ','
	}) {
		if developerPath().MatchString(word) {
			c.Add(ruleDeveloper.As(s), pointer,
				`begin with ${__dirname} for a file of the bundle, or ask for it with an option in user_config`,
				"%s is a path on one machine, and no other has it", word)
			return
		}
	}
}

// checkRelative reports the path of a bundle file that does not begin with ${__dirname}:
// hosts do not start servers in the folder of the bundle.
func (c *checker) checkRelative(pointer, arg string) {
	if c.fsys == nil || !literal(arg) || strings.HasPrefix(arg, "-") ||
		strings.HasPrefix(arg, "/") ||
		!strings.ContainsAny(arg, "/.") {
		return
	}
	clean := path.Clean(strings.ReplaceAll(arg, `\`, "/"))
	if !fs.ValidPath(clean) || clean == "." {
		return
	}
	info, missing := c.stat(clean)
	if missing || info == nil || !info.Mode().IsRegular() {
		return
	}
	c.Add(ruleRelative, pointer, "write ${__dirname}/"+clean,
		"%s is a file of the bundle, and hosts do not start servers in its folder", arg)
}

// checkFetches reports a command that downloads a program at start: it needs the network,
// and may get a different program tomorrow.
func (c *checker) checkFetches(pointer, command string, args []string) {
	runner := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	runner = strings.TrimSuffix(strings.TrimSuffix(runner, ".exe"), ".cmd")
	// Values of flags count as words, so this can miss a download, but reports none without reason.
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return strings.HasPrefix(arg, "-")
	})
	switch runner {
	case "npx", "bunx", "pnpx", "uvx":
	case "pnpm", "yarn", "npm", "bun", "pipx", "uv":
		verbs := map[string][]string{
			"pnpm": {"dlx"},
			"yarn": {"dlx"},
			"npm":  {"exec", "x"},
			"bun":  {"x"},
			"pipx": {"run"},
			"uv":   {"tool"},
		}
		if len(words) < 2 || !slices.Contains(verbs[runner], words[0]) {
			return
		}
		if words = words[1:]; runner == "uv" && words[0] == "run" {
			words = words[1:]
		}
	default:
		return
	}
	// A package in the bundle is started without a download.
	what := "a package"
	if len(words) > 0 {
		if !literal(words[0]) || c.bundled(words[0]) {
			return
		}
		what = words[0]
	}
	c.Add(ruleFetches, pointer+"/command", "install it into the bundle, and start the file of it with ${__dirname}",
		"%s downloads %s when the server is started, so it is not what the bundle was tested with", runner, what)
}

// bundled reports whether name is a package in the bundle or a relative path.
func (c *checker) bundled(name string) bool {
	if strings.HasPrefix(name, ".") || c.fsys == nil {
		return true
	}
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		name = name[:at]
	}
	info, missing := c.stat(path.Join("node_modules", name))
	return fs.ValidPath(name) &&
		!missing &&
		info != nil &&
		info.IsDir()
}
