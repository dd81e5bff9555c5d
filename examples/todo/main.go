// Command todo is the tutorial's program, a to-do list: a tool to add a task, a tool to
// tick one off, a resource to read the list, and a prompt.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-mcp/slipway/router"
	"github.com/slipway-mcp/slipway/serve"
)

// Add is what the tool add takes. The tags become its schema.
type Add struct {
	Task     string `json:"task" doc:"what to do" minLength:"1" maxLength:"100"`
	Priority string `json:"priority" doc:"how much it matters" enum:"low,normal,high" default:"normal"`
}

// Done is the input of the tool done.
type Done struct {
	Number int `json:"number" doc:"number of the task on the list" minimum:"1"`
}

// Task is one thing to do.
type Task struct {
	Number   int    `json:"number"`
	Task     string `json:"task"`
	Priority string `json:"priority"`
}

// Text is what a model reads; programs read the fields.
func (t Task) Text() string { return fmt.Sprintf("%d. %s (%s)", t.Number, t.Task, t.Priority) }

// Plan is the input of the prompt plan_day.
type Plan struct {
	Hours int `json:"hours" doc:"how long the day is" minimum:"1" default:"8"`
}

// list is the server's state. It has a lock because functions run concurrently.
type list struct {
	mu    sync.Mutex
	last  int
	tasks []Task
}

func (l *list) add(_ context.Context, in Add) (Task, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	task := Task{l.last, in.Task, in.Priority}
	l.tasks = append(l.tasks, task)
	return task, nil
}

func (l *list) done(_ context.Context, in Done) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.tasks, func(t Task) bool { return t.Number == in.Number })
	if i < 0 {
		return "", fmt.Errorf("there is no task %d", in.Number)
	}
	l.tasks = slices.Delete(l.tasks, i, i+1)
	return "done", nil
}

func (l *list) read(context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := make([]string, len(l.tasks))
	for i, t := range l.tasks {
		lines[i] = t.Text()
	}
	return strings.Join(lines, "\n"), nil
}

func (l *list) plan(ctx context.Context, in Plan) (router.Messages, error) {
	tasks, err := l.read(ctx)
	return router.User("Plan a day of %d hours with these tasks:\n%s", in.Hours, tasks), err
}

func server() (*router.Router, error) {
	l := &list{}
	return router.New("todo", "1.0.0",
		router.Tool("add", "Add a task to the list", l.add, router.NonDestructive, router.ClosedWorld),
		router.Tool("done", "Take a task off the list", l.done, router.ClosedWorld),
		router.Resource("tasks", "todo://tasks", l.read, router.Description("What is to do")),
		router.Prompt("plan_day", "Plan a day", l.plan),
	)
}

func main() { serve.Main(server()) }
