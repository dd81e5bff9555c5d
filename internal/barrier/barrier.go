// Package barrier converts panics to errors, for work that a long-running process does on
// external input: rereading a folder, loading a changed manifest, parsing one of many
// documents. A panic in a goroutine terminates the process, so each goroutine that does
// such work needs its own barrier.
//
//	err := barrier.Run("build docs", func() error { return b.build(ctx) })
//
// Requests do not need one: package mcp answers a panic with an error.
package barrier

import (
	"fmt"
	"runtime/debug"
)

// PanicError is the error of work that panicked.
type PanicError struct {
	// Work describes the work, as given to [Run].
	Work string
	// Value is the value passed to panic.
	Value any
	// Stack is the stack trace, at most 16 KiB, for logs.
	Stack string
}

// Error returns the work and the value, without the stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("%s: internal error: %v", e.Work, e.Value)
}

// maxStack limits the stack trace in an error.
const maxStack = 16 << 10

// Run calls do and returns its error, or a [*PanicError] if it panics. A fatal error of
// the runtime, such as a stack overflow, still terminates the process.
func Run(work string, do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			stack := debug.Stack()
			err = &PanicError{
				Work:  work,
				Value: v,
				Stack: string(stack[:min(len(stack), maxStack)]),
			}
		}
	}()
	return do()
}
