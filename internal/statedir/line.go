package statedir

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// kind is the type of a journal line. It is a closed list.
type kind byte

const (
	owned   kind = 'o' // the owner of the journal; the first line
	intent  kind = 'i' // the writer is about to send this batch
	wentOut kind = 'y' // the batch before was sent
	stayed  kind = 'n' // the batch before was not sent
	local   kind = 'l' // a batch that sends nothing, so it is decided at once
)

// line is one journal line: a checksum in hexadecimal, a space, the kind, and JSON.
type line struct {
	kind       kind
	text       []byte
	start, end int64
}

func (l *line) decode(to any) error {
	if err := json.Unmarshal(l.text, to); err != nil {
		return fmt.Errorf("%w: the line at byte %d is not of this version: %w", ErrState, l.start, err)
	}
	return nil
}

const prefix = 2*crc32.Size + 2 // checksum, space and kind

func checksum(text []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) }

func encodeLine(k kind, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	text = append([]byte{byte(k)}, text...)
	return fmt.Appendf(nil, "%s %s\n", checksum(text), text), nil
}

// parseLine parses a line with its line end. It returns false if the line is incomplete or damaged.
func parseLine(text []byte) (l line, ok bool) {
	if len(text) < prefix || text[len(text)-1] != '\n' || text[prefix-2] != ' ' {
		return l, false
	}
	body := text[prefix-1 : len(text)-1]
	if string(text[:prefix-2]) != checksum(body) {
		return l, false
	}
	return line{kind: kind(body[0]), text: body[1:]}, true
}

// errEnough stops [Dir.each] early.
var errEnough = errors.New("enough")

// each calls fn for every line, starting with the line that contains from. It skips an incomplete or damaged line at
// the end, which a crash can leave. It returns an error if a damaged line comes before a complete one.
func (d *Dir) each(from int64, fn func(line) error) error {
	f, err := os.Open(d.file(journalFile))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	defer f.Close()
	at, err := lineStart(f, from)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	damaged := int64(-1)
	for in := bufio.NewReaderSize(io.NewSectionReader(f, at, 1<<62), 1<<20); ; {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // the remaining bytes are not a complete line
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrState, err)
		}
		l, whole := parseLine(text)
		l.start, l.end = at, at+int64(len(text))
		switch {
		case !whole && damaged < 0:
			damaged = at
		case whole && damaged >= 0:
			return d.corrupt(damaged)
		case whole:
			if err := fn(l); err != nil {
				return err
			}
		}
		at = l.end
	}
}

// lineStart returns the start of the line that contains the position at.
func lineStart(f io.ReaderAt, at int64) (int64, error) {
	block := make([]byte, 64<<10)
	for at > 0 {
		n := min(at, int64(len(block)))
		if _, err := f.ReadAt(block[:n], at-n); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(block[:n], '\n'); i >= 0 {
			return at - n + int64(i) + 1, nil
		}
		at -= n
	}
	return 0, nil
}

func (d *Dir) corrupt(at int64) error {
	return fmt.Errorf("%w: %s is damaged at byte %d: it was not changed. Restore the file from a backup; without one, find out with read_committed which dead letters went back, discard them in a new directory, and continue there",
		ErrState, d.file(journalFile), at)
}
