package versions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// Applied has the newest applied event of each key of dead letters, read from the topics in which the consumer keeps
// it. The consumer closes an older dead letter as superseded: ordering latest does so for all records,
// strict for replays. Neither knows a later event that the consumer has not read yet.
type Applied struct {
	latest map[idempotency.KeyHash]statetopic.Latest
	forced map[idempotency.KeyHash]header.Version // versions of the dead letters that the plan being made forces
	Doubt  string                                 // why a part could not be read; "" if everything was read
}

// None returns a value that knows no applied event. Nothing is superseded by it.
func None() *Applied {
	return &Applied{latest: map[idempotency.KeyHash]statetopic.Latest{}, forced: map[idempotency.KeyHash]header.Version{}}
}

// Read reads the state topic. The state topic has, for each key with an unresolved dead letter, the newest event since
// that record died. If source offsets order events, this is enough, since earlier events are older. If a version field
// orders events, a newer event can have come first; the state topic then has the newest version of every key, and the
// ledger has the events applied within the dedupe window. The keys are sorted (see [idempotency.KeyHash.Compare]).
func Read(ctx context.Context, cfg *config.Config, client *kgo.Client, now time.Time, keys []idempotency.KeyHash) (*Applied, error) {
	n := None()
	if cfg.Ordering.Mode == config.OrderingNone {
		return n, nil
	}
	versioned := cfg.Source.Version != ""
	state := stateReader{keys: keys, scale: statetopic.ScaleOffset, lasting: map[idempotency.KeyHash]statetopic.Latest{}, n: n}
	if versioned {
		state.scale, state.kept = statetopic.ScaleOf(cfg.Source.Version), cfg.Ordering.Versions.Keep == config.KeepVersionsAlways
	}
	err := scanMemory(ctx, client, cfg.Topics.State, n, state.add)
	for key, known := range state.lasting {
		n.merge(key, known)
	}
	if window := cfg.Dedupe.Window.Std(); err == nil && versioned && window > 0 {
		ledger := ledger{keys: keys, since: now.Add(-window), last: map[idempotency.KeyHash]header.Version{}}
		if err = scanMemory(ctx, client, cfg.Topics.Ledger, n, ledger.add); err == nil {
			n.mergeLedger(ledger.last)
		}
	}
	return n, err
}

// scanMemory reads a topic of the consumer. If the topic does not exist, it stores a doubt.
func scanMemory(ctx context.Context, client *kgo.Client, topic string, n *Applied, add func(*kgo.Record) error) error {
	spans, err := kafka.Spans(ctx, client, topic)
	if errors.Is(err, kafka.ErrNoTopic) {
		n.Doubt = "there is no topic " + topic
		return nil
	}
	if err != nil {
		return err
	}
	return kafka.Scan(ctx, client, topic, spans, func(r *kgo.Record) error {
		if err := add(r); err != nil {
			return fmt.Errorf("%s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		return nil
	})
}

// stateReader reads the state topic. A key can have a state and a version there, each with its own tombstone.
type stateReader struct {
	keys    []idempotency.KeyHash // sorted; the versions of other keys are not kept, since there can be millions
	scale   statetopic.Scale
	kept    bool // the pipeline keeps versions
	lasting map[idempotency.KeyHash]statetopic.Latest
	n       *Applied // receives the states
}

func (s *stateReader) add(r *kgo.Record) error {
	m, ok, err := statetopic.Read(r.Key, r.Value, s.scale)
	if err != nil || !ok {
		return err
	}
	known := s.n.latest
	if m.Lasting {
		if _, wanted := slices.BinarySearchFunc(s.keys, m.Key, idempotency.KeyHash.Compare); !wanted || !s.kept {
			return nil
		}
		known = s.lasting
	}
	if !m.Known {
		delete(known, m.Key)
		return nil
	}
	known[m.Key] = m.Newest
	return nil
}

// merge merges the newest event of a key from another topic.
func (n *Applied) merge(key idempotency.KeyHash, more statetopic.Latest) {
	if known, ok := n.latest[key]; ok {
		more = more.Join(known)
	}
	n.latest[key] = more
}

func (n *Applied) mergeLedger(last map[idempotency.KeyHash]header.Version) {
	for key, v := range last {
		n.merge(key, statetopic.Latest{Version: v})
	}
}

// ledger reads the ledger topic for some keys. A ledger of all keys can be far larger.
type ledger struct {
	keys  []idempotency.KeyHash // sorted
	since time.Time             // start of the dedupe window; the consumer has forgotten earlier events
	last  map[idempotency.KeyHash]header.Version
}

func (l *ledger) add(r *kgo.Record) error {
	changes, err := idempotency.ReadChanges(r.Value)
	if err != nil {
		return err
	}
	for i := range changes {
		c := &changes[i]
		if _, wanted := slices.BinarySearchFunc(l.keys, c.Key, idempotency.KeyHash.Compare); !wanted {
			continue
		}
		if c.Applied.At.Before(l.since) {
			delete(l.last, c.Key)
			continue
		}
		l.last[c.Key] = header.Version{Number: c.Applied.Version, Offset: c.Applied.Offset}
	}
	return nil
}

// Supersedes reports whether an event newer than the dead letter was applied for its key.
func (n *Applied) Supersedes(l *deadletters.Letter, tried pipeline.Tried) bool {
	newest, ok := n.latest[l.KeyHash()]
	return ok && l.Keyed() && newest.Outdates(versionOf(l, tried, newest.Version))
}

// versionOf returns the version that the consumer gives a dead letter. It comes from the record's first appearance. A
// delete is newer than all earlier events, whatever their version numbers.
func versionOf(l *deadletters.Letter, tried pipeline.Tried, newest header.Version) header.Version {
	v := header.Version{Offset: l.Control.VersionOffset()} // dead letters without a source position are left
	switch {
	case tried.Delete:
		v.Number = newest.Number
	case tried.Version != nil:
		v.Number = *tried.Version
	}
	return l.Control.Compared(v, &newest)
}

// Force decides whether a dead letter of a forced plan may overwrite newer data. It may not if a newer dead
// letter of the same key goes back earlier in the plan: among dead letters the newest wins. A dead letter without a key
// needs no force, since no version guard holds it.
func (n *Applied) Force(line *plan.Line, l *deadletters.Letter, tried pipeline.Tried) {
	if !l.Keyed() {
		return
	}
	line.Force = true
	if !line.Today.Passes {
		return // its version may be unknown
	}
	key := l.KeyHash()
	before := n.forced[key]
	own := versionOf(l, tried, before)
	if _, ok := n.forced[key]; ok && own.Less(before) {
		line.Force, line.Today.Superseded = false, true
		return
	}
	if line.Do == plan.Reinject {
		n.forced[key] = own
	}
}
