package replay

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
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// newest knows, for keys of dead letters, the newest event that took effect, from where the consumer itself knows it: a
// letter that is older will be closed as superseded (latest wins; strict holds replays to it too). A later event that the
// consumer has not read yet is not known to either.
type newest struct {
	applied map[idempotency.KeyHash]retrytopics.Latest
	forced  map[idempotency.KeyHash]header.Version // by letters of the plan at hand
	doubt   string                                 // why not all of it could be read; "" when it could
}

// newestFor reads the state topic, which has the newest event of each key that has an unsettled letter, since that died.
// Where source offsets order events there can be no other: what took effect before is older. Where a field of theirs
// does, a newer one can have come first; it has the newest version of every key then, and what took effect within the dedupe
// window is in the ledger. Letters that go to another topic are held to nothing.
func (s *Service) newestFor(ctx context.Context, keys []idempotency.KeyHash, to string) (*newest, error) {
	n := &newest{applied: map[idempotency.KeyHash]retrytopics.Latest{}, forced: map[idempotency.KeyHash]header.Version{}}
	if s.cfg.Ordering.Mode == config.OrderingNone || to != "" || s.alone {
		return n, nil
	}
	versioned := s.cfg.Source.Version != ""
	state := stateReader{keys: keys, scale: retrytopics.ScaleOffset, lasting: map[idempotency.KeyHash]retrytopics.Latest{}, n: n}
	if versioned {
		state.scale, state.kept = retrytopics.ScaleOf(s.cfg.Source.Version), s.cfg.Ordering.Versions.Keep == config.KeepVersionsAlways
	}
	err := s.scanKnown(ctx, s.cfg.Topics.State, n, state.add)
	for key, known := range state.lasting {
		n.join(key, known)
	}
	if window := s.cfg.Dedupe.Window.Std(); err == nil && versioned && window > 0 {
		ledger := ledger{keys: keys, since: s.now().Add(-window), last: map[idempotency.KeyHash]header.Version{}}
		if err = s.scanKnown(ctx, s.cfg.Topics.Ledger, n, ledger.add); err == nil {
			n.merge(ledger.last)
		}
	}
	return n, err
}

// scanKnown reads a topic of the consumer. That it does not exist leaves a doubt.
func (s *Service) scanKnown(ctx context.Context, topic string, n *newest, add func(*kgo.Record) error) error {
	spans, err := kafka.Spans(ctx, s.client, topic)
	if errors.Is(err, kafka.ErrNoTopic) {
		n.doubt = "there is no topic " + topic
		return nil
	}
	if err != nil {
		return err
	}
	return kafka.Scan(ctx, s.client, topic, spans, func(r *kgo.Record) error {
		if err := add(r); err != nil {
			return fmt.Errorf("%s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		return nil
	})
}

// stateReader reads the state topic. A key can have a state and a version there, each with its own tombstone.
type stateReader struct {
	keys    []idempotency.KeyHash // sorted; versions of others are not kept, there can be millions
	scale   retrytopics.Scale
	kept    bool // versions are in use
	lasting map[idempotency.KeyHash]retrytopics.Latest
	n       *newest // states
}

func (s *stateReader) add(r *kgo.Record) error {
	m, ok, err := retrytopics.ReadRemembered(r.Key, r.Value, s.scale)
	if err != nil || !ok {
		return err
	}
	known := s.n.applied
	if m.Lasting {
		if _, wanted := slices.BinarySearchFunc(s.keys, m.Key, compareKeys); !wanted || !s.kept {
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

// join notes what is known of a key from another place.
func (n *newest) join(key idempotency.KeyHash, more retrytopics.Latest) {
	if known, ok := n.applied[key]; ok {
		more = more.Join(known)
	}
	n.applied[key] = more
}

func (n *newest) merge(last map[idempotency.KeyHash]header.Version) {
	for key, v := range last {
		n.join(key, retrytopics.Latest{Version: v})
	}
}

// ledger is what the ledger topic says of some keys. A ledger of all keys can be far larger than what is asked for.
type ledger struct {
	keys  []idempotency.KeyHash // sorted
	since time.Time             // what took effect before has left the window: the consumer has forgotten it
	last  map[idempotency.KeyHash]header.Version
}

func (l *ledger) add(r *kgo.Record) error {
	changes, err := idempotency.ReadChanges(r.Value)
	if err != nil {
		return err
	}
	for i := range changes {
		c := &changes[i]
		if _, wanted := slices.BinarySearchFunc(l.keys, c.Key, compareKeys); !wanted {
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

func compareKeys(a, b idempotency.KeyHash) int { return slices.Compare(a[:], b[:]) }

// keys are those of the chosen letters, sorted.
func (p *planning) keys() []idempotency.KeyHash {
	keys := make([]idempotency.KeyHash, len(p.marks))
	for i := range p.marks {
		keys[i] = p.marks[i].key
	}
	slices.SortFunc(keys, compareKeys)
	return slices.Compact(keys)
}

// than reports whether an event newer than the letter has taken effect for its key.
func (n *newest) than(l *deadletters.Letter, tried pipeline.Tried) bool {
	newest, ok := n.applied[l.KeyHash()]
	return ok && l.Keyed() && newest.Outdates(versionOf(l, tried, newest.Version))
}

// versionOf is the version by which the consumer holds a letter: its own, from its first appearance. A delete counts as
// newer than the events before it, whatever their number.
func versionOf(l *deadletters.Letter, tried pipeline.Tried, newest header.Version) header.Version {
	v := header.Version{Offset: l.Control.VersionOffset()} // a letter without a source is left
	switch {
	case tried.Delete:
		v.Number = newest.Number
	case tried.Version != nil:
		v.Number = *tried.Version
	}
	return l.Control.Compared(v, &newest)
}

// force says of a letter of a forced plan whether it goes back as one that may overwrite newer data. Not when a newer
// letter of its key, of the same plan, goes back before it: among themselves the latest wins. Nor without a key: nothing
// holds such a letter to a version.
func (n *newest) force(line *plan.Letter, l *deadletters.Letter, tried pipeline.Tried) {
	if !l.Keyed() {
		return
	}
	line.Force = true
	if !line.Today.Passes {
		return // its version may not be known
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
