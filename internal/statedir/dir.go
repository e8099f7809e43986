package statedir

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// ErrState marks a directory that cannot be used. Match it with errors.Is.
var ErrState = errors.New("state directory")

// Owner identifies the DLQ whose state a directory holds.
type Owner struct {
	Cluster string `json:"cluster"` // cluster ID
	DLQ     string `json:"dlq"`
	ID      string `json:"id"` // ID of the directory, created with it
}

const (
	journalFile = "journal"
	controlFile = "control.json"
	lockFile    = "lock"
	guardFile   = "control.lock"
)

// Dir is a state directory. It is safe for concurrent use.
type Dir struct {
	path    string
	owner   Owner
	missing bool

	mu      sync.Mutex
	decided int64 // end of the last decided line that was read
	read    int64 // end of the last complete line that was read
	pending *Batch
}

// Open opens the directory of an owner. It treats a directory without a journal as empty, and [Dir.Missing] reports
// true. It returns an [ErrState] if the directory belongs to another DLQ or cluster, or if it cannot be read.
func Open(path string, of Owner) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	d := &Dir{path: path, owner: of}
	if _, err := os.Stat(d.file(journalFile)); errors.Is(err, fs.ErrNotExist) {
		d.missing = true
		if _, err := os.Stat(d.file(controlFile)); err == nil {
			return nil, fmt.Errorf("%w: %s has lost its journal: without it, dead letters that went back would go back again. Restore the journal from a backup, or name another directory to start anew",
				ErrState, d.path)
		}
		return d, nil
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	if err := d.claim(); err != nil {
		return nil, err
	}
	return d, d.verify()
}

// verify reads the journal. It refuses a journal that is damaged, or shorter than its last writer left it.
func (d *Dir) verify() error {
	values, err := d.control()
	var known int64
	if err == nil && values[sizeKey] != nil {
		err = json.Unmarshal(values[sizeKey], &known)
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.look(); err != nil {
		return err
	}
	if d.read < known {
		return fmt.Errorf("%w: %s has %d bytes and had %d: it was cut off, or an older copy is in its place. Restore the newer one", ErrState, d.file(journalFile), d.read, known)
	}
	return nil
}

// claim reads the owner from the first line. It refuses the journal of another owner.
func (d *Dir) claim() error {
	var found Owner
	err := d.each(0, func(l line) error {
		if l.kind != owned {
			return d.corrupt(l.start)
		}
		return errors.Join(l.decode(&found), errEnough)
	})
	switch {
	case err == nil:
		return d.corrupt(0)
	case !errors.Is(err, errEnough):
		return err
	case found.Cluster != d.owner.Cluster || found.DLQ != d.owner.DLQ:
		return fmt.Errorf("%w: %s contains the state of DLQ %s on cluster %s; this is DLQ %s on cluster %s: name another directory",
			ErrState, d.path, found.DLQ, found.Cluster, d.owner.DLQ, d.owner.Cluster)
	}
	d.owner.ID = found.ID
	return nil
}

// Missing reports whether the directory has no journal yet.
func (d *Dir) Missing() bool { return d.missing }

// Path returns the absolute path of the directory.
func (d *Dir) Path() string { return d.path }

// ID returns the ID of the directory, or "" if the directory is missing. It distinguishes the directory from another one
// at the same path.
func (d *Dir) ID() string { return d.owner.ID }

// Create creates the directory with an empty journal.
func (d *Dir) Create() error {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return fmt.Errorf("%w: cannot be created: %w", ErrState, err)
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	d.owner.ID = hex.EncodeToString(b[:])
	text, err := encodeLine(owned, d.owner)
	if err != nil {
		return err
	}
	if err := d.replace(journalFile, text); err != nil {
		return err
	}
	d.missing = false
	return nil
}

func (d *Dir) file(name string) string { return filepath.Join(d.path, name) }

// replace writes a file atomically: readers find the complete new file or the old one.
func (d *Dir) replace(name string, text []byte) (err error) {
	next := d.file(name + ".next")
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // #nosec G304 -- the operator's directory
	if err == nil {
		if _, err = f.Write(text); err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = os.Rename(next, d.file(name))
	}
	if err == nil {
		err = d.sync()
	}
	return d.unwritten(err)
}

// sync makes the names in the directory durable.
func (d *Dir) sync() error {
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d *Dir) unwritten(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s cannot be written: %w. Free space or grant the permission, and run the command again", ErrState, d.path, err)
}
