package open

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	"github.com/slipway-mcp/slipway/mcpb"
	"github.com/slipway-mcp/slipway/sitebuild"
	"github.com/slipway-mcp/slipway/stax"
)

// form is what an argument names.
type form int

const (
	other        form = iota // a file that is not supported
	command                  // exec: and a JSON array
	serverURL                // a URL with the prefix live: or another scheme than http and https
	siteURL                  // a URL with the prefix site:
	webURL                   // any other http or https URL: of a site or a server
	site                     // a folder with mcp.json
	siteZip                  // a .zip file
	siteManifest             // the mcp.json of a site
	folder                   // any other folder
	bundle                   // a bundle, its folder or its manifest
	input                    // a site can be built from it
	ambiguous                // a folder of Go packages and documents
	definitions              // server definitions
	recording                // a recorded conversation
)

// target is an argument and what it names.
type target struct {
	form form
	arg  string      // with shorthand expanded
	rest string      // arg without a prefix
	argv []string    // the words of a valid command
	url  *url.URL    // of a valid URL with a host
	info fs.FileInfo // of an existing path
}

// parse splits an argument. It does not detect the form of paths.
func parse(arg string) *target {
	arg = normalize(arg)
	t := &target{
		arg:  arg,
		rest: arg,
	}
	text, isCommand := strings.CutPrefix(arg, commandPrefix)
	live, isLive := strings.CutPrefix(arg, "live:")
	forced, isSite := strings.CutPrefix(arg, "site:")
	switch {
	case isCommand:
		t.form = command
		if json.Unmarshal([]byte(text), &t.argv) != nil || len(t.argv) == 0 ||
			t.argv[0] == "" {
			t.argv = nil
		}
		return t
	case isLive:
		t.form = serverURL
		t.rest = live
	case isSite:
		t.form = siteURL
		t.rest = forced
	case isWeb(arg):
		t.form = webURL
	case strings.Contains(arg, "://"):
		t.form = serverURL
	}
	u, err := url.Parse(t.rest)
	if err == nil && u.Host != "" {
		t.url = u
	}
	return t
}

// detect determines what an argument names. The error is an [*Error].
func detect(arg string) (*target, error) {
	if arg == "" {
		const hint = "name a folder, a file or a URL, or a command after --"
		return nil, &Error{
			Arg:  `""`,
			Why:  "the name is empty",
			Hint: hint,
		}
	}
	if err := Argument(arg).BundleURLError(); err != nil {
		return nil, err
	}
	t := parse(arg)
	if t.form != other {
		return t, nil
	}
	var err error
	path, _ := mcplog.SplitServer(t.arg)
	if t.info, err = stat(path); err != nil {
		return nil, err
	}
	t.form = formOfPath(path, t.info)
	return t, nil
}

// formOfPath detects the form of an existing file or folder.
func formOfPath(arg string, info fs.FileInfo) form {
	switch {
	case isBundle(arg, info):
		return bundle
	case sitebuild.CheckAmbiguous(arg) != nil:
		return ambiguous
	case isInput(arg):
		return input
	case hasManifest(arg):
		return site
	case info.IsDir():
		return folder
	case hasExt(arg, ".zip"):
		return siteZip
	case filepath.Base(arg) == manifest && hasMember(arg, "serverInfo", "capabilities"):
		// Rather than definitions, which some programs also call mcp.json.
		return siteManifest
	case mcplog.IsRecording(arg):
		return recording
	case stax.FormatOf(arg) != 0:
		return definitions
	}
	return other
}

// stat returns the file or folder at a path, or an [*Error].
func stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound(path, err)
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	return info, nil
}

// manifest is the file that makes a folder a site.
const manifest = "mcp.json"

// hasManifest reports whether a folder is a site.
func hasManifest(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, manifest))
	return err == nil
}

// isBundle reports whether path is a packed bundle, a folder that contains a bundle
// manifest but no site, or such a manifest.
func isBundle(path string, info fs.FileInfo) bool {
	if info.IsDir() {
		return !hasManifest(path) &&
			isBundleManifest(filepath.Join(path, mcpb.ManifestName))
	}
	return isPacked(path) || isBundleManifest(path)
}

// isPacked reports whether a file name is that of a packed bundle.
func isPacked(name string) bool { return hasExt(name, ".mcpb", ".dxt") }

// isBundleManifest reports whether the file at name is a bundle manifest, judging by its
// contents.
func isBundleManifest(name string) bool {
	return filepath.Base(name) == mcpb.ManifestName &&
		hasMember(name, "manifest_version", "dxt_version")
}

func isRegular(info fs.FileInfo) bool {
	return info != nil && info.Mode().IsRegular()
}

// hasExt reports whether a file name has one of the extensions.
func hasExt(name string, extensions ...string) bool {
	return slices.Contains(extensions, strings.ToLower(filepath.Ext(name)))
}

// maxPeek is the maximum size of a file that is read to detect its type.
const maxPeek = 64 << 20

// hasMember reports whether the file at name is a JSON object with one of the members.
func hasMember(name string, members ...string) bool {
	text, err := fsutil.ReadFile(name, maxPeek)
	var object map[string]json.RawMessage
	if err != nil ||
		json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &object) != nil {
		return false
	}
	return slices.ContainsFunc(members, func(m string) bool {
		return object[m] != nil
	})
}
