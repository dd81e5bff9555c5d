package mcpb

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/lazyregexp"
	"github.com/slipway-mcp/slipway/internal/process"
)

// addStarted adds the files of the bundle that the manifest starts on any system.
func (k *code) addStarted() {
	k.addPath(k.m.Server.EntryPoint)
	for _, l := range k.m.commandLines() {
		if l.platform == "" || l.Command != "" || l.Args != nil {
			command, args := l.over(k.m.Server.Config)
			k.addCommandLine(l.pointer, command, args)
		}
	}
}

// addPath adds a path that code names, relative to the bundle. Paths that leave the bundle are
// ignored.
func (k *code) addPath(name string) {
	if clean, why := cleanPath(strings.TrimPrefix(name, "/")); why == "" {
		k.add(clean)
	}
}

// addCommandLine adds the files of a command line, and reports the packages it is missing.
func (k *code) addCommandLine(pointer, command string, args []string) {
	if name, ok := bundlePath(command); ok {
		k.addPath(name)
	}
	for _, arg := range args {
		if name, ok := bundlePath(arg); ok {
			k.addPath(name)
		}
	}
	switch name, _, _ := runnerOf(command); name {
	case "node", "nodejs":
		k.checkPreloaded(pointer, command, args)
	case "npm", "pnpm", "yarn":
		k.strict = false
		k.readPackageScript(pointer, name, args)
	default:
		k.strict = false
	}
}

// checkPreloaded reports missing packages that Node loads before the server.
func (k *code) checkPreloaded(pointer, command string, args []string) {
	_, own := ownArguments(command, args)
	for i := 0; i < min(own, len(args)); i++ {
		flag, module, joined := strings.Cut(args[i], "=")
		if !slices.Contains([]string{"-r", "--require", "--import", "--loader", "--experimental-loader"}, flag) {
			continue
		}
		k.strict = false
		if !joined && i+1 < len(args) {
			i++
			module = args[i]
		}
		pkg := packageName(module)
		if pkg == "" || !literal(module) || strings.HasPrefix(module, ".") ||
			strings.HasPrefix(module, "/") ||
			nodeBuiltin(module) || k.findPackage(".", pkg) != "" || !k.first(pkg) {
			continue
		}
		k.Add(ruleImport, fmt.Sprintf("%s/args/%d", pointer, i), "npm install "+process.LastWord(pkg),
			"the package %s is not in the bundle, and %s loads it", pkg, flag)
	}
}

// readPackageScript reads the package.json script that a package manager runs.
func (k *code) readPackageScript(pointer, manager string, args []string) {
	var words []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--prefix" || args[i] == "-C" || args[i] == "--dir" ||
			args[i] == "--cwd" {
			i++
		} else if !strings.HasPrefix(args[i], "-") {
			words = append(words, args[i])
		}
	}
	if len(words) > 1 && (words[0] == "run" || words[0] == "run-script") {
		words = words[1:]
	} else if len(words) == 0 ||
		words[0] != "start" && words[0] != "test" && manager == "npm" {
		k.addUncertainty(false, "it is started by %s", manager)
		return
	}
	script, ok := k.readPackage(".").Scripts[words[0]]
	if !ok {
		k.Add(ruleCommand, pointer+"/args", "",
			"package.json has no script %q, which %s runs", words[0], manager)
		return
	}
	for _, command := range shellCommands(script) {
		k.checkScriptCommand(pointer, words[0], command)
	}
	k.readLauncher("package.json", script)
}

// checkScriptCommand reports a command in a script that is available only in
// node_modules/.bin, which is not packed.
func (k *code) checkScriptCommand(pointer, script, command string) {
	top := k.readPackage(".")
	_, needed := top.Dependencies[command]
	_, development := top.DevDependencies[command]
	switch {
	case !needed && !development && k.findPackage(".", command) == "" && !k.isTool(command):
		return
	case !k.first(command):
		return
	}
	k.Add(ruleCommand, pointer+"/args",
		`start the server with "node" and "${__dirname}/" before the path of its file; compile TypeScript before you pack`,
		"the script %q of package.json runs %s from node_modules/.bin, which packing excludes", script, command)
}

// isTool reports whether npm installs the command, in some cases from a package of
// another name.
func (k *code) isTool(command string) bool {
	return slices.Contains([]string{
		"tsx", "ts-node", "tsc", "nodemon", "vite", "vite-node", "esbuild", "babel-node", "swc-node", "cross-env", "dotenv",
		"concurrently", "npm-run-all", "run-s", "run-p", "pm2",
	}, command)
}

// shellSeparator matches what separates the commands of a shell line.
var shellSeparator = lazyregexp.New(`&&|\|\||[;|\n]`)

// shellCommands returns the first word of each command in a shell command line.
func shellCommands(line string) (commands []string) {
	for _, part := range shellSeparator().Split(line, -1) {
		for _, word := range strings.Fields(part) {
			name, _, ok := strings.Cut(word, "=")
			if ok && !strings.ContainsAny(name, "/.-") {
				continue // an environment variable
			}
			commands = append(commands, word)
			break
		}
	}
	return commands
}

var (
	installedPath = lazyregexp.New(`node_modules[/\\][\w@.~/\\-]+`)
	codePath      = lazyregexp.New(`[\w@.~/\\-]+\.(?:js|mjs|cjs|ts|mts|cts)\b`)
	fetcher       = lazyregexp.New(`(?:^|[\s;&|(])(npx|pnpx|bunx|npm|pnpm|yarn)\s`)
)

// readLauncher follows a shell script to the code it starts, and reports the missing packages
// it starts programs of.
func (k *code) readLauncher(name, text string) {
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "::") ||
			strings.HasPrefix(strings.ToLower(line), "rem ") {
			continue
		}
		for _, found := range installedPath().FindAllString(line, -1) {
			k.checkLaunched(name, path.Clean(strings.ReplaceAll(found, `\`, "/")))
		}
		for _, found := range codePath().FindAllString(line, -1) {
			k.followSuffix(strings.ReplaceAll(found, `\`, "/"))
		}
		if m := fetcher().FindStringSubmatch(line); m != nil {
			k.addUncertainty(false, "%s:%d runs %s", name, number+1, m[1])
		}
	}
}

// checkLaunched reports a packaged program that a launcher starts.
func (k *code) checkLaunched(launcher, name string) {
	if !fs.ValidPath(name) || !k.first(name) {
		return
	}
	why := "is not in the bundle"
	switch {
	case strings.HasPrefix(name, "node_modules/.bin/"):
		why = "is excluded by packing, as are all links in node_modules/.bin"
	case k.resolveFile(name) != "" ||
		k.findPackage(path.Dir(launcher), strings.TrimPrefix(name, "node_modules/")) != "":
		return
	}
	k.in(launcher).Add(ruleCommand, "",
		"start the file of the package itself with node, and install the package into the bundle",
		"it starts %s, which %s", name, why)
}

// startsPrograms reports whether a Node module runs other programs or files.
func startsPrograms(module string) bool {
	switch strings.TrimPrefix(module, "node:") {
	case "child_process", "worker_threads", "cluster":
		return true
	}
	return false
}

// followLiterals follows string literals of a file that starts programs, if they name code of
// the bundle.
func (k *code) followLiterals(name string, literals []string) {
	for _, text := range literals {
		switch {
		case text == ".bin" || strings.Contains(text, "node_modules/.bin"):
			k.addUncertainty(false, "%s starts programs of node_modules/.bin, which packing excludes", name)
		case text == "npx" || text == "tsx" || text == "ts-node":
			k.addUncertainty(false, "%s starts %s", name, text)
		case codePath().FindString(text) == text:
			k.followSuffix(text)
		}
	}
}

// followSuffix follows the server's files whose paths end with name.
func (k *code) followSuffix(name string) {
	for strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/") {
		_, name, _ = strings.Cut(name, "/")
	}
	k.addOnce(k.codeFiles().bySuffix, name)
}

// followFolder follows all code in a folder.
func (k *code) followFolder(dir string) {
	k.addOnce(k.codeFiles().byFolder, dir)
}

// addOnce adds the files of a key, which are not needed a second time.
func (k *code) addOnce(files map[string][]string, key string) {
	for _, file := range files[key] {
		k.add(file)
	}
	delete(files, key)
}

// sources are the JavaScript and TypeScript files outside packages, by the folders that
// they are in at any depth, and by what their paths end with.
type sources struct {
	byFolder, bySuffix map[string][]string
}

// add indexes a file by its folders and by its suffixes: an import may be relative to any
// folder on the path.
func (s *sources) add(name string) {
	for dir := name; dir != "."; {
		dir = path.Dir(dir)
		s.byFolder[dir] = append(s.byFolder[dir], name)
	}
	for suffix, more := name, true; more; _, suffix, more = strings.Cut(suffix, "/") {
		s.bySuffix[suffix] = append(s.bySuffix[suffix], name)
	}
}

// codeFiles looks for the sources of the server once.
func (k *code) codeFiles() *sources {
	if k.sources != nil {
		return k.sources
	}
	k.sources = &sources{
		byFolder: map[string][]string{},
		bySuffix: map[string][]string{},
	}
	files := 0
	for _, e := range k.content {
		installed := strings.Contains("/"+e.name, "/node_modules/")
		if installed || !e.regular || codePath().FindString(e.name) != e.name {
			continue
		}
		if files++; files > maxCodeFiles {
			k.addUncertainty(false, "the server has more than %d files of code", maxCodeFiles)
			break
		}
		k.sources.add(e.name)
	}
	return k.sources
}

// followMapping follows a name that is mapped in the "imports" of package.json.
func (k *code) followMapping(name string, text []byte, i *jsImport, module string) {
	for key, target := range k.readPackage(".").Imports {
		before, after, pattern := strings.Cut(key, "*")
		rest := ""
		switch {
		case key == module:
		case pattern && strings.HasPrefix(module, before) &&
			strings.HasSuffix(module, after) &&
			len(module) >= len(before)+len(after):
			rest = module[len(before) : len(module)-len(after)]
		default:
			continue
		}
		k.followTargets(name, text, i, strings.ReplaceAll(string(target), "*", rest))
		return
	}
	line, _ := k.inCode(name, text).Document.Position(i.at)
	k.addUncertainty(false, "%s:%d loads %s, which package.json does not map",
		name, line, module)
}

// quotedTarget matches a quoted path or package name in the exports or imports of a package.json: a
// value, never a key.
var quotedTarget = lazyregexp.New(`"((?:\./|@?[a-z])[^"]*)"(?:\s*[,}\]]|\s*$)`)

// followTargets follows all targets of a mapping, because which one applies depends on
// conditions.
func (k *code) followTargets(name string, text []byte, i *jsImport, targets string) {
	for _, m := range quotedTarget().FindAllStringSubmatch(targets, -1) {
		clean, why := cleanPath(m[1])
		if strings.HasPrefix(m[1], "./") && why == "" {
			if found := k.resolveFile(clean); found != "" {
				k.add(found)
			}
			continue
		}
		if !strings.HasPrefix(m[1], "./") && !nodeBuiltin(m[1]) {
			k.checkInstalled(name, text, i, m[1])
		}
	}
}
