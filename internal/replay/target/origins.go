package target

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// UsualReplays is the default of Options.MaxReplays.
const UsualReplays = 3

// maxTargets bounds the number of topics that are looked up. Anybody who can write to the DLQ can name any number of
// topics in headers.
const maxTargets = 1000

// Origins decides where the dead letters of a DLQ without a pipeline go. The topic in a header is untrusted input. An
// Origins is for one goroutine at a time.
type Origins struct {
	client     *kgo.Client
	topics     config.Topics
	to         string   // topic of all dead letters; "" sends each to its origin
	named      []string // the only topics that headers may name; nil is any
	MaxReplays int      // number of times that one dead letter may be put back
	known      map[string]Topic
	keep       bool             // keep the timestamps of the dead letters
	now        func() time.Time // the clock
}

// origins prepares the lookup of targets. It returns an error if all dead letters are to go to a topic that cannot
// take them.
func (s *Finder) origins(ctx context.Context, p Options) (*Origins, error) {
	o := &Origins{
		client: s.Client, topics: s.Config.Topics, to: p.To, named: p.Origins, MaxReplays: cmp.Or(p.MaxReplays, UsualReplays), known: map[string]Topic{},
		keep: p.KeepTimestamp, now: s.Now,
	}
	if p.To == "" {
		return o, nil
	}
	if t := o.Topic(ctx, p.To); t.Refused != "" {
		return nil, fmt.Errorf("%w: --to %s: %s", operation.ErrOptions, p.To, t.Refused)
	}
	return o, nil
}

// Of returns where a dead letter goes, or why it goes nowhere. replays is how often it was put back.
func (o *Origins) Of(ctx context.Context, l *deadletters.Letter, replays int) (t Topic, why string) {
	name := o.to
	switch {
	case l.Dialect == deadletters.Native:
		return t, "a Switchback pipeline wrote it and keeps its states: name the pipeline file with -c"
	case replays >= o.MaxReplays:
		return t, fmt.Sprintf("it was put back %d times and died again; the maximum is %d (--max-replays)", replays, o.MaxReplays)
	case name != "":
	case l.Control.Source.Topic == "":
		return t, "no header names the topic that it came from: name a topic with --to"
	default:
		name = l.Control.Source.Topic
		if o.named != nil && !slices.Contains(o.named, name) {
			return t, fmt.Sprintf("it comes from topic %q, which --origin does not name", name)
		}
	}
	t = o.Topic(ctx, name)
	switch {
	case t.Refused != "":
		return t, fmt.Sprintf("its headers name topic %q: %s; --to sends it to another topic", name, t.Refused)
	case t.Compacted && !l.Keyed():
		return t, fmt.Sprintf("it has no key, and topic %q is compacted: Kafka refuses records without a key there", name)
	}
	return t, o.outlived(&t, l)
}

// outlived returns why a dead letter cannot keep its timestamp in a topic, or "".
func (o *Origins) outlived(t *Topic, l *deadletters.Letter) string {
	produced := l.Control.SourceTimestamp
	switch {
	case !o.keep:
		return ""
	case produced.IsZero():
		return "no header says when it was produced; without --keep-timestamp it gets the time of its replay"
	case t.Keeps > 0 && o.now().Sub(produced) >= t.Keeps:
		return fmt.Sprintf("it is older than topic %q keeps or accepts (retention.ms, message.timestamp.before.max.ms); without --keep-timestamp it gets the time of its replay", t.Name)
	}
	return ""
}

// Topic looks a topic up once.
func (o *Origins) Topic(ctx context.Context, name string) Topic {
	if t, known := o.known[name]; known {
		return t
	}
	if len(o.known) >= maxTargets {
		return Topic{Refused: fmt.Sprintf("the dead letters name more than %d topics; name the right ones with --origin", maxTargets)}
	}
	t := Topic{Name: name, Refused: o.forbidden(name)}
	if t.Refused == "" {
		t = LookUp(ctx, o.client, name)
	}
	o.known[name] = t
	return t
}

// forbidden returns why dead letters must not go to a topic, whatever its settings, or "".
func (o *Origins) forbidden(name string) string {
	switch {
	case name == o.topics.DLQ:
		return "it is the DLQ itself"
	case name == o.topics.DLQStatus, name == o.topics.Audit, name == o.topics.Control:
		return "the replayer keeps its states of this DLQ there"
	case name == "." || name == ".." || !operation.Plain(name):
		return "it is not a topic name"
	case strings.HasPrefix(name, "__"):
		return "it is an internal topic of Kafka"
	}
	return ""
}

// Compacted returns the compacted topics among those that were looked up and take dead letters.
func (o *Origins) Compacted() []string {
	var names []string
	for name, t := range o.known {
		if t.Compacted {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Doubt names the topics whose settings are unknown; "" if all are known.
func (o *Origins) Doubt() string {
	var doubts []string
	for _, name := range slices.Sorted(maps.Keys(o.known)) {
		if d := o.known[name].Doubt; d != "" {
			doubts = append(doubts, d)
		}
	}
	return header.Clip(strings.Join(doubts, "; "), plan.MaxMessage)
}

// PutBack returns the record that goes back from a DLQ without a pipeline: key, value and the producer's headers, and
// a header by which the dead letter is recognized if it dies again. In the topic that it came from, the record keeps
// its partition if that still exists.
func (o *Origins) PutBack(headers HeaderRules, t *Topic, of *plan.Head, l *deadletters.Letter, value []byte) *kgo.Record {
	r := Destination{topic: t.Name, partitions: t.Partitions}.record(l)
	if source, known := l.Source(); known && source.Topic == t.Name && source.Partition >= 0 && source.Partition < t.Partitions {
		r.Partition = source.Partition
	}
	if o.keep {
		r.Timestamp = l.Control.SourceTimestamp
	}
	control := header.Control{ReplayID: of.ID, ReplayCount: l.Replays() + 1, DeadLetterID: deadletters.IDIn(of.DLQ, l.ID), ContentHash: l.ContentHash}
	if !bytes.Equal(value, r.Value) {
		r.Value, control.ContentHash = value, "" // if it dies again, it has different content
	}
	r.Headers = control.AppendTo(headers.Apply(l.Dialect, l.Content.Headers))
	return r
}
