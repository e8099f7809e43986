package filter

import (
	"context"
	"errors"
	"io"

	"github.com/switchback-geo/switchback/internal/jsontexts"
)

// line is one text of the input, or the error of reading; the last line.
type line struct {
	jsontexts.Text
	err error
}

// A batch of lines is bounded: the reader hands it over at the latest then.
const (
	batchLines = 64
	batchBytes = 1 << 20
)

// read sends batches of texts, and closes the channel at the end. A batch ends where the next one has not
// arrived yet, so that no line waits for another. Handing over single lines would wake the other goroutine for each of them. It
// stands beside the work because a read of a terminal cannot be interrupted.
func read(ctx context.Context, in io.Reader, limit int, batches chan<- []line) {
	defer close(batches)
	reader := jsontexts.New(in, limit)
	var batch []line
	size := 0
	for {
		text, err := reader.Next()
		switch {
		case err == nil:
			batch, size = append(batch, line{Text: text}), size+len(text.Bytes)
		case !errors.Is(err, io.EOF):
			batch = append(batch, line{Text: jsontexts.Text{Line: reader.Line()}, err: err})
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
