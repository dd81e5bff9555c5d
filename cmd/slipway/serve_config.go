package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/order"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/settings"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/stax"
)

// configFlags select the configuration file of serve.
type configFlags struct {
	path  string
	print bool

	file     *settings.File    // nil without a file
	followed bool              // the file names the sources
	origins  map[string]string // of the flags that are set: where their values come from
}

// add defines the flags that select and print the configuration file. They have no settings
// in the file itself.
func (f *configFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "config", "",
		"configuration `FILE` (default: slipway.yaml or similar in the current folder, if no SOURCE is given)")
	flags.BoolVar(&f.print, "print-config", false,
		"print the settings with the origin of each, instead of serving; secrets are not shown")
}

// note records where the flags that are newly set have their values from.
func (f *configFlags) note(flags *pflag.FlagSet, origin string) {
	if f.origins == nil {
		f.origins = make(map[string]string)
	}
	flags.Visit(func(flag *pflag.Flag) {
		switch {
		case f.origins[flag.Name] != "":
		case origin == "flag":
			f.origins[flag.Name] = "--" + flag.Name
		case flag.Name == "addr" && os.Getenv(environmentName("addr")) == "":
			f.origins[flag.Name] = environmentName("port")
		default:
			f.origins[flag.Name] = environmentName(flag.Name)
		}
	})
}

func serveTable() *settings.Table {
	f, cmd := declaredServe()
	return tableOf(cmd, f.settings())
}

// declaredServe returns the flags of serve with their defaults, bound to a command that is
// never run.
func declaredServe() (*serveFlags, *cobra.Command) {
	f := &serveFlags{logLevel: level(slog.LevelWarn)}
	f.setDefaults()
	cmd := &cobra.Command{Use: "serve"}
	bundleFlags(cmd)
	lockFlags(cmd)
	declareSettings(cmd.Flags(), f.settings())
	return f, cmd
}

// reloaded returns the flags as they would be if the server was started with this file
// now: flags and variables keep their values and their precedence.
func (f *serveFlags) reloaded(cmd *cobra.Command, file *settings.File) (
	next *serveFlags, flags *pflag.FlagSet, err error,
) {
	next, fresh := declaredServe()
	next.tokens = f.tokens
	next.tokenPath = f.tokenPath
	next.config.file = file
	next.config.origins = make(map[string]string)
	fresh.Flags().VisitAll(func(flag *pflag.Flag) {
		origin := f.config.origins[flag.Name]
		if err != nil || origin == "" || f.config.inFile(origin) {
			return
		}
		next.config.origins[flag.Name] = origin
		err = copyFlag(flag, cmd.Flags().Lookup(flag.Name).Value)
	})
	if err != nil {
		return nil, nil, err
	}
	if err := next.config.overlay(fresh.Flags()); err != nil {
		return nil, nil, err
	}
	next.auth.SourceNames, next.SourceNames = f.auth.SourceNames, f.SourceNames
	next.Addr = f.Addr // the address in use
	next.policyFile, next.approvalsFile = f.policyFile, f.approvalsFile
	next.hints, next.locked = f.hints, f.locked
	next.approvals = f.approvals
	next.signIn, next.Broker = f.signIn, f.Broker
	next.endpoints, next.endpointScopes, next.endpointPolicies = f.endpoints, f.endpointScopes, f.endpointPolicies
	if (next.TLS.Cert == "") != (f.TLS.Cert == "") {
		next.TLS = f.TLS // needs a restart
	}
	return next, fresh.Flags(), nil
}

// inFile reports whether the origin of a flag is a line of the file.
func (f *configFlags) inFile(origin string) bool {
	return strings.HasPrefix(origin, f.file.Path+":")
}

// copyFlag sets a flag to the value of another one of the same type.
func copyFlag(flag *pflag.Flag, from pflag.Value) error {
	flag.Changed = true
	list, isList := flag.Value.(pflag.SliceValue)
	values, ok := from.(pflag.SliceValue)
	if isList && ok {
		return list.Replace(values.GetSlice())
	}
	return flag.Value.Set(from.String())
}

// load finds and reads the configuration file, and sets the flags that are not set yet.
func (f *configFlags) load(cmd *cobra.Command, args []string) error {
	path := f.path
	if path == "" && len(args) == 0 {
		var several *settings.SeveralError
		var err error
		if path, err = settings.Find("."); errors.As(err, &several) {
			return usage("name one with --config", "serve: %v", err)
		} else if err != nil {
			return badInput("", "serve: %v", err)
		}
	}
	if path == "" {
		return nil
	}
	file, err := readConfig(cmd, path)
	if err != nil {
		return err
	}
	f.file = file
	return f.overlay(cmd.Flags())
}

// readConfig reads a valid configuration file, and prints its findings.
func readConfig(cmd *cobra.Command, path string) (*settings.File, error) {
	file, report, err := serveTable().Read(path)
	if err != nil {
		return nil, badInput("", "%s: %s", path, fsutil.Reason(err))
	}
	printFindings(cmd, withoutNotes(report))
	if !report.OK(false) {
		return nil, badInput("slipway config check "+shell.PathWord(path), "%s: %s", path, report.Summary())
	}
	return file, nil
}

// withoutNotes returns the errors and warnings of a report.
func withoutNotes(report *check.Report) *check.Report {
	rest := &check.Report{}
	for _, f := range report.Findings() {
		if f.Severity != check.Note {
			rest.Add(f)
		}
	}
	return rest
}

// overlay sets the flags that neither the command line nor the environment sets.
func (f *configFlags) overlay(flags *pflag.FlagSet) error {
	for i := range f.file.Values {
		v := &f.file.Values[i]
		flag := flags.Lookup(v.Setting.Flag)
		origin := fmt.Sprintf("%s:%d", f.file.Path, v.Line)
		switch {
		case f.origins[flag.Name] == "":
		case flag.Name == "addr" && f.origins["addr"] == environmentName("port"):
			if err := f.withHost(flags, v); err != nil {
				return err
			}
			continue
		case isByName(flag.Name):
			if keepNames(flag, v) {
				f.origins[flag.Name] += ", " + origin
			}
			continue
		default:
			continue
		}
		if err := setFlag(flag, v); err != nil {
			return badInput("slipway config check "+shell.PathWord(f.file.Path), "%s: %s: %v", origin, v.Setting.Name(), err)
		}
		f.origins[flag.Name] = origin
	}
	return nil
}

// isByName reports whether a flag replaces the value of the file by name, and not as a whole: a flag about
// one endpoint must not drop the scopes or the policy of another.
func isByName(flag string) bool {
	return flag == "endpoint" || flag == "endpoint-scope" || flag == "endpoint-policy"
}

// keepNames adds the values in the file whose names the flag does not have, and reports whether there are any.
func keepNames(flag *pflag.Flag, v *settings.Value) (kept bool) {
	list := flag.Value.(pflag.SliceValue)
	all := list.GetSlice()
	given := make(map[string]bool)
	for _, text := range all {
		name, _, _ := strings.Cut(text, "=")
		given[name] = true
	}
	for _, text := range v.Texts {
		if name, _, _ := strings.Cut(text, "="); !given[name] {
			all = append(all, text)
			kept = true
		}
	}
	_ = list.Replace(all) // a list of strings takes all of them
	return kept
}

// withHost combines the host of the file with the port of the environment.
func (f *configFlags) withHost(flags *pflag.FlagSet, v *settings.Value) error {
	_, port, err := net.SplitHostPort(flags.Lookup("addr").Value.String())
	if err != nil {
		return err
	}
	addr, err := address("--addr", v.Texts[0])
	if err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	return flags.Set("addr", net.JoinHostPort(host, port))
}

// sources returns what is served, and the name of each: the arguments, or the sources of
// the file, followed by its own definitions.
func (f *configFlags) sources(cmd *cobra.Command, args []string) (arguments, names []string, err error) {
	switch {
	case len(args) > 0:
		f.explainDefinitions(cmd, args)
		return args, sourceNames(args), nil
	case f.file == nil:
		return nil, nil, usage("slipway serve SOURCE, or write a slipway.yaml: https://github.com/slipway-mcp/slipway/"+
			"blob/main/docs/config-file.md", "serve: missing argument SOURCE, and there is no slipway.yaml here")
	}
	arguments, names = servedBy(f.file)
	if len(arguments) == 0 {
		return nil, nil, badInput("add sources: [./docs], or name a SOURCE",
			"serve: %s: there is nothing to serve", f.file.Path)
	}
	f.followed = true
	return arguments, names, nil
}

// servedBy returns the sources of a file, and their names.
func servedBy(file *settings.File) (arguments, names []string) {
	for _, s := range file.Sources {
		arg := s.Argument
		if len(s.Command) > 0 {
			arg = open.Command(s.Command)
		}
		arguments = append(arguments, arg)
	}
	if file.HasServers() {
		arguments = append(arguments, file.Path)
	}
	names = sourceNames(arguments)
	if file.HasServers() {
		base := filepath.Base(file.Path)
		names[len(names)-1] = strings.TrimSuffix(base, filepath.Ext(base))
	}
	for i, s := range file.Sources {
		if s.Name != "" {
			names[i] = s.Name
		}
	}
	return arguments, names
}

// explainDefinitions notes that the settings of a file that is named as a source do not
// apply.
func (f *configFlags) explainDefinitions(cmd *cobra.Command, args []string) {
	for _, arg := range args {
		if !isDefinitionsFile(arg) || f.path == arg {
			continue
		}
		if doc, _, err := stax.ReadFile(arg); err == nil && doc.ConfiguresServe() {
			say(cmd.ErrOrStderr(), "%s: only its servers are used; --config %s also uses its sources and settings", arg, arg)
		}
	}
}

// effective is one setting with its value and origin.
type effective struct {
	Setting string `json:"setting"`
	Value   any    `json:"value"`
	Origin  string `json:"origin"`
}

// show prints the settings that would be used.
func (f *configFlags) show(cmd *cobra.Command, args []string) error {
	arguments, names, err := f.sources(cmd, args)
	if err != nil {
		return err
	}
	shown := []effective{{"sources", publicNames(arguments, names), f.originOfSources(args)}}
	table := serveTable()
	for i := range table.Settings {
		s := &table.Settings[i]
		flag := cmd.Flags().Lookup(s.Flag)
		e := effective{s.Name(), shownValue(s, flag), f.origins[s.Flag]}
		if e.Origin == "" {
			e.Origin = "default"
		}
		shown = append(shown, e)
	}
	for _, variable := range []string{"TOKEN", "TOKEN_FILE", "STATE_KEY"} {
		if os.Getenv(envPrefix+variable) != "" {
			shown = append(shown, effective{envPrefix + variable, "[redacted]", "environment"})
		}
	}
	return showList(cmd, "settings", shown, printEffective)
}

// originOfSources returns where --print-config says that the sources come from.
func (f *configFlags) originOfSources(args []string) string {
	if len(args) > 0 {
		return "arguments"
	}
	return f.file.Path
}

// publicNames returns sources as they can be shown: a URL or a command may contain a
// secret.
func publicNames(arguments, names []string) (public []string) {
	for i, arg := range arguments {
		shown := stax.Redact(arg)
		if strings.HasPrefix(arg, "exec:") || strings.Contains(arg, "://") {
			shown = open.Argument(arg).PublicName()
		}
		if shown != names[i] {
			shown = names[i] + "=" + shown
		}
		public = append(public, shown)
	}
	return public
}

// shownValue returns the value of a flag as it is written in a file. Options of bundles
// may be secret.
func shownValue(s *settings.Setting, flag *pflag.Flag) any {
	list, isList := flag.Value.(pflag.SliceValue)
	switch {
	case s.Kind == settings.Bool:
		return (flag.Value.String() == "true") != s.Inverted
	case isList && s.Kind == settings.Map:
		var keys []string
		for _, pair := range list.GetSlice() {
			key, _, _ := strings.Cut(pair, "=")
			keys = append(keys, key+"=[redacted]")
		}
		return slices.Concat([]string{}, keys)
	case isList:
		return slices.Concat([]string{}, list.GetSlice())
	}
	return stax.Redact(flag.Value.String())
}

// printEffective prints settings as YAML with the origin of each as a comment, aligned up to
// 56 columns.
func printEffective(w io.Writer, all []effective) error {
	rows := make([][2]string, len(all))
	width := 0
	for i, e := range all {
		text := fmt.Sprint(e.Value)
		if list, ok := e.Value.([]string); ok {
			text = "[" + strings.Join(list, ", ") + "]"
		}
		if text == "" {
			text = `""`
		}
		rows[i] = [2]string{e.Setting + ": " + visible.Line(text), visible.Line(e.Origin)}
		width = max(width, min(len(rows[i][0]), 56))
	}
	for _, r := range rows {
		if _, err := fmt.Fprintf(w, "%-*s  # %s\n", width, r[0], r[1]); err != nil {
			return err
		}
	}
	return nil
}

// checkConfig adds what is wrong with the configuration of serve in a definitions file,
// beyond its definitions. It reports whether the file has such a configuration.
func checkConfig(report *check.Report, path string) bool {
	if !isDefinitionsFile(path) {
		return false
	}
	file, found, err := serveTable().Read(path)
	if err != nil || !file.Document.ConfiguresServe() {
		return false
	}
	f := checkSettings(report, file, found, "")
	if f != nil && f.TLS.Cert != "" && f.TLS.Key != "" {
		if err := f.TLS.Check(); err != nil {
			file.Missing(report, file.Value("tls-cert").Pointer, "", err.Error())
		}
	}
	return true
}

// checkSettings adds the findings about the sources and settings of a file, without those
// about its certificate. It returns the flags with the settings, or nil if one is invalid.
func checkSettings(report *check.Report, file *settings.File, found *check.Report, tokens string) *serveFlags {
	for _, f := range found.Findings() {
		if strings.HasPrefix(f.Rule.ID, "serve/") {
			report.Add(f)
		}
	}
	file.Probe(report)
	for _, s := range file.Sources {
		if err := open.Argument(s.Argument).Exists(); err != nil && len(s.Command) == 0 {
			file.Missing(report, s.Pointer, "", err.Error())
		}
	}
	return checkConflicts(report, file, tokens)
}

// inFile replaces flags in a text by the names of their settings.
func inFile(text string) string {
	all := serveTable().Settings
	order.By(all, func(a, b settings.Setting) int { return len(b.Flag) - len(a.Flag) })
	for i := range all {
		text = strings.ReplaceAll(text, "--"+all[i].Flag, all[i].Name())
	}
	return text
}

// checkConflicts reports settings that contradict each other. tokens is the value of the
// variable for tokens. It returns the flags with the settings, or nil if one is invalid.
func checkConflicts(report *check.Report, file *settings.File, tokens string) *serveFlags {
	f, cmd := declaredServe()
	f.tokens = tokens
	for i := range file.Values {
		v := &file.Values[i]
		if setFlag(cmd.Flags().Lookup(v.Setting.Flag), v) != nil {
			return nil // reported already
		}
	}
	arguments, _ := servedBy(file)
	for _, c := range f.conflicts(arguments) {
		file.Conflict(report, c.flag, inFile(c.hint), inFile(c.message), c.outside)
	}
	return f
}
