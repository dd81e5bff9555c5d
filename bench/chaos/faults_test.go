package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/bench/system"
)

// The faults, and their shares in percent.
const (
	killed       = "servers killed"
	paused       = "servers suspended for less than 2 s"
	hung         = "servers suspended until replaced"
	hungAtURL    = "servers at a URL suspended for 15 s"
	killShare    = 45
	pauseShare   = 40
	longestPause = 2 * time.Second
	hangAtURL    = 15 * time.Second // the watchdog notices, and the server has recovered by then
)

func faultNames() []string { return []string{killed, paused, hung, hungAtURL} }

// causeFaults causes faults until ctx ends, and returns the number of each. When it
// returns, no server is suspended.
func (c *chaos) causeFaults(ctx context.Context) map[string]int {
	random := rand.New(rand.NewPCG(c.seed, 0))
	counts := make(map[string]int)
	busy := make(map[*server]bool)
	var mu sync.Mutex // guards busy and counts
	var group sync.WaitGroup
	defer group.Wait()
	for wait(ctx, time.Duration((0.5+random.Float64())*float64(c.pause))) {
		s, percent, length := c.servers[random.IntN(len(c.servers))], random.IntN(100), random.Float64()
		mu.Lock()
		taken := busy[s]
		busy[s] = true
		mu.Unlock()
		if taken {
			continue
		}
		group.Go(func() {
			name, err := c.fault(ctx, s, percent, length)
			if err != nil {
				fmt.Fprintf(c.progress, "%s: %v\n", s.name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			delete(busy, s)
			if name != "" {
				counts[name]++
			}
		})
	}
	group.Wait()
	return counts
}

// fault causes one fault and returns its name, or "" if there was no process.
func (c *chaos) fault(ctx context.Context, s *server, percent int, length float64) (string, error) {
	pid := s.pid(c.front)
	if pid == 0 {
		return "", nil
	}
	switch {
	case percent < killShare && s.isChild():
		return killed, system.Signal(pid, system.Kill)
	case percent < killShare:
		s.stop()
		return killed, s.start(ctx)
	case percent < killShare+pauseShare:
		return paused, suspend(ctx, pid, time.Duration(length*float64(longestPause)))
	case s.isChild():
		return hung, suspend(ctx, pid, 2*callBound)
	}
	return hungAtURL, suspend(ctx, pid, hangAtURL)
}

// suspend stops a process for a time, or until it has exited.
func suspend(ctx context.Context, pid int, d time.Duration) error {
	if err := system.Signal(pid, system.Suspend); err != nil {
		return err
	}
	for end := time.Now().Add(d); time.Now().Before(end) && system.Exists(pid); {
		if !wait(ctx, min(100*time.Millisecond, time.Until(end))) {
			break
		}
	}
	if !system.Exists(pid) {
		return nil // replaced
	}
	return system.Signal(pid, system.Resume)
}

// wait reports whether d passed before the end of ctx.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
