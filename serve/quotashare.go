package serve

import (
	"fmt"
	"maps"
	"time"
)

// noteLocked marks a counter for the other replicas. If what they do not know could exceed
// the quota by more than a hundredth of what is left, they should know at once.
func (q *quotas) noteLocked(key counterKey, c *counter) {
	if q.replicas < 2 {
		return
	}
	q.changed[key] = struct{}{}
	unsent := c.used - c.sent
	if q.all[key.quota].Per == 0 || 100*unsent*q.replicas > q.left(key, c) {
		q.urgent()
	}
}

// share makes quotas count for all replicas. urgent is called, with a lock held, when others
// should be notified before the next regular message.
func (q *quotas) share(urgent func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.urgent = urgent
	q.changed = make(map[counterKey]struct{})
}

// quotaUsage is what a replica has used of a quota, as others receive it. All of it is
// absolute, so a message that arrives twice, or by way of another replica, changes nothing.
type quotaUsage struct {
	// Quota identifies the quota, so that replicas with other limits do not mix them.
	Quota string `json:"quota"`
	usageClient

	// Period is the number of the period, and Replica the one that counts.
	Period  int64  `json:"period"`
	Replica string `json:"replica"`
	Used    int    `json:"used,omitempty"`
	Running int    `json:"running,omitempty"`
}

// quotaID identifies a quota across replicas.
func (q *Quota) id() string {
	return fmt.Sprintf("%s=%d/%v,%t", q.Pattern, q.Calls, q.Per, q.Shared)
}

// usageKey identifies a value of quotaUsage; a later one replaces it.
type usageKey struct {
	counter counterKey
	replica string
}

// changes returns the usage here since the last call.
func (q *quotas) changes(self string) map[usageKey]quotaUsage {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make(map[usageKey]quotaUsage, len(q.changed))
	for key := range q.changed {
		if c := q.counters[key]; c != nil {
			c.sent = c.used
			all[usageKey{key, self}] = q.describeUsage(key, c.period, self, quotaCount{c.used, c.running})
		}
	}
	clear(q.changed)
	return all
}

// describeUsage returns a counter in the form that replicas exchange. Quotas have an ID there: the
// replicas may list them in another order.
func (q *quotas) describeUsage(
	key counterKey,
	period int64,
	replica string,
	u quotaCount,
) quotaUsage {
	return quotaUsage{
		Quota:       q.all[key.quota].id(),
		usageClient: usageClientOf(key.client),
		Period:      period,
		Replica:     replica,
		Used:        u.Used,
		Running:     u.Running,
	}
}

// everything returns the usage here and at replicas that have left, for one that has joined.
func (q *quotas) everything(self string, alive map[string]bool) map[usageKey]quotaUsage {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make(map[usageKey]quotaUsage, len(q.counters))
	for key, c := range q.counters {
		all[usageKey{key, self}] = q.describeUsage(key, c.period, self, quotaCount{c.used, c.running})
		for replica, u := range c.others {
			if alive[replica] {
				continue // it reports itself
			}
			all[usageKey{key, replica}] = q.describeUsage(key, c.period, replica, u)
		}
	}
	return all
}

// receive merges the usage of another replica.
func (q *quotas) receive(self string, received []quotaUsage) {
	ids := make(map[string]int, len(q.all))
	for i := range q.all {
		ids[q.all[i].id()] = i
	}
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range received {
		u := &received[i]
		quota, ok := ids[u.Quota]
		if !ok || u.Replica == self || u.Used < 0 || u.Running < 0 {
			continue
		}
		c := q.counterLocked(counterKey{quota: quota, client: u.key()}, now)
		if c.period != u.Period {
			continue // of another period, or of a clock that differs
		}
		if c.others == nil {
			c.others = make(map[string]quotaCount)
		}
		_, known := c.others[u.Replica]
		if !known && len(c.others) >= maxUsageReplicas {
			continue
		}
		c.others[u.Replica] = quotaCount{
			Used:    max(u.Used, c.others[u.Replica].Used),
			Running: u.Running,
		}
	}
}

// setReplicas updates the members of the cluster. What replicas that have left used of a
// period still counts; their running calls do not.
func (q *quotas) setReplicas(alive map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.replicas = len(alive) + 1
	for _, c := range q.counters {
		maps.DeleteFunc(c.others, func(replica string, u quotaCount) bool {
			return !alive[replica] && u.Used == 0
		})
		for replica, u := range c.others {
			if u.Running > 0 && !alive[replica] {
				c.others[replica] = quotaCount{Used: u.Used}
			}
		}
	}
}
