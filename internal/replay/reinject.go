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
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// destination is a topic that letters go to.
type destination struct {
	topic      string
	partitions int32    // 0 keeps the letter's own partition
	byKey      byKey    // of a topic in which it does not
	elsewhere  string   // the topic when it is not the source; else ""
	origins    *origins // of a DLQ without a pipeline, which may go to several topics; else nil
}

// aimed is [Service.destination] for a plan.
func (s *Service) aimed(ctx context.Context, o PlanOptions) (destination, error) {
	if o.KeepTimestamp && !s.alone {
		return destination{}, fmt.Errorf("%w: --keep-timestamp is for a DLQ without a pipeline: a pipeline's headers carry the time", ErrOptions)
	}
	if !s.alone {
		return s.destination(ctx, o.To)
	}
	if o.MaxReplays < 0 {
		return destination{}, fmt.Errorf("%w: --max-replays is %d; it cannot be negative", ErrOptions, o.MaxReplays)
	}
	if err := s.keptByOthers(ctx, o.To); err != nil {
		return destination{}, err
	}
	origins, err := s.origins(ctx, o)
	return destination{elsewhere: o.To, origins: origins}, err
}

// destination returns where letters go: to the source topic, in which a letter keeps its partition, or to another one. It refuses the
// pipeline's own topics.
func (s *Service) destination(ctx context.Context, to string) (destination, error) {
	if to == "" {
		return destination{topic: s.cfg.Source.Topic}, nil
	}
	if path := s.cfg.OwnTopic(to); path != "" {
		return destination{}, fmt.Errorf("%w: %s belongs to this pipeline (%s); leave --to out to send dead letters back to %s", ErrOptions, to, path, s.cfg.Source.Topic)
	}
	if strings.HasPrefix(to, "__") {
		return destination{}, fmt.Errorf("%w: %s is named as Kafka's own topics are; check --to", ErrOptions, to)
	}
	partitions, err := kafka.Partitions(ctx, s.client, to)
	if errors.Is(err, kafka.ErrNoTopic) {
		return destination{}, fmt.Errorf("%w: %s; check --to", kafka.ErrNoTopic, to)
	}
	if err == nil {
		err = s.keptByOthers(ctx, to)
	}
	return destination{topic: to, partitions: int32(len(partitions)), byKey: newByKey(), elsewhere: to}, err
}

// keptByOthers refuses a topic that another pipeline keeps for itself: its readers would take dead letters for their own records, and a
// consumer ends at a state topic that it cannot read. Only default names tell, beside a source topic and its control topic.
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
	return fmt.Errorf("%w: %s belongs to the pipeline of %s; send dead letters to %[3]s, or to a topic of your own", ErrOptions, to, source)
}

// partition is where a letter goes: to its own partition, or, in another topic, to the one that its key gives.
func (d destination) partition(l *deadletters.Letter) int32 {
	if d.partitions == 0 {
		return l.DLQ.Partition
	}
	return d.byKey.partition(l.Key, d.partitions)
}

// byKey chooses the partition that Kafka's own clients give a key, and any one for a record without a key. It holds nothing of what it
// chose.
type byKey struct{ hash kgo.TopicPartitioner }

func newByKey() byKey { return byKey{kgo.StickyKeyPartitioner(nil).ForTopic("")} }

func (b byKey) partition(key []byte, partitions int32) int32 {
	if key == nil {
		return rand.Int32N(partitions)
	}
	return int32(b.hash.Partition(&kgo.Record{Key: key}, int(partitions)))
}

// restored returns the control headers of a letter that go back with it: where the feature first appeared, so that order and
// dedupe hold it to that position, what must survive every hop (S3-8), and which part of its record it is, or which parts
// are left. A replay sets others (see [destination.reinjected]). The rest stays behind: the letter starts its attempts
// anew, and what made it die is no longer true. So do our headers that this version does not know.
func restored(l *deadletters.Letter) header.Control {
	c := &l.Control
	return header.Control{
		Source: c.Source, HasSource: c.HasSource, Generation: c.Generation, SourceTimestamp: c.SourceTimestamp,
		Lineage: c.Lineage, Care: c.Care, Sovereignty: c.Sovereignty, Part: c.Part, PartVersion: c.PartVersion, Remaining: c.Remaining,
	}
}

// reinjected is the record that goes back: original key, bytes and partition; headers by the rules, control headers as
// [restored] returns them, and those of the replay. The letter must have its content.
func (d destination) reinjected(headers headerRules, replayID string, l *deadletters.Letter, force bool) *kgo.Record {
	control := restored(l)
	control.ReplayID, control.ReplayCount, control.DeadLetterID, control.ContentHash = replayID, l.Replays()+1, l.ID, l.ContentHash
	control.ForceVersion = force
	r := d.record(l)
	r.Headers = control.AppendTo(headers.back(l.Dialect, l.Content.Headers))
	return r
}

// record is the record that goes back, without headers.
func (d destination) record(l *deadletters.Letter) *kgo.Record {
	return &kgo.Record{Topic: d.topic, Partition: d.partition(l), Key: bytes.Clone(l.Key), Value: l.Content.Value}
}
