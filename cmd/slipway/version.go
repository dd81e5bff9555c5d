package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/mcp"
)

// A release sets these with -ldflags "-X main.version=v1.2.3". A binary of go install has
// its version from the module proxy, and one of go build the rest from git.
var version, commit, date string

// build describes this binary. Fields may be added.
type build struct {
	Version   string   `json:"version"`
	Commit    string   `json:"commit,omitempty"`
	Date      string   `json:"date,omitempty"`     // of the commit
	Modified  bool     `json:"modified,omitempty"` // built from modified files
	Go        string   `json:"go"`
	OS        string   `json:"os"`
	Arch      string   `json:"arch"`
	Protocols []string `json:"protocolVersions"`
}

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
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
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
	if version != "" {
		b.Version = version
		b.Commit = commit
		b.Date = date
		b.Modified = false
	}
	return b
}

func printVersion(w io.Writer, b build) error {
	_, err := fmt.Fprintf(w, "slipway %s %s %s/%s\n", b.Version, b.Go, b.OS, b.Arch)
	return err
}

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    `Print the version of this build and the protocol versions it supports.`,
		Example: "  slipway version --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd, thisBuild(), printVersion)
		},
	}
	jsonFlag(cmd, "version, commit, platform and protocol versions")
	return cmd
}
