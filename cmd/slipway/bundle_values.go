package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/fleet"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcpb"
)

// bundleFlags adds the flags for bundles and definitions to a command that opens sources.
func bundleFlags(cmd *cobra.Command) {
	valueFlags(cmd)
	cmd.Flags().StringArray("secrets-from", nil,
		"`source` of secrets for definitions, searched in the given order (repeatable)")
	networkFlag(cmd)
}

// valueFlags adds the flags for the options of a bundle.
func valueFlags(cmd *cobra.Command) {
	cmd.Flags().String("require-signer", "",
		"refuse bundles not signed by this certificate: `SHA-256|FILE`, where FILE is PEM with it or its issuers")
	cmd.Flags().StringArray("set", nil, "option of a bundle, as `KEY=VALUE` (repeatable)")
	cmd.Flags().String("values", "", "JSON `file` with options of a bundle: {\"key\": value}")
}

// bundleOptions returns how a command opens bundles: with the options from flags and
// environment, prompting for missing ones on a terminal.
func bundleOptions(cmd *cobra.Command) (*mcpb.OpenOptions, error) {
	set, err := cmd.Flags().GetStringArray("set")
	if err != nil {
		return nil, nil // this command has no such flags
	}
	file, err := cmd.Flags().GetString("values")
	if err != nil {
		return nil, err
	}
	typed, err := typedValues(set)
	if err != nil {
		return nil, err
	}
	var kept map[string]any
	if file != "" {
		var path *fs.PathError
		switch kept, err = mcpb.ReadSettings(file); {
		case errors.As(err, &path):
			return nil, err
		case err != nil:
			return nil, badInput(`write an object, as in {"api_key": "..."}`, "%v", err)
		}
	}
	signer, err := requiredSigner(cmd)
	if err != nil {
		return nil, err
	}
	most, err := cacheBytes()
	if err != nil {
		return nil, err
	}
	stderr := cmd.ErrOrStderr()
	warn := func(f check.Finding) { say(stderr, "%s", f.Message) }
	opts := &mcpb.OpenOptions{
		Values:     typed,
		Signer:     signer,
		CacheBytes: most,
		Warn:       warn,
		Lookup: func(o mcpb.Option) (any, bool) {
			if _, given := typed[o.Key]; given && o.Sensitive {
				say(stderr, "option %q is a secret, and other users of this machine can read a command line: set %s instead",
					o.Key, variableOf(o.Key))
			}
			if v, ok := os.LookupEnv(variableOf(o.Key)); ok {
				return o.ParseVariable(v), true
			}
			v, ok := kept[o.Key]
			return v, ok
		},
	}
	if in, ok := cmd.InOrStdin().(*os.File); ok && isTerminal(in) && isTerminal(cmd.ErrOrStderr()) {
		opts.Ask = func(ctx context.Context, missing []mcpb.Option) (map[string]any, error) {
			defer fleet.Hold(ctx)()
			return ask(in, cmd.ErrOrStderr(), missing)
		}
	}
	return opts, nil
}

// requiredSigner returns the value of --require-signer.
func requiredSigner(cmd *cobra.Command) (*mcpb.VerifyOptions, error) {
	text, err := cmd.Flags().GetString("require-signer")
	if err != nil || !cmd.Flags().Changed("require-signer") {
		return nil, nil // not every command has this flag
	}
	signer, err := mcpb.ParseSigner(text)
	switch {
	case text == "":
		return nil, usage("slipway bundle verify prints the fingerprint", "--require-signer is empty")
	case err != nil:
		return nil, badInput("name a file with certificates in PEM, or a SHA-256 fingerprint, which slipway bundle "+
			"verify prints", "--require-signer %s: %s", text, fsutil.Reason(err))
	}
	return signer, nil
}

// typedValues parses the values of --set.
func typedValues(set []string) (map[string]any, error) {
	values, err := mcpb.ParseSettings(set)
	if err != nil {
		return nil, usage("as in --set key=value", "--set %v", err)
	}
	return values, nil
}

// variableOf returns the environment variable for an option.
func variableOf(key string) string { return mcpb.OptionVariable(key) }

// ask prompts the user for options. Secrets are not echoed.
func ask(in *os.File, out io.Writer, missing []mcpb.Option) (map[string]any, error) {
	answers := make(map[string]any, len(missing))
	defer prompting(out)()
	lines := bufio.NewReader(in)
	for _, o := range missing {
		fmt.Fprintf(out, "%s: %s\n", o.Title, o.Description)
		answer, err := askFor(in, lines, out, o)
		if err != nil {
			return nil, err
		}
		answers[o.Key] = answer
	}
	return answers, nil
}

// askFor asks on the terminal for a required option until the answer fits its type. The end
// of the input is a usage error that names the variable to set instead.
func askFor(in *os.File, lines *bufio.Reader, out io.Writer, o mcpb.Option) (any, error) {
	for {
		fmt.Fprintf(out, "%s (%s): ", o.Key, o.Type)
		text, err := answerOf(in, lines, out, o.Sensitive)
		if err != nil {
			return nil, usage("set "+variableOf(o.Key), "no answer for option %s", o.Key)
		}
		switch {
		case text == "":
			fmt.Fprintln(out, "it is required; Ctrl-C leaves")
		case o.Type == mcpb.OptionNumber && !isNumber(text):
			fmt.Fprintln(out, "enter a number")
		default:
			return text, nil
		}
	}
}

// isNumber reports whether text is a finite number. JSON has no other ones.
func isNumber(text string) bool {
	f, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// answerOf reads one line. A secret is not echoed, and keeps its blanks.
func answerOf(in *os.File, lines *bufio.Reader, out io.Writer, secret bool) (string, error) {
	if secret {
		text, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(out)
		return string(text), err
	}
	text, err := lines.ReadString('\n')
	return strings.TrimSpace(text), err
}

// valueHint returns how to set a missing option. For a secret it does not suggest --set,
// because other users can read the command line.
func valueHint(key string, sensitive bool) string {
	if sensitive {
		return fmt.Sprintf("set %s in the environment, or %q in the file that --values names", variableOf(key), key)
	}
	return fmt.Sprintf("--set %s=..., or %s in the environment", key, variableOf(key))
}
