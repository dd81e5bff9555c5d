package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slipway-mcp/slipway/mcp"
	"github.com/slipway-mcp/slipway/serve"
)

// Serve serves the page on a listener until ctx is done, and closes the Inspector. The
// listener should be on a loopback address.
func (in *Inspector) Serve(ctx context.Context, ln net.Listener) error {
	server := &http.Server{
		Handler:           in,
		ReadHeaderTimeout: 10 * time.Second,
	}
	stop := context.AfterFunc(ctx, func() {
		_ = in.Close()     // ends the streams; the sources have nothing to lose
		_ = server.Close() // the page ends with the program
	})
	err := server.Serve(ln)
	if !stop() {
		return nil
	}
	return errors.Join(err, in.Close())
}

// Address returns the address of the page on a listener, with the token in its fragment.
func (in *Inspector) Address(ln net.Listener) string {
	return "http://" + ln.Addr().String() + "/#" + in.opts.Token
}

// Main is [serve.Main] with one more flag: with -inspect as its only argument, the
// program serves the page of its own source on a free loopback port, and prints the
// address. Programs that do not use Main do not contain the page.
func Main[S mcp.Source](src S, err error) {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	if err != nil ||
		len(os.Args) < 2 ||
		!slices.Contains([]string{"-inspect", "--inspect"}, os.Args[1]) {
		if len(os.Args) == 2 && slices.Contains([]string{"-h", "-help", "--help"}, os.Args[1]) {
			fmt.Printf("%s -inspect serves a page on this machine that shows this server. Otherwise:\n\n", name)
		}
		serve.Main(src, err)
		return
	}
	if len(os.Args) > 2 {
		fmt.Fprintf(os.Stderr, "%s: -inspect takes no other arguments: %q\nhint: %[1]s -inspect\n", name, os.Args[2:])
		os.Exit(2)
	}
	ctx, stop := serve.Signals(context.Background(), nil)
	err = serveOwn(ctx, name, src, os.Stdout)
	if c, ok := mcp.Source(src).(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// serveOwn serves the page of a source until ctx is done.
func serveOwn(ctx context.Context, name string, src mcp.Source, stdout io.Writer) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	in := Handler([]*Source{Served(name, src)}, &Options{
		By:          name,
		Token:       NewToken(),
		Environment: os.Environ(),
	})
	fmt.Fprintln(stdout, in.Address(ln))
	return in.Serve(ctx, ln)
}
