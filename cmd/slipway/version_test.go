package main

import (
	"runtime/debug"
	"testing"
)

func TestBuildInfo(t *testing.T) {
	for _, c := range []struct {
		name, module         string
		settings             []debug.BuildSetting
		version, commit, day string
	}{
		{name: "go install of a tag", module: "v1.2.3", version: "v1.2.3"},
		{name: "go install of a prerelease", module: "v1.2.3-rc.1", version: "v1.2.3-rc.1"},
		{
			name:    "go install of a commit",
			module:  "v1.2.4-0.20261123062223-bd28c5fb4b31",
			version: "v1.2.4-0.20261123062223-bd28c5fb4b31",
			commit:  "bd28c5fb4b31",
			day:     "2026-11-23T06:22:23Z",
		},
		{
			name:   "go build of changed files",
			module: "v0.0.0-20261123062223-bd28c5fb4b31+dirty",
			settings: []debug.BuildSetting{
				{Key: "vcs.revision", Value: "bd28c5fb4b31d1edb50ae4934285fd1b2aa0eb4a"},
				{Key: "vcs.time", Value: "2026-11-23T06:22:23Z"},
				{Key: "vcs.modified", Value: "true"},
			},
			version: "v0.0.0-20261123062223-bd28c5fb4b31+dirty",
			commit:  "bd28c5fb4b31d1edb50ae4934285fd1b2aa0eb4a",
			day:     "2026-11-23T06:22:23Z",
		},
		{name: "go run", module: "(devel)", version: "devel"},
	} {
		b := build{Version: "devel"}
		b.addBuildInfo(&debug.BuildInfo{
			Main:     debug.Module{Version: c.module},
			Settings: c.settings,
		})
		if b.Version != c.version || b.Commit != c.commit || b.Date != c.day || b.Modified != (c.settings != nil) {
			t.Errorf("%s: got %+v", c.name, b)
		}
	}
}
