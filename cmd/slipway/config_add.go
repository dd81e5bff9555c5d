package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/stax"
	"github.com/slipway-mcp/slipway/stax/clients"
	"github.com/slipway-mcp/slipway/stax/registry"
)

// defaultDefinitions is the file that config add writes to by default.
const defaultDefinitions = "mcp.yaml"

// adding is the flags of config add.
type adding struct {
	open.EntryOptions
	stax.AddOptions
	set       []string
	dryRun    bool
	allowExec bool
}

func newConfigAdd() *cobra.Command {
	var a adding
	cmd := &cobra.Command{
		Use:   "add [FILE] SOURCE",
		Short: "Add a server from a registry, bundle or URL",
		Long: `Add a server to the definitions in FILE (default: ` + defaultDefinitions + `, created if
missing). Bytes outside the new entry do not change. For a script the entry is
printed instead, to be pasted, with exit code 5. SOURCE is one of:

  server.json   a file, a URL, or the URL of a registry entry
  bundle.mcpb   a file, or a URL, which is downloaded
  URL           of a server: Streamable HTTP or HTTP+SSE

If a server.json has several ways to reach the server, a remote one is
preferred, since it runs nothing locally, then the first package; --package
selects another. Required values become declared secrets or placeholders, and
are listed. The origin is recorded as registryRef, with a SHA-256 where
available. A bundle that changes later is refused when it is started.

Nothing is started. A definition that starts a command must be confirmed: on a
terminal you are asked, with the exact command line; otherwise pass
--allow-exec. Without confirmation the exit code is 6.

The URL on the command line may have any address. Redirects, and bundles in a
server.json, must have public addresses, or be permitted with --allow-network.`,
		Example: `  slipway config add examples/definitions/server.json --dry-run
  slipway config add new.toml examples/definitions/server.json --package npm \
      --allow-exec
  slipway config add new.yaml my-server.mcpb --name mine --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			file := defaultDefinitions
			if len(args) == 2 {
				file = args[0]
				if f := stax.FormatOf(args[1]); f != 0 && f != stax.JSON && !strings.Contains(args[1], "://") {
					return usage(fmt.Sprintf("the file of definitions comes first: slipway config add %s %s", args[1], args[0]),
						"config add: %s is no source of a server", args[1])
				}
			}
			return a.run(cmd, file, args[len(args)-1])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&a.Document.Name, "name", "", "`name` of the server in the definitions")
	flags.StringVar(&a.Document.Package, "package", "",
		"`kind` of package to use from a server.json: remote, npm, pypi, oci, nuget, cargo or mcpb")
	flags.StringArrayVar(&a.set, "set", nil, "value that the server asks for, as `KEY=VALUE`; no secrets (repeatable)")
	flags.StringVar(&a.Signer, "require-signer", "",
		"refuse a bundle not signed by this certificate, `SHA-256|FILE`, now and at every start")
	flags.BoolVar(&a.Replace, "replace", false, "replace a server of the same name")
	flags.BoolVar(&a.dryRun, "dry-run", false, "print the diff without writing")
	flags.BoolVar(&a.allowExec, "allow-exec", false, "add a definition that starts a command without confirmation")
	flags.StringSlice("allow-network", nil, allowNetworkUsage)
	jsonFlag(cmd, "the definition, and what is to be done")
	return cmd
}

func (a *adding) run(cmd *cobra.Command, file, source string) error {
	if err := a.complete(cmd); err != nil {
		return err
	}
	entry, err := open.Entry(cmd.Context(), source, &a.EntryOptions)
	if err != nil {
		return notAdded(err)
	}
	defer entry.Close()
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(file, err)
	}
	added, err := stax.Add(file, before, &entry.Config, &a.AddOptions)
	if errors.Is(err, stax.ErrScript) {
		return a.paste(cmd, file, entry)
	}
	if err != nil {
		return notWritten(file, entry.Server().Name, err)
	}
	if err := a.agreed(cmd, entry); err != nil {
		return err
	}
	if !a.dryRun {
		if err := entry.Keep(); err != nil {
			return err
		}
		if err := stax.WriteFile(file, before, added.Text); err != nil {
			return badInput("nothing was written", "%s: %s", file, fsutil.Reason(err))
		}
	}
	return a.print(cmd, file, before, added, entry)
}

// complete sets the options that are not bound to flags.
func (a *adding) complete(cmd *cobra.Command) error {
	typed, err := typedValues(a.set)
	if err != nil {
		return err
	}
	a.Document.Values = make(map[string]string, len(typed))
	for key, value := range typed {
		text, ok := value.(string)
		if !ok {
			return usage("", "--set %s is given several times", key)
		}
		if stax.LooksSecret(key, text) != "" {
			return usage("a secret is named in definitions, and given when the server starts",
				"--set %s looks like a secret", key)
		}
		a.Document.Values[key] = text
	}
	state, err := clients.StateDir()
	if err != nil {
		return err
	}
	a.BundleDir = filepath.Join(state, "bundles")
	if a.AllowNetwork, err = networks(cmd); err != nil {
		return err
	}
	a.Live = liveOptions(nil, nil)
	a.Live.AllowNetwork = a.AllowNetwork
	return nil
}

// notAdded returns the error for a source that cannot be added.
func notAdded(err error) error {
	var digest *mcpb.DigestError
	var unfit *registry.UnfitError
	var opening *open.Error
	errors.As(err, &opening)
	var signer *mcpb.SignerError
	switch {
	case errors.As(err, &signer):
		return bundleFailure(opening.Arg, err)
	case errors.As(err, &digest):
		return denied("the host has another file than the server.json says; ask who publishes it",
			"%s: %v", opening.Arg, digest)
	case errors.As(err, &unfit):
		code := exitNotExact
		switch {
		case unfit.Answers:
			code = exitUsage
		case unfit.Withdrawn:
			code = exitPolicy
		}
		return &failure{
			code: code,
			text: opening.Arg + ": " + unfit.Why,
			hint: unfit.Hint,
		}
	}
	return err
}

// notWritten returns the error for a definitions file that cannot be changed.
func notWritten(file, name string, err error) error {
	if errors.Is(err, stax.ErrExists) {
		return no("--replace takes its place, --name gives the new one another", "%s: there is a server %q", file, name)
	}
	return badInput("the file stays as it is", "%s: %v", file, err)
}

// commandLine returns the command line of a definition, with ambiguous words quoted.
func commandLine(s *stax.Server) string {
	words := []string{}
	for _, word := range append([]string{s.Command}, s.Args...) {
		if word == "" || strings.Trim(word,
			"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%+=:,./_-") != "" {
			word = strconv.QuoteToASCII(word)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// agreed asks for confirmation of a definition that starts a command.
func (a *adding) agreed(cmd *cobra.Command, entry *open.Addition) error {
	s := entry.Server()
	if s.Remote() || a.allowExec || a.dryRun {
		return nil
	}
	line := commandLine(s)
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !isTerminal(in) || !isTerminal(cmd.ErrOrStderr()) {
		return denied("if you want that, say --allow-exec; --dry-run shows the whole definition",
			"server %q would start a command: %s", s.Name, line)
	}
	return askYes(in, cmd.ErrOrStderr(), s)
}

// askYes shows the command line of a definition and asks for confirmation.
func askYes(in io.Reader, out io.Writer, s *stax.Server) error {
	fmt.Fprintf(out, "Server %q starts this command on your machine whenever it is used:\n\n  %s\n\nAdd it? [y/N] ",
		s.Name, commandLine(s))
	answer, _ := bufio.NewReader(in).ReadString('\n') // end of input means no
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return denied("", "nothing was added")
	}
	return nil
}

// paste prints an entry for a file that is not written automatically.
func (a *adding) paste(cmd *cobra.Command, file string, entry *open.Addition) error {
	if err := a.agreed(cmd, entry); err != nil {
		return err
	}
	if !a.dryRun {
		if err := entry.Keep(); err != nil {
			return err
		}
	}
	if err := printJSON(cmd.OutOrStdout(), &entry.Config); err != nil {
		return err
	}
	return notExact("paste the server and its secrets into defineMcp({...})", "%s: a script is read and not written", file)
}

// addedJSON is the output of config add --json.
type addedJSON struct {
	File       string          `json:"file"`
	Server     string          `json:"server"`
	DryRun     bool            `json:"dryRun"`
	Starts     []string        `json:"starts,omitempty"` // the command and its arguments
	Definition json.RawMessage `json:"definition"`
	Diff       string          `json:"diff"`
	Todo       []string        `json:"todo"`
	Findings   []check.Finding `json:"findings"`
}

func (a *adding) print(cmd *cobra.Command, file string, before []byte, added *stax.Added, entry *open.Addition) error {
	s := entry.Server()
	todo, report := entry.Review(file, added)
	if wantsJSON(cmd) {
		definition, err := json.Marshal(&entry.Config)
		if err != nil {
			return err
		}
		out := addedJSON{
			File:       file,
			Server:     s.Name,
			DryRun:     a.dryRun,
			Definition: definition,
			Diff:       stax.Diff(file, before, added.Text),
			Todo:       todo,
			Findings:   report.Findings(),
		}
		if !s.Remote() {
			out.Starts = append([]string{s.Command}, s.Args...)
		}
		return printJSON(cmd.OutOrStdout(), out)
	}
	printFindings(cmd, report)
	return a.tell(cmd.OutOrStdout(), file, before, added, s, todo)
}

func (a *adding) tell(w io.Writer, file string, before []byte, added *stax.Added, s *stax.Server, todo []string) error {
	out := &strings.Builder{}
	word := "added to"
	if a.dryRun {
		word = "would be added to"
	}
	fmt.Fprintf(out, "%s: %s %s\n", s.Name, word, file)
	if s.RegistryRef != nil {
		fmt.Fprintf(out, "  from: %s\n", s.RegistryRef)
	}
	if s.Remote() {
		fmt.Fprintf(out, "  reaches: %s\n", s.URL)
	} else {
		fmt.Fprintf(out, "  starts: %s\n", commandLine(s))
	}
	for _, t := range todo {
		fmt.Fprintf(out, "  then: %s\n", t)
	}
	if a.dryRun {
		out.WriteString(stax.Diff(file, before, added.Text))
	}
	_, err := io.WriteString(w, visible.Lines(out.String()))
	return err
}
