package filter

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

// line is one line of the input.
type line struct {
	number  int    // from 1, blank ones included
	text    []byte // without its end
	tooLong int    // its bytes, when they are too many to be kept
	err     error  // of reading; the last line
}

// A batch of lines is bounded: the reader hands it over at the latest then.
const (
	batchLines = 64
	batchBytes = 1 << 20
)

// read sends batches of the lines that are not blank, and closes the channel at the end. A batch ends where the next line has not
// arrived yet, so that no line waits for another. Handing over single lines would wake the other goroutine for each of them. It
// stands beside the work because a read of a terminal cannot be interrupted.
func read(ctx context.Context, in io.Reader, limit int, batches chan<- []line) {
	defer close(batches)
	reader := bufio.NewReaderSize(in, 1<<16)
	var batch []line
	size := 0
	for number := 1; ; number++ {
		l, err := readLine(reader, limit)
		l.number = number
		if err != nil && !errors.Is(err, io.EOF) {
			l.err = err
		}
		if l.err != nil || l.tooLong > 0 || len(l.text) > 0 {
			batch, size = append(batch, l), size+len(l.text)
		}
		if len(batch) > 0 && (err != nil || reader.Buffered() == 0 || len(batch) == batchLines || size >= batchBytes) {
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

// readLine reads up to the end of a line. It keeps no more than the limit and
// counts the rest.
func readLine(reader *bufio.Reader, limit int) (line, error) {
	var l line
	size := 0
	for {
		part, err := reader.ReadSlice('\n')
		size += len(part)
		if size <= limit+len("\r\n") {
			l.text = append(l.text, part...)
		} else {
			l.text = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if size > limit {
			return finish(l, size, limit), err
		}
		l.text = bytes.TrimSpace(l.text)
		return l, err
	}
}

// finish judges a line that is about as long as the limit: its end does not
// count.
func finish(l line, size, limit int) line {
	if l.text != nil {
		if l.text = bytes.TrimSpace(l.text); len(l.text) <= limit {
			return l
		}
		size = len(l.text)
	}
	return line{tooLong: size}
}
