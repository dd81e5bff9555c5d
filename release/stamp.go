package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// Stamp identifies what is released. All times in artefacts are Date.
type Stamp struct {
	Name     string    `json:"name"`
	Version  string    `json:"version"` // semantic version without the leading v
	Tag      string    `json:"tag"`     // "v" + Version; a snapshot's tag does not exist
	Commit   string    `json:"commit"`
	Date     time.Time `json:"date"` // of the commit, in UTC
	Snapshot bool      `json:"snapshot"`
	Go       string    `json:"go"` // version of the compiler
}

// errDirty reports files that are not committed.
var errDirty = errors.New("the work tree has changes that are not committed")

// readStamp returns the stamp of the commit checked out in the repository at dir. Unless
// snapshot is true, the commit must have a version tag and the work tree no changes.
func readStamp(ctx context.Context, dir string, snapshot bool) (*Stamp, error) {
	s := &Stamp{
		Name:     projectName,
		Snapshot: snapshot,
	}
	head, err := output(ctx, dir, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	commit, seconds, _ := strings.Cut(head, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read the date of commit %s: %w", commit, err)
	}
	s.Commit = commit
	s.Date = time.Unix(unix, 0).UTC()
	changed, err := output(ctx, dir, "git", "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if s.Go, err = output(ctx, dir, "go", "env", "GOVERSION"); err != nil {
		return nil, err
	}
	if snapshot {
		s.Version, err = snapshotVersion(ctx, dir, s, changed != "")
	} else {
		s.Version, err = taggedVersion(ctx, dir, changed)
	}
	if err != nil {
		return nil, err
	}
	s.Tag = "v" + s.Version
	return s, nil
}

// taggedVersion returns the version of the highest version tag of the current commit.
func taggedVersion(ctx context.Context, dir, changed string) (string, error) {
	if changed != "" {
		first, rest, _ := strings.Cut(changed, "\n")
		if n := strings.Count(rest, "\n") + 1; rest != "" {
			first += fmt.Sprintf(" (and %d more)", n)
		}
		return "", fmt.Errorf("%w: %s\nhint: commit or stash them, or build a test version with --snapshot", errDirty, first)
	}
	tags, err := output(ctx, dir, "git", "tag", "--points-at", "HEAD")
	if err != nil {
		return "", err
	}
	best := ""
	for tag := range strings.FieldsSeq(tags) {
		if isVersionTag(tag) && semver.Compare(tag, best) > 0 {
			best = tag
		}
	}
	if best == "" {
		return "", errors.New("the current commit has no version tag such as v1.2.3\n" +
			"hint: git tag v1.2.3, or build a test version with --snapshot")
	}
	return strings.TrimPrefix(best, "v"), nil
}

// isVersionTag reports whether tag is v followed by a complete semantic version. Build
// metadata is refused: package managers disagree on its order.
func isVersionTag(tag string) bool {
	return semver.IsValid(tag) && semver.Canonical(tag) == tag
}

// snapshotVersion returns a version that sorts after the last tag and before the next one,
// such as 1.2.4-snapshot.20261123070721.gbd28c5fb.
func snapshotVersion(ctx context.Context, dir string, s *Stamp, dirty bool) (string, error) {
	tags, err := output(ctx, dir, "git", "tag", "--merged", "HEAD", "--list", "v*")
	if err != nil {
		return "", err
	}
	last := ""
	for tag := range strings.FieldsSeq(tags) {
		if isVersionTag(tag) && semver.Compare(tag, last) > 0 {
			last = tag
		}
	}
	base := "0.0.0"
	if last != "" {
		base = nextPatch(last)
	}
	v := fmt.Sprintf("%s-snapshot.%s.g%.8s", base, s.Date.Format("20060102150405"), s.Commit)
	if dirty {
		v += ".dirty"
	}
	return v, nil
}

// nextPatch returns the version after a tag: the next patch, or the release that a
// prerelease precedes.
func nextPatch(tag string) string {
	core, _, pre := strings.Cut(strings.TrimPrefix(tag, "v"), "-")
	if pre {
		return core
	}
	at := strings.LastIndexByte(core, '.')
	patch, _ := strconv.Atoi(core[at+1:]) // a number: the tag is canonical
	return core[:at+1] + strconv.Itoa(patch+1)
}

// output runs a program in dir and returns what it prints, without the last line break.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	return run(cmd)
}

// run returns what a command prints, without the last line break. The error has what it
// prints to stderr.
func run(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		what := strings.Join(cmd.Args[:min(2, len(cmd.Args))], " ")
		return "", fmt.Errorf("%s: %w: %s", what, err,
			strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(out), "\n"), nil
}
