package staticmcp

import (
	_ "embed" // for the table
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/slipway-mcp/slipway/internal/site"
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
	// Code are the limits of an endpoint, or nil if the host runs no code.
	Code *CodeLimits `json:"code"`
	// About states the source of the limits, in half a sentence.
	About string `json:"about"`
}

// CodeLimits are the limits that a host sets for an endpoint on its free plan. A limit of
// zero means no relevant limit.
type CodeLimits struct {
	// MaxBytes is the size of the code, and CPUMillis the CPU time of a request.
	MaxBytes  int64 `json:"maxBytes"`
	CPUMillis int   `json:"cpuMillis"`
}

// Exceeded returns which limit a site exceeds, in a few words, or "" if it fits. largest is
// the size of its largest file.
func (h *Host) Exceeded(files int, largest, bytes int64) string {
	switch {
	case h.MaxFiles > 0 && files > h.MaxFiles:
		return fmt.Sprintf("%d of %d files", files, h.MaxFiles)
	case h.MaxFileBytes > 0 && largest > h.MaxFileBytes:
		return fmt.Sprintf("a file of %d bytes, %d allowed", largest, h.MaxFileBytes)
	case h.MaxBytes > 0 && bytes > h.MaxBytes:
		return fmt.Sprintf("%d of %d bytes", bytes, h.MaxBytes)
	}
	return ""
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
