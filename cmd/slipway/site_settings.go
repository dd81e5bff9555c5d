package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/open"
)

// applySettings sets flags that are missing on the command line from a slipway.site.yaml.
func applySettings(cmd *cobra.Command, in *open.Input) error {
	s, err := in.Settings()
	if err != nil || s == nil {
		return err
	}
	for _, setting := range []struct{ flag, value string }{
		{"output", s.Output},
		{"site-root", s.SiteRoot},
		{"site-url", s.SiteURL},
		{"no-web-files", strconv.FormatBool(s.WebFiles != nil && !*s.WebFiles)},
		{"host", string(s.Host)},
		{"collisions", s.Collisions},
		{"layout", s.Layout},
		{"compact", strconv.FormatBool(s.Compact)},
		{"precompress", strings.Join(s.Precompress, ",")},
	} {
		if setting.value == "" || cmd.Flags().Changed(setting.flag) {
			continue
		}
		if err := cmd.Flags().Set(setting.flag, setting.value); err != nil {
			return invalidFlag(cmd, err)
		}
	}
	return nil
}
