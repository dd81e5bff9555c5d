package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/slipway-mcp/slipway/bench/fix"
	"github.com/slipway-mcp/slipway/bench/install"
)

// installedPeer is a peer that is ready to start.
type installedPeer struct {
	peer
	command []string // without the arguments of the contract
	version string
}

// prepare builds or installs every peer in .cache/. A peer that fails to build is omitted
// and listed in skipped; if a floor fails, that is an error.
func prepare(
	ctx context.Context,
	peers []peer,
	stderr io.Writer,
) (installed []installedPeer, skipped []string, err error) {
	root, err := install.Root(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range peers {
		one, err := ready(ctx, root, p)
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if err != nil && p.floor {
			return nil, nil, err
		}
		if err != nil {
			skipped = append(skipped, fmt.Sprintf("%s: %v", p.name, err))
			fmt.Fprintf(stderr, "skip %s: %v\n", p.name, err)
			continue
		}
		installed = append(installed, one)
	}
	return installed, skipped, nil
}

func ready(ctx context.Context, root string, p peer) (installedPeer, error) {
	if p.node {
		return readyNode(ctx, root, p)
	}
	binary := filepath.Join(root, install.Cache, "bin", p.dir)
	version, err := install.Go(ctx, root, binary, p.module, "./peers/"+p.dir)
	return installedPeer{peer: p, command: []string{binary}, version: version}, err
}

// readyNode creates a folder with the peer's program, the fixtures and its packages.
// Packages are only reinstalled if their list changed.
func readyNode(ctx context.Context, root string, p peer) (installedPeer, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return installedPeer{}, errors.New("node is not installed")
	}
	source, dir := filepath.Join(root, "peers", p.dir), filepath.Join(root, install.Cache, "npm", p.dir)
	version, err := install.NPM(ctx, source, dir, p.module)
	if err != nil {
		return installedPeer{}, err
	}
	if _, err := install.Copy(filepath.Join(source, "server.mjs"), dir); err != nil {
		return installedPeer{}, err
	}
	if err := writeFixtures(filepath.Join(dir, "fixtures.json")); err != nil {
		return installedPeer{}, err
	}
	return installedPeer{
		peer: p, command: []string{node, filepath.Join(dir, "server.mjs")}, version: version,
	}, nil
}

// writeFixtures writes for Node peers what Go peers import. Peers use the first NTOOLS
// tools of the list.
func writeFixtures(path string) error {
	most := 0
	for _, w := range fix.Workloads() {
		most = max(most, w.Tools)
	}
	data, err := json.Marshal(map[string]any{
		"name": fix.ServerName, "version": fix.ServerVersion, "text": fix.Text(), "message": fix.Message,
		"uri": fix.BlobURI, "mimeType": fix.BlobMIME, "tools": fix.Tools(most),
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
