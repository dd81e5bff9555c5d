package process

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestTailKeepsTheEnd(t *testing.T) {
	var kept tail
	for i := range 1000 {
		fmt.Fprintf(&kept, "line %d\n", i)
	}
	if got := kept.String(); len(got) > tailSize || LastLine(got) != "line 999" {
		t.Errorf("tail = %d bytes ending in %q", len(got), LastLine(got))
	}
}

func TestExplain(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a shell")
	}
	p, err := Start(t.Context(), []string{"sh", "-c", "echo no room on $PLACE >&2"}, []string{"PLACE=board"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	addr, err := FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WaitListening(addr); err == nil {
		t.Error("a program that has ended listens")
	}
	if got := p.Explain(errors.New("it failed")).Error(); !strings.Contains(got, "it failed") ||
		!strings.Contains(got, "no room on board") {
		t.Errorf("Explain = %q", got)
	}
	if _, err := Start(t.Context(), []string{"./there-is-no-such-program"}, nil); err == nil {
		t.Error("Start of nothing succeeds")
	}
}
