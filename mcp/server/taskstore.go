package server

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// TaskRecord is the state of a task at one moment.
type TaskRecord struct {
	ID     string
	Status string
	// StatusMessage may be shown to the user. It may be empty.
	StatusMessage string
	Created       time.Time
	Updated       time.Time
	// TTL is the time after Created when the record may be deleted; 0 means never.
	TTL          time.Duration
	PollInterval time.Duration
	// Principal is the name of the [mcp.Principal] that started the task, who alone may see it.
	// It may be empty.
	Principal string
	// Tool is the name of the tool that started the task, as called by the client, and
	// Origins are its [mcp.Tool.Origins]. A [Gate] needs both.
	Tool    string
	Origins []mcp.Origin
	// Result, Error and InputRequests are the JSON objects of the states completed, failed
	// and input_required.
	Result, Error, InputRequests json.RawMessage
}

// TaskStore stores the records of tasks. Its methods are called concurrently. The work
// itself runs in the process that started it.
type TaskStore interface {
	// PutTask creates or replaces a record. GetTask must find it once PutTask has returned.
	PutTask(ctx context.Context, r TaskRecord) error
	// GetTask returns a record, and whether it exists.
	GetTask(ctx context.Context, id string) (TaskRecord, bool, error)
}

// appendMembers appends the members of a Task. With detail, it includes the members
// specific to its state.
func (r *TaskRecord) appendMembers(dst []byte, detail bool) []byte {
	dst = jsonscan.AppendQuote(append(dst, `"taskId":`...), r.ID)
	dst = jsonscan.AppendQuote(append(dst, `,"status":`...), r.Status)
	if r.StatusMessage != "" {
		dst = jsonscan.AppendQuote(append(dst, `,"statusMessage":`...), r.StatusMessage)
	}
	dst = jsonscan.AppendQuote(append(dst, `,"createdAt":`...),
		r.Created.Format(time.RFC3339Nano))
	dst = jsonscan.AppendQuote(append(dst, `,"lastUpdatedAt":`...),
		r.Updated.Format(time.RFC3339Nano))
	if r.TTL > 0 {
		dst = strconv.AppendInt(append(dst, `,"ttlMs":`...), r.TTL.Milliseconds(), 10)
	} else {
		dst = append(dst, `,"ttlMs":null`...)
	}
	dst = strconv.AppendInt(append(dst, `,"pollIntervalMs":`...),
		r.PollInterval.Milliseconds(), 10)
	if !detail {
		return dst
	}
	for _, part := range []struct {
		name  string
		value json.RawMessage
	}{{"result", r.Result}, {"error", r.Error}, {"inputRequests", r.InputRequests}} {
		if part.value != nil {
			dst = append(append(append(append(dst, `,"`...), part.name...), `":`...), part.value...)
		}
	}
	return dst
}

// memoryTasks is the default TaskStore.
type memoryTasks struct {
	ledger *ledger

	mu      sync.Mutex
	records map[string]*storedTask
}

// storedTask is a record in memory. Once it is final it has an entry in the ledger;
// before that, the running task has one.
type storedTask struct {
	store  *memoryTasks
	record TaskRecord
	kept   kept
	gone   bool // given up; guarded by memoryTasks.mu
}

// PutTask implements TaskStore. It fails if a final record is larger than the limit for
// its client, whose name is in ctx; the previous record is then kept.
func (m *memoryTasks) PutTask(ctx context.Context, r TaskRecord) error {
	t := &storedTask{
		store:  m,
		record: r,
	}
	t.kept.seen.Store(int64(m.ledger.now() + time.Until(r.Created.Add(r.TTL)))) // expiry
	if isFinal(r.Status) {
		client, _ := ctx.Value(clientKey{}).(string)
		size := costFinished + len(r.Result) + len(r.Error) + len(r.InputRequests) + len(r.StatusMessage)
		if !m.ledger.book(&t.kept, client, keptFinished, 1, int64(size), t) {
			return busy("the result of %d bytes is more than the server keeps for one client", len(r.Result))
		}
	}
	if old := m.replace(t); old != nil {
		m.ledger.release(&old.kept)
	}
	return nil
}

// replace stores t and returns the previous record of the task.
func (m *memoryTasks) replace(t *storedTask) (old *storedTask) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = make(map[string]*storedTask)
	}
	old = m.records[t.record.ID]
	m.records[t.record.ID] = t
	if t.gone {
		delete(m.records, t.record.ID)
	}
	return old
}

// giveUp implements keeper.
func (t *storedTask) giveUp() {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	t.gone = true
	if t.store.records[t.record.ID] == t {
		delete(t.store.records, t.record.ID)
	}
}

func (r *TaskRecord) expired() bool {
	return r.TTL > 0 && time.Since(r.Created) > r.TTL
}

// GetTask implements TaskStore.
func (m *memoryTasks) GetTask(_ context.Context, id string) (TaskRecord, bool, error) {
	m.mu.Lock()
	t := m.records[id]
	m.mu.Unlock()
	switch {
	case t == nil:
		return TaskRecord{}, false, nil
	case t.record.expired():
		m.ledger.release(&t.kept)
		t.giveUp()
		return TaskRecord{}, false, nil
	}
	return t.record, true, nil
}
