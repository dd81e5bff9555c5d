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

	"github.com/slipway-mcp/slipway/internal/nearest"
	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/settings"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/stax"
)

// endpointDefinitions returns definitions of endpoints of the gateway that a file configures,
// each under the name of the endpoint, and the names of its other endpoints.
func endpointDefinitions(
	cmd *cobra.Command, files, names []string,
) (merged *stax.Merged, others []string, err error) {
	if slices.Contains(names, "") || len(names) == 0 {
		return nil, nil, usage("slipway config apply slipway.yaml --endpoint NAME",
			"%s: --endpoint needs the name of an endpoint", cmd.Name())
	}
	if len(files) != 1 {
		return nil, nil, usage("slipway config apply slipway.yaml --endpoint "+names[0],
			"%s: --endpoint needs one FILE, the configuration of slipway serve", cmd.Name())
	}
	file, report, err := serveTable().Read(files[0])
	if err != nil {
		return nil, nil, unreadable(files[0], err)
	}
	if !report.OK(false) {
		printFindings(cmd, report)
		return nil, nil, no("slipway config check "+shell.PathWord(files[0])+" shows what is wrong",
			"%s: %s", cmd.Name(), report.Summary())
	}
	groups, err := endpointGroups(file)
	if err != nil {
		return nil, nil, err
	}
	base, err := gatewayURL(file)
	if err != nil {
		return nil, nil, no("set serve.address.publicURL in "+files[0], "%s: %v", cmd.Name(), err)
	}
	// Each endpoint becomes a server with its address.
	known := slices.Sorted(maps.Keys(groups))
	servers := make(map[string]any)
	for _, name := range names {
		if groups[name] == nil {
			return nil, nil, unknownEndpoint(cmd, files[0], name, known)
		}
		servers[name] = map[string]string{
			"url":       base + serve.EndpointPath + "/" + name,
			"transport": string(stax.HTTP),
		}
	}
	others = slices.DeleteFunc(known, func(name string) bool { return servers[name] != nil })
	text, err := json.Marshal(map[string]any{"servers": servers})
	if err != nil {
		return nil, nil, err
	}
	// Names of endpoints must also be valid names of servers, so they are checked like a file.
	doc, found := stax.Parse(files[0], text, &stax.ParseOptions{Format: stax.JSONC})
	merged = stax.Merge(doc)
	found.Add(merged.Check().Findings()...)
	if !found.OK(false) {
		printFindings(cmd, found)
		return nil, nil, no("rename the endpoint in "+files[0], "%s: %s", cmd.Name(), found.Summary())
	}
	return merged, others, nil
}

// endpointGroups returns the endpoints that a file configures, with what each offers.
func endpointGroups(file *settings.File) (map[string][]string, error) {
	v := file.Value("endpoint")
	if v == nil {
		return nil, nil
	}
	return pairs("--endpoint", "support=tickets", v.Texts)
}

// endpointNamed returns the definition of an endpoint, as [endpointDefinitions] does, or nil if
// files are not the configuration of a gateway that has an endpoint of that name.
func endpointNamed(cmd *cobra.Command, files []string, name string) (*stax.Merged, error) {
	if len(files) != 1 {
		return nil, nil
	}
	file, report, err := serveTable().Read(files[0])
	if err != nil || !report.OK(false) {
		return nil, nil // definitions of servers have another form
	}
	if groups, err := endpointGroups(file); err != nil || groups[name] == nil {
		return nil, err
	}
	merged, _, err := endpointDefinitions(cmd, files, []string{name})
	return merged, err
}

// unknownEndpoint returns the error for an endpoint that a file does not have.
func unknownEndpoint(cmd *cobra.Command, file, name string, known []string) error {
	if len(known) == 0 {
		return no("add serve.endpoints.groups to "+file, "%s: %s has no endpoint %q", cmd.Name(), file, name)
	}
	near := nearest.DidYouMean(name, known)
	if near == "" {
		return no("slipway config apply "+shell.PathWord(file)+" --endpoint "+known[0],
			"%s: %s has no endpoint %q: it has %s", cmd.Name(), file, name, strings.Join(known, ", "))
	}
	return no("slipway config apply "+shell.PathWord(file)+" --endpoint "+near,
		"%s: %s has no endpoint %q: did you mean %q?", cmd.Name(), file, name, near)
}

// gatewayURL returns the URL at which clients reach the gateway that a file configures: its
// public URL or, without one, its address if that is on this machine.
func gatewayURL(file *settings.File) (string, error) {
	if v := file.Value("public-url"); v != nil {
		o := serve.Options{}
		o.PublicURL = v.Flag()
		return strings.TrimSuffix(o.PublicURL, "/"), o.Check()
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
