package mcpb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/process"
)

const (
	maxCodeFiles = 2000     // files that are searched for imports
	maxCodeBytes = 32 << 20 // of all of them together
	maxCodeFile  = 16 << 20 // of one file
)

// code follows the imports of a server, beginning with the files that are started.
type code struct {
	*checker
	// queue are the files to read, and seen those that were queued; bytes limits how much
	// is read in total.
	queue    []string
	seen     map[string]bool
	bytes    int64
	reported map[string]bool   // modules already reported
	used     map[string]string // imported packages, and a file that imports each
	strict   bool              // the server is started by Node itself, without a loader
	unclear  []unclear         // reasons why the imports are not fully known
	merged   map[string]bool   // packages that a bundler merged into a file
	sources  *sources          // of codeFiles
	last     *check.Document   // of inCode

	// lastName is the file of last.
	lastName string

	packages map[string]*packageJSON // by folder
	modules  map[string]bool         // result of hasPython
}

// unclear is a place where the server may load any module.
type unclear struct {
	why string
	// bundled reports whether a bundler wrote the file; it merges packages that do so.
	bundled bool
}

// checkCode reports modules that the server loads and the bundle does not contain. It
// reads the code as text and runs none of it.
func (c *checker) checkCode() {
	if c.fsys == nil || c.opts.Alone || c.opts.Reference {
		return
	}
	k := &code{
		checker:  c,
		strict:   true,
		seen:     map[string]bool{},
		reported: map[string]bool{},
		used:     map[string]string{},
		merged:   map[string]bool{},
		packages: map[string]*packageJSON{},
	}
	k.addStarted()
	switch c.m.Server.Type {
	case TypeNode:
		k.run(k.readScript)
		k.checkDependencies()
	case TypePython:
		k.run(k.readPython)
	case TypeBinary:
		k.run(k.readScript)
		if len(k.used) > 0 || len(k.unclear) > 0 {
			k.checkDependencies()
		}
	}
}

// add queues a file once. A server with more files than [maxCodeFiles] is not fully known.
func (k *code) add(name string) {
	switch {
	case k.seen[name]:
	case len(k.seen) >= maxCodeFiles:
		k.addUncertainty(false, "the server has more than %d files of code", maxCodeFiles)
	default:
		k.seen[name] = true
		k.queue = append(k.queue, name)
	}
}

// first reports whether a missing module was not reported before, and marks it as reported.
func (k *code) first(module string) bool {
	first := !k.reported[module]
	k.reported[module] = true
	return first
}

// addUncertainty records that the server may load modules that no file names. Only the first
// reason of each kind is kept.
func (k *code) addUncertainty(bundled bool, format string, args ...any) {
	if !slices.ContainsFunc(k.unclear, func(u unclear) bool {
		return u.bundled == bundled
	}) {
		k.unclear = append(k.unclear, unclear{fmt.Sprintf(format, args...), bundled})
	}
}

// run reads files until the queue is empty or a limit is reached.
func (k *code) run(read func(name string, text []byte)) {
	for len(k.queue) > 0 {
		name := k.queue[0]
		k.queue = k.queue[1:]
		info, missing := k.stat(name)
		if missing || !info.Mode().IsRegular() {
			continue
		}
		if info.Size() > maxCodeFile || k.bytes > maxCodeBytes {
			k.addUncertainty(true, "%s is not searched for imports, as there is too much code", name)
			continue
		}
		text, err := fsutil.ReadRegular(k.fsys, name, maxCodeFile)
		if err != nil {
			k.addUncertainty(false, "%s cannot be read", name)
			continue
		}
		k.bytes += int64(len(text))
		read(name, text)
	}
}

// inCode returns a reporter for a file of code. It keeps the document of the last file, as
// a file may have a million imports.
func (k *code) inCode(name string, text []byte) check.Reporter {
	if k.last == nil || k.lastName != name {
		k.lastName = name
		k.last = &check.Document{Text: text}
	}
	return k.inText(name, k.last)
}

// readScript reads a code file, whose language follows from its name or first line.
func (k *code) readScript(name string, text []byte) {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	shebang := bytes.HasPrefix(first, []byte("#!"))
	switch path.Ext(name) {
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx":
		k.readJavaScript(name, text)
	case ".json", ".node", ".wasm", ".py":
	case ".sh", ".bat", ".cmd", ".ps1":
		k.readLauncher(name, string(text))
	default:
		switch {
		case shebang && bytes.Contains(first, []byte("sh")):
			k.readLauncher(name, string(text))
		case shebang &&
			bytes.Contains(first,
				[]byte("node")), k.m.Server.Type == TypeNode && !isBinary(text):
			k.readJavaScript(name, text)
		}
	}
}

// readJavaScript reports unresolved imports of a file, and follows those within the server's
// own code.
func (k *code) readJavaScript(name string, text []byte) {
	s := scanJavaScript(text)
	bundled := isBundled(text)
	if bundled {
		k.merge(text)
	}
	spawns := false
	for _, i := range s.found {
		module, _, _ := strings.Cut(i.name, "?")
		spawns = spawns || startsPrograms(module)
		switch {
		case i.computed && strings.HasPrefix(module, "."):
			k.followFolder(path.Join(path.Dir(name), path.Dir(module+"x")))
		case i.computed:
			line, _ := k.inCode(name, text).Document.Position(i.at)
			k.addUncertainty(bundled, "%s:%d loads modules whose names are computed", name, line)
		case module == "", strings.HasPrefix(module, "/"), strings.Contains(module, "://"),
			strings.HasPrefix(module, "data:"), strings.HasPrefix(module, "file:"), nodeBuiltin(module):
		case strings.HasPrefix(module, "#"):
			k.followMapping(name, text, &i, module)
		case strings.HasPrefix(module, "."):
			k.followRelative(name, text, &i, module)
		default:
			k.checkInstalled(name, text, &i, module)
		}
	}
	if spawns && !bundled {
		k.followLiterals(name, s.literals)
	}
}

// severity returns the severity of an unresolved import: one in a function that may never
// be called is a warning.
func (i *jsImport) severity() check.Severity {
	if i.lazy {
		return check.Warning
	}
	return check.Error
}

// followRelative follows an import of a path. Files of packages are not followed: their
// authors tested them.
func (k *code) followRelative(name string, text []byte, i *jsImport, module string) {
	target := path.Join(path.Dir(name), module)
	if target == ".." || strings.HasPrefix(target, "../") {
		if !i.optional {
			k.inCode(name, text).At(i.at).Add(ruleImport.As(i.severity()), "", "", "%q points outside the bundle",
				module)
		}
		return
	}
	found := k.resolveFile(target)
	exact := found == target || !k.strict || !i.esm || !isPlainScript(name)
	if found != "" && packageOf(found) == "" {
		k.add(found)
	}
	if found != "" && exact || i.optional || !k.first(target) {
		return
	}
	message := fmt.Sprintf("%s is not in the bundle, and this file loads it", target)
	hint := k.hintSimilar(target)
	if found != "" {
		message = fmt.Sprintf("%q names no file, and import adds neither an extension nor an index to it", module)
		hint = "write the whole name, as in " + strconv.Quote(module+strings.TrimPrefix(found, target))
	} else if k.isSkipped(target) {
		message = fmt.Sprintf("%s is excluded by packing, and this file loads it", target)
		hint = explainHint(target) + " names the rule"
	}
	k.inCode(name, text).At(i.at).Add(ruleImport.As(i.severity()), "", hint, "%s", message)
}

// resolveFile returns the file that Node would load for a path, or "".
func (k *code) resolveFile(target string) string {
	for _, end := range []string{"", ".js", ".mjs", ".cjs", ".json", ".node", ".ts", ".mts", ".cts",
		"/index.js", "/index.mjs", "/index.cjs", "/index.json", "/index.node"} {
		info, missing := k.stat(target + end)
		if !missing && info.Mode().IsRegular() {
			return target + end
		}
	}
	// TypeScript names the file after compilation
	if ext := path.Ext(target); ext == ".js" || ext == ".mjs" {
		if source := strings.TrimSuffix(target, "js") + "ts"; k.isFile(source) {
			return source
		}
	}
	if k.isFile(target + "/package.json") { // its "main" names the file
		main := k.readPackage(target).Main
		if main != "" && path.Join(target, main) != target {
			clean, why := cleanPath(path.Join(target, main))
			if why == "" && k.isFile(clean) {
				return clean
			}
		}
		return target + "/package.json"
	}
	return ""
}

// isPlainScript reports whether Node loads a file without compiling it.
func isPlainScript(name string) bool {
	ext := path.Ext(name)
	return ext == ".js" || ext == ".mjs" || ext == ".cjs"
}

func (c *checker) isFile(name string) bool {
	info, missing := c.stat(name)
	return !missing && info.Mode().IsRegular()
}

// checkInstalled reports an import of a package that is not in the bundle. What package.json
// says about the package decides how certain it is that the server needs it.
func (k *code) checkInstalled(name string, text []byte, i *jsImport, module string) {
	pkg := packageName(module)
	if pkg == "" {
		return
	}
	if dir := k.findPackage(path.Dir(name), pkg); dir != "" {
		k.used[dir] = name
		return
	}
	top := k.readPackage(".")
	_, wanted := top.Dependencies[pkg]
	if top.OptionalDependencies[pkg] != "" {
		wanted = false
	}
	if i.optional && !wanted || k.isSelf(name, pkg) || !k.first(pkg) {
		return
	}
	message := fmt.Sprintf("the package %s is not in the bundle, and this file loads it", pkg)
	hint := "npm install " + process.LastWord(pkg)
	_, development := top.DevDependencies[pkg]
	switch {
	case k.ignoredPackage(pkg) != "":
		message = fmt.Sprintf("the package %s is excluded by packing, and this file loads it", pkg)
		hint = explainHint(k.ignoredPackage(pkg)) + " names the rule"
	case wanted:
		hint = "npm install --omit=dev; package.json names it and node_modules does not have it"
	case development:
		hint = "move it from devDependencies to dependencies"
	}
	severity := i.severity()
	switch {
	case i.optional:
		severity = check.Warning
		hint += "; if the server works without it, move it to optionalDependencies"
	case wanted: // package.json says that the server needs it
		severity = check.Error
	}
	k.inCode(name, text).At(i.at).Add(ruleImport.As(severity), "", hint, "%s", message)
}

// findPackage returns the folder of a package as Node resolves it from the folder from,
// or "".
func (k *code) findPackage(from, name string) string {
	return resolvePackage(from, name, func(dir string) bool {
		info, missing := k.stat(dir)
		return !missing && (info.IsDir() || info.Mode()&fs.ModeSymlink != 0)
	})
}

// ignoredPackage returns the folder of an installed package that packing excludes, or "".
func (k *code) ignoredPackage(name string) string {
	for _, dir := range []string{"node_modules", "server/node_modules"} {
		info, err := fs.Stat(k.fsys, path.Join(dir, name))
		if err == nil && info.IsDir() {
			return path.Join(dir, name)
		}
	}
	return ""
}

// isSelf reports whether pkg is the package that the file belongs to.
func (k *code) isSelf(name, pkg string) bool {
	for dir := range parents(path.Dir(name)) {
		if p := k.readPackage(dir); p.Name != "" {
			return p.Name == pkg
		}
	}
	return false
}

// readPackage reads a package.json once. Fields that cannot be read stay empty.
func (k *code) readPackage(dir string) *packageJSON {
	if p := k.packages[dir]; p != nil {
		return p
	}
	p, text, err := readPackageJSON(k.fsys, dir)
	name := path.Join(dir, "package.json")
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && !k.opts.Skip(name, false) {
		k.inCode(name, text).At(int(syntax.Offset)).Add(ruleDependency, "", "",
			"it is not JSON, so Node does not start the files next to it")
	}
	k.packages[dir] = p
	return p
}

// pythonImport matches imports at the start of a line: an indented one may be optional,
// or never run.
var pythonImport = lazyregexp.New(
	`(?m)^(?:import[ \t]+([A-Za-z_][\w., \t]*)|from[ \t]+(\.*[A-Za-z_][\w.]*)[ \t]+import\b)`)

// readPython reports the imports of a file that neither the bundle nor Python itself
// provides.
func (k *code) readPython(name string, text []byte) {
	if path.Ext(name) != ".py" {
		return
	}
	for _, m := range pythonImport().FindAllSubmatchIndex(text, -1) {
		var modules []string
		if m[2] >= 0 {
			for _, module := range strings.Split(string(text[m[2]:m[3]]), ",") {
				words := strings.Fields(module)
				if len(words) > 0 {
					modules = append(modules, words[0])
				}
			}
		} else if module := string(text[m[4]:m[5]]); !strings.HasPrefix(module, ".") {
			modules = []string{module}
		}
		for _, module := range modules {
			k.checkPythonModule(name, text, m[0], module)
		}
	}
}

// checkPythonModule follows a module of the bundle, and reports one that is neither there
// nor part of Python.
func (k *code) checkPythonModule(name string, text []byte, at int, module string) {
	top, _, _ := strings.Cut(module, ".")
	if top == "" || k.reported[top] || strings.HasPrefix(top, "_") ||
		strings.Contains(pythonModules, " "+top+" ") {
		return
	}
	if file := k.pythonFile(path.Dir(name), top); file != "" {
		k.add(file)
		return
	}
	if k.hasPython()[top] || !k.first(top) {
		return
	}
	k.inCode(name, text).At(at).Add(ruleImport, "",
		"pip install --target server/lib "+top+", or use a server of type uv",
		"the module %s is not in the bundle, and this file loads it", top)
}

// pythonFile returns the file of a module in the folder dir or at the top, or "".
func (k *code) pythonFile(dir, module string) string {
	for _, base := range []string{dir, "."} {
		for _, file := range []string{module + ".py", module + "/__init__.py"} {
			if name := path.Join(base, file); k.isFile(name) {
				return name
			}
		}
	}
	return ""
}

// hasPython returns the names of all modules anywhere in the bundle, because the code can
// extend Python's search path.
func (k *code) hasPython() map[string]bool {
	if k.modules != nil {
		return k.modules
	}
	k.modules = map[string]bool{}
	for _, e := range k.content {
		module, ext, _ := strings.Cut(path.Base(e.name), ".")
		switch {
		case e.dir:
			k.modules[path.Base(e.name)] = true
		case slices.Contains([]string{".py", ".pyc", ".so", ".pyd"}, path.Ext("."+ext)):
			k.modules[module] = true
		}
	}
	return k.modules
}

// pythonModules are the modules of Python itself, in all versions still in use.
const pythonModules = " abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb " +
	"binascii bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop " +
	"collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg crypt " +
	"csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings " +
	"ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc " +
	"genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib " +
	"imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale " +
	"logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing " +
	"netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb " +
	"pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty " +
	"pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource " +
	"rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib " +
	"sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics " +
	"string stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib " +
	"tempfile termios textwrap this threading time timeit tkinter token tokenize tomllib trace traceback " +
	"tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings " +
	"wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib " +
	"zoneinfo "

// explainHint returns the command that says why packing excludes a file.
func explainHint(name string) string {
	return "slipway bundle pack --explain " + process.PathWord(name)
}
