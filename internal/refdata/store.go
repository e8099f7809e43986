package refdata

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// DefaultInterval is how often [Store.Watch] looks at the files.
const DefaultInterval = 10 * time.Second

// Reload is what happened when a changed file was read.
type Reload struct {
	Name string // of the set
	File string
	Keys int   // of the set as it now is
	Err  error // why the set stays as it was; nil when it was read
}

// Store holds the reference sets of one mapping.
type Store struct {
	sets []*set
}

// set is one reference set. Its keys are replaced as a whole.
type set struct {
	transform.Reference
	keys  atomic.Pointer[map[string]struct{}]
	stamp stamp // of the file as it was read last; for one goroutine only
}

// stamp tells one state of a file from another.
type stamp struct {
	modified time.Time
	size     int64
}

// Has reports whether the set has a key.
func (s *set) Has(key string) bool {
	_, found := (*s.keys.Load())[key]
	return found
}

// Load reads every set. The error names the set, the file and the place in it.
func Load(references []transform.Reference) (*Store, error) {
	store := &Store{}
	for _, reference := range references {
		s := &set{Reference: reference}
		if err := s.load(); err != nil {
			return nil, fmt.Errorf("reference set %q: %w", reference.Name, err)
		}
		store.sets = append(store.sets, s)
	}
	return store, nil
}

// Sets returns the sets by name, for [transform.Config]. They stay current while
// [Store.Watch] runs.
func (s *Store) Sets() map[string]transform.Set {
	sets := make(map[string]transform.Set, len(s.sets))
	for _, one := range s.sets {
		sets[one.Name] = one
	}
	return sets
}

// Watch looks at the files every interval, reads those that changed, and calls
// report with what came of it, until ctx ends. Only one Watch may run.
func (s *Store) Watch(ctx context.Context, interval time.Duration, report func(Reload)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.refresh(report)
		}
	}
}

// refresh reads the files that changed since they were read last.
func (s *Store) refresh(report func(Reload)) {
	for _, one := range s.sets {
		now, err := stampOf(one.File)
		if err == nil && now == one.stamp {
			continue
		}
		if err == nil {
			err = one.load()
		}
		if err != nil && now == one.stamp {
			continue // said already
		}
		one.stamp = now
		report(Reload{Name: one.Name, File: one.File, Keys: len(*one.keys.Load()), Err: err})
	}
}

func stampOf(file string) (stamp, error) {
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.ModTime(), info.Size()}, nil
}

// load reads the file and, when it is whole, puts its keys in place.
func (s *set) load() error {
	// The stamp is taken first: what is written during the reading is read again.
	now, err := stampOf(s.File)
	if err != nil {
		return err
	}
	keys, err := read(s.File, s.Column)
	if err != nil {
		return err
	}
	s.keys.Store(&keys)
	s.stamp = now
	return nil
}
