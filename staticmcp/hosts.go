package staticmcp

import (
	_ "embed" // for the table
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/slipway-mcp/slipway/staticmcp/internal/site"
)

// Host describes the known limits and behaviour of a web host for sites. A limit of zero
// means no relevant limit.
type Host struct {
	// Name identifies the host in options.
	Name string `json:"name"`
	// MaxFiles, MaxFileBytes and MaxBytes are the limits of the host; 0 means none.
	MaxFiles     int   `json:"maxFiles"`
	MaxFileBytes int64 `json:"maxFileBytes"`
	MaxBytes     int64 `json:"maxBytes"` // of the whole site
	// HidesUnderscore reports whether names beginning with "_" are omitted unless the site
	// has a .nojekyll.
	HidesUnderscore bool `json:"hidesUnderscore"`
	// NeedsNotFoundPage reports whether, without a 404.html, a missing file is answered with
	// another page and status 200.
	NeedsNotFoundPage bool `json:"needsNotFoundPage"`
	// ReadsNotFoundPage and ReadsHeaders report whether the host uses a 404.html and a
	// _headers file.
	ReadsNotFoundPage bool `json:"readsNotFoundPage"`
	ReadsHeaders      bool `json:"readsHeaders"`
	// About states the source of the limits, in half a sentence.
	About string `json:"about"`
}

// hostsText is the table of hosts; hosts.schema.json explains its members.
//
//go:embed hosts.json
var hostsText []byte

var readHosts = sync.OnceValue(func() []Host {
	var table struct{ Hosts []Host }
	if err := json.Unmarshal(hostsText, &table); err != nil {
		panic(fmt.Errorf("hosts.json: %w", err))
	}
	return table.Hosts
})

// HostNames returns the names of the hosts. It does not decode the whole table, as the help
// of commands lists them at every start.
func HostNames() []string { return site.TableNames(hostsText, "hosts") }

// HostNamed returns the host called name, one of [HostNames]. For any other name the error
// lists the choices and suggests the most similar one.
func HostNamed(name string) (Host, error) {
	hosts := readHosts()
	i := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return Host{}, site.UnknownChoice("host", name, HostNames())
	}
	return hosts[i], nil
}
