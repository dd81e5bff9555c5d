package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/slipway-mcp/slipway/internal/jsonscan"
	"github.com/slipway-mcp/slipway/mcp"
)

// The tasks extension of 2026-07-28, io.modelcontextprotocol/tasks (SEP-2663): a tool
// call immediately returns a handle, and the client fetches the result later.

const tasksExtension = "io.modelcontextprotocol/tasks"

// The states of a task. The last three are final.
const (
	TaskWorking       = "working"
	TaskInputRequired = "input_required"
	TaskCompleted     = "completed"
	TaskFailed        = "failed"
	TaskCancelled     = "cancelled"
)

// errTask makes the server answer with the task.
var errTask = errors.New("the call has become a task")

// RequireTasks implements [mcp.Request.RequireTasks].
func (rc *request) RequireTasks() error {
	if rc.knowsTasks() {
		return nil
	}
	return rc.missingTasks()
}

func (rc *request) missingTasks() error {
	return rc.missingCapability(json.RawMessage(`{"extensions":{"` + tasksExtension + `":{}}}`))
}

// knowsTasks reports whether the client has declared the extension for this request. The
// request of a task itself cannot start another.
func (rc *request) knowsTasks() bool {
	if !rc.version.Modern() || rc.task != nil {
		return false
	}
	caps := rc.clientCapabilities()
	return caps.has("extensions") && jsonscan.IsObject(jsonscan.Member(jsonscan.Member(caps, "extensions"),
		tasksExtension))
}

// Task implements [mcp.Request.Task].
func (rc *request) Task(
	ctx context.Context,
	opts *mcp.TaskOptions,
	work func(context.Context) (*mcp.CallToolResult, error),
) (*mcp.CallToolResult, error) {
	var o mcp.TaskOptions
	if opts != nil {
		o = *opts
	}
	switch {
	case rc.knowsTasks():
	case o.Required:
		return nil, rc.missingTasks()
	default:
		return work(ctx)
	}
	if o.TTL <= 0 {
		o.TTL = time.Hour
	}
	if o.PollInterval <= 0 {
		o.PollInterval = time.Second
	}
	t, err := rc.server.tasks.start(rc, o, work)
	if err != nil {
		return nil, err
	}
	rc.started = t
	return nil, errTask
}

// newTaskID returns an id that cannot be guessed. With a replica's name, the id contains it
// sealed, so that other replicas can forward requests for the task.
func (s *Server) newTaskID() string {
	if s.opts.Replica == "" {
		return rand.Text()
	}
	return s.sealReplica(taskContext)
}

// taskRunner runs the tasks of a server.
type taskRunner struct {
	server *Server
	store  TaskStore

	mu      sync.Mutex
	running map[string]*task
	closed  bool
	all     sync.WaitGroup
}

// count returns the number of running tasks.
func (r *taskRunner) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.running)
}

// task is a task running in this process.
type task struct {
	runner *taskRunner
	rc     *request
	kept   kept
	ended  chan struct{} // closed when the work has returned

	mu     sync.Mutex
	record TaskRecord
	open   map[string]*question
	posed  map[string]*question // by key; keys of answered questions are not reused
	given  map[string]json.RawMessage
	wrong  map[string]int   // wrong answers so far, by key
	failed map[string]error // questions that had only wrong answers
	news   chan struct{}    // closed and replaced when an answer arrives
}

// start books, stores and runs a task for the request's tool call.
func (r *taskRunner) start(
	rc *request,
	o mcp.TaskOptions,
	work func(context.Context) (*mcp.CallToolResult, error),
) (*task, error) {
	now := time.Now().UTC()
	t := &task{
		runner: r,
		record: TaskRecord{
			ID:           r.server.newTaskID(),
			Status:       TaskWorking,
			Created:      now,
			Updated:      now,
			TTL:          o.TTL,
			PollInterval: o.PollInterval,
			Principal:    principalID(mcp.PrincipalFrom(rc)),
			Tool:         rc.callTool.Name,
			Origins:      rc.callTool.Origins,
		},
		posed:  make(map[string]*question),
		given:  make(map[string]json.RawMessage),
		wrong:  make(map[string]int),
		failed: make(map[string]error),
		news:   make(chan struct{}),
		ended:  make(chan struct{}),
	}
	t.rc = r.server.newRequest(context.WithoutCancel(rc.values()), rc.remote, rc.transport)
	t.rc.detached = true
	t.rc.task = t
	t.rc.version = rc.version
	t.rc.msg = rc.msg
	t.rc.meta, t.rc.metaRead = rc.meta, rc.metaRead
	t.rc.header = rc.header
	t.rc.meta.progressToken = nil
	t.rc.meta.logLevel = nil
	if !r.admit(rc, t) {
		return nil, errTasksBusy
	}
	if err := r.launch(rc, t, work); err != nil {
		r.server.ledger.release(&t.kept)
		return nil, err
	}
	return t, nil
}

var errTasksBusy = busy("too many tasks are running: try again later")

// admit books a new task. If older tasks are cancelled to make room, it waits briefly for
// their work to return.
func (r *taskRunner) admit(rc *request, t *task) bool {
	client := rc.Client()
	size := costTask + int64(rc.msg.size)
	gone, ok := r.server.ledger.enter(&t.kept, client, keptRunning, 1, size, t)
	gone.giveUp()
	if ok || len(gone) == 0 {
		return ok
	}
	timeout := time.NewTimer(taskPatience)
	defer timeout.Stop()
	for _, k := range gone {
		old, ok := k.owner.(*task)
		if !ok {
			continue
		}
		select {
		case <-old.ended:
		case <-timeout.C:
			return false
		case <-rc.Done():
			return false
		}
	}
	return r.server.ledger.book(&t.kept, client, keptRunning, 1, size, t)
}

// taskPatience is how long a new task waits for the tasks it replaces to end.
const taskPatience = 250 * time.Millisecond

// launch stores the first record of a task and starts its goroutine, unless the server
// is ending.
func (r *taskRunner) launch(rc *request, t *task, work func(context.Context) (*mcp.CallToolResult, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return busy("the server is shutting down")
	}
	if err := r.store.PutTask(rc, t.record); err != nil {
		return notStored(err)
	}
	if r.running == nil {
		r.running = make(map[string]*task)
	}
	r.running[t.record.ID] = t
	r.all.Add(1)
	go t.run(work)
	return nil
}

// giveUp implements keeper: the task fails, and its work is cancelled.
func (t *task) giveUp() {
	go func() { // update has to wait while another task is being stored
		t.update(func(r *TaskRecord) {
			r.Status, r.Error = TaskFailed, object(errTaskShed)
		})
		t.rc.cancel()
	}()
}

var errTaskShed = busy("the task was cancelled to make room for another: too many are running")

// notStored returns the error for the client when the store has failed. It hides the cause,
// which the model need not see.
func notStored(err error) error {
	var e *mcp.Error
	if errors.As(err, &e) {
		return err
	}
	return &mcp.Error{
		Code:    mcp.CodeInternalError,
		Message: "the task could not be stored",
		Cause:   err,
	}
}

// run is the goroutine of a task. It ends when work returns.
func (t *task) run(work func(context.Context) (*mcp.CallToolResult, error)) {
	defer t.runner.all.Done()
	timeout := time.AfterFunc(t.record.TTL, t.rc.cancel)
	defer timeout.Stop()
	result, err := t.runWork(work)
	ended := t.rc.Err()
	cancelled := t.rc.finish()
	var encoded json.RawMessage
	if err != nil {
		result, err = toolFailure(err, t.rc.version, ended)
	}
	if err == nil {
		encoded, err = encodeTaskResult(result)
	}
	t.update(func(r *TaskRecord) {
		switch {
		case cancelled:
			r.Status = TaskCancelled
		case err != nil:
			e := t.runner.server.wireError(t.rc, err, ended)
			r.Status, r.Error = TaskFailed, object(e)
		default:
			r.Status = TaskCompleted
			r.Result = encoded
		}
	})
	t.runner.mu.Lock()
	delete(t.runner.running, t.record.ID)
	t.runner.mu.Unlock()
	t.runner.server.ledger.release(&t.kept)
	close(t.ended)
}

// encodeTaskResult encodes a result once, as it is stored and sent.
func encodeTaskResult(result *mcp.CallToolResult) (json.RawMessage, error) {
	if result == nil {
		return nil, mcp.Errorf(mcp.CodeToolBadOutput, "the task returned no result")
	}
	encoded, err := result.MarshalJSON()
	if err == nil {
		err = jsonscan.Valid(encoded)
	}
	// Drops the spare capacity, or the buffer it is part of.
	return bytes.Clone(encoded), err
}

// runWork calls work and turns a panic into an error.
func (t *task) runWork(work func(context.Context) (*mcp.CallToolResult, error)) (result *mcp.CallToolResult,
	err error) {
	defer func() {
		if p := recover(); p != nil {
			t.runner.server.log.Error("panic in a task", "panic", fmt.Sprint(p),
				"stack", string(debug.Stack()))
			result, err = nil, mcp.Errorf(mcp.CodeToolCrashed, "the tool crashed")
		}
	}()
	return work(t.rc)
}

// update changes the record, stores it, and notifies the listeners.
func (t *task) update(edit func(*TaskRecord)) {
	t.mu.Lock()
	if isFinal(t.record.Status) {
		t.mu.Unlock()
		return
	}
	t.record.InputRequests = nil
	edit(&t.record)
	t.record.Updated = time.Now().UTC()
	ctx := context.WithoutCancel(t.rc) // the record outlives the work
	err := t.runner.store.PutTask(ctx, t.record)
	busy := (*mcp.Error)(nil)
	if errors.As(err, &busy) && t.record.Result != nil {
		t.record.Status, t.record.Result, t.record.Error = TaskFailed, nil, object(busy)
		err = t.runner.store.PutTask(ctx, t.record)
	}
	id := t.record.ID
	t.mu.Unlock()
	if err != nil {
		t.runner.server.log.Error("store a task", "error", err)
	}
	t.runner.server.hub.changed(change{id: id})
}

func isFinal(status string) bool {
	return status == TaskCompleted || status == TaskFailed || status == TaskCancelled
}

// ask sends questions to the client and waits for the answers. Until then the task is in
// state input_required.
func (t *task) ask(ctx context.Context, questions []*question) ([]json.RawMessage, error) {
	keys, err := t.addQuestions(questions)
	if err != nil {
		return nil, err
	}
	for {
		t.mu.Lock()
		news := t.news
		answers, err := t.answers(keys)
		t.mu.Unlock()
		if answers != nil || err != nil {
			return answers, err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.rc.Done():
			return nil, t.rc.Err()
		}
	}
}

// addQuestions assigns every question a key that is new in the task.
func (t *task) addQuestions(questions []*question) (keys []string, err error) {
	err = context.Canceled // remains if the task has ended
	var gone victims
	defer func() { gone.giveUp() }()
	t.update(func(r *TaskRecord) {
		if t.open == nil {
			t.open = make(map[string]*question)
		}
		for _, q := range questions {
			key := q.key
			for n := len(t.posed) + 1; key == "" || t.posed[key] != nil; n++ {
				key = fmt.Sprintf("%sinput-%d", q.key, n)
			}
			t.posed[key] = q
			t.open[key] = q
			keys = append(keys, key)
		}
		r.Status = TaskInputRequired
		if r.InputRequests, err = encodeQuestions(t.open); err != nil {
			return
		}
		var ok bool
		if gone, ok = t.resize(2 * len(r.InputRequests)); !ok {
			err = errBudget
		}
	})
	return keys, err
}

// resize books the memory that questions and answers add to the task.
func (t *task) resize(delta int) (victims, bool) {
	return t.runner.server.ledger.resize(&t.kept, int64(delta))
}

// answers returns the answers to keys, or nil if any is missing. t.mu is held.
func (t *task) answers(keys []string) ([]json.RawMessage, error) {
	answers := make([]json.RawMessage, len(keys))
	missing := false
	for i, key := range keys {
		if err := t.failed[key]; err != nil {
			return nil, err
		}
		answers[i] = t.given[key]
		missing = missing || answers[i] == nil
	}
	if missing {
		return nil, nil
	}
	return answers, nil
}

// answer stores a client's answers; answers to questions that are not open are ignored. A
// question with a wrong answer stays open, with a note that states the problem, until it
// fails after too many attempts.
func (t *task) answer(given map[string]json.RawMessage) (err error) {
	var gone victims
	defer func() { gone.giveUp() }()
	t.update(func(r *TaskRecord) {
		size := 0
		for key, answer := range given {
			if t.open[key] != nil {
				size += len(answer)
			}
		}
		var ok bool
		if gone, ok = t.resize(size); !ok {
			r.InputRequests, _ = encodeQuestions(t.open) // they were encoded before
			err = errBudget
			return
		}
		for key, answer := range given {
			if t.open[key] == nil {
				continue
			}
			if why := t.posed[key].check(answer); why != nil {
				t.refuse(key, why)
				continue
			}
			t.given[key] = answer
			delete(t.open, key)
		}
		close(t.news)
		t.news = make(chan struct{})
		if len(t.open) > 0 {
			r.InputRequests, _ = encodeQuestions(t.open) // they were encoded before
			return
		}
		r.Status = TaskWorking
	})
	return err
}

// refuse records a wrong answer. t.mu is held.
func (t *task) refuse(key string, why error) {
	if t.wrong[key]++; t.wrong[key] < maxAttempts {
		t.open[key] = t.posed[key].withNote(why)
		return
	}
	t.failed[key] = refusedAnswer(t.posed[key], why)
	delete(t.open, key)
}

// close cancels all tasks and waits for them until ctx ends.
func (r *taskRunner) close(ctx context.Context) {
	r.mu.Lock()
	r.closed = true
	running := slices.Collect(maps.Values(r.running))
	r.mu.Unlock()
	for _, t := range running {
		t.rc.cancel()
	}
	done := make(chan struct{})
	go func() {
		r.all.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// The methods.

// getTask serves tasks/get.
func (s *Server) getTask(rc *request, cat *mcp.Catalog, a *answer) error {
	record, err := s.taskOf(rc)
	if err != nil {
		return err
	}
	a.begin(rc)
	a.buf = append(a.buf, `{"resultType":"complete",`...)
	a.buf = record.appendMembers(a.buf, true)
	a.finish(rc, cat)
	return nil
}

// updateTask serves tasks/update, by which a client answers a task's questions.
func (s *Server) updateTask(rc *request, cat *mcp.Catalog, a *answer) error {
	record, err := s.taskOf(rc)
	if err != nil {
		return err
	}
	raw, ok := rc.param("inputResponses")
	if !ok || !jsonscan.IsObject(raw) {
		return invalidParams("params.inputResponses is required and must be an object")
	}
	given := make(map[string]json.RawMessage)
	if err := json.Unmarshal(raw, &given); err != nil {
		return invalidParams("params.inputResponses: %v", err)
	}
	if t := s.tasks.get(record.ID); t != nil {
		if err := t.answer(given); err != nil {
			return err
		}
	}
	return a.acknowledge(rc, cat)
}

// cancelTask serves tasks/cancel. Cancelling a finished task has no effect.
func (s *Server) cancelTask(rc *request, cat *mcp.Catalog, a *answer) error {
	record, err := s.taskOf(rc)
	if err != nil {
		return err
	}
	if t := s.tasks.get(record.ID); t != nil {
		t.update(func(r *TaskRecord) { r.Status = TaskCancelled })
		t.rc.cancel()
	}
	return a.acknowledge(rc, cat)
}

func (r *taskRunner) get(id string) *task {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[id]
}

// taskOf returns the task named in a request, if the client may see it.
func (s *Server) taskOf(rc *request) (TaskRecord, error) {
	if !rc.knowsTasks() {
		return TaskRecord{}, rc.missingTasks()
	}
	raw, _ := rc.param("taskId")
	id, ok := jsonscan.Unquote(raw)
	if !ok {
		return TaskRecord{}, invalidParams("params.taskId is required and must be a string")
	}
	record, ok, err := s.tasks.store.GetTask(rc, id)
	if err != nil {
		return TaskRecord{}, err
	}
	if !ok || record.Principal != principalID(mcp.PrincipalFrom(rc)) {
		return TaskRecord{}, invalidParams("no such task: it may have expired")
	}
	return record, s.checkTask(rc, &record, rc.transport)
}

// checkTask returns an error if a client may not follow a task, even though it belongs to
// the client's principal.
func (s *Server) checkTask(ctx context.Context, record *TaskRecord, transport string) error {
	return s.mayFollow(ctx, followed{methodCallTool, record.Tool, record.Origins}, transport)
}

// taskCreated writes the answer to a call that has become a task.
func (a *answer) taskCreated(rc *request, cat *mcp.Catalog) {
	a.begin(rc)
	a.buf = append(a.buf, `{"resultType":"task",`...)
	rc.started.mu.Lock()
	record := rc.started.record
	rc.started.mu.Unlock()
	a.buf = record.appendMembers(a.buf, false)
	a.finish(rc, cat)
}

func (a *answer) acknowledge(rc *request, cat *mcp.Catalog) error {
	a.begin(rc)
	a.buf = append(a.buf, `{"resultType":"complete"`...)
	a.finish(rc, cat)
	return nil
}
