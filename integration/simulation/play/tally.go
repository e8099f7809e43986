package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"
)

// entry is one line of a tally: consecutive seeds that were run for one commit. Lines are only appended, so files can be
// joined with cat.
type entry struct {
	Commit     string    `json:"commit"` // with "+changes" if the tree has uncommitted ones
	Faults     string    `json:"faults"` // drawn kinds; "" for all that are not open
	Shard      int       `json:"shard"`  // the seeds with this remainder when divided by Shards
	Shards     int       `json:"shards"`
	From       uint64    `json:"from"`
	To         uint64    `json:"to"` // the first seed that was not run
	Worlds     int       `json:"worlds"`
	Failed     []uint64  `json:"failed,omitempty"`
	Virtual    float64   `json:"virtual_hours"`
	Processors float64   `json:"processor_seconds"`
	At         time.Time `json:"at"`
}

// continues reports whether two entries belong to the same work.
func (e entry) continues(f entry) bool {
	return e.Commit == f.Commit && e.Faults == f.Faults && e.Shard == f.Shard && e.Shards == f.Shards
}

// readTally reads a tally. A missing file is an empty tally.
func readTally(path string) (all []entry, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		all = append(all, e)
	}
	return all, lines.Err()
}

// append appends the entry to the file of a tally.
func (e entry) append(path string) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// next returns the first seed of a shard that a tally lacks.
func next(all []entry, of entry) uint64 {
	seed := of.From
	for _, e := range all {
		if e.continues(of) && e.From <= seed {
			seed = max(seed, e.To)
		}
	}
	return seed
}

// sum prints the totals of each commit.
func sum(out io.Writer, all []entry) {
	type total struct {
		entry
		seeds map[uint64]bool
	}
	totals := map[string]*total{}
	for _, e := range all {
		t := totals[e.Commit]
		if t == nil {
			t = &total{entry: entry{Commit: e.Commit}, seeds: map[uint64]bool{}}
			totals[e.Commit] = t
		}
		t.Worlds += e.Worlds
		t.Virtual += e.Virtual
		t.Processors += e.Processors
		t.At = e.At
		for _, seed := range e.Failed {
			t.seeds[seed] = true
		}
	}
	for _, t := range slices.SortedFunc(maps.Values(totals), func(a, b *total) int { return cmp.Compare(a.At.Unix(), b.At.Unix()) }) {
		fmt.Fprintf(out, "%s: %d worlds, %.0f virtual hours, %.0f processor seconds, %d failed %v\n", t.Commit, t.Worlds, t.Virtual, t.Processors,
			len(t.seeds), slices.Sorted(maps.Keys(t.seeds)))
	}
}
