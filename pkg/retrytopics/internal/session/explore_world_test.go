//go:build !race

package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// world is the content of the brokers, and what an observer knows about it. A crash does not change it.
type world struct {
	logs     [][]*kgo.Record // of the source, then of the tiers; nil is a transaction marker
	commits  []commit        // of the group, by partition
	states   map[string][]byte
	ledger   [][]byte
	applied  []idempotency.Applied // by key: the last entry in the ledger's topic
	clock    time.Duration
	faults   int // left
	failures int // left

	fates   []policy.Outcome // by event: its final outcome; "" while it is in a partition
	tries   []int            // by event: committed failed attempts
	effects [][]int          // by key: events that took effect, or were closed as duplicates of the effective one, in order
	holders []int            // by key: the event that blocks it as a dead letter, with OnDeadLetterHoldKey; -1: none
}

// commit is the group's commit of a partition.
type commit struct {
	offset   int64 // -1: none
	metadata string
}

func newWorld(h history, p *plan) *world {
	tiers, keys := len(p.tiers), p.keys
	w := &world{logs: make([][]*kgo.Record, tiers+1), states: map[string][]byte{}, faults: p.faults, failures: p.failures}
	for i := range h {
		w.logs[0] = append(w.logs[0], h.record(int64(i)))
	}
	for range w.logs {
		w.commits = append(w.commits, commit{offset: -1})
	}
	w.fates, w.tries, w.effects = make([]policy.Outcome, len(h)), make([]int, len(h)), make([][]int, keys)
	w.applied = make([]idempotency.Applied, keys)
	for range keys {
		w.holders = append(w.holders, -1)
	}
	return w
}

// clone copies what a step may change. Records and past effects are never changed in place.
func (w *world) clone() *world {
	n := *w
	n.logs, n.commits, n.ledger, n.effects = slices.Clone(w.logs), slices.Clone(w.commits), slices.Clip(w.ledger), slices.Clone(w.effects)
	for i := range n.logs {
		n.logs[i] = slices.Clip(n.logs[i])
	}
	for i := range n.effects {
		n.effects[i] = slices.Clip(n.effects[i])
	}
	n.applied, n.states, n.fates, n.tries, n.holders = slices.Clone(w.applied), maps.Clone(w.states), slices.Clone(w.fates), slices.Clone(w.tries), slices.Clone(w.holders)
	return &n
}

// eventOf returns the event that a record of a partition carries.
func eventOf(r *kgo.Record) int {
	if c, err := header.ParseControl(r.Headers); err == nil && c.HasSource {
		return int(c.Source.Offset)
	}
	return int(r.Offset)
}

// done reports whether the record at an offset is finished, according to the group's commit.
func (c commit) done(spans []offsets.Span, offset int64) bool {
	return offset < c.offset || slices.ContainsFunc(spans, func(s offsets.Span) bool { return s.First <= offset && offset <= s.Last })
}

// ahead decodes the metadata of a commit.
func (c commit) ahead() ([]offsets.Span, error) {
	text, _, _ := offsets.Unseal(c.metadata)
	return offsets.DecodeFinished(c.offset, text)
}

// A scale is the size of an exploration.
type scale struct {
	name     string
	events   int // of the histories of three keys and two crashes
	failures int // failing attempts in each of them
	few      int // events of the other histories
	most     int // maximum number of states of a history; beyond it something grows without bound
}

// scales are the values of SWITCHBACK_TEST_HISTORIES. A plain `go test` takes 2 CPU seconds for small, and a mutant at
// most 7. The gate takes 20 for gate, a nightly run 65 for ci. The scale all takes hours.
var scales = []scale{{"small", 3, 1, 2, 50_000}, {"mutants", 3, 1, 3, 50_000}, {"gate", 4, 1, 3, 500_000}, {"ci", 5, 1, 3, 500_000}, {"all", 5, 3, 4, 50_000_000}}

var (
	oneTier   = []policy.Tier{{Topic: "in.retry-1s", Delay: time.Second}}
	shortLong = []policy.Tier{{Topic: "in.retry-1s", Delay: time.Second}, {Topic: "in.retry-4s", Delay: 4 * time.Second}}
	allFaults = []stepKind{stepCrash, stepExpire, stepRebalance, stepAbort, stepRewind, stepOverrun}
)

// plans returns the explored plans.
func plans(s scale) []plan {
	crash := []stepKind{stepCrash}
	none, latest, strict := retrytopics.Ordering{Mode: retrytopics.OrderNone}, retrytopics.Ordering{Mode: retrytopics.OrderLatestWins}, retrytopics.Ordering{Mode: retrytopics.OrderStrict}
	hold := retrytopics.Ordering{Mode: retrytopics.OrderStrict, OnDeadLetter: retrytopics.OnDeadLetterHoldKey}
	long, short := patterns(s.events, 3), patterns(s.few, 2)
	all := []plan{
		{name: "gaps", histories: patterns(s.few+2, 3), keys: 3, tiers: oneTier, order: none, faults: 2, kinds: crash},
		{name: "markers", histories: patterns(s.few, 3), keys: 3, tiers: oneTier, order: none, faults: 2, failures: 2, kinds: crash, markers: true, mixed: true},
		{name: "little metadata", histories: patterns(s.few+1, 2), keys: 2, tiers: oneTier, order: none, faults: 1, failures: 1, kinds: crash, markers: true, room: 2},
		{name: "hardly any metadata", histories: patterns(s.few+1, 3), keys: 3, tiers: oneTier, order: none, faults: 2, kinds: crash, room: 1},
		{name: "long waits", histories: patterns(2, 2), keys: 2, tiers: shortLong, order: strict, faults: 1, failures: 2, kinds: crash, slow: true},
		{name: "latest wins, all faults", histories: short, keys: 2, tiers: oneTier, order: latest, faults: 2, failures: 1, kinds: allFaults},
		{name: "strict, all faults", histories: short, keys: 2, tiers: oneTier, order: strict, faults: 1, failures: 2, kinds: allFaults, markers: true},
		{name: "repetitions", histories: each(short, repeating), keys: 2, tiers: oneTier, order: latest, dedupe: true, faults: 2, failures: 1, kinds: crash},
		{name: "repetitions, all faults", histories: each(short, repeating), keys: 2, tiers: oneTier, order: latest, dedupe: true, faults: 1, failures: 1, kinds: allFaults},
		{name: "strict, repetitions", histories: each(short, repeating), keys: 2, tiers: oneTier, order: strict, dedupe: true, faults: 1, failures: 1, kinds: crash},
		{name: "versions", histories: each(patterns(s.few, 1), versioned), keys: 1, tiers: oneTier, order: latest, dedupe: true, versioned: true, faults: 1, failures: 1, kinds: crash},
		{name: "versions without a ledger", histories: each(patterns(s.few, 1), versioned), keys: 1, tiers: oneTier, order: latest, versioned: true, faults: 1, failures: 1, kinds: allFaults},
		{name: "a dead letter blocks its key", histories: short, keys: 2, tiers: oneTier, order: hold, faults: 1, failures: 2, kinds: crash, mortal: 1},

		{name: "no order", histories: long, keys: 3, tiers: oneTier, order: none, faults: 2, failures: s.failures, kinds: crash},
		{name: "latest wins", histories: long, keys: 3, tiers: oneTier, order: latest, faults: 2, failures: s.failures, kinds: crash},
		{name: "strict", histories: long, keys: 3, tiers: oneTier, order: strict, faults: 2, failures: s.failures, kinds: crash},
	}
	for i := range all {
		all[i].most = s.most
	}
	return all
}

// each returns all variations of the histories.
func each(histories []history, vary func(history) []history) (all []history) {
	for _, h := range histories {
		all = append(all, vary(h)...)
	}
	return all
}

// history is the content of the source topic: a few events over a few keys.
type history []historyEvent

// historyEvent is one event of a history. Its index in the history is its offset.
type historyEvent struct {
	key     int
	content int   // of its key: events of one key and content are repetitions
	version int64 // if versions decide; a tombstone has none
}

// String returns a history such as "a0 b0 a1": keys as letters, contents as numbers, "@" before a version.
func (h history) String() string {
	words := make([]string, len(h))
	for i, e := range h {
		words[i] = fmt.Sprintf("%c%d", 'a'+e.key, e.content)
		if e.version != 0 {
			words[i] += fmt.Sprint("@", e.version)
		}
	}
	return strings.Join(words, " ")
}

// hash returns the content hash of an event.
func (e historyEvent) hash() string { return contentHashes[e.content] }

var contentHashes = func() (all [8]string) {
	for i := range all {
		all[i] = idempotency.Of([]byte{byte(i)}).String()
	}
	return all
}()

// record returns the source record of an event.
func (h history) record(offset int64) *kgo.Record {
	e := h[offset]
	r := &kgo.Record{Topic: "in", Offset: offset, Key: []byte{'a' + byte(e.key)}, Value: []byte{byte(e.content)}, Timestamp: dawn}
	if e.version == tombstone {
		r.Value = nil
	}
	return r
}

// tombstone is the version that marks a tombstone.
const tombstone = -1

var dawn = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// patterns returns the ways to distribute n events over at most keys keys. Keys are alike, so each first appears in its
// order: a b a, and never b a b.
func patterns(n, keys int) (all []history) {
	var extend func(h history, used int)
	extend = func(h history, used int) {
		if len(h) == n {
			all = append(all, append(history{}, h...))
			return
		}
		for k := range min(used+1, keys) {
			extend(append(h, historyEvent{key: k}), max(used, k+1))
		}
	}
	extend(nil, 0)
	for _, h := range all {
		distinct(h)
	}
	return all
}

// distinct gives each event of a key a different content.
func distinct(h history) {
	count := map[int]int{}
	for i := range h {
		h[i].content = count[h[i].key]
		count[h[i].key]++
	}
}

// repeating returns the ways in which the events of each key can have one of two contents. The first event of each key
// has the first content.
func repeating(h history) (all []history) {
	var extend func(i int, seen map[int]bool)
	next := append(history{}, h...)
	extend = func(i int, seen map[int]bool) {
		if i == len(h) {
			all = append(all, append(history{}, next...))
			return
		}
		first := !seen[h[i].key]
		for c := range 2 {
			if first && c > 0 {
				continue
			}
			next[i].content = c
			seen[h[i].key] = true
			extend(i+1, seen)
		}
		if first {
			delete(seen, h[i].key)
		}
	}
	extend(0, map[int]bool{})
	return all
}

// versioned returns the ways in which the events of a history can have one of two versions or be a tombstone.
func versioned(h history) (all []history) {
	next := append(history{}, h...)
	var extend func(i int)
	extend = func(i int) {
		if i == len(h) {
			all = append(all, append(history{}, next...))
			return
		}
		for _, v := range []int64{1, 2, tombstone} {
			next[i].version = v
			extend(i + 1)
		}
	}
	extend(0)
	return all
}
