package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/internal/settings"
)

// setting declares one setting of serve: its names in the configuration file and on the
// command line, and the option of the library that both set. Its environment variable,
// the schema of the file and the reference page follow from it.
type setting struct {
	key  string // GROUP.MEMBER below serve in the file; "" for a flag that is not in the file
	flag string
	// field is a pointer to the option, with its default, or a pflag.Value. Nil means that
	// another function declares the flag, because other commands have it, too.
	field any
	usage string

	about    string // for the file, if it differs from usage
	inverted bool   // the flag disables what the member enables
	restart  bool   // a running server cannot change it
	kind     settings.Kind
	// words are listed by completion; resolve makes a path absolute, and probe checks a value
	// without using it.
	words   []string // values with a special meaning
	resolve func(dir, value string) string
	probe   func(value string) error
}

// settingGroups are the groups of settings: sections of the help, and members of serve in
// the file.
func settingGroups() []settings.Group {
	return []settings.Group{
		{Key: "sources", Title: "Sources", About: "How sources are opened and combined."},
		{Key: "address", Title: "Address", About: "Where clients reach the server."},
		{Key: "endpoints", Title: "Endpoints", About: "What is served next to the endpoint /mcp."},
		{Key: "tls", Title: "TLS", About: "The certificate for https."},
		{Key: "access", Title: "Access", About: "Who may use the server."},
		{Key: "limits", Title: "Limits", About: "How much clients may use, and how long requests may take."},
		{Key: "logging", Title: "Logging", About: "The log and the audit log."},
		{Key: "definitions", Title: "Definitions", About: "How servers of definitions are started and followed."},
	}
}

// declareSettings adds the flags of settings to a command.
func declareSettings(flags *pflag.FlagSet, all []setting) {
	for _, s := range all {
		switch field := s.field.(type) {
		case nil:
		case *string:
			flags.StringVar(field, s.flag, *field, s.usage)
		case *bool:
			flags.BoolVar(field, s.flag, *field, s.usage)
		case *int:
			flags.Var(atLeast(field, 0), s.flag, s.usage)
		case *float64:
			flags.Var(atLeast(field, 0), s.flag, s.usage)
		case *time.Duration:
			flags.Var((*duration)(field), s.flag, s.usage)
		case *int64:
			flags.Var((*size)(field), s.flag, s.usage)
		case *[]string:
			flags.StringSliceVar(field, s.flag, *field, s.usage)
		case pflag.Value:
			flags.Var(field, s.flag, s.usage)
		default:
			panic(fmt.Sprintf("--%s: a setting cannot be a %T", s.flag, s.field))
		}
	}
}

// groupSettings puts the flags of settings into sections of the help.
func groupSettings(cmd *cobra.Command, all []setting) {
	for _, g := range settingGroups() {
		for _, s := range all {
			if group, _, _ := strings.Cut(s.key, "."); group == g.Key {
				groupFlags(cmd, g.Title, s.flag)
			}
		}
	}
}

// tableOf returns the settings of a command for the configuration file. Values are checked
// by setting the flags of cmd, which must not be used otherwise.
func tableOf(cmd *cobra.Command, all []setting) *settings.Table {
	t := &settings.Table{Groups: settingGroups()}
	for _, s := range all {
		group, key, ok := strings.Cut(s.key, ".")
		if !ok {
			continue
		}
		flag := cmd.Flags().Lookup(s.flag)
		entry := settings.Setting{
			Group:    group,
			Key:      key,
			Flag:     s.flag,
			Env:      environmentName(s.flag),
			Usage:    flag.Usage,
			Kind:     s.kind,
			Default:  shownDefault(flag),
			Words:    s.words,
			Inverted: s.inverted,
			Restart:  s.restart,
			Resolve:  s.resolve,
			Probe:    s.probe,
			Check:    flag.Value.Set,
		}
		if s.about != "" {
			entry.Usage = s.about
		}
		if entry.Kind == settings.Text {
			entry.Kind = kindOf(flag)
		}
		if choice, ok := flag.Value.(interface{ choices() []string }); ok && choice.choices() != nil {
			entry.Kind = settings.Choice
			entry.Words = choice.choices()
		}
		t.Settings = append(t.Settings, entry)
	}
	return t
}

// kindOf returns the kind of a flag, from the type of its value.
func kindOf(flag *pflag.Flag) settings.Kind {
	return map[string]settings.Kind{
		"bool":        settings.Bool,
		"int":         settings.Int,
		"float64":     settings.Number,
		"size":        settings.Size,
		"duration":    settings.Duration,
		"stringSlice": settings.List,
		"stringArray": settings.List,
	}[flag.Value.Type()]
}

// shownDefault returns the default of a flag, or "" if it has none.
func shownDefault(flag *pflag.Flag) string {
	if slices.Contains([]string{"", "[]", "0", "0s"}, flag.DefValue) {
		return ""
	}
	return flag.DefValue
}

// setFlag sets a flag to a value of the file.
func setFlag(flag *pflag.Flag, v *settings.Value) error {
	flag.Changed = true
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.Replace(v.Texts)
	}
	for _, text := range v.Texts {
		if err := flag.Value.Set(text); err != nil {
			return err
		}
	}
	return nil
}
