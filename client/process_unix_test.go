//go:build unix

package client_test

import (
	"syscall"
	"testing"
)

func TestProcessIsGone(t *testing.T) {
	c := command(t, "wrapper")
	src := open(t, c, nil)
	st := src.State()
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-st.PID, 0); err == nil {
		t.Errorf("the group of %d is there still", st.PID)
	}
	if _, err := call(t, src, "pid", ""); err == nil {
		t.Error("a closed source answers")
	}
}
