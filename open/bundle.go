package open

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/live"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcpb"
)

// isBundle reports whether a path is that of a bundle: a packed one, a folder
// with its manifest and no site, or that manifest.
func isBundle(path string, info os.FileInfo) bool {
	if !info.IsDir() {
		ext := strings.ToLower(filepath.Ext(path))
		return ext == ".mcpb" || ext == ".dxt" || isBundleManifest(path)
	}
	if _, err := os.Stat(filepath.Join(path, manifest)); err == nil {
		return false
	}
	return isBundleManifest(filepath.Join(path, mcpb.ManifestName))
}

// isPackedBundle reports whether arg is the path of a packed bundle.
func isPackedBundle(arg string) bool {
	info, err := os.Stat(arg)
	return err == nil && !info.IsDir() && isBundle(arg, info) && !isBundleManifest(arg)
}

// openBundle starts the server of a bundle, as opts.Bundle says.
func openBundle(ctx context.Context, arg string, opts *Options) (mcp.Source, error) {
	var o mcpb.OpenOptions
	if opts.Bundle != nil {
		o = *opts.Bundle
	}
	if l := opts.Live; l != nil {
		if o.Live == nil {
			o.Live = l.Source
		}
		if o.Stderr == nil {
			o.Stderr = l.stderr(Name(arg))
		}
	}
	supervision := live.Options{Name: Name(arg)}
	if o.Live != nil {
		supervision = *o.Live
		supervision.Name = cmp.Or(supervision.Name, Name(arg))
	}
	o.Live = &supervision
	src, err := mcpb.Open(ctx, arg, &o)
	if err == nil {
		return src, nil
	}
	e := unreadable(arg, err)
	var runtime *mcpb.RuntimeError
	if errors.As(err, &runtime) {
		e.Kind, e.Hint = Remote, runtime.Hint
	}
	return nil, e
}
