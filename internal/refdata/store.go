package refdata

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// DefaultInterval is the time between two checks of the files by [Store.Watch].
const DefaultInterval = 10 * time.Second

// Reload is the result of reading a changed file, or records of a topic.
type Reload struct {
	Name string // of the set
	From string // "file …" or "topic …"
	Keys int    // of the set now
	Err  error  // the set that could not be read; it stays as it was
}

// Store holds the reference sets of one mapping.
type Store struct {
	files  []*fileSet
	topics []*topicSet

	loading sync.Mutex // locked while topics are read for the first time
	loaded  atomic.Bool
}

// fileSet is one reference set in a file. Its keys are replaced as a whole.
type fileSet struct {
	transform.Reference
	keys  atomic.Pointer[map[string]struct{}]
	stamp stamp // of the file when it was last read; used by one goroutine
}

// stamp distinguishes the states of a file.
type stamp struct {
	modified time.Time
	size     int64
}

// Has reports whether the set has a key.
func (s *fileSet) Has(key string) bool {
	_, found := (*s.keys.Load())[key]
	return found
}

// Open reads every set in a file; [Store.Load] reads those in topics. The options are those of every Kafka client. The error names the set,
// the file and the position in it.
func Open(references []transform.Reference, kafka []kgo.Opt) (*Store, error) {
	store := &Store{}
	for _, reference := range references {
		if reference.Topic != "" {
			store.topics = append(store.topics, &topicSet{Reference: reference, kafka: kafka})
			continue
		}
		s := &fileSet{Reference: reference}
		if err := s.load(); err != nil {
			return nil, fmt.Errorf("reference set %q: %w", reference.Name, err)
		}
		store.files = append(store.files, s)
	}
	store.loaded.Store(len(store.topics) == 0)
	return store, nil
}

// Load reads the sets in topics to their ends, until it has succeeded once. No record may be mapped before, because each would be refused.
// It is safe for concurrent use.
func (s *Store) Load(ctx context.Context) error {
	if s.loaded.Load() {
		return nil
	}
	s.loading.Lock()
	defer s.loading.Unlock()
	if s.loaded.Load() {
		return nil
	}
	for _, one := range s.topics {
		if err := one.load(ctx); err != nil {
			return fmt.Errorf("reference set %q: %w", one.Name, err)
		}
	}
	s.loaded.Store(true)
	return nil
}

// Sets returns the sets by name, for [transform.Config]. They stay current while [Store.Watch] runs.
func (s *Store) Sets() map[string]transform.Set {
	sets := make(map[string]transform.Set, len(s.files)+len(s.topics))
	for _, one := range s.files {
		sets[one.Name] = one
	}
	for _, one := range s.topics {
		sets[one.Name] = one
	}
	return sets
}

// Watch reads changed files every interval and follows the topics, which must be loaded, until ctx ends. It calls report with each result,
// one call at a time. Only one Watch may run.
func (s *Store) Watch(ctx context.Context, interval time.Duration, report func(Reload)) {
	var one sync.Mutex
	inTurn := func(r Reload) {
		one.Lock()
		defer one.Unlock()
		report(r)
	}
	var topics sync.WaitGroup
	defer topics.Wait()
	for _, set := range s.topics {
		topics.Go(func() { set.follow(ctx, inTurn) })
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.refresh(inTurn)
		}
	}
}

// refresh reads the files that changed since the last reading.
func (s *Store) refresh(report func(Reload)) {
	for _, one := range s.files {
		now, err := stampOf(one.File)
		if err == nil && now == one.stamp {
			continue
		}
		if err == nil {
			err = one.load()
		}
		if err != nil && now == one.stamp {
			continue // reported already
		}
		one.stamp = now
		report(Reload{Name: one.Name, From: "file " + one.File, Keys: len(*one.keys.Load()), Err: err})
	}
}

func stampOf(file string) (stamp, error) {
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.ModTime(), info.Size()}, nil
}

// load reads the file and, if it has no fault, replaces the keys.
func (s *fileSet) load() error {
	// The stamp is read first, so that a file that is written during the reading is read again.
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

// Digests returns a hash of the keys of each set from a file, by name. Neither the path of the file nor the order of its lines changes it.
// It leaves out sets from topics, which are the same for all instances.
func (s *Store) Digests() map[string]string {
	out := map[string]string{}
	for _, one := range s.files {
		h := sha256.New()
		for _, key := range slices.Sorted(maps.Keys(*one.keys.Load())) {
			_, _ = fmt.Fprintf(h, "%d:%s", len(key), key) // a hash never fails
		}
		out[one.Name] = hex.EncodeToString(h.Sum(nil))
	}
	return out
}

// NewTransformer compiles the mapping of a pipeline with the reference sets and grid files that it names. The caller must load the store
// before the first record, and watch it to follow changes.
func NewTransformer(cfg *config.Config) (*transform.Transformer, *Store, error) {
	mapping := cfg.Mapping()
	var connection []kgo.Opt
	if slices.ContainsFunc(mapping.References, func(r transform.Reference) bool { return r.Topic != "" }) {
		var err error
		if connection, err = kafka.ClientOptions(cfg.Kafka); err != nil {
			return nil, nil, err
		}
	}
	store, err := Open(mapping.References, connection)
	if err != nil {
		return nil, nil, err
	}
	mapping.Sets = store.Sets()
	if mapping.Grids, err = OpenGrids(cfg); err != nil {
		return nil, nil, err
	}
	transformer, err := transform.New(mapping)
	if err != nil {
		return nil, nil, fmt.Errorf("transform: %w", err)
	}
	return transformer, store, nil
}
