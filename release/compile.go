package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Platform is a system that Slipway is built for, named as by Go.
type Platform struct {
	OS   string
	Arch string
}

// platforms returns all platforms of a release.
func platforms() []Platform {
	return []Platform{
		{"darwin", "amd64"},
		{"darwin", "arm64"},
		{"linux", "amd64"},
		{"linux", "arm64"},
		{"windows", "amd64"},
		{"windows", "arm64"},
	}
}

// String returns the name of the platform in files, such as linux-amd64.
func (p Platform) String() string { return p.OS + "-" + p.Arch }

// Binary returns the name of the program on the platform.
func (p Platform) Binary() string {
	if p.OS == "windows" {
		return projectName + ".exe"
	}
	return projectName
}

// parsePlatforms returns the platforms with these names, or all for no name.
func parsePlatforms(names []string) ([]Platform, error) {
	if len(names) == 0 {
		return platforms(), nil
	}
	known := make(map[string]Platform)
	var all []string
	for _, p := range platforms() {
		known[p.String()] = p
		all = append(all, p.String())
	}
	var list []Platform
	for _, name := range names {
		p, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("unknown platform %q\nhint: one of %s", name,
				strings.Join(all, ", "))
		}
		list = append(list, p)
	}
	return list, nil
}

// smallPatterns are the packages compiled without inlining: none of them does the work of a
// request, and the inlined copies with their line tables are 0.6 MB of a download.
var smallPatterns = []string{
	projectModule + "/cmd/slipway",
	projectModule + "/check",
	projectModule + "/inspect",
	projectModule + "/internal/calltest",
	projectModule + "/internal/doctor",
	projectModule + "/internal/project",
	projectModule + "/internal/settings",
	projectModule + "/internal/sitelint",
	projectModule + "/lock",
	projectModule + "/mcpb/...",
	projectModule + "/open",
	projectModule + "/sitebuild/internal/gopkg",
	projectModule + "/sitebuild/internal/openapi",
	projectModule + "/staticmcp/freeze",
	projectModule + "/stax/clients",
	projectModule + "/stax/internal/...",
	projectModule + "/internal/registry",
	"database/sql",
	"debug/...",
	"encoding/gob",
	"encoding/xml",
	"github.com/cedar-policy/cedar-go/internal/parser",
	"github.com/cedar-policy/cedar-go/x/exp/schema/...",
	"github.com/charmbracelet/...",
	"github.com/godbus/...",
	"github.com/nats-io/...",
	"github.com/pelletier/...",
	"github.com/spf13/...",
	"go.opentelemetry.io/otel/sdk/log/...",
	"go/...",
	"internal/profile",
	"modernc.org/...",
	"runtime/pprof",
	"text/template/...",
}

// compile builds the program of a platform from the repository at root.
func compile(ctx context.Context, root string, s *Stamp, p Platform, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	stamp := fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s -X main.date=%s",
		s.Tag, s.Commit, s.Date.Format(time.RFC3339))
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", stamp, "-o", file}
	for _, pattern := range smallPatterns {
		args = append(args, "-gcflags="+pattern+"=-l")
	}
	_, err := goFor(ctx, root, p, append(args, "./cmd/slipway")...)
	if err != nil {
		return fmt.Errorf("compile for %s: %w", p, err)
	}
	return os.Chmod(file, 0o755)
}

// goFor runs the go command for a platform. The environment of the caller does not affect
// the result, except through the version of Go.
func goFor(ctx context.Context, root string, p Platform, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+p.OS, "GOARCH="+p.Arch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly",
		"GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off")
	return run(cmd)
}

// hostPlatform returns the platform of this machine.
func hostPlatform() Platform {
	return Platform{
		OS:   runtime.GOOS,
		Arch: runtime.GOARCH,
	}
}
