// Package barrier turns a panic into an error, for work that a long-running
// process does on input from outside: reading a folder again, taking over a
// changed manifest, parsing one of many documents. A panic in a goroutine ends
// the process, so each goroutine that does such work needs a barrier of its own.
//
//	err := barrier.Run("build docs", func() error { return b.build(ctx) })
//
// Requests have barriers already: package mcp answers a panic with an error.
package barrier

import (
	"fmt"
	"runtime/debug"
)

// PanicError is the error of work that panicked.
type PanicError struct {
	// Work is what was being done, as given to [Run].
	Work string
	// Value is what the work panicked with.
	Value any
	// Stack is where: at most 16 KiB, for logs.
	Stack string
}

// Error returns the work and the value, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("%s: internal error: %v", e.Work, e.Value) }

// maxStack bounds the stack that an error keeps.
const maxStack = 16 << 10

// Run calls do and returns its error, or a [*PanicError] if it panics. A fatal
// error of the runtime, such as a full stack, still ends the process.
func Run(work string, do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			stack := debug.Stack()
			err = &PanicError{Work: work, Value: v, Stack: string(stack[:min(len(stack), maxStack)])}
		}
	}()
	return do()
}
