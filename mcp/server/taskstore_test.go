package server

import (
	"context"
	"encoding/json"
	"testing"
	"time"
)

// A result that is not kept is never visible, not even briefly: clients that poll would
// consider the task completed.
func TestRefusedRecordStaysOut(t *testing.T) {
	options := &Options{Budget: Budget{Bytes: 1 << 20, ClientBytes: 8 << 10}}
	store := &memoryTasks{ledger: newLedger(options)}
	ctx := context.WithValue(t.Context(), clientKey{}, "alice")
	working := TaskRecord{ID: "t", Status: TaskWorking, Created: time.Now(), TTL: time.Hour}
	if err := store.PutTask(ctx, working); err != nil {
		t.Fatal(err)
	}
	seen := make(chan string)
	stop := make(chan struct{})
	go func() {
		status := TaskWorking
		for {
			if r, ok, _ := store.GetTask(ctx, "t"); !ok {
				status = "gone"
			} else if r.Status != TaskWorking {
				status = r.Status
			}
			select {
			case <-stop:
				seen <- status
				return
			default:
			}
		}
	}()
	completed := working
	completed.Status, completed.Result = TaskCompleted, json.RawMessage(make([]byte, 9<<10))
	for range 10_000 {
		if err := store.PutTask(ctx, completed); err == nil {
			t.Fatal("a result beyond the share is kept")
		}
	}
	close(stop)
	if got := <-seen; got != TaskWorking {
		t.Errorf("a client that polled saw the task %s", got)
	}
}
