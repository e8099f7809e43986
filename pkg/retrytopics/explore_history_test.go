//go:build !race

package retrytopics

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// history is what the source topic holds: a few events over a few keys, and what they say.
type history []told

// told is one event of a history. Its place in the history is its offset.
type told struct {
	key     int
	content int   // of its key: events of one key and content are repetitions
	version int64 // where versions decide; 0 has a tombstone
}

// String gives a history such as "a0 b0 a1": keys in letters, contents in numbers, "@" before a version.
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

// hash is the content hash of an event.
func (e told) hash() string { return contentHashes[e.content] }

var contentHashes = func() (all [8]string) {
	for i := range all {
		all[i] = idempotency.Of([]byte{byte(i)}).String()
	}
	return all
}()

// record gives the source record of an event.
func (h history) record(offset int64) *kgo.Record {
	e := h[offset]
	r := &kgo.Record{Topic: "in", Offset: offset, Key: []byte{'a' + byte(e.key)}, Value: []byte{byte(e.content)}, Timestamp: dawn}
	if e.version == tombstone {
		r.Value = nil
	}
	return r
}

// tombstone is the version of an event that is one.
const tombstone = -1

var dawn = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// patterns gives the ways in which n events can be shared among at most keys keys. Keys are alike, so each first appears in
// its order: a b a, and never b a b.
func patterns(n, keys int) (all []history) {
	var extend func(h history, used int)
	extend = func(h history, used int) {
		if len(h) == n {
			all = append(all, append(history{}, h...))
			return
		}
		for k := range min(used+1, keys) {
			extend(append(h, told{key: k}), max(used, k+1))
		}
	}
	extend(nil, 0)
	for _, h := range all {
		distinct(h)
	}
	return all
}

// distinct gives each event of a key a content of its own.
func distinct(h history) {
	count := map[int]int{}
	for i := range h {
		h[i].content = count[h[i].key]
		count[h[i].key]++
	}
}

// repeating gives the ways in which the events of each key of a history can say one of two things. The first one of each key
// says the first.
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

// versioned gives the ways in which the events of a history can have one of two versions or be a tombstone.
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
