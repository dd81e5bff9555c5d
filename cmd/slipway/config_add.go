package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/internal/secrets"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/stax"
)

// defaultDefinitions is the file that config add writes to by default.
const defaultDefinitions = "mcp.yaml"

// Parts of the help of add and config add.
const (
	addedDocuments = `If a server.json has several ways to reach the server, a remote one is
preferred, since it runs nothing locally, then the first package; --package
selects another. Required values become declared secrets or placeholders, and
are listed. The origin is recorded as registryRef, with a SHA-256 where
available. A bundle that changes later is refused when it is started.`
	addedNetworks = `The URL on the command line may have any address. Redirects, and bundles in a
server.json, must have public addresses, or be permitted with --allow-network.`
)

// adding is the flags of add and config add.
type adding struct {
	open.EntryOptions
	stax.AddOptions
	// set and env are KEY=VALUE pairs: the values that a source asks for, and variables of its
	// process.
	set, env  []string
	dryRun    bool
	allowExec bool
}

// flags adds the flags that both commands have.
func (a *adding) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.Document.Name, "name", "", "`name` of the server in the definitions")
	flags.StringVar(&a.Title, "title", "", "human-readable `title`, or description if Slipway does not serve the source")
	flags.StringArrayVar(&a.env, "env", nil, "variable of a local server, as `KEY=VALUE`; no secrets (repeatable)")
	flags.StringArrayVar(&a.Secrets, "secret", nil, "`KEY` of a secret that the server needs (repeatable)")
	flags.StringVar(&a.Document.Package, "package", "",
		"`kind` of package to use from a server.json: remote, npm, pypi, oci, nuget, cargo or mcpb")
	flags.StringArrayVar(&a.set, "set", nil, "value that the server asks for, as `KEY=VALUE`; no secrets (repeatable)")
	flags.StringVar(&a.Signer, "require-signer", "",
		"refuse a bundle not signed by this certificate, `SHA-256|FILE`, now and at every start")
	flags.BoolVar(&a.Replace, "replace", false, "replace a server of the same name")
	flags.BoolVar(&a.dryRun, "dry-run", false, "print the changes without writing")
	registryFlag(cmd)
	networkFlag(cmd)
}

func newConfigAdd() *cobra.Command {
	var a adding
	cmd := &cobra.Command{
		Use:   "add [FILE] SOURCE",
		Short: "Add a server to a definitions file",
		Long: `Add a server to the definitions in FILE (default: ` + defaultDefinitions + `, created if
missing), and to nothing else; "slipway add" configures clients as well. Bytes
outside the new entry do not change. For a script the entry is printed instead,
to be pasted, with exit code 5.

SOURCE is any source that "slipway add" accepts: a folder, a file, a URL, a
package, a name in a registry, a definitions file, or a command after --.

` + addedDocuments + `

Nothing is started. A definition that starts a command must be confirmed: on a
terminal you are asked, with the exact command line; otherwise pass
--allow-exec. Without confirmation the exit code is 6.

` + addedNetworks,
		Example: `  slipway config add examples/definitions/server.json --dry-run
  slipway config add new.toml examples/definitions/server.json --package npm \
      --allow-exec
  slipway config add new.yaml my-server.mcpb --name mine --dry-run`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			typed, err := sourceOf(cmd, args)
			if err != nil {
				return err
			}
			a.Args = typed.args
			if f := stax.FormatOf(typed.source); typed.file != "" && f != 0 && f != stax.JSON &&
				!strings.Contains(typed.source, "://") && stax.FormatOf(typed.file) == stax.JSON {
				return usage(fmt.Sprintf("the file of definitions comes first: slipway config add %s %s",
					shell.PathWord(typed.source), shell.PathWord(typed.file)),
					"config add: %s is not a source of a server", typed.source)
			}
			return a.run(cmd, cmp.Or(typed.file, defaultDefinitions), typed.source)
		},
	}
	a.flags(cmd)
	cmd.Flags().BoolVar(&a.allowExec, "allow-exec", false, "add a definition that starts a command without confirmation")
	jsonFlag(cmd, "the definition and the remaining steps")
	return cmd
}

// run adds a source to a definitions file, in this order: read the source and make an entry,
// merge it into the text of the file, ask the user if the entry starts a program, then write.
// Nothing is kept or written before the user agreed, nor with --dry-run. A TypeScript file is
// not edited; the entry is printed to be pasted.
func (a *adding) run(cmd *cobra.Command, file, source string) error {
	if err := a.complete(cmd); err != nil {
		return err
	}
	wait := waitFor(cmd, publicName(source))
	defer wait.finish()
	a.EntryOptions.Progress = wait.bytes()
	entry, err := open.Entry(cmd.Context(), source, &a.EntryOptions)
	if err != nil {
		return notAdded(err)
	}
	wait.finish()
	defer closeAddition(entry)
	before, err := readDefinitions(file)
	if err != nil {
		return err
	}
	added, err := stax.Add(file, before, &entry.Config, &a.AddOptions)
	if errors.Is(err, stax.ErrScript) {
		return a.paste(cmd, file, entry)
	}
	if err != nil {
		return notWritten(file, err)
	}
	// Everything that can fail without writing comes before the question.
	if err := a.agreed(cmd, entry); err != nil {
		return err
	}
	if !a.dryRun {
		// The entry refers to what Keep stores, so it is written afterwards.
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
	if a.Document.Values, err = plainValues("--set", typed); err != nil {
		return err
	}
	if typed, err = typedValues(a.env); err != nil {
		return err
	}
	if a.Env, err = plainValues("--env", typed); err != nil {
		return err
	}
	if a.Signer == "" && cmd.Flags().Changed("require-signer") {
		return usage("slipway bundle verify prints the fingerprint", "--require-signer is empty")
	}
	for _, key := range a.Secrets {
		if !stax.IsSecretKey(key) {
			return usage("--secret GITHUB_TOKEN names a secret; its value is given where the client starts",
				"--secret: %q is not a name of a variable", visible.Line(stax.Redact(key)))
		}
	}
	if a.Registry, err = registryClient(cmd); err != nil {
		return err
	}
	state, err := stateDir()
	if err != nil {
		return err
	}
	// Bundles are stored outside the cache: the definition pins one of them.
	a.BundleDir = filepath.Join(state, "bundles")
	if a.AllowNetwork, err = networks(cmd); err != nil {
		return err
	}
	a.Live = liveOptions(nil, nil)
	a.Live.AllowNetwork = a.AllowNetwork
	a.Live.Identity, err = newIdentity(cmd, a.AllowNetwork, nil)
	return err
}

// plainValues returns the values of a flag, none of which may be a secret.
func plainValues(flag string, typed map[string]any) (map[string]string, error) {
	values := make(map[string]string, len(typed))
	for key, value := range typed {
		text, ok := value.(string)
		if !ok {
			return nil, usage("", "%s %s is given several times", flag, key)
		}
		if stax.LooksSecret(key, text) != "" {
			return nil, usage("a secret is named in definitions, as with --secret "+key+", and given when the server starts",
				"%s %s looks like a secret", flag, key)
		}
		values[key] = text
	}
	return values, nil
}

// notAdded returns the error for a source that cannot be added.
func notAdded(err error) error {
	var digest *mcpb.DigestError
	var unfit *registry.UnfitError
	opening := &open.Error{}
	errors.As(err, &opening)
	var signer *mcpb.SignerError
	switch {
	case errors.As(err, &signer):
		return bundleFailure(opening.Arg, err)
	case errors.As(err, &digest):
		return denied("the file on the host differs from the server.json; ask its publisher",
			"%s: %v", open.Argument(opening.Arg).Redacted(), digest)
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
			text: open.Argument(opening.Arg).Redacted() + ": " + unfit.Why,
			hint: cmp.Or(unfit.Hint, opening.Hint),
		}
	}
	return err
}

// notWritten returns the error for a definitions file that cannot be changed.
func notWritten(file string, err error) error {
	var exists *stax.ExistsError
	if errors.As(err, &exists) {
		return no("--replace overwrites it, --name adds the new one under another name",
			"%s: server %q already exists", file, exists.Server)
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

// agreed asks for confirmation of definitions that start commands.
func (a *adding) agreed(cmd *cobra.Command, entry *open.Addition) error {
	if a.allowExec || a.dryRun {
		return nil
	}
	for i := range entry.Config.Servers {
		s := &entry.Config.Servers[i]
		if s.Remote() {
			continue
		}
		in, ok := cmd.InOrStdin().(*os.File)
		if !ok || !isTerminal(in) || !isTerminal(cmd.ErrOrStderr()) {
			return denied("to allow it, add --allow-exec; --dry-run shows the whole definition",
				"server %q would start a command: %s", s.Name, commandLine(s))
		}
		if err := askYes(in, cmd.ErrOrStderr(), s); err != nil {
			return err
		}
	}
	return nil
}

// askYes shows the command line of a definition and asks for confirmation.
func askYes(in io.Reader, out io.Writer, s *stax.Server) error {
	defer prompting(out)()
	fmt.Fprintf(out, "Server %q starts this command on your machine whenever it is used:\n\n  %s\n\nAdd it? [y/N] ",
		s.Name, commandLine(s))
	if !saysYes(bufio.NewReader(in)) {
		return denied("", "nothing was added")
	}
	return nil
}

// saysYes reads the answer to a question that only yes agrees to.
func saysYes(in *bufio.Reader) bool {
	answer, _ := in.ReadString('\n') // end of input means no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
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
	return notExact("paste the server and its secrets into defineMcp({...})", "%s: scripts cannot be edited", file)
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

// print reports the addition as JSON or text. Todo has the steps left to the user, such as
// setting a secret.
func (a *adding) print(
	cmd *cobra.Command,
	file string,
	before []byte,
	added *stax.Added,
	entry *open.Addition,
) error {
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
	return a.tell(cmd.OutOrStdout(), file, before, added, entry, todo)
}

// tell prints each added server and the steps left to the user. Names and descriptions come
// from others, so invisible characters are escaped.
func (a *adding) tell(w io.Writer, file string, before []byte, added *stax.Added, entry *open.Addition,
	todo []string) error {
	out := &strings.Builder{}
	word := "added to"
	switch {
	case bytes.Equal(before, added.Text):
		word = "already in"
	case a.dryRun:
		word = "would be added to"
	}
	for i := range entry.Config.Servers {
		s := &entry.Config.Servers[i]
		fmt.Fprintf(out, "%s: %s %s\n", s.Name, word, file)
		describeServer(out, s)
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

// describeServer prints where a server comes from, and what reaches it.
func describeServer(out io.Writer, s *stax.Server) {
	if s.RegistryRef != nil {
		fmt.Fprintf(out, "  from: %s\n", s.RegistryRef)
	}
	if s.Remote() {
		fmt.Fprintf(out, "  reaches: %s\n", withoutSecrets(s.URL))
		return
	}
	fmt.Fprintf(out, "  starts: %s\n", commandLine(s))
	if s.Cwd != "" {
		fmt.Fprintf(out, "  in: %s\n", s.Cwd)
	}
}

// withoutSecrets returns a URL for display: as it is, or without password and query if it seems to
// contain a secret.
func withoutSecrets(address string) string {
	if stax.LooksSecret("url", address) != "" {
		return secrets.URL(address)
	}
	return address
}

// closeAddition removes what was downloaded and not kept.
func closeAddition(a *open.Addition) {
	_ = a.Close() // a file in the temporary folder
}
