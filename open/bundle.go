package open

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/slipway-mcp/slipway/client"
	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/mcpb"
)

// isBundle reports whether path is a packed bundle, a folder that contains a bundle
// manifest but no site, or such a manifest.
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

// NamesBundleURL reports whether arg is an http or https URL with the file extension of a
// packed bundle.
func NamesBundleURL(arg string) bool {
	u, err := url.Parse(arg)
	if err != nil || !isWeb(arg) {
		return false
	}
	ext := strings.ToLower(path.Ext(u.Path))
	return ext == ".mcpb" || ext == ".dxt"
}

// BundleURLHint explains how to use the bundle at a URL. A bundle is code that runs on
// this machine, so none is started without a pinned hash.
func BundleURLHint(arg string) string {
	return "download it first, or add it with slipway config add " + arg + ", which pins its SHA-256"
}

// bundleURL returns the error for the URL of a bundle.
func bundleURL(arg string) *Error {
	return &Error{Arg: arg, Why: "a bundle is opened from a file, not from a URL", Hint: BundleURLHint(arg)}
}

// openBundle starts the server of a bundle, as configured by opts.Bundle.
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
	supervision := client.Options{Name: Name(arg)}
	if o.Live != nil {
		supervision = *o.Live
		supervision.Name = cmp.Or(supervision.Name, Name(arg))
	}
	o.Live = &supervision
	src, err := openOrList(ctx, arg, &o, opts)
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

// openOrList opens a bundle. With opts.ListOnly, it prefers to start the server with the
// options at hand, as the manifest may be outdated. If required options are missing, it
// uses the catalog in the manifest, and asks for the options only if there is none.
func openOrList(ctx context.Context, arg string, o *mcpb.OpenOptions, opts *Options) (mcp.Source, error) {
	unasked := *o
	if opts.ListOnly {
		unasked.Ask, unasked.Start = nil, true
	}
	src, err := mcpb.Open(ctx, arg, &unasked)
	var refused *mcpb.ExpandError
	if err == nil {
		return src, nil
	}
	if !opts.ListOnly || !errors.As(err, &refused) || len(refused.Missing()) != len(refused.Findings) {
		return nil, err
	}
	known, staticErr := mcpb.OpenStatic(ctx, arg, &unasked)
	switch {
	case staticErr != nil:
		return nil, staticErr
	case known != nil:
		opts.report(client.Event{Name: arg, What: client.EventUnstarted})
		return known, nil
	case o.Ask == nil:
		return nil, err
	}
	if src, err = mcpb.Open(ctx, arg, o); err != nil {
		return nil, err
	}
	return src, nil
}
