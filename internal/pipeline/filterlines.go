package pipeline

import (
	"context"
	"errors"
	"io"

	"github.com/switchback-geo/switchback/internal/jsontexts"
)

// inputLine is one text of the input, or the error of reading; the last line.
type inputLine struct {
	jsontexts.Text
	err error
}

// Bounds of a batch of lines.
const (
	batchLines = 64
	batchBytes = 1 << 20
)

// readLines sends batches of texts and closes the channel at the end. A batch ends where the next line has not arrived yet, so that no
// line waits for another; single lines would wake the receiver for each one. It has a goroutine of its own because a read from a terminal
// cannot be interrupted.
func readLines(ctx context.Context, in io.Reader, limit int, batches chan<- []inputLine) {
	defer close(batches)
	reader := jsontexts.New(in, limit)
	var batch []inputLine
	size := 0
	for {
		text, err := reader.Next()
		switch {
		case err == nil:
			batch, size = append(batch, inputLine{Text: text}), size+len(text.Bytes)
		case !errors.Is(err, io.EOF):
			batch = append(batch, inputLine{Text: jsontexts.Text{Line: reader.Line()}, err: err})
		}
		if len(batch) > 0 && (err != nil || reader.Waiting() || len(batch) == batchLines || size >= batchBytes) {
			select {
			case batches <- batch:
				batch, size = nil, 0
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}
