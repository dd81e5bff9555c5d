package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestServerStderrIsLimited ensures that a server that prints without end does not fill the log, and that the
// log says what is missing.
func TestServerStderrIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := serverStderr(&log, nil, false)("noisy")
		print := func(text string) {
			t.Helper()
			if _, err := fmt.Fprintln(w, text); err != nil {
				t.Fatal(err)
			}
		}
		const flood = 100_000
		for range flood {
			print(strings.Repeat("x", 99))
		}
		printed := strings.Count(log.String(), "noisy: x")
		if printed != stderrBurst/100 || strings.Count(log.String(), "lines are omitted") != 1 {
			t.Errorf("%d lines in %d bytes, want 1 MiB and a note", printed, log.Len())
		}
		time.Sleep(time.Minute)
		log.Reset()
		print("calm again")
		want := fmt.Sprintf("noisy: (%d lines were omitted)\nnoisy: calm again\n", flood-printed)
		if got := log.String(); got != want {
			t.Errorf("the log goes on with %q, want %q", got, want)
		}
		log.Reset()
		for range 1000 { // at the rate that is permitted
			print(strings.Repeat("y", stderrRate-1))
			time.Sleep(time.Second)
		}
		const pieces = 1000 * stderrRate / (8 << 10)
		if n := strings.Count(log.String(), "noisy: y"); n != pieces {
			t.Errorf("%d pieces of lines at the permitted rate, want %d", n, pieces)
		}
	})
}
