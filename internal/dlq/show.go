package dlq

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/dryrun"
)

// slack is the largest difference between the clocks of the writers of audit events.
const slack = time.Minute

// Detail is everything about one dead letter.
type Detail struct {
	dryrun.Detail

	Unasked bool   // without a pipeline there is no transform: nothing is known about the feature either
	Text    []byte // of a DLQ without a pipeline: the value as JSON, if it names a known registry schema; otherwise nil
	// Deployed has the results of other mappings that instances run; nil if they all run the one of the pipeline
	// file.
	Deployed    []dryrun.DeployedVerdict
	DeployedErr error // why that is unknown

	ValueMissing string        // the reason why the dead letter's value is not shown and was not judged; empty if it was
	Kept         string        // the original in the index (raw_record), for a deleted dead letter; otherwise empty
	Hops         []audit.Event // the decisions about it, in order; nil if they are unknown
	HopsErr      error         // why its hops are unknown
}

// Show returns one dead letter with headers, original bytes, the decoded feature, the verdict of today's transform,
// and its hops. The error is [dlqindex.ErrNoLetter] if no dead letter has the ID. If the topic no longer has the dead
// letter, the result has the data in the index.
func (s *Service) Show(ctx context.Context, id string) (Detail, error) {
	d, err := s.dlq(ctx)
	if err != nil {
		return Detail{}, err
	}
	letter, raw, err := d.Letter(ctx, id)
	if err != nil {
		return Detail{}, err
	}
	var out Detail
	page := []deadletters.Letter{letter}
	parts := s.parts()
	defer parts.Close()
	if err := fill(ctx, parts, page); err != nil {
		return Detail{}, err
	}
	if err := s.follow(ctx, &page[0]); err != nil {
		return Detail{}, err
	}
	if out.ValueMissing, err = s.resolve(ctx, &page[0]); err != nil {
		return Detail{}, err
	}
	switch {
	case page[0].Content == nil:
		out.Letter, out.Kept = page[0], raw
	case out.ValueMissing != "":
		out.Letter = page[0]
	case s.alone:
		out.Letter, out.Unasked = page[0], true
		out.Text, out.Decode = s.letters.DryRun().Text(ctx, page[0].Content.Value)
	default:
		out.Detail = s.letters.DryRun().Judge(ctx, page[0])
		if !s.foreign {
			out.Deployed, out.DeployedErr = s.letters.DryRun().Deployed(ctx, page[0])
		}
	}
	out.Hops, out.HopsErr = s.hops(ctx, &letter)
	return out, nil
}

// hops reads the audit events about a dead letter: those of its source position, from its arrival to the last change of
// its state.
func (s *Service) hops(ctx context.Context, l *deadletters.Letter) ([]audit.Event, error) {
	source, known := l.Source()
	if !known || s.source.Status == "" {
		return nil, nil
	}
	if s.source.States != nil {
		var out []audit.Event
		err := s.letters.AuditEvents(ctx, audit.Filter{Source: source.String()}, func(e audit.Event) error {
			out = append(out, e)
			return nil
		})
		return out, err
	}
	topic := s.cfg.Topics.Audit
	partitions, err := kafka.Partitions(ctx, s.client, topic)
	if err != nil {
		return nil, err
	}
	p := l.DLQ.Partition % int32(len(partitions))
	span, err := s.between(ctx, topic, p, l.Control.SourceTimestamp.Add(-slack), slices.MaxFunc([]time.Time{l.At, l.State.At}, time.Time.Compare).Add(slack))
	if err != nil {
		return nil, err
	}
	var out []audit.Event
	err = kafka.Scan(ctx, s.client, topic, map[int32]kafka.Span{p: span}, func(r *kgo.Record) error {
		// An unreadable event was not written by us, and is no reason to show nothing.
		if e, err := audit.Parse(r.Value); err == nil && e.Source == source.String() {
			out = append(out, e)
		}
		return nil
	})
	return out, err
}

// between returns the span of a partition with the records of a time.
func (s *Service) between(ctx context.Context, topic string, p int32, from, to time.Time) (kafka.Span, error) {
	spans, err := kafka.Spans(ctx, s.client, topic)
	if err != nil {
		return kafka.Span{}, err
	}
	span := spans[p]
	starts, err := s.admin.ListOffsetsAfterMilli(ctx, max(from.UnixMilli(), 0), topic)
	if err != nil {
		return span, fmt.Errorf("look up times in %s: %w", topic, err)
	}
	ends, err := s.admin.ListOffsetsAfterMilli(ctx, max(to.UnixMilli(), 0), topic)
	if err != nil {
		return span, fmt.Errorf("look up times in %s: %w", topic, err)
	}
	if at, ok := starts.Lookup(topic, p); ok && at.Err == nil && at.Offset >= 0 {
		span.Start = max(span.Start, at.Offset)
	}
	if at, ok := ends.Lookup(topic, p); ok && at.Err == nil && at.Offset >= 0 {
		span.End = min(span.End, at.Offset)
	}
	return span, nil
}
