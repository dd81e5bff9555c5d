package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/nearest"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/mcpb"
)

func newBundleInit() *cobra.Command {
	var said mcpb.Draft
	var yes, force bool
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Create a manifest for a project",
		Long: `Create manifest.json in DIR (default: the current folder). Values without a flag
are detected from package.json, pyproject.toml, go.mod or Cargo.toml; the author
also from git. A Python project with uv.lock, a [tool.uv] table or dependencies
that are not in server/lib becomes a server of type uv, whose packages the host
installs. On a terminal, remaining values are prompted for unless --yes is set.

The manifest version is ` + mcpb.DefaultSpecVersion + `, or 0.4 for servers of type uv. An existing
manifest is only replaced with --force.`,
		Example: `  cd "$(mktemp -d)" && slipway bundle init --yes
  cd "$(mktemp -d)" && slipway bundle init --type binary --author "A. Person"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			if said.Type != "" && !slices.Contains(serverTypes(), said.Type) {
				return usage(meant(said.Type, serverTypes()), "bundle init: unknown server type %q", said.Type)
			}
			if said.SpecVersion != "" && !slices.Contains(mcpb.Versions(), said.SpecVersion) {
				return usage("the versions are "+strings.Join(mcpb.Versions(), ", "),
					"bundle init: unknown manifest version %q", said.SpecVersion)
			}
			name := filepath.Join(dir, mcpb.ManifestName)
			if _, err := os.Stat(name); err == nil && !force {
				return badInput("slipway bundle validate "+shell.PathWord(dir)+", or --force to replace it",
					"%s: a manifest already exists", name)
			}
			draft, err := drafted(dir, &said)
			if err != nil {
				return err
			}
			for _, file := range draft.Unreadable {
				say(cmd.ErrOrStderr(), "%s is malformed or has values of other types, so it is ignored", file)
			}
			if draft.Author.Name == "" {
				if draft.Author.Name = gitAuthor(cmd.Context(), dir); draft.Author.Name != "" {
					draft.Found = append(draft.Found, "the configuration of git")
				}
			}
			if in := cmd.InOrStdin(); !yes && isTerminal(in) {
				draft.Fill()
				if err := askDraft(in, cmd.ErrOrStderr(), draft); err != nil {
					return err
				}
			}
			draft.Fill()
			if said.SpecVersion != "" && draft.SpecVersion != said.SpecVersion {
				return usage("omit --manifest-version, or choose another --type",
					"bundle init: servers of type %s need version %s of the manifest", draft.Type, draft.SpecVersion)
			}
			return writeDraft(cmd, name, draft, force)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&said.Name, "name", "", "machine-readable `name`")
	flags.StringVar(&said.DisplayName, "display-name", "", "human-readable `name`")
	flags.StringVar(&said.Version, "version", "", "semantic `version` of the bundle (default: 1.0.0)")
	flags.StringVar(&said.Description, "description", "", "one-sentence `description`")
	flags.StringVar(&said.Author.Name, "author", "", "`name` of the author")
	flags.StringVar(&said.Type, "type", "", "server `type`: node, python, binary or uv")
	flags.StringVar(&said.EntryPoint, "entry", "", "`path` in the bundle of the file to start")
	flags.StringVar(&said.SpecVersion, "manifest-version", "", "`version` of the manifest format")
	flags.BoolVarP(&yes, "yes", "y", false, "do not prompt")
	flags.BoolVar(&force, "force", false, "replace an existing manifest")
	return cmd
}

func serverTypes() []string {
	return []string{mcpb.TypeNode, mcpb.TypePython, mcpb.TypeBinary, mcpb.TypeUV}
}

// meant returns a hint for a word that is not allowed.
func meant(word string, words []string) string {
	if near := nearest.DidYouMean(word, words); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "one of " + strings.Join(words, ", ")
}

// drafted returns the draft for the project in dir, overridden by said.
func drafted(dir string, said *mcpb.Draft) (*mcpb.Draft, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{
			Op:   "open",
			Path: dir,
			Err:  errors.New("not a folder"),
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, badInput("create it first, or name the folder of your project", "%s: no such folder", dir)
	}
	if err != nil {
		return nil, unreadableBundle(dir, err)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	d := mcpb.Detect(os.DirFS(dir), filepath.Base(abs))
	if said.Type != "" && said.Type != d.Type { // the project's settings are for another type
		d.Type = said.Type
		d.EntryPoint = ""
		d.Runtime = ""
	}
	for _, f := range []struct{ into, from *string }{
		{&d.Name, &said.Name}, {&d.DisplayName, &said.DisplayName}, {&d.Version, &said.Version}, {&d.Description,
			&said.Description},
		{&d.Author.Name, &said.Author.Name}, {&d.EntryPoint, &said.EntryPoint}, {&d.SpecVersion, &said.SpecVersion},
	} {
		if *f.from != "" {
			*f.into = *f.from
		}
	}
	return d, nil
}

// gitAuthor returns the name that git uses for commits in dir, or "" without git or a
// name. The e-mail address is not used, because a manifest is published.
func gitAuthor(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	git := exec.CommandContext(ctx, "git", "config", "--get", "user.name")
	git.Dir = dir
	name, err := git.Output()
	text := strings.TrimSpace(string(name))
	const most = 200
	if err != nil || len(text) > most || len(visible.Find(text)) > 0 {
		return ""
	}
	return text
}

// askDraft asks for values that the user knows better. An empty answer keeps the value in
// brackets.
func askDraft(in io.Reader, out io.Writer, d *mcpb.Draft) error {
	defer prompting(out)()
	lines := bufio.NewScanner(in)
	kind := d.Type
	for _, q := range []struct {
		question string
		field    *string
	}{
		{"name, for machines", &d.Name}, {"what it is for", &d.Description}, {"author", &d.Author.Name},
		{"type (" + strings.Join(serverTypes(), ", ") + ")", &d.Type}, {"entry point", &d.EntryPoint},
	} {
		if d.Type != kind && q.field == &d.EntryPoint {
			if kind == mcpb.TypeUV {
				d.SpecVersion = "" // only uv requires the newer one
			}
			d.EntryPoint = ""
			d.Runtime = ""
			kind = d.Type
			d.Fill()
		}
		for {
			fmt.Fprintf(out, "%s [%s]: ", q.question, *q.field)
			if !lines.Scan() {
				fmt.Fprintln(out)
				return no("--yes asks nothing", "bundle init: cancelled, nothing was written")
			}
			answer := strings.TrimSpace(lines.Text())
			if q.field == &d.Type &&
				answer != "" &&
				!slices.Contains(serverTypes(), answer) {
				fmt.Fprintln(out, meant(answer, serverTypes()))
				continue
			}
			if answer != "" {
				*q.field = answer
			}
			break
		}
	}
	return nil
}

// writeDraft writes a manifest, and prints from which files its values were taken. An
// existing file is an error unless force is set.
func writeDraft(cmd *cobra.Command, name string, d *mcpb.Draft, force bool) error {
	text, err := d.Manifest()
	if err != nil {
		return err
	}
	put := fsutil.Create
	if force {
		put = fsutil.Replace
	}
	if err := put(name, 0o644, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}); err != nil {
		return unreadableBundle(name, err)
	}
	from := ""
	if len(d.Found) > 0 {
		from = ", from " + strings.Join(d.Found, ", ")
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s: %s %s, a server of type %s%s\n", name, d.Name, d.Version, d.Type, from)
	fmt.Fprintf(cmd.ErrOrStderr(), "next: slipway bundle validate %s\n", shell.PathWord(filepath.Dir(name)))
	return nil
}
