package serve_test

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slipway-mcp/slipway/internal/nats"
	"github.com/slipway-mcp/slipway/internal/test/natstest"
	"github.com/slipway-mcp/slipway/mcp"
)

// TestFanOut measures how long it takes until a change at one of 50 replicas has reached a client of each,
// with a real NATS server. It prints rows of a table.
func TestFanOut(t *testing.T) {
	if os.Getenv("SLIPWAY_CLUSTER_FIGURES") == "" {
		t.Skip("run scripts/cluster-figures")
	}
	const replicas, changes = 50, 20
	e, err := nats.Open("nats://"+natstest.Start(t).Addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	var first *changing
	var streams []<-chan string
	for range replicas {
		src := &changing{}
		if first == nil {
			first = src
		}
		streams = append(streams, startLeased(t, e, src, time.Second, 4*time.Second).listen(t))
	}
	var mu sync.Mutex
	var all []time.Duration
	for range changes {
		var waiting sync.WaitGroup
		began := time.Now()
		first.change(mcp.Change{Tools: true})
		for i, s := range streams {
			waiting.Go(func() {
				select {
				case <-s:
				case <-time.After(5 * time.Second):
					t.Errorf("replica %d was not notified", i)
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, time.Since(began))
			})
		}
		waiting.Wait()
		time.Sleep(250 * time.Millisecond) // twice the time in which changes are merged
		for i, s := range streams {
			select {
			case method := <-s:
				t.Errorf("replica %d also received %q", i, method)
			default:
			}
		}
	}
	slices.Sort(all)
	p99, longest := all[len(all)*99/100], all[len(all)-1]
	fmt.Printf("| a change at one of %d replicas, at a client of each: median, p99 | %v, %v | |\n", replicas,
		all[len(all)/2].Round(time.Millisecond), p99.Round(time.Millisecond))
	if longest > time.Second {
		t.Errorf("the last client was notified after %v", longest)
	}
}
