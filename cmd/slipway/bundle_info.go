package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/style"
	"github.com/slipway-mcp/slipway/mcpb"
)

func newBundleInfo() *cobra.Command {
	var o mcpb.InfoOptions
	cmd := &cobra.Command{
		Use:   "info PATH",
		Short: "Show a bundle's metadata",
		Long: `Show the metadata, contents and size of a bundle: author, command, platforms,
tools, prompts, options, languages and largest files. PATH is a packed bundle, a
folder with a manifest.json, or the manifest.

With --locale, texts are shown in the given or the closest available language.
Nothing is started, and default values of secrets are not shown.`,
		Example: `  slipway bundle info examples/clock-bundle
  slipway bundle info examples/clock-bundle --locale de-AT --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Largest = cmp.Or(o.Largest, -1)
			info, err := mcpb.ReadInfo(cmd.Context(), args[0], &o)
			if err != nil {
				return bundleError(args[0], err)
			}
			return show(cmd, info, printInfo)
		},
	}
	cmd.Flags().StringVar(&o.Locale, "locale", "", "`language` of texts, such as de-AT")
	o.Largest = 5
	cmd.Flags().Var(atLeast(&o.Largest, 0), "largest", "`number` of largest files to list")
	wideFlag(cmd)
	jsonFlag(cmd, "all of it")
	return cmd
}

// printInfo prints the metadata of a bundle, one line for each that is set, and tables of its
// tools, prompts, options and largest files.
func printInfo(w io.Writer, i *mcpb.Info) error {
	out := newLayout(w)
	out.line(named(i.Title), plain(" "+i.Version))
	out.line(plain(i.Description))
	out.line()
	line := func(what, value string) {
		if value != "" {
			out.line(span{style.Faint, style.Pad(what, 13)}, plain(value))
		}
	}
	line("name", i.Name)
	line("author", person(i.Author))
	line("licence", i.License)
	line("homepage", i.Homepage)
	line("manifest", i.SpecVersion)
	line("server", i.Type+", "+i.EntryPoint)
	line("command", strings.Join(i.Command, " "))
	line("platforms", strings.Join(i.Platforms, ", "))
	line("needs", ranges(i.Runtimes))
	line("clients", ranges(i.Clients))
	line("languages", strings.Join(i.Locales, ", "))
	line("shown in", strings.Join(i.Translations, ", then "))
	line("privacy", strings.Join(i.PrivacyPolicies, ", "))
	line("signature", signedBy(i.Signature))
	size := fmt.Sprintf("%d files, %s", i.Files, byteCount(i.Bytes))
	if i.PackedBytes > 0 {
		size += ", packed " + byteCount(i.PackedBytes)
	}
	line("size", size)
	var tools, prompts, options, files []row
	for _, t := range i.Tools {
		tools = append(tools, row{t.Name, t.Description})
	}
	for _, p := range i.Prompts {
		prompts = append(prompts, row{p.Name + "(" + strings.Join(p.Arguments, ", ") + ")", p.Description})
	}
	for _, o := range i.Options {
		options = append(options, row{o.Key + " (" + optionNotes(o) + ")", about(o.Title, o.Description)})
	}
	for _, f := range i.Largest {
		files = append(files, row{f.Name, byteCount(f.Bytes)})
	}
	out.table("tools"+more(i.MoreTools), tools)
	out.table("prompts"+more(i.MorePrompts), prompts)
	out.table("options", options)
	out.table("largest files", files)
	return out.flush()
}

// signedBy describes the signature in one line.
func signedBy(v *mcpb.Verification) string {
	if v == nil {
		return ""
	}
	text := string(v.Status)
	if v.Signer != nil {
		text += ", by " + v.Signer.Subject
	}
	if v.Reason != "" && v.Status != mcpb.StatusUnsigned {
		text += ": " + v.Reason
	}
	return text
}

// more completes the head of a table that cannot be complete, because the server adds entries
// when it runs.
func more(generated bool) string {
	if generated {
		return ", and more at run time"
	}
	return ""
}

// person returns an author as in package.json: NAME <EMAIL> (URL).
func person(a mcpb.Author) string {
	text := a.Name
	if a.Email != "" {
		text += " <" + a.Email + ">"
	}
	if a.URL != "" {
		text += " (" + a.URL + ")"
	}
	return text
}

// ranges returns version ranges by name, sorted: "node >=18, python >=3.10".
func ranges(of map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, name+" "+of[name])
	}
	return strings.Join(all, ", ")
}

// optionNotes returns the type of an option and what else a user must know to set it.
func optionNotes(o mcpb.Option) string {
	notes := []string{o.Type}
	if o.Multiple {
		notes = append(notes, "several")
	}
	if o.Required {
		notes = append(notes, "required")
	}
	if o.Sensitive {
		notes = append(notes, "secret")
	}
	if o.Default != nil {
		notes = append(notes, fmt.Sprintf("default %v", o.Default))
	}
	return strings.Join(notes, ", ")
}
