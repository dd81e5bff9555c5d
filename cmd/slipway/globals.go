package main

import (
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/client"
)

// globalFlag is the annotation of the flags of all commands.
const globalFlag = "slipway_global"

// globalFlags adds the flags of all commands.
func globalFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.BoolP("quiet", "q", false, "print only results and errors")
	flags.CountP("verbose", "v", "print what is contacted and how long it takes; -vv prints details")
	color := new(string)
	flags.Var(oneOf(color, "auto", "always", "never"), "color",
		"`when` to color output: auto (on a terminal, unless NO_COLOR is set), always or never")
	for _, name := range []string{"quiet", "verbose", "color"} {
		_ = flags.SetAnnotation(name, globalFlag, nil) // the flags exist
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return applyGlobals(cmd)
	}
}

// isGlobal reports whether a flag is one of all commands.
func isGlobal(f *pflag.Flag) bool {
	_, is := f.Annotations[globalFlag]
	return is
}

// applyGlobals applies the global flags to the outputs of a command.
func applyGlobals(cmd *cobra.Command) error {
	quiet := isQuiet(cmd)
	if quiet && verbosity(cmd) > 0 {
		return usage("use one of them", "%s: both --quiet and --verbose", cmd.Name())
	}
	root := cmd.Root()
	color := colorMode(cmd.Flags().Lookup("color").Value.String())
	if color == "auto" {
		color = ""
	}
	wide, _ := cmd.Flags().GetBool("wide") // not every command has it
	if s, ok := root.OutOrStdout().(*screen); ok {
		s.color = color
		s.wide = wide
	}
	if s, ok := root.ErrOrStderr().(*screen); ok {
		s.color = color
		s.wide = wide
		s.quiet = quiet
	}
	return nil
}

// wideFlag adds --wide to a command that prints a table.
func wideFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("wide", false, "do not truncate lines to the width of the terminal")
}

// isQuiet reports whether --quiet is set.
func isQuiet(cmd *cobra.Command) bool {
	given, _ := cmd.Flags().GetBool("quiet")
	return given
}

// verbosity returns how often --verbose is given.
func verbosity(cmd *cobra.Command) int {
	n, _ := cmd.Flags().GetCount("verbose")
	return n
}

// warningLog returns a logger for warnings of what a command opens, and for more with --verbose.
func warningLog(cmd *cobra.Command) *slog.Logger {
	if log := verboseLog(cmd); log != nil {
		return log
	}
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// verboseLog returns the logger of a client command with --verbose, or nil.
func verboseLog(cmd *cobra.Command) *slog.Logger {
	n := verbosity(cmd)
	if n == 0 {
		return nil
	}
	level := slog.LevelInfo
	if n > 1 {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: level}))
}

// logLevel returns the level for a command that logs: that of its own flag if changed,
// otherwise as --quiet and --verbose demand.
func logLevel(cmd *cobra.Command, own slog.Level, changed bool) slog.Level {
	switch {
	case changed:
		return own
	case isQuiet(cmd):
		return slog.LevelError
	case verbosity(cmd) > 1:
		return slog.LevelDebug
	case verbosity(cmd) > 0:
		return min(own, slog.LevelInfo)
	}
	return own
}

// verbosely makes connections log what they do with --verbose.
func verbosely(cmd *cobra.Command, o *client.Options) {
	log := verboseLog(cmd)
	if log == nil || o.Logger != nil {
		return
	}
	o.Logger = log
	o.Tap = logTraffic(log)
}

// logTime logs how long a step took.
func logTime(log *slog.Logger, what string, began time.Time, args ...any) {
	if log != nil {
		log.Info(what, append(args, "took", time.Since(began).Round(100*time.Microsecond))...)
	}
}
