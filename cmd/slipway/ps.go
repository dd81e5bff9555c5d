package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	shell "github.com/slipway-mcp/slipway/internal/process"
	"github.com/slipway-mcp/slipway/internal/style"
	"github.com/slipway-mcp/slipway/internal/visible"
	"github.com/slipway-mcp/slipway/serve"
)

func newPs() *cobra.Command {
	ofCluster := false
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List running slipway servers of this user",
		Long: `List the running slipway processes of this user (serve, config run, bundle run)
with uptime, sessions, streams, goroutines, open files and memory, and for each
of their servers its PID, phase, restarts, requests in flight and last error.
Logins that callers have made to servers behind a gateway are listed, too;
"slipway logout --caller" ends them.

Processes answer on a socket that only this user and root can access, in
$XDG_RUNTIME_DIR/slipway or in run/ of the state folder; SLIPWAY_STATE_DIR sets
another folder. A process that does not answer within two seconds is reported.

With --cluster, list all replicas of the clusters of these processes, with
address, version, digest of definitions, sessions, streams, tasks, requests in
flight, processes for clients with their limit, and memory. Replicas that differ
or do not answer are marked.`,
		Example: `  slipway ps
  slipway ps --cluster
  slipway ps --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir := runDir()
			if dir == "" {
				return badInput("SLIPWAY_STATE_DIR names one", "ps: no state folder")
			}
			all, err := serve.Processes(cmd.Context(), dir)
			if err != nil {
				return badInput("chmod 700 "+shell.PathWord(dir)+", if it is yours", "ps: %v", err)
			}
			if len(all) == 0 && !wantsJSON(cmd) {
				say(cmd.ErrOrStderr(), "no slipway server is running")
			}
			if !ofCluster {
				return showList(cmd, "processes", all, printProcesses)
			}
			clusters := clustersOf(all)
			if len(clusters) == 0 && len(all) > 0 && !wantsJSON(cmd) {
				say(cmd.ErrOrStderr(), "no running slipway server belongs to a cluster")
			}
			return showList(cmd, "clusters", clusters, printClusters)
		},
	}
	cmd.Flags().BoolVar(&ofCluster, "cluster", false, "list the replicas of their clusters")
	wideFlag(cmd)
	jsonFlag(cmd, "the processes")
	return cmd
}

// printProcesses prints processes in their order, separated by empty lines.
func printProcesses(w io.Writer, all []serve.Process) error {
	for i := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := printProcess(w, &all[i], time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// printProcess prints one process and its servers.
func printProcess(w io.Writer, p *serve.Process, now time.Time) error {
	if p.Error != "" {
		_, err := fmt.Fprintf(w, "%d  %s\n", p.PID, visible.Line(p.Error))
		return err
	}
	words := []string{"up " + age(now.Sub(p.Started))}
	if p.Endpoint != "stdio" {
		sessions := count(p.Sessions.Count, "session")
		if !p.Sessions.Oldest.IsZero() {
			sessions += " (oldest " + age(now.Sub(p.Sessions.Oldest)) + ")"
		}
		words = append(words, sessions, count(p.Streams, "stream"))
	}
	words = append(words, count(p.Goroutines, "goroutine"))
	if p.Descriptors > 0 {
		words = append(words, count(p.Descriptors, "open file"))
	}
	if p.Memory > 0 {
		words = append(words, fmt.Sprintf("%.1f MB", float64(p.Memory)/1e6))
	}
	out := newLayout(w)
	out.line(plain(strconv.Itoa(p.PID)+"  "), named("slipway "+p.Command), plain("  "+p.Endpoint))
	out.line(plain("  " + strings.Join(words, ", ")))
	if c := p.Config; c != nil {
		out.line(configLine(c, now)...)
	}
	if err := out.flush(); err != nil {
		return err
	}
	if len(p.Servers) > 0 {
		if err := printServers(w, p.Servers, now); err != nil {
			return err
		}
	}
	return printConnections(w, p.Connections, now)
}

// printConnections prints the logins of callers.
func printConnections(w io.Writer, all []serve.Connection, now time.Time) error {
	if len(all) == 0 {
		return nil
	}
	rows := [][]string{{"CALLER", "SERVER", "SCOPES", "LOGIN"}}
	for i := range all {
		c := &all[i]
		login := "valid"
		switch {
		case c.Ended != "":
			login = "ended: " + visible.Line(c.Ended)
		case c.Refreshable:
			login = "refreshed"
		case !c.Expires.IsZero() && !c.Expires.After(now):
			login = "expired"
		case !c.Expires.IsZero():
			login = "expires in " + age(c.Expires.Sub(now))
		}
		rows = append(rows, []string{visible.Line(c.Principal), visible.Line(c.Server),
			dashed(visible.Line(strings.Join(c.Scopes, " "))), login})
	}
	out := newLayout(w)
	out.grid("  ", rows, 0, 2)
	return out.flush()
}

// configLine describes the configuration file of a process.
func configLine(c *serve.ConfigState, now time.Time) []span {
	line := []span{plain("  " + c.File + " loaded " + age(now.Sub(c.Loaded)) + " ago")}
	if c.Failing {
		line = append(line, plain("; "), span{style.Error, "not reloaded: " + c.Error})
	}
	if len(c.Restart) > 0 {
		line = append(line, plain("; "), span{style.Warning, "needs a restart for " + strings.Join(c.Restart, ", ")})
	}
	return line
}

// printServers prints a table of the servers of a process, and below it the last error of
// each that is failing. The first start of a server is not a restart.
func printServers(w io.Writer, servers []serve.Upstream, now time.Time) error {
	rows := [][]string{{"SERVER", "TRANSPORT", "PHASE", "FOR", "PID", "RESTARTS", "FAILURES", "IN FLIGHT", "PROTOCOL"}}
	for i := range servers {
		s := &servers[i]
		phase := s.Phase
		if s.Phase == "waiting" && s.Next.After(now) {
			phase += ", " + age(s.Next.Sub(now)) + " more"
		}
		rows = append(rows, []string{s.Name, dashed(s.Transport), phase, age(now.Sub(s.Since)), orDash(s.PID),
			strconv.Itoa(max(s.Starts-1, 0)), strconv.Itoa(s.Failures), strconv.Itoa(s.InFlight), dashed(s.Version)})
	}
	out := newLayout(w)
	out.grid("  ", rows, 0, 2)
	for i := range servers {
		if s := &servers[i]; s.Error != "" && (s.Failures > 0 || s.Phase == "left out" || s.Phase == "unresponsive") {
			out.line(plain("  "), named(s.Name), plain(": "), span{style.Error, strings.Join(strings.Fields(s.Error), " ")})
		}
	}
	return out.flush()
}

// orDash returns a number for a table, where a dash is easier to skip than a zero.
func orDash(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// dashed returns a text for a table, with a dash for an empty one.
func dashed(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// age formats a duration with its one or two largest units.
func age(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}
