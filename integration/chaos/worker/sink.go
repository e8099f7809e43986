//go:build unix

package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Sink is a table in a folder, one row per key, as idempotent and version-guarded
// as a sink beside Kafka has to be: an upsert that comes twice, or too late,
// leaves the table as it is. Beside it stands a log of every upsert that was
// tried. Several processes may use it at once, and any of them may be killed at
// any time.
type Sink struct {
	dir   string
	trace *os.File
}

// Row is a row of the table: what took effect last for a key.
type Row struct {
	Version int64  // source offset
	Value   []byte // nil for a tombstone
}

// OpenSink opens the table in a folder, which may be empty.
func OpenSink(dir string) (*Sink, error) {
	for _, part := range []string{"rows", "locks"} {
		if err := os.MkdirAll(filepath.Join(dir, part), 0o750); err != nil {
			return nil, fmt.Errorf("sink: %w", err)
		}
	}
	trace, err := os.OpenFile(filepath.Join(dir, "trace"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sink: %w", err)
	}
	return &Sink{dir: dir, trace: trace}, nil
}

// Upsert sets a row unless a newer version stands there.
func (s *Sink) Upsert(key, position string, version int64, value []byte) error {
	if err := s.upsert(key, position, version, value); err != nil {
		return fmt.Errorf("sink: key %s, version %d: %w", key, version, err)
	}
	return nil
}

func (s *Sink) upsert(key, position string, version int64, value []byte) error {
	lock, err := os.OpenFile(filepath.Join(s.dir, "locks", key), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() // and the lock is gone; also when the process is
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if _, err := s.trace.WriteString(position + "\n"); err != nil { // one write: lines of several processes do not mix
		return err
	}
	path := filepath.Join(s.dir, "rows", key)
	row, err := readRow(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && row.Version >= version {
		return nil
	}
	text := strconv.AppendInt(nil, version, 10)
	if value == nil {
		text = append(text, '-')
	}
	text = append(append(text, '\n'), value...)
	fresh := filepath.Join(s.dir, "locks", key+".row")
	if err := os.WriteFile(fresh, text, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

func readRow(path string) (Row, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Row{}, err
	}
	head, value, _ := bytes.Cut(text, []byte("\n"))
	number, dead := strings.CutSuffix(string(head), "-")
	version, err := strconv.ParseInt(number, 10, 64)
	if dead {
		value = nil
	}
	return Row{version, value}, err
}

// Rows is the whole table by key.
func (s *Sink) Rows() (map[string]Row, error) {
	files, err := os.ReadDir(filepath.Join(s.dir, "rows"))
	rows := map[string]Row{}
	for _, file := range files {
		row, failed := readRow(filepath.Join(s.dir, "rows", file.Name()))
		rows[file.Name()], err = row, errors.Join(err, failed)
	}
	return rows, err
}

// Tried counts the upserts by source position.
func (s *Sink) Tried() (map[string]int, error) {
	text, err := os.ReadFile(s.trace.Name())
	tried := map[string]int{}
	for line := range strings.Lines(string(text)) {
		tried[strings.TrimSuffix(line, "\n")]++
	}
	return tried, err
}

// Close closes the sink's log.
func (s *Sink) Close() error { return s.trace.Close() }
