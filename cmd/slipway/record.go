package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-mcp/slipway/internal/fsutil"
	"github.com/slipway-mcp/slipway/internal/mcplog"
	mcpserver "github.com/slipway-mcp/slipway/mcp/server"
	"github.com/slipway-mcp/slipway/open"
	"github.com/slipway-mcp/slipway/serve"
	"github.com/slipway-mcp/slipway/stax"
)

// recorder is the flags of a recording.
type recorder struct {
	output string
	redact []string
}

func newRecord() *cobra.Command {
	var r recorder
	cmd := &cobra.Command{
		Use:   "record SOURCE",
		Short: "Serve a source to one client and record it",
		Long: `Serve a source over stdin and stdout, and record the conversation in a file.
Replace the command of a server in the config file of a client by this command.
The recording has every message as it was sent, with its time, and, if SOURCE is
one server, the messages to it, its stderr and the steps of connecting to it.
An existing file is never replaced. If a client starts the command again and
again, put {time} into the name of the file: it becomes the time of the start.

Credentials are redacted: in known formats, from the environment and in headers
that are not known to be public. --redact redacts values by their path in a
message. Whatever else the messages contain is in the file, which only you can
read.

"slipway serve FILE" answers as recorded, "slipway replay FILE SOURCE" sends the
requests again and compares the answers.

` + sourceHelp,
		Example: `  slipway record examples/http-reference -o http.mcplog
  slipway record examples/http-reference -o pin.mcplog --redact \
      '$.params.arguments.pin'
  slipway record -o 'more-{time}.mcplog' -- \
      slipway serve --stdio examples/http-reference`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.run(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&r.output, "output", "o", "",
		"new `FILE` for the recording, *.mcplog; {time} becomes the time of the start")
	flags.StringArrayVar(&r.redact, "redact", nil,
		"redact the values at this `PATH`, such as $.params.arguments.pin; * means any name (repeatable)")
	bundleFlags(cmd)
	lockFlags(cmd)
	return cmd
}

// run serves a source on stdin and stdout, and records the messages: those of the client as
// source 0, and those of the server as source 1. Of definitions only the client's side is
// recorded.
func (r *recorder) run(cmd *cobra.Command, arg string) error {
	if r.output == "" {
		return usage("add -o FILE.mcplog", "record: the file for the recording is missing")
	}
	log, err := r.open(cmd, open.Argument(arg).Name())
	if err != nil {
		return err
	}
	defer log.close()
	ctx, stop := serve.Signals(cmd.Context(), nil)
	defer stop()
	clients := mcpserver.Clients{Single: true}
	tapped := func(o *open.Options) {
		o.Live.Source.Clients = &clients
		if stax.FormatOf(arg) == 0 {
			o.Live.Source.Tap = log.writer.Tap(1)
		}
	}
	return withSourceOptions(cmd, arg, tapped, func(c *openSource) error {
		return serve.Stdio(ctx, c.source, cmd.InOrStdin(), cmd.OutOrStdout(), &serve.Options{
			Server: mcpserver.Options{
				Clients: &clients,
				Tap:     log.writer.Tap(0),
			},
		})
	})
}

// recording is a recording being written.
type recording struct {
	file   *os.File
	writer *mcplog.Writer
}

// open creates the file of a recording of a source with that name. It never replaces a file.
func (r *recorder) open(cmd *cobra.Command, name string) (*recording, error) {
	if !open.Argument(r.output).IsRecording() || !strings.EqualFold(filepath.Ext(r.output), ".mcplog") {
		stem, _, _ := strings.Cut(filepath.Base(r.output), ".")
		return nil, usage("such as "+stem+".mcplog", "%s: the name of a recording must end in .mcplog", r.output)
	}
	file, err := r.create(time.Now())
	if errors.Is(err, fs.ErrExist) {
		return nil, badInput("choose another name, such as one with {time}, or delete it", "%s already exists", r.output)
	}
	if err != nil {
		return nil, badInput("choose a file in a folder that exists and that you may write to",
			"%s: %s", r.output, fsutil.Reason(err))
	}
	stderr := cmd.ErrOrStderr()
	writer, err := mcplog.NewWriter(file, &mcplog.Header{
		Started: time.Now().UTC(),
		By:      "slipway " + thisBuild().Version,
		Sources: []mcplog.Source{{
			ID:   1,
			Name: name,
		}},
	}, &mcplog.WriterOptions{
		Environment: os.Environ(),
		Redact:      r.redact,
		Failed: func(err error) {
			say(stderr, "the recording ends: %v", err)
		},
	})
	if err != nil {
		_ = file.Close() // nothing of use is in it
		_ = os.Remove(file.Name())
		return nil, usage(`a path begins with $., such as $.params.arguments.pin`, "%s: --redact: %v", cmd.Name(), err)
	}
	return &recording{file, writer}, nil
}

// timeMark is replaced by the time in the name of a recording, so that each has its own.
const timeMark = "{time}"

// maxSameTime is how many recordings of one second have a name.
const maxSameTime = 1000

// create creates the file. Where a name with a time exists already, the time gets a number: a
// client may start several servers at once.
func (r *recorder) create(now time.Time) (*os.File, error) {
	stamp := now.Format("20060102-150405")
	for n := 1; ; n++ {
		name := strings.ReplaceAll(r.output, timeMark, stamp)
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) || name == r.output || n == maxSameTime {
			return file, err
		}
		stamp = now.Format("20060102-150405-") + strconv.Itoa(n+1)
	}
}

// close closes the file, and removes a recording without any event: the name is free for
// the next attempt. Every line was written when it arose.
func (l *recording) close() {
	_ = l.file.Close()
	if l.writer.Len() == 0 {
		_ = os.Remove(l.file.Name())
	}
}
