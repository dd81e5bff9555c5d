package mcp

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// TaskRecord is the state of a task at one moment.
type TaskRecord struct {
	ID     string
	Status string
	// StatusMessage may be shown to the user, or is empty.
	StatusMessage string
	Created       time.Time
	Updated       time.Time
	// TTL is how long after Created the record may be deleted; 0 means never.
	TTL          time.Duration
	PollInterval time.Duration
	// Principal is who may see the task: the name of the [Principal] that
	// began it, or empty.
	Principal string
	// Result, Error and InputRequests are JSON objects that belong to the
	// states completed, failed and input_required.
	Result, Error, InputRequests json.RawMessage
}

// TaskStore keeps the records of tasks. Its methods are called concurrently.
// The work itself runs in the process that began it.
type TaskStore interface {
	// PutTask creates or replaces a record. When it returns, GetTask finds it.
	PutTask(ctx context.Context, r TaskRecord) error
	// GetTask returns a record, and whether there is one.
	GetTask(ctx context.Context, id string) (TaskRecord, bool, error)
}

// appendMembers appends the members of a Task, and with detail what belongs to
// its state.
func (r *TaskRecord) appendMembers(dst []byte, detail bool) []byte {
	dst = jsonscan.AppendQuote(append(dst, `"taskId":`...), r.ID)
	dst = jsonscan.AppendQuote(append(dst, `,"status":`...), r.Status)
	if r.StatusMessage != "" {
		dst = jsonscan.AppendQuote(append(dst, `,"statusMessage":`...), r.StatusMessage)
	}
	dst = jsonscan.AppendQuote(append(dst, `,"createdAt":`...), r.Created.Format(time.RFC3339Nano))
	dst = jsonscan.AppendQuote(append(dst, `,"lastUpdatedAt":`...), r.Updated.Format(time.RFC3339Nano))
	if r.TTL > 0 {
		dst = strconv.AppendInt(append(dst, `,"ttlMs":`...), r.TTL.Milliseconds(), 10)
	} else {
		dst = append(dst, `,"ttlMs":null`...)
	}
	dst = strconv.AppendInt(append(dst, `,"pollIntervalMs":`...), r.PollInterval.Milliseconds(), 10)
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

// memoryTasks is the TaskStore of a server that was given none.
type memoryTasks struct {
	limit int

	mu      sync.Mutex
	records map[string]TaskRecord
}

// PutTask implements TaskStore. A full store gives up what has expired, and
// refuses new tasks if nothing has.
func (m *memoryTasks) PutTask(_ context.Context, r TaskRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.records[r.ID]; !ok && len(m.records) >= m.limit {
		m.sweep()
		if len(m.records) >= m.limit {
			return Errorf(CodeToolBusy, "too many tasks are remembered")
		}
	}
	if m.records == nil {
		m.records = make(map[string]TaskRecord)
	}
	m.records[r.ID] = r
	return nil
}

func (m *memoryTasks) sweep() {
	for id, r := range m.records {
		if r.expired() {
			delete(m.records, id)
		}
	}
}

func (r *TaskRecord) expired() bool { return r.TTL > 0 && time.Since(r.Created) > r.TTL }

// GetTask implements TaskStore.
func (m *memoryTasks) GetTask(_ context.Context, id string) (TaskRecord, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[id]
	if ok && r.expired() {
		delete(m.records, id)
		return TaskRecord{}, false, nil
	}
	return r, ok, nil
}
