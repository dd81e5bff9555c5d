package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// talkSSE is a client of the HTTP+SSE transport. It disconnects once each request has a
// response.
func talkSSE(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "sse URL FILE [KEY:VALUE...]")
	ctx, leave := context.WithTimeout(context.Background(), patience)
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, args[0], nil)
	ts.Check(err)
	for _, field := range args[2:] {
		name, value, _ := strings.Cut(field, ":")
		r.Header.Set(name, value)
	}
	stream, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer stream.Body.Close()
	fmt.Fprintln(ts.Stdout(), stream.Status)
	if stream.StatusCode != http.StatusOK {
		return
	}
	in := bufio.NewScanner(stream.Body)
	endpoint, err := r.URL.Parse(nextData(in))
	ts.Check(err)
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		status, _, err := send(http.MethodPost, endpoint.String(), line, args[2:])
		ts.Check(err)
		fmt.Fprintln(ts.Stdout(), status.Status)
		if strings.Contains(line, `"id"`) {
			fmt.Fprintln(ts.Stdout(), nextData(in))
		}
	}
}

// nextData returns the data of the next event.
func nextData(in *bufio.Scanner) string {
	for in.Scan() {
		if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
			return data
		}
	}
	return ""
}
