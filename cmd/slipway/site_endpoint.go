package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-mcp/slipway/internal/edge"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
)

func newSiteEndpoint() *cobra.Command {
	var o edge.Options
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "endpoint URL --host HOST",
		Short: "Write an MCP endpoint for a site that another host publishes",
		Long: `Write an MCP endpoint for the StaticMCP site at URL: one JavaScript module that
answers MCP clients from the files of the site, and the configuration that HOST
needs. Use it for sites on hosts that run no code, such as GitHub Pages or S3.

For a site that you build, "slipway site build --host HOST" writes the endpoint
next to it. Files that Slipway has not written are never overwritten.`,
		Example: `  slipway site endpoint https://example.com/mcp/ --host cloudflare
  slipway site endpoint https://example.com/mcp/ --host lambda --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.URL = args[0]
			o.DryRun = dryRun
			if o.Host == "" {
				return usage("one of "+strings.Join(edge.Hosts(), ", "), "endpoint: no --host")
			}
			if err := describeRemote(cmd.Context(), &o); err != nil {
				return err
			}
			r, err := edge.Write(&o)
			if err != nil {
				return endpointFailed(cmd, err)
			}
			if wantsJSON(cmd) {
				return printJSON(cmd.OutOrStdout(), r)
			}
			printEndpoint(cmd.ErrOrStderr(), r, o.Host, o.Path, isQuiet(cmd))
			return nil
		},
	}
	f := cmd.Flags()
	f.Var(optional(&o.Host, edge.Hosts()...), "host",
		"web `host` that runs the endpoint: "+strings.Join(edge.Hosts(), ", "))
	endpointFlags(f, &o.Path, &o.Project)
	f.BoolVar(&dryRun, "dry-run", false, "print the changes without writing")
	jsonFlag(cmd, "the files")
	return cmd
}

// endpointFlags adds the flags of an endpoint.
func endpointFlags(f *pflag.FlagSet, path, project *string) {
	f.StringVar(path, "endpoint", "", "`path` of the MCP endpoint (default: /mcp)")
	f.StringVar(project, "project-root", "",
		"`DIR` where the host looks for its configuration (default: the parent of the published folder)")
}

// describeRemote reads the name and the language of the site at o.URL.
func describeRemote(ctx context.Context, o *edge.Options) error {
	site, err := staticmcp.OpenURL(ctx, o.URL, nil)
	if err != nil {
		text := err.Error()
		var failed *staticmcp.SiteError
		if errors.As(err, &failed) && failed.Detail() != "" {
			text += ": " + failed.Detail()
		}
		return remoteFailed("the URL is that of mcp.json, or of the folder with it", "endpoint: %s", text)
	}
	defer site.Close()
	cat, err := site.Catalog(ctx)
	if err != nil {
		return err
	}
	o.Name = cat.Server.Name
	read := func(path string) ([]byte, error) { return site.ReadFile(ctx, path) }
	if o.Language, err = edge.Language(read); err != nil {
		return err
	}
	o.Languages, err = edge.OtherLanguages(read)
	return err
}

// writeEndpoint writes the endpoint of the site in o.output, if its host runs code.
func (o *writing) writeEndpoint(cmd *cobra.Command) (*edge.Result, error) {
	host := string(o.Host)
	if o.noEndpoint || !edge.Runs(host) {
		return nil, nil
	}
	if o.kind() != "dir" {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: no endpoint written for an archive; name a folder with -o\n", o.output)
		return nil, nil
	}
	published, below, err := o.published()
	if err != nil {
		return nil, err
	}
	e := &edge.Options{
		Host:      host,
		Published: published,
		Site:      below,
		Project:   o.project,
		Path:      o.endpoint,
		DryRun:    o.DryRun,
	}
	if e.Language, err = edge.Language(o.read); err != nil {
		return nil, err
	}
	if e.Languages, err = edge.OtherLanguages(o.read); err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(published)
	if err != nil {
		return nil, err
	}
	e.Name = filepath.Base(filepath.Dir(absolute))
	r, err := edge.Write(e)
	if err != nil {
		return nil, endpointFailed(cmd, err)
	}
	return r, nil
}

// published returns the folder that the host publishes, and the path of the site below it.
func (o *writing) published() (folder, below string, err error) {
	folder = cmp.Or(o.SiteRoot, o.output)
	root, rootErr := filepath.Abs(folder)
	output, err := filepath.Abs(o.output)
	if err = errors.Join(rootErr, err); err != nil {
		return "", "", err
	}
	below, err = filepath.Rel(root, output)
	if below == "." {
		below = ""
	}
	return folder, filepath.ToSlash(below), err
}

// read returns a file of the output.
func (o *writing) read(path string) ([]byte, error) {
	return os.ReadFile(filepath.Join(o.output, filepath.FromSlash(path)))
}

// writeWeb writes the files of the site for browsers. public is the address of the published
// folder, as far as it is known from the addresses of pages.
func (o *writing) writeWeb(public string) (*edge.Result, error) {
	if o.noWeb || o.kind() != "dir" {
		return nil, nil
	}
	manifest, err := o.read("mcp.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a dry run of the first build
	}
	if err != nil {
		return nil, err
	}
	var said struct {
		Server mcp.Implementation `json:"serverInfo"`
	}
	if err := json.Unmarshal(manifest, &said); err != nil {
		return nil, err
	}
	w := &edge.WebOptions{
		URL:    o.siteURL,
		Host:   string(o.Host),
		Server: said.Server,
		DryRun: o.DryRun,
	}
	if w.Published, w.Site, err = o.published(); err != nil {
		return nil, err
	}
	if w.URL == "" && public != "" {
		w.URL = strings.TrimSuffix(public+w.Site, "/") + "/"
	}
	if edge.Runs(w.Host) && !o.noEndpoint {
		w.Endpoint = cmp.Or(o.endpoint, edge.DefaultPath)
	}
	w.Language, w.Searched, err = edge.SearchLanguage(o.read)
	if err != nil {
		return nil, err
	}
	return edge.WriteWeb(w)
}

// printWeb reports the files for browsers.
func printWeb(w io.Writer, r *edge.Result, quiet bool) {
	for _, f := range r.Files {
		if (f.Action == edge.Created || f.Action == edge.Updated) && !quiet {
			fmt.Fprintf(w, "web: %s %s\n", f.Action, f.Path)
		}
	}
	for _, f := range r.Foreign() {
		fmt.Fprintf(w, "web: %s is not written by slipway and was left unchanged; %s\n", f.Path, f.Lines)
	}
}

// endpointFailed returns the error of writing an endpoint.
func endpointFailed(cmd *cobra.Command, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return denied("rename the file, or write the endpoint elsewhere with --project-root", "%s: %v", cmd.Name(), err)
	}
	return err
}

// printEndpoint reports the files of an endpoint, and what the owner of others has to add.
func printEndpoint(w io.Writer, r *edge.Result, host, path string, quiet bool) {
	for _, f := range r.Files {
		if f.Action != edge.Foreign && !quiet {
			fmt.Fprintf(w, "endpoint: %s %s\n", f.Action, f.Path)
		}
	}
	for _, f := range r.Foreign() {
		fmt.Fprintf(w, "endpoint: %s is not written by slipway and was left unchanged; add to it:\n\n", f.Path)
		fmt.Fprintf(w, "%s\n\n", indented(f.Lines))
	}
	if !quiet {
		fmt.Fprintf(w, "endpoint: %s on %s, %s of JavaScript\n",
			cmp.Or(path, edge.DefaultPath), host, byteCount(int64(r.Bytes)))
	}
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}

// fitsHosts states which hosts a site is too large for.
func fitsHosts(output string, r *sitebuild.Result) string {
	var fit, over []string
	for _, name := range staticmcp.HostNames() {
		host, err := staticmcp.HostNamed(name)
		if err != nil {
			continue // the name is from the table
		}
		if why := host.Exceeded(r.Files, r.Largest, r.Bytes); why != "" {
			over = append(over, name+" ("+why+")")
		} else {
			fit = append(fit, name)
		}
	}
	switch {
	case len(over) == 0:
		return output + ": fits every host"
	case len(fit) == 0:
		return output + ": too large for " + strings.Join(over, ", ")
	}
	return output + ": too large for " + strings.Join(over, ", ") + "; fits " + strings.Join(fit, ", ")
}
