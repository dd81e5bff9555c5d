package clients

import (
	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/stax"
)

// agree gives clients that share a file the same entry for a server: if any of them
// requires the launcher, all of them use it. Otherwise each would overwrite the entry of
// the one before.
func agree(
	c *Client,
	path string,
	entries []Entry,
	all []Client,
	m *stax.Merged,
	opts *PlanOptions,
	scope Scope,
	report *check.Report,
) {
	if opts.Via != Auto {
		return
	}
	for i := range all {
		other := &all[i]
		there, _, err := opts.Place.Path(other, scope)
		if other.ID == c.ID || err != nil || there != path {
			continue
		}
		theirs, _ := Translate(other, m, &opts.Options)
		for k, e := range theirs {
			if !e.Launched || e.LeftOut != "" || entries[k].Launched ||
				entries[k].LeftOut != "" {
				continue
			}
			s := &m.Config.Servers[k]
			mine, _ := launched(c, m, s, &opts.Options)
			if mine.LeftOut != "" {
				continue
			}
			entries[k] = mine
			m.Origin(s.Name).Reporter(report).Add(ruleViaLauncher, pointer(s, ""), "",
				"%s reaches server %q through the launcher, as %s reads the same file and has to",
				c.Name, s.Name, other.Name)
		}
	}
}
