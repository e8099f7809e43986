package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// spans returns the unread part of each topic: from the end of the last pass to the current end. It includes
// everything that the pipeline committed before the call.
func (r *run) spans(ctx context.Context, s *groupPosition) (map[string]map[int32]kafka.Span, error) {
	all := map[string]map[int32]kafka.Span{}
	names := append([]string{r.cfg.Output.Topic, r.cfg.Topics.DLQ, r.cfg.Topics.Audit}, s.tiers...)
	for _, topic := range append(names, s.source) {
		look := kafka.DecidedSpans
		if topic == s.source {
			look = kafka.Spans // uncommitted records of its producers are not visible yet
		}
		spans, err := look(ctx, r.client, topic)
		if err != nil {
			return nil, err
		}
		for p, span := range spans {
			spot := Spot{topic, p}
			if _, again := r.read[spot]; !again {
				r.starts[spot], r.read[spot] = span.Start, span.Start
			}
			r.starts[spot] = max(r.starts[spot], span.Start)
			spans[p] = kafka.Span{Start: max(r.read[spot], span.Start), End: span.End}
		}
		all[topic] = spans
	}
	return all, r.bounded(s, all)
}

// bounded refuses more positions than fit into the allowed memory.
func (r *run) bounded(s *groupPosition, all map[string]map[int32]kafka.Span) error {
	var held, named, positions int64
	for topic, spans := range all {
		for p, span := range spans {
			switch {
			case topic != s.source:
				named += span.End - span.Start
			case r.o.Bounds.Partition < 0 || r.o.Bounds.Partition == p:
				to := span.End
				if r.o.Bounds.To > 0 {
					to = min(to, r.o.Bounds.To)
				}
				held += max(0, to-max(r.starts[Spot{topic, p}], r.o.Bounds.From))
				positions += max(0, to-r.o.Bounds.From)
			}
		}
	}
	if need := min(positions, held+named); need > r.o.MaxPositions {
		return fmt.Errorf("%w: up to %d positions, but %d are allowed (8 bytes each); verify a part with --partition, --from and --to, or allow more with --max-positions",
			ErrTooMany, need, r.o.MaxPositions)
	}
	return nil
}

// fold reads the spans into the account. It reads the source last, when the oldest positions of the other topics are
// known.
func (r *run) fold(ctx context.Context, s *groupPosition, all map[string]map[int32]kafka.Span) error {
	for topic, in := range map[string]PlaceKind{r.cfg.Output.Topic: InOutput, r.cfg.Topics.DLQ: InDLQ} {
		if err := r.scan(ctx, topic, all[topic], func(rec *kgo.Record) { r.account.take(in, rec) }, nil); err != nil {
			return err
		}
	}
	for _, topic := range s.tiers {
		if err := r.scan(ctx, topic, all[topic], func(rec *kgo.Record) { r.account.take(InTier, rec) }, nil); err != nil {
			return err
		}
	}
	trail := func(l *recordbatch.Large) { r.account.unreadable(positionOf(l.Record)) }
	if err := r.scan(ctx, r.cfg.Topics.Audit, all[r.cfg.Topics.Audit], r.account.takeEvent, trail); err != nil {
		return err
	}
	for _, topic := range r.ends() {
		if err := r.reaches(ctx, topic, all[topic]); err != nil {
			return err
		}
	}
	proven := func(rec *kgo.Record) { r.appears(rec, r.o.Proven) }
	return r.scan(ctx, s.source, all[s.source], proven, func(l *recordbatch.Large) {
		if l.Unread {
			r.account.Source(Appearance{At: positionOf(l.Record), Time: l.Timestamp, Unread: true})
			return
		}
		r.appears(l.Record, valueUnread)
	})
}

// valueUnread judges the proof of a replay whose value is too large to be read: it cannot be checked.
func valueUnread(r *kgo.Record) error {
	if !slices.ContainsFunc(r.Headers, func(h kgo.RecordHeader) bool { return h.Key == header.KeyReplayProof }) {
		return &retrytopics.DoubtError{Doubt: retrytopics.DoubtMissing, Reason: "it has no proof"}
	}
	return &retrytopics.DoubtError{Doubt: retrytopics.DoubtUnknownKey, Reason: "it is too large to be read"}
}

// ends are the topics in which records end.
func (r *run) ends() []string {
	return []string{r.cfg.Output.Topic, r.cfg.Topics.DLQ, r.cfg.Topics.Audit}
}

// scan reads spans of a topic. A record that is too large for memory still has its headers; scan calls large if those
// are not enough.
func (r *run) scan(ctx context.Context, topic string, spans map[int32]kafka.Span, take func(*kgo.Record), large func(*recordbatch.Large)) error {
	if large == nil {
		large = func(l *recordbatch.Large) { take(l.Record) }
	}
	err := kafka.ScanWith(ctx, r.client, topic, spans, max(kafka.MaxValue, r.cfg.Source.MaxRecordBytes),
		func(rec *kgo.Record) error { r.reportProgress(topic); take(rec); return nil },
		func(l *recordbatch.Large) error { r.reportProgress(topic); large(l); return nil })
	if err != nil {
		return fmt.Errorf("after %d records: %w", r.records, err)
	}
	for p, span := range spans {
		r.read[Spot{topic, p}] = span.End
	}
	return nil
}

// appears adds a record of the source.
func (r *run) appears(rec *kgo.Record, proven func(*kgo.Record) error) {
	generation := 0
	if pt := r.account.partitions[rec.Partition]; pt != nil {
		generation = pt.generation.Now
	}
	r.account.Source(appearance(rec, generation, proven))
	for _, topic := range r.ends() {
		if f := r.front(topic, rec.Partition); f.gone && !f.before(rec.Timestamp, time.Now()) {
			r.account.Since(rec.Partition, topic, rec.Offset+1)
		}
	}
}

// front is the lost beginning of a topic.
type front struct {
	gone  bool
	never bool      // nothing is known about any record: the topic is compacted, or empty
	until time.Time // approximate time of the last lost record
}

// Skew is the largest difference between the clocks of producers, consumers and brokers.
const Skew = time.Hour

// before reports whether the lost records were written before a source record arrived.
func (f front) before(came, now time.Time) bool {
	return !f.never && came.After(f.until.Add(Skew)) && came.Before(now.Add(Skew))
}

// front returns a topic's front for a partition of the source. The output has its own partitions; of the other topics,
// the same partition counts.
func (r *run) front(topic string, partition int32) front {
	if topic == r.cfg.Output.Topic {
		return r.fronts[Spot{topic, -1}]
	}
	return r.fronts[Spot{topic, partition}]
}

// errEnough ends a scan at its first record.
var errEnough = errors.New("enough")

// reaches finds the oldest position in a topic, after it was read.
func (r *run) reaches(ctx context.Context, topic string, spans map[int32]kafka.Span) error {
	starts, err := r.admin.ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return fmt.Errorf("start of %s: %w", topic, kafka.DeniedTopic("Read", topic, err))
	}
	all := front{never: r.compacted[topic], gone: r.compacted[topic]}
	for _, p := range slices.Sorted(maps.Keys(spans)) {
		start, _ := starts.Lookup(topic, p)
		f := front{gone: start.Offset > 0 || r.compacted[topic], never: r.compacted[topic]}
		if start.Offset > 0 {
			f.until, err = r.firstTime(ctx, topic, p, kafka.Span{Start: start.Offset, End: spans[p].End})
			if err != nil {
				return err
			}
			f.never = f.never || f.until.IsZero()
		}
		r.fronts[Spot{topic, p}] = f
		all.gone, all.never = all.gone || f.gone, all.never || f.never
		if f.until.After(all.until) {
			all.until = f.until
		}
	}
	r.fronts[Spot{topic, -1}] = all
	return nil
}

// firstTime returns the timestamp of the first record of a span, zero if there is none.
func (r *run) firstTime(ctx context.Context, topic string, p int32, span kafka.Span) (first time.Time, err error) {
	note := func(rec *kgo.Record) error { first = rec.Timestamp; return errEnough }
	err = kafka.ScanWith(ctx, r.client, topic, map[int32]kafka.Span{p: span}, 0, note,
		func(l *recordbatch.Large) error { return note(l.Record) })
	if errors.Is(err, errEnough) {
		err = nil
	}
	return first, err
}

func positionOf(r *kgo.Record) header.Position {
	return header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
}

// appearance parses a record of the source as the engine does: a replay counts if it is proven. Any producer may write
// to the source, so malformed or unproven headers are those of a new record.
func appearance(r *kgo.Record, generation int, proven func(*kgo.Record) error) Appearance {
	a := Appearance{At: positionOf(r), Time: r.Timestamp}
	control, err := header.ParseControl(r.Headers)
	if err != nil {
		return a
	}
	kept, doubt := retrytopics.Believed(control, r, generation, proven)
	if doubt != nil && doubt.Doubt == retrytopics.DoubtUnknownKey {
		if control.HasSource && control.ReplayID != "" {
			a.Claim = &Claim{Root: control.Source, Generation: control.Generation, Part: control.Part, Doubtful: true}
		}
		return a
	}
	if kept.HasSource && kept.ReplayID != "" {
		a.Claim = &Claim{Root: kept.Source, Generation: kept.Generation, Part: kept.Part}
	}
	return a
}

// placeOf parses a record of a topic after the source. Only the pipeline writes there; a record without a position
// belongs to other software.
func placeOf(in PlaceKind, r *kgo.Record) (p Place, ok bool) {
	control, err := header.ParseControl(r.Headers)
	if err != nil || !control.HasSource {
		return Place{In: in}, false
	}
	p = Place{
		In: in, At: positionOf(r), Root: control.Source, Generation: control.Generation, Pipeline: control.Pipeline,
		Part: control.Part, Rest: control.Remaining != nil, Due: control.Due,
	}
	for _, h := range r.Headers {
		p.Edited = p.Edited || h.Key == deadletters.HeaderEditOf
	}
	return p, true
}

// take adds a record of a topic after the source to the account.
func (a *Account) take(in PlaceKind, r *kgo.Record) {
	if p, ok := placeOf(in, r); ok {
		a.Place(p)
		return
	}
	a.Others[in]++
}

// takeEvent adds a record of the audit topic to the account. An unreadable one may have closed any record.
func (a *Account) takeEvent(r *kgo.Record) {
	e, err := audit.Parse(r.Value)
	if err != nil {
		a.unreadable(positionOf(r))
		return
	}
	a.Event(e)
}

// unreadable counts an unreadable event of the trail.
func (a *Account) unreadable(at header.Position) {
	if a.broken == 0 {
		a.firstBroken = at
	}
	a.broken++
}
