package main

import (
	"fmt"
	"io"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/apps"
	"github.com/slipway-mcp/slipway/cluster"
	"github.com/slipway-mcp/slipway/internal/registry"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/stax"
)

// A release sets these with -ldflags "-X main.version=v1.2.3". A binary of go install has
// its version from the module proxy, and one of go build the rest from git.
var version, commit, date string

// build describes this binary. Fields may be added.
type build struct {
	Version   string              `json:"version"`
	Commit    string              `json:"commit,omitempty"`
	Date      string              `json:"date,omitempty"`     // of the commit
	Modified  bool                `json:"modified,omitempty"` // built from modified files
	Go        string              `json:"go"`
	OS        string              `json:"os"`
	Arch      string              `json:"arch"`
	Protocols []string            `json:"protocolVersions"`
	Formats   map[string][]string `json:"formats,omitempty"` // versions of file formats and extensions
	Inputs    []string            `json:"inputs,omitempty"`  // that sites are built from
	Clients   []string            `json:"clients,omitempty"` // whose configuration is written
	Hosts     []string            `json:"hosts,omitempty"`   // that sites are built for
	Modules   []module            `json:"modules,omitempty"` // compiled in
}

// module is a dependency.
type module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// thisBuild identifies this binary. It runs at each start of a server, so it omits the
// lists that [build.addContents] adds.
func thisBuild() build {
	b := build{
		Version: "devel",
		Go:      runtime.Version(),
		OS:      runtime.GOOS,
		Arch:    runtime.GOARCH,
	}
	for _, v := range mcp.Versions() {
		b.Protocols = append(b.Protocols, v.String())
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.addBuildInfo(info)
	}
	if version != "" {
		b.Version = version
		b.Commit = commit
		b.Date = date
		b.Modified = false
	}
	return b
}

// addBuildInfo adds what the go command recorded: the version of the module, and the state
// of the repository. A pseudo-version ends in the time and the start of the commit.
func (b *build) addBuildInfo(info *debug.BuildInfo) {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
		b.Date, b.Commit = pseudoVersion(v)
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
}

// pseudoVersion returns the date and the commit in a version such as
// v0.0.0-20261123062223-bd28c5fb4b31, or nothing.
func pseudoVersion(v string) (date, commit string) {
	v, _, _ = strings.Cut(v, "+")
	rest, commit := cutLast(v, "-")
	stamp := rest[max(0, len(rest)-len("20060102150405")):]
	at, err := time.Parse("20060102150405", stamp)
	if err != nil || len(commit) != 12 {
		return "", ""
	}
	return at.Format(time.RFC3339), commit
}

// cutLast splits text at the last separator.
func cutLast(text, separator string) (before, after string) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, ""
	}
	return text[:at], text[at+len(separator):]
}

// addContents adds lists of what the binary contains.
func (b *build) addContents() {
	b.Formats = map[string][]string{
		"apps":        {apps.ProtocolVersion},
		"bundles":     mcpb.Versions(),
		"cluster":     {strconv.Itoa(cluster.Format)},
		"definitions": {stax.SpecVersion},
		"server.json": {path.Base(path.Dir(registry.SchemaURL))},
	}
	b.Inputs = sitebuild.Kinds()
	b.Clients = clientNames()
	b.Hosts = staticmcp.HostNames()
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		b.Modules = append(b.Modules, module{d.Path, d.Version})
	}
}

func printVersion(w io.Writer, b build) error {
	_, err := fmt.Fprintf(w, "slipway %s %s %s/%s\n", b.Version, b.Go, b.OS, b.Arch)
	return err
}

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version of this build. With --json, list also its commit and date, the
supported protocol versions, formats, clients and hosts, and its modules.`,
		Example: "  slipway version --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			b.addContents()
			return show(cmd, b, printVersion)
		},
	}
	jsonFlag(cmd, "version, commit, platform and contents")
	return cmd
}
