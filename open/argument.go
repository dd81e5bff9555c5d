package open

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
)

// Argument is an argument of [Open]. Its methods inspect it without opening it.
type Argument string

// commandPrefix marks an argument that is a command to start.
const commandPrefix = "exec:"

// Command encodes a command and its arguments as an [Argument]: exec: and a JSON array.
func Command(argv []string) string {
	encoded, _ := mcp.Marshal(argv) // strings always encode
	return commandPrefix + string(encoded)
}

// Name returns a short name, consisting of lower-case letters, digits, "-" and "_": for a
// path the last element without .zip or .md, for a URL the last element of its path or its
// host, and for a command the program it runs.
func (a Argument) Name() string {
	t := parse(string(a))
	base := ""
	switch {
	case t.argv != nil:
		base = programName(t.argv)
	case t.url != nil:
		path := strings.Trim(strings.TrimSuffix(t.url.Path, manifest), "/")
		if base = path[strings.LastIndexByte(path, '/')+1:]; base == "" || base == "mcp" || base == "sse" {
			base = t.url.Hostname()
		}
	default:
		path, err := filepath.Abs(t.rest)
		if err != nil {
			path = t.rest
		}
		base = filepath.Base(path)
		ext := filepath.Ext(base)
		if strings.EqualFold(ext, ".zip") || sitebuild.IsDocument(base) {
			base = strings.TrimSuffix(base, ext)
		}
	}
	if name := toName(base); name != "" {
		return name
	}
	return "source"
}

// PublicName is [Argument.Name] without potential secrets: for a URL only the host, and
// for a command that contains a script or an assignment such as KEY=VALUE only the
// program.
func (a Argument) PublicName() string {
	t := parse(string(a))
	switch {
	case t.argv != nil && strings.ContainsAny(programWord(t.argv), " \t\n;="):
		a = Argument(Command(t.argv[:1]))
	case t.url != nil:
		a = Argument(t.url.Scheme + "://" + t.url.Host)
	}
	return a.Name()
}

// Redacted returns the argument without the secrets of a URL or a command, for messages.
func (a Argument) Redacted() string {
	if t := parse(string(a)); t.argv != nil {
		return "-- " + strings.Join(secrets.Command(t.argv), " ")
	}
	if !strings.Contains(string(a), "://") {
		return string(a)
	}
	return secrets.Command([]string{string(a)})[0]
}

// MayTakeLong reports whether opening the source involves more than local files: starting
// a server, or waiting for one to respond. Definitions have their own wait, see
// [github.com/slipway-mcp/slipway/fleet.Startup].
func (a Argument) MayTakeLong() bool {
	t := parse(string(a))
	if strings.HasPrefix(t.arg, commandPrefix) || strings.Contains(t.arg, "://") {
		return true
	}
	info, err := os.Stat(t.arg)
	return err == nil && isBundle(t.arg, info)
}

// Typed returns the argument as a shell command has it: a command after --, and anything
// else quoted if necessary. It may contain secrets.
func (a Argument) Typed() string { return process.SourceWords(a.Words()) }

// Words returns the words of [Argument.Typed] before they are quoted: the argument, or -- and those
// of a command. They may contain secrets.
func (a Argument) Words() []string {
	t := parse(string(a))
	if t.argv == nil {
		return []string{string(a)}
	}
	return append([]string{"--"}, t.argv...)
}

// IsRecording reports whether the argument is a recorded conversation (FILE.mcplog), or that of one
// of its servers (FILE.mcplog#NAME).
func (a Argument) IsRecording() bool {
	t := parse(string(a))
	file, _ := mcplog.SplitServer(t.arg)
	return t.argv == nil && t.url == nil && mcplog.IsRecording(file)
}

// IsDefinitions reports whether the argument is a file of server definitions.
func (a Argument) IsDefinitions() bool {
	t, err := detect(string(a))
	return err == nil && t.form == definitions
}

// Endpoint returns the http or https URL of a server or site that the argument names, with
// shorthand such as localhost:8080 expanded, or "".
func (a Argument) Endpoint() string {
	t := parse(string(a))
	if (t.form != webURL && t.form != serverURL) || !isWeb(t.rest) {
		return ""
	}
	return t.rest
}

// Argv returns the command that the argument encodes, or nil.
func (a Argument) Argv() []string { return parse(string(a)).argv }

// Local reports whether opening the source only reads local files: it starts no program
// and contacts no host.
func (a Argument) Local() bool {
	t, err := detect(string(a))
	if err != nil {
		return false
	}
	switch t.form {
	case command, serverURL, siteURL, webURL, bundle, definitions:
		return false
	}
	return true
}

// Exists returns an error, an [*Error], if the argument is a path that does not exist. It
// makes no connections.
func (a Argument) Exists() error {
	t := parse(string(a))
	if t.form != other {
		return nil
	}
	file, _ := mcplog.SplitServer(t.arg)
	_, err := stat(file)
	return err
}

// BundleURLError returns the error for an http or https URL of a packed bundle, or nil for
// any other argument. A bundle is code that runs on this machine, so none is started
// without a pinned hash.
func (a Argument) BundleURLError() *Error {
	t := parse(string(a))
	if !isWeb(t.arg) || t.url == nil || !hasExt(t.url.Path, ".mcpb", ".dxt") {
		return nil
	}
	return &Error{
		Arg:  t.arg,
		Why:  "a bundle is opened from a file, not from a URL",
		Hint: "download it first, or add it with slipway config add " + a.Redacted() + ", which pins its SHA-256",
	}
}

// toName converts a text to the form of [Argument.Name], which may be empty.
func toName(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-', r == '_':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, text), "-_")
}

// normalize expands shorthand arguments: a file: URL becomes a path, and a local port, as
// in localhost:8080/mcp, gets http:// unless a file of that name exists.
func normalize(arg string) string {
	if path, ok := filePath(arg); ok {
		return path
	}
	if isLocalPort(arg) {
		if _, err := os.Lstat(arg); err != nil {
			return "http://" + arg
		}
	}
	return fsutil.PlainPath(arg)
}

// filePath returns the path in a file: URL of this machine.
func filePath(arg string) (string, bool) {
	if !strings.HasPrefix(arg, "file:") {
		return "", false
	}
	u, err := url.Parse(arg)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return "", false
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // file:///C:/docs
		path = path[1:]
	}
	return filepath.FromSlash(path), true
}

// isLocalPort reports whether arg is a port of this machine, optionally with a path.
func isLocalPort(arg string) bool {
	authority, _, _ := strings.Cut(arg, "/")
	host, port, err := net.SplitHostPort(authority)
	if err != nil || port == "" || strings.Trim(port, "0123456789") != "" {
		return false
	}
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

func isWeb(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

// launchers are programs whose arguments name the actual program; launcherWords are
// arguments that do not.
var (
	launchers = []string{
		"npx", "node", "python", "python3", "uv", "uvx", "pipx", "bun", "bunx", "deno",
		"docker", "podman", "npm", "pnpm", "yarn", "go", "sh", "bash", "cmd", "env",
	}
	launcherWords = []string{"run", "exec", "dlx", "x", "tool", "start", "/c"}
	// launcherFlags are options that take no value, or whose value is the program. The
	// word after any other option may be its value, even a secret.
	launcherFlags = []string{
		"-y", "--yes", "-q", "--quiet", "--silent", "--offline", "--prefer-offline", "--no-cache", "--isolated",
		"--rm", "-i", "-t", "-it", "-ti", "--init", "--interactive", "--tty", "--read-only",
		"-m", "-u", "-A", "--allow-all", "--",
	}
	scripts = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".py", ".sh"}
)

// programName returns the name of the program that argv runs, such as server-everything
// for npx -y @modelcontextprotocol/server-everything.
func programName(argv []string) string {
	name := filepath.Base(filepath.ToSlash(programWord(argv)))
	if i := strings.LastIndexByte(name, '@'); i > 0 {
		name = name[:i] // the version
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// programWord returns the word of argv that names the program.
func programWord(argv []string) string {
	base := strings.TrimSuffix(strings.ToLower(filepath.Base(argv[0])), ".exe")
	if !slices.Contains(launchers, base) {
		return argv[0]
	}
	for i, word := range argv[1:] {
		if !strings.HasPrefix(word, "-") &&
			!slices.Contains(launcherWords, word) && !mayBeValue(argv[i], word) {
			return word
		}
	}
	return argv[0]
}

// mayBeValue reports whether word may be the value of before, the argument to its left.
func mayBeValue(before, word string) bool {
	return strings.HasPrefix(before, "-") && !strings.Contains(before, "=") &&
		!slices.Contains(launcherFlags, before) && !slices.Contains(scripts,
		filepath.Ext(word))
}
