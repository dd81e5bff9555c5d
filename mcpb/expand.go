package mcpb

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// ExpandOptions are the inputs of [Expand] besides the manifest. Only Dir is required.
type ExpandOptions struct {
	// Dir is the folder with the content of the bundle, as an absolute path.
	Dir string
	// Values are the user's values by option key: a string, a bool, a number of any type,
	// or a []string. A string is parsed for options of type number and boolean. nil, ""
	// and an empty list mean no value. Values are never expanded.
	Values map[string]any
	// Platform is "darwin", "linux" or "win32". The default is the current system.
	Platform string
	// AnyPlatform allows starting the bundle on a platform that its manifest does not
	// list.
	AnyPlatform bool
	// Home, Desktop, Documents and Downloads are folders of the user. The defaults are
	// the home folder of the process and the folders configured in the system: the known
	// folders on Windows, XDG_DESKTOP_DIR and user-dirs.dirs on Linux. On other systems,
	// and if Home or another Platform is set, they are folders of those names in Home.
	Home, Desktop, Documents, Downloads string
	// WorkDir is the base of relative paths in Values. The default is the working
	// directory of the process.
	WorkDir string
	// ListSeparator joins the values of an option that become a single text. The default
	// is ";" on win32 and ":" elsewhere.
	ListSeparator string
	// NoFiles skips the check that files and folders in Values, and the command, exist.
	NoFiles bool
	// Reference makes the env of a platform override replace the whole env, as in the
	// reference implementation. The default is to override each name separately.
	Reference bool
}

// ExpandError reports all reasons why a bundle cannot be started with its configuration.
type ExpandError struct {
	// Findings have the pointer of the option, such as "/user_config/api_key". They never
	// contain values of sensitive options.
	Findings []check.Finding

	sensitive []string // keys
}

// Error joins the reasons.
func (e *ExpandError) Error() string {
	var parts []string
	for _, f := range e.Findings {
		parts = append(parts, f.Message)
	}
	return strings.Join(parts, "; ")
}

// Missing returns the keys of required options without a value, in the order of the
// manifest. A client can ask the user for them.
func (e *ExpandError) Missing() []string {
	var keys []string
	for _, f := range e.Findings {
		if f.Rule.Is(ruleMissing) {
			keys = append(keys, jsonscan.UnescapeToken(strings.TrimPrefix(f.Pointer, "/user_config/")))
		}
	}
	return keys
}

// Sensitive reports whether the option with that key is a secret, which must not be
// passed on a command line.
func (e *ExpandError) Sensitive(key string) bool {
	return slices.Contains(e.sensitive, key)
}

// Expand turns a manifest and the user's values into the command that starts the server.
//
// The platform's override is merged over the base, field by field, and env name by name.
// Then each text is expanded once: the value of a variable is not expanded again, so a
// value cannot refer to a variable. An argument that is exactly one option becomes one
// argument per value of the option, or none if it has no value. An env entry that is
// exactly one option without a value is omitted, so that the server's own default
// applies. Defaults of options may contain variables, and count as values of required
// options.
//
// A command that is a path is resolved in the bundle, with .exe on Windows. A server of
// type uv without a command line is started with "uv run".
//
// The error is an [*ExpandError]. Expand does not change m or opts.
func Expand(m *Manifest, opts *ExpandOptions) (*Launch, error) {
	e, err := newExpansion(m, opts)
	if err != nil {
		return nil, err
	}
	e.checkPlatform()
	e.resolve()
	launch := e.launch()
	if launch.Warnings == nil {
		return launch, nil
	}
	refused := &ExpandError{}
	refused.Findings, launch.Warnings = splitFindings(launch.Warnings)
	if refused.Findings == nil {
		return launch, nil
	}
	for _, o := range m.UserConfig {
		if o.Sensitive {
			refused.sensitive = append(refused.sensitive, o.Key)
		}
	}
	return nil, refused
}

// splitFindings separates errors from other findings.
func splitFindings(all []check.Finding) (errors, others []check.Finding) {
	for _, f := range all {
		if f.Severity == check.Error {
			errors = append(errors, f)
		} else {
			others = append(others, f)
		}
	}
	return errors, others
}

// expansion is one call of [Expand].
type expansion struct {
	check.Reporter
	// m is the manifest, and opts are the user's values.
	m      *Manifest
	opts   ExpandOptions
	here   bool              // Platform is the current system, so files can be checked
	system map[string]string // the values of variables that are no options
	values map[string]value  // by key; options without a value are missing

	options map[string]*Option // all options, by key
}

// value is the value of an option.
type value struct {
	// texts are the values of an option: several for files and directories; secret marks a
	// sensitive one.
	texts  []string
	secret bool
}

// newExpansion sets the defaults of the options and the values of the variables. Files are
// checked only for the current system.
func newExpansion(m *Manifest, opts *ExpandOptions) (*expansion, error) {
	e := &expansion{
		Reporter: check.Reporter{Report: &check.Report{}},
		m:        m,
		opts:     valueOf(opts),
		values:   map[string]value{},
		options:  make(map[string]*Option, len(m.UserConfig)),
	}
	for i := range m.UserConfig {
		e.options[m.UserConfig[i].Key] = &m.UserConfig[i]
	}
	o := &e.opts
	o.Platform = cmp.Or(o.Platform, ThisPlatform())
	e.here = o.Platform == ThisPlatform()
	if o.Dir == "" || e.here && !filepath.IsAbs(o.Dir) {
		return nil, &ExpandError{Findings: []check.Finding{e.Finding(rulePath, "", "",
			"the folder of the bundle must be an absolute path and is %q", o.Dir)}}
	}
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir()
		if e.here {
			known := thisUser(o.Home)
			o.Desktop = cmp.Or(o.Desktop, known.desktop)
			o.Documents = cmp.Or(o.Documents, known.documents)
			o.Downloads = cmp.Or(o.Downloads, known.downloads)
		}
	}
	separator := "/"
	list := ":"
	if o.Platform == "win32" {
		separator = `\`
		list = ";"
	}
	o.ListSeparator = cmp.Or(o.ListSeparator, list)
	below := func(dir, name string) string {
		if dir != "" || o.Home == "" {
			return dir
		}
		return o.Home + separator + name
	}
	e.system = map[string]string{
		varDir:       o.Dir,
		varSeparator: separator,
		varSlash:     separator,
		varHome:      o.Home,
		varDesktop:   below(o.Desktop, "Desktop"),
		varDocuments: below(o.Documents, "Documents"),
		varDownloads: below(o.Downloads, "Downloads"),
	}
	return e, nil
}

// checkPlatform reports a platform that the bundle does not support.
func (e *expansion) checkPlatform() {
	k := e.m.Compatibility
	if k == nil ||
		len(k.Platforms) == 0 ||
		slices.Contains(k.Platforms, e.opts.Platform) {
		return
	}
	rule := ruleHost
	hint := "slipway bundle run --any-platform starts it all the same"
	if e.opts.AnyPlatform {
		rule, hint = rule.As(check.Warning), ""
	}
	e.Add(rule, "/compatibility/platforms", hint, "the bundle is for %s, and this is %s",
		strings.Join(k.Platforms, ", "), e.opts.Platform)
}

// config merges the platform's override over the base.
func (e *expansion) config() Config {
	base := e.m.Server.Config
	if base == nil {
		return Config{
			Command: "uv",
			Args:    []string{"run", "--directory", "${" + varDir + "}", e.m.Server.EntryPoint},
		}
	}
	o := base.Overrides[e.opts.Platform]
	merged := Config{Env: maps.Clone(base.Env)}
	merged.Command, merged.Args = o.over(base)
	if e.opts.Reference && o.Env != nil || merged.Env == nil {
		merged.Env = map[string]string{}
	}
	maps.Copy(merged.Env, o.Env)
	return merged
}

// launch expands the merged command line. Its Warnings are all findings, errors included.
func (e *expansion) launch() *Launch {
	config := e.config()
	l := &Launch{
		Dir:      e.opts.Dir,
		Env:      map[string]string{},
		shownEnv: map[string]string{},
	}
	const pointer = "/server/mcp_config"
	for _, key := range optionsIn(config.Command) {
		if len(e.values[key].texts) > 1 {
			e.Add(ruleCommandList, pointer+"/command", "",
				"option %q has several values, and the command is one program", key)
		}
	}
	command := e.text(pointer+"/command", config.Command)
	l.Command, l.shownCommand = e.command(config.Command, command.text), command.shown
	if command.shown == command.text {
		l.shownCommand = l.Command
	}
	interpreter, own := ownArguments(config.Command, config.Args)
	for i, arg := range config.Args {
		before := ""
		if i > 0 {
			before = config.Args[i-1]
		}
		all := e.argument(fmt.Sprintf("%s/args/%d", pointer, i), arg, before)
		if i < own {
			e.refuseFlag(interpreter, &config, i, all)
		}
		for _, t := range all {
			l.Args = append(l.Args, t.text)
			l.shownArgs = append(l.shownArgs, t.shown)
		}
	}
	for _, name := range sortedKeys(config.Env) {
		key, alone := onlyOption(config.Env[name])
		if alone && e.unset(key) {
			continue
		}
		t := e.text(pointer+pointerTo("/env", name), config.Env[name])
		l.Env[name] = t.text
		l.shownEnv[name] = t.shown
	}
	for _, v := range e.values {
		if v.secret {
			l.secrets = append(l.secrets, v.texts...)
		}
	}
	slices.SortFunc(l.secrets, func(a, b string) int {
		return len(b) - len(a)
	})
	l.Warnings = e.Report.Findings()
	return l
}

// unset reports whether an option is declared but has no value.
func (e *expansion) unset(key string) bool {
	_, set := e.values[key]
	return e.options[key] != nil && !set
}

// expanded is a text, and its redacted form for display.
type expanded struct {
	text, shown string
}

// argument expands one argument. before is the preceding one.
func (e *expansion) argument(pointer, arg, before string) []expanded {
	key, alone := onlyOption(arg)
	if !alone {
		return []expanded{e.text(pointer, arg)}
	}
	if e.unset(key) {
		if strings.HasPrefix(before, "-") && !strings.Contains(before, "=") {
			e.Add(ruleEmptyOption, pointer, "", "option %q has no value, and %s stays without one", key,
				before)
		}
		return nil
	}
	v, set := e.values[key]
	if !set {
		return []expanded{e.text(pointer, arg)} // undeclared; text warns
	}
	all := make([]expanded, len(v.texts))
	for i, text := range v.texts {
		all[i] = v.show(text)
	}
	return all
}

// Redacted replaces the values of sensitive options in all output.
const Redacted = "[redacted]"

// show pairs a value of the option with its form for display.
func (v value) show(text string) expanded {
	if v.secret {
		return expanded{text, Redacted}
	}
	return expanded{text, text}
}

// text expands every variable in s, once.
func (e *expansion) text(pointer, s string) expanded {
	var text, shown strings.Builder
	for _, p := range splitVariables(s) {
		t := e.part(pointer, p)
		text.WriteString(t.text)
		shown.WriteString(t.shown)
	}
	return expanded{text.String(), shown.String()}
}

// part expands a variable. An unknown one stays as it is, like in other hosts.
func (e *expansion) part(pointer string, p part) expanded {
	same := expanded{p.text, p.text}
	if !p.variable {
		return same
	}
	if text, ok := e.system[p.name]; ok {
		if text == "" {
			e.Add(ruleVariable, pointer, "", "%s is not known here", p.text)
		}
		return expanded{text, text}
	}
	key, isOption := p.option()
	if !isOption {
		e.Add(ruleVariable, pointer, "",
			"unknown variable %s, so it stays as it is", p.text)
		return same
	}
	if v, ok := e.values[key]; ok {
		return v.show(strings.Join(v.texts, e.opts.ListSeparator))
	}
	if e.unset(key) {
		e.Add(ruleEmptyOption, pointer, "",
			"option %q has no value, so it is replaced with nothing", key)
		return expanded{}
	}
	e.Add(ruleUndeclared, pointer, "",
		"user_config has no option %q, so %s stays as it is", key, p.text)
	return same
}

// command finds the program. written is the command in the manifest, text its expanded
// form. A name without a path is left to the search path.
func (e *expansion) command(written, text string) string {
	const pointer = "/server/mcp_config/command"
	if text == "" {
		e.Add(ruleCommand, pointer, "", "the command is empty")
		return ""
	}
	absolute := regexp.MustCompile(`^(?:[/\\]|.:)`).MatchString(text)
	name, inBundle := bundlePath(written)
	switch {
	case inBundle:
	case absolute || !strings.ContainsAny(text, `/\`):
		return text
	default:
		name = text
	}
	clean, why := cleanPath(strings.TrimLeft(strings.ReplaceAll(name, `\`, "/"), "/"))
	if why != "" {
		e.Add(rulePath, pointer, "", "the command %q: %s", written, why)
		return ""
	}
	return e.program(pointer, clean)
}

// program returns the path of a program in the bundle.
func (e *expansion) program(pointer, name string) string {
	separator := e.system[varSlash]
	exists := func(name string) bool {
		info, err := os.Stat(filepath.Join(e.opts.Dir, filepath.FromSlash(name)))
		return err == nil && info.Mode().IsRegular()
	}
	if e.opts.Platform == "win32" &&
		!slices.Contains([]string{".exe", ".com", ".bat", ".cmd"},
			strings.ToLower(path.Ext(name))) {
		if exists(name+".exe") || !exists(name) {
			name += ".exe"
		}
	}
	if !e.opts.NoFiles && e.here && !exists(name) {
		e.Add(ruleCommand, pointer, "", "the command %s is not in the bundle", name)
	}
	return strings.TrimRight(e.opts.Dir, `/\`) + separator + strings.ReplaceAll(name, "/", separator)
}

// existing returns the problem with a path that the user chose, or "".
func existing(kind, name string) string {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case err != nil:
		return "cannot be inspected"
	case kind == OptionDirectory && !info.IsDir():
		return "is not a directory"
	case kind == OptionFile && info.IsDir():
		return "is a directory, not a file"
	}
	return ""
}
