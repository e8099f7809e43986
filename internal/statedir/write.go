package statedir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// Writer appends to a journal. Only one writer exists at a time on a machine. A writer is not safe for concurrent use.
type Writer struct {
	dir    *Dir
	lock   *os.File
	file   *os.File
	end    int64
	intent *Batch // nil, or the batch without an outcome yet
}

const (
	lockPause = 50 * time.Millisecond
	lockLimit = 15 * time.Second // longer than a transaction may take; a fenced writer has noticed by then
)

// sizeKey is the key in control.json of the size of the journal.
const sizeKey = "journal"

// Lock waits until no other process writes, and opens the journal for writing. The caller must close the writer.
func (d *Dir) Lock(ctx context.Context) (*Writer, error) {
	lock, err := d.acquire(ctx, lockFile)
	if err != nil {
		return nil, err
	}
	w := &Writer{dir: d, lock: lock}
	if err := w.open(); err != nil {
		_ = lock.Close() // nothing was written
		return nil, err
	}
	return w, nil
}

// acquire locks a file. Closing the file releases the lock, and so does the end of the process.
func (d *Dir) acquire(ctx context.Context, name string) (*os.File, error) {
	f, err := os.OpenFile(d.file(name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, d.unwritten(err)
	}
	for began := time.Now(); ; {
		taken, err := tryLock(f)
		if taken {
			return f, nil
		}
		if err == nil && time.Since(began) > lockLimit {
			err = fmt.Errorf("%w: another replayer on this machine has locked %s: wait for it to end, or end it", ErrState, d.path)
		}
		if err == nil {
			err = kafka.Pause(ctx, lockPause)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}

// open reads the journal to its end, opens it for writing, and cuts off an incomplete last line that a crash left.
func (w *Writer) open() error {
	d := w.dir
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.look(); err != nil {
		return err
	}
	w.end, w.intent = d.read, d.pending
	var err error
	if w.file, err = os.OpenFile(d.file(journalFile), os.O_WRONLY, 0o600); err != nil {
		return d.unwritten(err)
	}
	return d.unwritten(w.file.Truncate(w.end))
}

// Pending returns the batch without an outcome yet, or nil.
func (w *Writer) Pending() *Batch { return w.intent }

// Intend writes a batch before it is sent. A batch that sends nothing is decided at once.
func (w *Writer) Intend(b *Batch) error {
	if len(b.Letters) == 0 {
		return w.append(local, b)
	}
	if err := w.append(intent, b); err != nil {
		return err
	}
	w.intent = b
	return nil
}

// Decide writes whether the pending batch was sent.
func (w *Writer) Decide(sent bool) error {
	k := stayed
	if sent {
		k = wentOut
	}
	if err := w.append(k, struct{}{}); err != nil {
		return err
	}
	w.intent = nil
	return nil
}

// append writes a line and returns after the line is on the disk.
func (w *Writer) append(k kind, v any) error {
	text, err := encodeLine(k, v)
	if err != nil {
		return err
	}
	_, err = w.file.WriteAt(text, w.end)
	if err == nil {
		err = w.file.Sync()
	}
	if err != nil {
		_ = w.file.Truncate(w.end) // if this fails, the next writer truncates
		return w.dir.unwritten(err)
	}
	w.end += int64(len(text))
	return nil
}

// Close writes the size of the journal to control.json, closes the journal, and releases the lock.
func (w *Writer) Close() error {
	size := &kgo.Record{Key: []byte(sizeKey), Value: fmt.Append(nil, w.end)}
	return errors.Join(w.dir.PutControl(context.Background(), nil, size), w.file.Close(), w.lock.Close())
}

// Control returns the last record of each key of the control topic.
func (d *Dir) Control() ([]*kgo.Record, error) {
	values, err := d.control()
	var out []*kgo.Record
	for key, value := range values {
		out = append(out, &kgo.Record{Key: []byte(key), Value: value})
	}
	return out, err
}

func (d *Dir) control() (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	text, err := os.ReadFile(d.file(controlFile))
	if errors.Is(err, fs.ErrNotExist) {
		return values, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &values)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s cannot be read: %w. It contains the lease and the list of replays: delete it if no replayer is running", ErrState, d.file(controlFile), err)
	}
	return values, nil
}

// PutControl writes records of the control topic. A record replaces the existing record of its key, unless outlives
// reports true for the existing one. If outlives is nil, every record replaces the existing one. A record with a nil
// value deletes its key.
func (d *Dir) PutControl(ctx context.Context, outlives func(r, later *kgo.Record) bool, records ...*kgo.Record) (err error) {
	lock, err := d.acquire(ctx, guardFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	values, err := d.control()
	if err != nil {
		return err
	}
	for _, r := range records {
		key := string(r.Key)
		switch there := values[key]; {
		case r.Value == nil:
			delete(values, key)
		case there == nil || outlives == nil || !outlives(&kgo.Record{Key: r.Key, Value: there}, r):
			values[key] = r.Value
		}
	}
	text, err := json.MarshalIndent(values, "", " ")
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	return d.replace(controlFile, append(text, '\n'))
}
