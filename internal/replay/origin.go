package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// mostTargets bounds how many topics are looked up: who can write into a DLQ can name any number of them in its headers.
const mostTargets = 1000

// origins says where the letters of a DLQ without a pipeline go. What a header names is input that anybody may have written who can write
// into the DLQ. It is for one goroutine at a time.
type origins struct {
	client *kgo.Client
	topics config.Topics
	to     string   // all letters go there; "" is where each came from
	named  []string // the only topics that headers may name; nil is any
	most   int      // replays of one letter
	known  map[string]target
}

// target is a topic that letters go to.
type target struct {
	topic      string
	partitions int32
	compacted  bool
	why        string // nothing may be written to it, and why
}

// origins prepares to look for where letters go. It refuses a topic that all of them are to go to and cannot.
func (s *Service) origins(ctx context.Context, to string, named []string, most int) (*origins, error) {
	o := &origins{client: s.client, topics: s.cfg.Topics, to: to, named: named, most: most, known: map[string]target{}}
	if to == "" {
		return o, nil
	}
	if t := o.target(ctx, to); t.why != "" {
		return nil, fmt.Errorf("%w: --to %s: %s", ErrOptions, to, t.why)
	}
	return o, nil
}

// of says where a letter goes, or why it goes nowhere. replays is how often it was put back.
func (o *origins) of(ctx context.Context, l *deadletters.Letter, replays int) (t target, why string) {
	name := o.to
	switch {
	case l.Dialect == deadletters.Native:
		return t, "a Switchback pipeline wrote it, which has states of its own: name its pipeline file with -c"
	case replays >= o.most:
		return t, fmt.Sprintf("it was put back %d times and died again: at most %d may be (--max-replays)", replays, o.most)
	case name != "":
	case l.Control.Source.Topic == "":
		return t, "no header names a topic that it can have come from: say with --to where it goes"
	default:
		name = l.Control.Source.Topic
		if o.named != nil && !slices.Contains(o.named, name) {
			return t, fmt.Sprintf("it comes from topic %q, which --origin does not name", name)
		}
	}
	t = o.target(ctx, name)
	switch {
	case t.why != "":
		return t, fmt.Sprintf("its headers name topic %q: %s; --to sends it to another one", name, t.why)
	case t.compacted && !l.Keyed():
		return t, fmt.Sprintf("it has no key, and topic %q is compacted: Kafka takes no record without a key there", name)
	}
	return t, ""
}

// target looks a topic up, once.
func (o *origins) target(ctx context.Context, name string) target {
	if t, known := o.known[name]; known {
		return t
	}
	if len(o.known) >= mostTargets {
		return target{why: fmt.Sprintf("the dead letters name more than %d topics; --origin says which of them are meant", mostTargets)}
	}
	t := target{topic: name, why: o.forbidden(name)}
	if t.why == "" {
		o.lookUp(ctx, &t)
	}
	o.known[name] = t
	return t
}

// forbidden says why a topic is none that letters go to, whatever the cluster says of it.
func (o *origins) forbidden(name string) string {
	bad := func(r rune) bool { return !plain(r) }
	switch {
	case name == o.topics.DLQ:
		return "it is the DLQ itself"
	case name == o.topics.DLQStatus, name == o.topics.Audit, name == o.topics.Control:
		return "the replayer keeps there what it knows of this DLQ"
	case name == "." || name == ".." || strings.ContainsFunc(name, bad):
		return "that is no name of a topic"
	case strings.HasPrefix(name, "__"):
		return "it is an internal topic of Kafka"
	}
	return ""
}

func (o *origins) lookUp(ctx context.Context, t *target) {
	admin := kadm.NewClient(o.client)
	details, err := admin.ListTopicsWithInternal(ctx, t.topic)
	d, known := details[t.topic]
	if err == nil && known {
		err = d.Err
	}
	switch {
	case err == nil && !known, errors.Is(err, kerr.UnknownTopicOrPartition):
		t.why = "there is no such topic"
	case err != nil:
		t.why = fmt.Sprintf("it cannot be looked up: %v", kafka.DeniedTopic("Describe", t.topic, err))
	case d.IsInternal:
		t.why = "it is an internal topic of Kafka"
	default:
		t.partitions = int32(len(d.Partitions)) //nolint:gosec // a count
		t.compacted = compacted(ctx, admin, t.topic)
	}
}

// compacted reports whether a topic is known to be compacted. Where the settings may not be read, the broker refuses the record.
func compacted(ctx context.Context, admin *kadm.Client, topic string) bool {
	settings, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return false
	}
	for _, topic := range settings {
		for _, c := range topic.Configs {
			if c.Key == "cleanup.policy" && strings.Contains(c.MaybeValue(), "compact") {
				return true
			}
		}
	}
	return false
}

// putBack is the record that goes back out of a DLQ without a pipeline: key, bytes and the producer's headers, and what tells the replay
// when the letter dies again. In the topic that it came from it keeps its partition, while there is one.
func (t target) putBack(headers headerRules, replayID, dlq string, l *deadletters.Letter, value []byte) *kgo.Record {
	r := destination{topic: t.topic, partitions: t.partitions}.record(l)
	if source, known := l.Source(); known && source.Topic == t.topic && source.Partition >= 0 && source.Partition < t.partitions {
		r.Partition = source.Partition
	}
	control := header.Control{ReplayID: replayID, ReplayCount: l.Replays() + 1, DeadLetterID: deadletters.IDIn(dlq, l.ID), ContentHash: l.ContentHash}
	if !bytes.Equal(value, r.Value) {
		r.Value, control.ContentHash = value, "" // it is another content when it dies again
	}
	r.Headers = control.AppendTo(headers.back(l.Dialect, l.Content.Headers))
	return r
}
