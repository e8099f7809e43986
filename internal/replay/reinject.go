package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// destination is the topic that dead letters go to.
type destination struct {
	topic      string
	partitions int32    // 0 keeps the partition of the dead letter
	elsewhere  string   // name of the topic if it is not the source topic; else ""
	origins    *origins // for a DLQ without a pipeline, whose dead letters may go to several topics; else nil
}

// aimed returns the destination of a plan.
func (s *Service) aimed(ctx context.Context, o PlanOptions) (destination, error) {
	if o.KeepTimestamp && !s.alone {
		return destination{}, fmt.Errorf("%w: --keep-timestamp is for a DLQ without a pipeline: a pipeline's headers carry the time", operation.ErrOptions)
	}
	if !s.alone {
		return s.destination(ctx, o.To)
	}
	if o.MaxReplays < 0 {
		return destination{}, fmt.Errorf("%w: --max-replays is %d; it cannot be negative", operation.ErrOptions, o.MaxReplays)
	}
	if err := s.keptByOthers(ctx, o.To); err != nil {
		return destination{}, err
	}
	origins, err := s.origins(ctx, o)
	return destination{elsewhere: o.To, origins: origins}, err
}

// destination returns where dead letters go: to the source topic, in which they keep their partitions, or to another
// topic. It returns an error for the pipeline's own topics.
func (s *Service) destination(ctx context.Context, to string) (destination, error) {
	if to == "" {
		return destination{topic: s.cfg.Source.Topic}, nil
	}
	if path := s.cfg.OwnTopic(to); path != "" {
		return destination{}, fmt.Errorf("%w: %s belongs to this pipeline (%s); leave --to out to send dead letters back to %s", operation.ErrOptions, to, path, s.cfg.Source.Topic)
	}
	if strings.HasPrefix(to, "__") {
		return destination{}, fmt.Errorf("%w: %s has the name of an internal topic of Kafka; check --to", operation.ErrOptions, to)
	}
	partitions, err := kafka.Partitions(ctx, s.client, to)
	if errors.Is(err, kafka.ErrNoTopic) {
		return destination{}, fmt.Errorf("%w: %s; check --to", kafka.ErrNoTopic, to)
	}
	if err == nil {
		err = s.keptByOthers(ctx, to)
	}
	return destination{topic: to, partitions: int32(len(partitions)), elsewhere: to}, err
}

// keptByOthers returns an error for an internal topic of another pipeline. The readers of that topic would take dead
// letters for their own records, and a consumer stops at an unreadable state topic. It recognizes default topic names
// only, if the source topic and its control topic exist.
func (s *Service) keptByOthers(ctx context.Context, to string) error {
	source := config.KeptBeside(to)
	if source == "" {
		return nil
	}
	for _, beside := range []string{source, source + ".control"} {
		if _, err := kafka.Partitions(ctx, s.client, beside); errors.Is(err, kafka.ErrNoTopic) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s belongs to the pipeline of %s; send dead letters to %[3]s, or to a topic of your own", operation.ErrOptions, to, source)
}

// partition returns the partition that a dead letter goes to: its own, or in another topic the one of its key, as Kafka's
// own clients choose it. Without a key it is a random one.
func (d destination) partition(l *deadletters.Letter) int32 {
	switch {
	case d.partitions == 0:
		return l.DLQ.Partition
	case l.Key == nil:
		return rand.Int32N(d.partitions)
	}
	return int32(kgo.StickyKeyPartitioner(nil).ForTopic(d.topic).Partition(&kgo.Record{Key: l.Key}, int(d.partitions)))
}

// restored returns the control headers that go back with a dead letter: the position where the record first appeared,
// by which ordering and deduplication treat it, the headers that must survive every hop (S3-8), and the part of its
// record or the remaining parts. A replay adds others (see [destination.reinjected]). No other control header goes
// back, also none that this version does not know: the record starts with a new attempt count, and its last error no
// longer applies.
func restored(l *deadletters.Letter) header.Control {
	c := &l.Control
	return header.Control{
		Source: c.Source, HasSource: c.HasSource, Generation: c.Generation, SourceTimestamp: c.SourceTimestamp,
		Lineage: c.Lineage, Care: c.Care, Sovereignty: c.Sovereignty, Part: c.Part, PartVersion: c.PartVersion, Remaining: c.Remaining,
	}
}

// reinjected returns the record that goes back: original key, value and partition, the headers selected by the rules,
// the control headers of [restored], and those of the replay. The dead letter must have its content.
func (d destination) reinjected(headers headerRules, replayID string, l *deadletters.Letter, force bool) *kgo.Record {
	control := restored(l)
	control.ReplayID, control.ReplayCount, control.DeadLetterID, control.ContentHash = replayID, l.Replays()+1, l.ID, l.ContentHash
	control.ForceVersion = force
	r := d.record(l)
	r.Headers = control.AppendTo(headers.back(l.Dialect, l.Content.Headers))
	return r
}

// record returns the record that goes back, without headers.
func (d destination) record(l *deadletters.Letter) *kgo.Record {
	return &kgo.Record{Topic: d.topic, Partition: d.partition(l), Key: bytes.Clone(l.Key), Value: l.Content.Value}
}
