package table

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/slipway-mcp/slipway/check"
	"github.com/slipway-mcp/slipway/internal/jsonscan"
)

// openLines opens a file of JSON Lines: an object on each line.
func (in *Input) openLines(_ context.Context, r *check.Report) ([]*source, func() error, error) {
	src := in.wholeFile()
	src.walk = in.reader(src, r, (*jsonRows).walkLines)
	return []*source{src}, nothingToClose, nil
}

// walkLines reads the file line by line.
func (j *jsonRows) walkLines(ctx context.Context, each func(row) error) error {
	f, err := os.Open(j.in.path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<16), j.in.opts.MaxRecordBytes)
	for n := 1; lines.Scan(); n++ {
		err := errorsJoin(ctx.Err(), j.lineRow(lines.Bytes(), n, each))
		if err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a line is longer than the limit of %d bytes",
			j.in.opts.MaxRecordBytes)
	}
	if err := lines.Err(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// lineRow reads one line. An empty line is no row.
func (j *jsonRows) lineRow(line []byte, n int, each func(row) error) error {
	if n == 1 {
		line = bytes.TrimPrefix(line, []byte(byteOrderMark))
	}
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil
	}
	var syntax *jsonscan.Error
	if err := jsonscan.Valid(line); errors.As(err, &syntax) {
		column := 1 + utf8.RuneCount(line[:min(syntax.Offset, len(line))])
		j.reportSkipped(n, column,
			"the line is skipped because it is not JSON: "+syntax.Reason)
		return nil
	}
	return j.element(line, n, each)
}
