package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/identity/policy"
	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/staticmcp"
	"github.com/slipway-mcp/slipway/stax"
)

// The probes verify what a setting names, for config check. Each reads it as serve does, and
// returns the error of the reader.

func probeAddress(addr string) error {
	_, err := serve.ParseAddr(addr)
	return err
}

func probePublicURL(address string) error {
	return (&serve.Options{PublicURL: address}).Check()
}

func probeTokens(path string) error {
	_, err := serve.OpenTokens(path, nil)
	return err
}

func probePolicy(path string) error {
	_, err := policy.Open(path)
	return err
}

func probeStateKeys(path string) error {
	_, err := serve.OpenStateKeys(path)
	return err
}

// probeStore reports an invalid store of secrets, or a missing file or folder. It reads no
// secret.
func probeStore(word string) error {
	_, err := stax.ParseSecretStore(word)
	path, isFile := strings.CutPrefix(word, "file:")
	if err == nil && isFile {
		_, err = os.Stat(path)
	}
	return withPath(path, err)
}

func probeNetwork(word string) error {
	_, err := stax.ParseNetwork(word)
	return err
}

// probeLock reports a lock file that cannot be used.
func probeLock(path string) error {
	if path == lockOff || path == lockRequired {
		return nil
	}
	_, err := openLock(path)
	return err
}

func probeValues(path string) error {
	_, err := mcpb.ReadSettings(path)
	return withPath(path, err)
}

func probeSigner(text string) error {
	_, err := mcpb.ParseSigner(text)
	return withPath(text, err)
}

func probeVectors(path string) error {
	_, err := staticmcp.OpenVectors(path)
	return withPath(path, err)
}

// probeFolder verifies that the folder of a file exists.
func probeFolder(path string) error {
	info, err := os.Stat(filepath.Dir(path))
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", filepath.Dir(path))
	}
	return withPath(filepath.Dir(path), err)
}

func probeAuditKey(path string) error {
	_, err := readAuditKey(path)
	return err
}

// withPath returns an error with the path and the reason only.
func withPath(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s", path, fsutil.Reason(err))
}
