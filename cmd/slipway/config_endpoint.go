package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/settings"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/stax"
)

// endpointDefinitions returns a definition of one endpoint of the gateway that a file
// configures, under the name of the endpoint.
func endpointDefinitions(cmd *cobra.Command, files []string, name string) (*stax.Merged, error) {
	if len(files) != 1 {
		return nil, usage("slipway config apply slipway.yaml --endpoint "+name,
			"%s: --endpoint needs one FILE, the configuration of slipway serve", cmd.Name())
	}
	file, report, err := serveTable().Read(files[0])
	if err != nil {
		return nil, unreadable(files[0], err)
	}
	if !report.OK(false) {
		printFindings(cmd, report)
		return nil, no("slipway config check "+files[0]+" shows what is wrong", "%s: %s", cmd.Name(), report.Summary())
	}
	groups := make(map[string][]string)
	if v := file.Value("endpoint"); v != nil {
		if groups, err = pairs("--endpoint", "support=tickets", v.Texts); err != nil {
			return nil, err
		}
	}
	if groups[name] == nil {
		known := "it has none; add serve.endpoints.groups"
		if len(groups) > 0 {
			known = "it has: " + strings.Join(slices.Sorted(maps.Keys(groups)), ", ")
		}
		return nil, no(known, "%s: %s has no endpoint %q", cmd.Name(), files[0], name)
	}
	base, err := gatewayURL(file)
	if err != nil {
		return nil, no("set serve.address.publicURL in "+files[0], "%s: %v", cmd.Name(), err)
	}
	text, err := json.Marshal(map[string]any{
		"servers": map[string]any{
			name: map[string]string{
				"url":       base + serve.EndpointPath + "/" + name,
				"transport": string(stax.HTTP),
			},
		},
	})
	if err != nil {
		return nil, err
	}
	doc, found := stax.Parse(files[0], text, &stax.ParseOptions{Format: stax.JSONC})
	merged := stax.Merge(doc)
	found.Add(merged.Check().Findings()...)
	if !found.OK(false) {
		printFindings(cmd, found)
		return nil, no("rename the endpoint in "+files[0], "%s: %s", cmd.Name(), found.Summary())
	}
	return merged, nil
}

// gatewayURL returns the URL at which clients reach the gateway that a file configures: its
// public URL or, without one, its address if that is on this machine.
func gatewayURL(file *settings.File) (string, error) {
	if v := file.Value("public-url"); v != nil {
		return strings.TrimSuffix(v.Flag(), "/"), nil
	}
	address := serve.DefaultAddr
	if v := file.Value("addr"); v != nil {
		address = v.Flag()
	}
	listen, err := serve.ParseAddr(address)
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err
	}
	ip := net.ParseIP(host)
	switch {
	case file.Value("tls-cert") != nil:
		return "", fmt.Errorf("clients verify the name in the certificate, and the file does not say which it is")
	case host != "" && host != "localhost" && (ip == nil || !ip.IsLoopback()), port == "0":
		return "", fmt.Errorf("clients cannot reach %s by that address", address)
	}
	return "http://" + net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port), nil
}
