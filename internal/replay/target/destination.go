package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Options say where the dead letters of a plan go.
type Options struct {
	To            string   // topic that they go to instead of the source topic
	Origins       []string // only topics that dead letters of a DLQ without a pipeline go back to; nil is any topic in their headers
	MaxReplays    int      // how often such a dead letter may be put back; 0 is [UsualReplays]
	KeepTimestamp bool     // the records get the timestamps of the records that died, instead of the time of the replay
}

// Destination is the topic that dead letters go to.
type Destination struct {
	Elsewhere string   // name of the topic if it is not the source topic; else ""
	Origins   *Origins // for a DLQ without a pipeline, whose dead letters may go to several topics; else nil

	topic      string
	partitions int32 // 0 keeps the partition of the dead letter
}

// Finder finds the destination of dead letters.
type Finder struct {
	Config *config.Config
	Client *kgo.Client
	Alone  bool // the DLQ has no pipeline
	Now    func() time.Time
}

// Find returns the destination of a plan. It returns [operation.ErrOptions] for a topic that cannot take dead letters.
func (s *Finder) Find(ctx context.Context, o Options) (Destination, error) {
	if o.KeepTimestamp && !s.Alone {
		return Destination{}, fmt.Errorf("%w: --keep-timestamp is for a DLQ without a pipeline: a pipeline's headers carry the time", operation.ErrOptions)
	}
	if !s.Alone {
		return s.ofPipeline(ctx, o.To)
	}
	if o.MaxReplays < 0 {
		return Destination{}, fmt.Errorf("%w: --max-replays is %d; it cannot be negative", operation.ErrOptions, o.MaxReplays)
	}
	if err := s.keptByOthers(ctx, o.To); err != nil {
		return Destination{}, err
	}
	origins, err := s.origins(ctx, o)
	return Destination{Elsewhere: o.To, Origins: origins}, err
}

// ofPipeline returns where dead letters of a pipeline go: to the source topic, in which they keep their partitions, or
// to another topic. It returns an error for the pipeline's own topics.
func (s *Finder) ofPipeline(ctx context.Context, to string) (Destination, error) {
	if to == "" {
		return Destination{topic: s.Config.Source.Topic}, nil
	}
	if path := s.Config.OwnTopic(to); path != "" {
		return Destination{}, fmt.Errorf("%w: %s belongs to this pipeline (%s); leave --to out to send dead letters back to %s", operation.ErrOptions, to, path, s.Config.Source.Topic)
	}
	if strings.HasPrefix(to, "__") {
		return Destination{}, fmt.Errorf("%w: %s has the name of an internal topic of Kafka; check --to", operation.ErrOptions, to)
	}
	partitions, err := kafka.Partitions(ctx, s.Client, to)
	if errors.Is(err, kafka.ErrNoTopic) {
		return Destination{}, fmt.Errorf("%w: %s; check --to", kafka.ErrNoTopic, to)
	}
	if err == nil {
		err = s.keptByOthers(ctx, to)
	}
	return Destination{topic: to, partitions: int32(len(partitions)), Elsewhere: to}, err
}

// keptByOthers returns an error for an internal topic of another pipeline. The readers of that topic would take dead
// letters for their own records, and a consumer stops at an unreadable state topic. It recognizes default topic names
// only, if the source topic and its control topic exist.
func (s *Finder) keptByOthers(ctx context.Context, to string) error {
	source := config.KeptBeside(to)
	if source == "" {
		return nil
	}
	for _, beside := range []string{source, source + ".control"} {
		if _, err := kafka.Partitions(ctx, s.Client, beside); errors.Is(err, kafka.ErrNoTopic) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s belongs to the pipeline of %s; send dead letters to %[3]s, or to a topic of your own", operation.ErrOptions, to, source)
}

// partition returns the partition that a dead letter goes to: its own, or in another topic the one of its key, as
// Kafka's own clients choose it. Without a key it is a random one.
func (d Destination) partition(l *deadletters.Letter) int32 {
	switch {
	case d.partitions == 0:
		return l.DLQ.Partition
	case l.Key == nil:
		return rand.Int32N(d.partitions)
	}
	return int32(kgo.StickyKeyPartitioner(nil).ForTopic(d.topic).Partition(&kgo.Record{Key: l.Key}, int(d.partitions)))
}

// Restored returns the control headers that go back with a dead letter: the position where the record first appeared,
// by which ordering and deduplication treat it, the headers that must survive every hop (S3-8), and the part of its
// record or the remaining parts. A replay adds others (see [Destination.Reinjected]). No other control header goes
// back, also none that this version does not know: the record starts with a new attempt count, and its last error no
// longer applies.
func Restored(l *deadletters.Letter) header.Control {
	c := &l.Control
	return header.Control{
		Source: c.Source, HasSource: c.HasSource, Generation: c.Generation, SourceTimestamp: c.SourceTimestamp,
		Lineage: c.Lineage, Care: c.Care, Sovereignty: c.Sovereignty, Part: c.Part, PartVersion: c.PartVersion, Remaining: c.Remaining,
	}
}

// Reinjected returns the record that goes back: original key, value and partition, the headers selected by the rules,
// the control headers of [Restored], and those of the replay. The dead letter must have its content.
func (d Destination) Reinjected(headers HeaderRules, replayID string, l *deadletters.Letter, force bool) *kgo.Record {
	control := Restored(l)
	control.ReplayID, control.ReplayCount, control.DeadLetterID, control.ContentHash = replayID, l.Replays()+1, l.ID, l.ContentHash
	control.ForceVersion = force
	r := d.record(l)
	r.Headers = control.AppendTo(headers.Apply(l.Dialect, l.Content.Headers))
	return r
}

// record returns the record that goes back, without headers.
func (d Destination) record(l *deadletters.Letter) *kgo.Record {
	return &kgo.Record{Topic: d.topic, Partition: d.partition(l), Key: bytes.Clone(l.Key), Value: l.Content.Value}
}
