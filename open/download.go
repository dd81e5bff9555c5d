package open

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/netguard"
)

// maxBundle is the maximum size of a downloaded bundle.
const maxBundle = 512 << 20

// download is a bundle in a temporary file.
type download struct {
	temporary string
	release   func() error // removes the file
	sum       string       // SHA-256 in hexadecimal
	dir       string       // destination folder
}

// path returns the destination of the bundle.
func (d *download) path() string {
	return filepath.Join(d.dir, d.sum+".mcpb")
}

// fetchBundle writes a bundle to a temporary file.
func fetchBundle(from io.Reader, dir string) (d *download, err error) {
	tmp, release, err := fsutil.TempDir(os.TempDir(), "slipway-download-")
	if err != nil {
		return nil, err
	}
	d = &download{
		temporary: filepath.Join(tmp, "bundle.mcpb"),
		release:   release,
		dir:       dir,
	}
	f, err := os.OpenFile(d.temporary, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(from, maxBundle+1))
	if err != nil {
		return nil, err
	}
	if n > maxBundle {
		return nil, fmt.Errorf("the bundle has more than %d MiB", maxBundle>>20)
	}
	d.sum = hex.EncodeToString(sum.Sum(nil))
	return d, nil
}

// keep moves the bundle to its destination. An existing file is reused if its SHA-256
// matches, and otherwise replaced.
func (d *download) keep() error {
	if have, err := sumOfFile(d.path()); err == nil && have == d.sum {
		return nil
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	from, err := os.Open(d.temporary)
	if err != nil {
		return err
	}
	defer from.Close()
	return fsutil.Replace(d.path(), 0o600, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

// Close removes the temporary file. It may be called more than once.
func (d *download) Close() error {
	release := d.release
	d.release = nil
	if release == nil {
		return nil
	}
	return release()
}

// sumOfFile returns the SHA-256 of a file in hexadecimal.
func sumOfFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// get requests a URL. The URL typed by the user may be on any network; redirects, and
// URLs in the document at from, are restricted by the network guard.
func (e *entries) get(ctx context.Context, address, from string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, application/octet-stream, text/event-stream;q=0.5, */*;q=0.1")
	guard := &netguard.Guard{Allow: e.opts.AllowNetwork}
	typed := address == e.arg
	guard.Loopback = netguard.NamesLoopback(address) &&
		(typed || from == "" || netguard.NamesLoopback(from))
	if typed {
		guard.Host = req.URL.Hostname()
	}
	transport := &http.Transport{
		ResponseHeaderTimeout: 30 * time.Second,
		DisableKeepAlives:     true,
	}
	client := &http.Client{Transport: guard.Transport(transport)}
	return client.Do(req)
}
