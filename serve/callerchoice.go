package serve

import (
	"maps"
	"time"

	"github.com/slipway-mcp/slipway/cluster"
)

// chosenHome is a replica that was just chosen as the home of a caller. It may not have written its record yet.
type chosenHome struct {
	id    string
	until time.Time // when the choice no longer counts
}

// maxChosen bounds the choices that are remembered.
const maxChosen = 1000

// choose returns the replica that becomes the home of a caller, or nil for this one. If all run as many processes as
// they may, it is this one, which stops an idle process or refuses the call. It is also this one, although it is about
// to stop, if no other answers. If it is another one, requests of the caller that arrive meanwhile get the same.
func (c *callerHomes) choose(caller string, unreachable map[string]bool) *cluster.Peer {
	if peer := c.choice(caller, unreachable); peer != nil {
		return peer
	}
	placed, _ := c.handler.placing.choose(c.hop)
	if placed != nil && unreachable[placed.ID] {
		c.handler.placing.withdraw(placed.ID)
		placed = nil
	}
	peer := placed
	if peer == nil && c.retiring.Load() {
		peer = c.successor(caller, unreachable)
	}
	if peer == nil {
		return nil
	}
	first := c.noteChoice(caller, peer, unreachable)
	if placed != nil && first != placed {
		c.handler.placing.withdraw(placed.ID)
	}
	return first
}

// choice returns the replica that was chosen for a caller a moment ago, or nil.
func (c *callerHomes) choice(caller string, unreachable map[string]bool) *cluster.Peer {
	c.choosing.Lock()
	defer c.choosing.Unlock()
	return c.choiceLocked(caller, unreachable)
}

func (c *callerHomes) choiceLocked(caller string, unreachable map[string]bool) *cluster.Peer {
	last := c.chosen[caller]
	if last.id == "" || unreachable[last.id] || time.Now().After(last.until) {
		return nil
	}
	return c.replica.Known(last.id)
}

// noteChoice remembers the choice for a caller, and returns it, or that of another request which was first.
func (c *callerHomes) noteChoice(caller string, peer *cluster.Peer, unreachable map[string]bool) *cluster.Peer {
	c.choosing.Lock()
	defer c.choosing.Unlock()
	if first := c.choiceLocked(caller, unreachable); first != nil {
		return first
	}
	now := time.Now()
	if len(c.chosen) >= maxChosen {
		maps.DeleteFunc(c.chosen, func(_ string, h chosenHome) bool { return now.After(h.until) })
	}
	if len(c.chosen) < maxChosen {
		c.chosen[caller] = chosenHome{
			id:    peer.ID,
			until: now.Add(recordTimeout),
		}
	}
	return peer
}

// forgetChoice makes the next request of a caller choose again, if the replica with that id was chosen.
func (c *callerHomes) forgetChoice(caller, id string) {
	c.choosing.Lock()
	defer c.choosing.Unlock()
	if c.chosen[caller].id == id {
		delete(c.chosen, caller)
	}
}
