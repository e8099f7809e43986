package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/chain"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// TrailFilter selects audit events. Its parts are composed with AND; the zero filter selects what operators did.
type TrailFilter struct {
	Letter    string           // about this dead letter; also what the consumer made of its record, from the first attempt on
	Feature   string           // about this feature id; also the consumer's decisions
	Source    string           // about the record that first appeared here, "topic/partition/offset"; also the consumer's decisions
	Key       []byte           // about records with this Kafka key; also the consumer's decisions; nil is any
	Operation string           // of this replay or other operation
	By        string           // of this person
	Decisions []audit.Decision // one of these
	Since     time.Time        // at or after
	All       bool             // the consumer's decisions too
}

// match says whether an event is selected. The source is the position that the letter's id names, see [firstPosition].
func (f *TrailFilter) match(e *audit.Event, source string) bool {
	ofRecord := f.Letter != "" || f.Feature != "" || f.Source != "" || f.Key != nil
	ofLetter := e.Letter == f.Letter || e.Letter == "" && e.By == "" && source != "" && e.Source == source
	switch {
	case !f.All && !ofRecord && e.By == "":
		return false
	case f.Feature != "" && e.FeatureID != f.Feature, f.Source != "" && e.Source != f.Source, f.Key != nil && !bytes.Equal(e.Key, f.Key):
		return false
	case f.Letter != "" && !ofLetter, f.Operation != "" && e.RunID != f.Operation, f.By != "" && e.By != f.By:
		return false
	case len(f.Decisions) > 0 && !slices.Contains(f.Decisions, e.Decision):
		return false
	}
	return f.Since.IsZero() || !e.Time.Before(f.Since)
}

// firstPosition is where the record of a letter first appeared, as its id "<partition>-<offset>-<hash>" says; "" when the
// id says no such thing. A decision from before the death knows no letter.
func firstPosition(topic, letter string) string {
	partition, rest, _ := strings.Cut(letter, "-")
	offset, _, found := strings.Cut(rest, "-")
	p, notPartition := strconv.ParseInt(partition, 10, 32)
	o, notOffset := strconv.ParseInt(offset, 10, 64)
	if !found || notPartition != nil || notOffset != nil {
		return ""
	}
	return retrytopics.Position{Topic: topic, Partition: int32(p), Offset: o}.String()
}

// Trail calls fn for the selected audit events, partition by partition, each in the order of the topic. An event that
// cannot be read ends it with an error that says where it lies.
func (s *Service) Trail(ctx context.Context, f TrailFilter, fn func(audit.Event) error) error {
	spans, err := kafka.Spans(ctx, s.client, s.cfg.Topics.Audit)
	if err != nil {
		return err
	}
	if !f.Since.IsZero() {
		if err := s.from(ctx, s.cfg.Topics.Audit, spans, f.Since); err != nil {
			return err
		}
	}
	source := firstPosition(s.cfg.Source.Topic, f.Letter)
	return kafka.Scan(ctx, s.client, s.cfg.Topics.Audit, spans, func(r *kgo.Record) error {
		e, err := audit.Parse(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		e.Key = r.Key
		if !f.match(&e, source) {
			return nil
		}
		return fn(e)
	})
}

// from moves the spans of a topic to a time. A record is written a moment after what it speaks of, never before.
func (s *Service) from(ctx context.Context, topic string, spans map[int32]kafka.Span, at time.Time) error {
	offsets, err := kadm.NewClient(s.client).ListOffsetsAfterMilli(ctx, at.UnixMilli(), topic)
	if err != nil {
		return fmt.Errorf("look up the time %s in %s: %w", at.Format(time.RFC3339), topic, err)
	}
	for p, span := range spans {
		if found, ok := offsets.Lookup(topic, p); ok && found.Err == nil && found.Offset > span.Start {
			spans[p] = kafka.Span{Start: min(found.Offset, span.End), End: span.End}
		}
	}
	return nil
}

// ChainReport says whether the chain of one partition of the audit topic is whole.
type ChainReport struct {
	Partition int32  `json:"partition"`
	Entries   int64  `json:"entries"`
	First     int64  `json:"first"` // number of the first entry that is still there; above 1, retention took what was before
	Last      int64  `json:"last"`
	Whole     bool   `json:"whole"`
	Fault     string `json:"fault,omitempty"` // the first, and where it lies
}

// VerifyTrail checks the chains of what operators did. A broken chain is in the report, not an error.
func (s *Service) VerifyTrail(ctx context.Context) ([]ChainReport, error) {
	// The heads first: what operators add meanwhile is then in the topic beyond the head, not missing.
	st, err := s.loadStanding(ctx)
	if err != nil {
		return nil, err
	}
	// All that was committed with them: what an open transaction of the consumer hides would look like removed.
	spans, err := kafka.DecidedSpans(ctx, s.client, s.cfg.Topics.Audit)
	if err != nil {
		return nil, err
	}
	checks := map[int32]*chainCheck{}
	for p := range spans {
		checks[p] = &chainCheck{report: ChainReport{Partition: p}}
	}
	err = kafka.ScanWith(ctx, s.client, s.cfg.Topics.Audit, spans, 0,
		func(r *kgo.Record) error {
			checks[r.Partition].add(r)
			return nil
		},
		func(l *recordbatch.Large) error {
			checks[l.Partition].fault(errors.New(l.String()))
			return nil
		})
	if err != nil {
		return nil, err
	}
	var out []ChainReport
	for _, p := range slices.Sorted(maps.Keys(checks)) {
		out = append(out, checks[p].end(st.heads[p].Link))
	}
	return out, nil
}

// chainCheck follows the chain of one partition.
type chainCheck struct {
	report ChainReport
	links  chain.Verifier
}

func (c *chainCheck) add(r *kgo.Record) {
	link, entry, ok, err := audit.Entry(r.Value)
	if err == nil && !ok {
		return // a consumer's
	}
	if err == nil {
		err = c.links.Check(link, entry)
	}
	if err != nil {
		c.fault(fmt.Errorf("%s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err))
		return
	}
	c.report.Entries++
	if c.report.First == 0 {
		c.report.First = link.Seq
	}
	c.report.Last = link.Seq
}

func (c *chainCheck) fault(err error) {
	if c.report.Fault == "" {
		c.report.Fault = err.Error()
	}
}

// end holds the chain against its head. Entries that came after the head was read are no fault.
func (c *chainCheck) end(head chain.Link) ChainReport {
	last := c.links.Last()
	switch {
	case c.report.Fault != "":
	case last.Seq == 0 && head.Seq > 0:
		c.fault(errors.New("nothing is left of the chain; it ended with entry " + fmt.Sprint(head.Seq) + " (retention, or somebody emptied the topic)"))
	case last.Seq < head.Seq || last.Seq == head.Seq && last != head:
		c.fault(c.links.End(head))
	}
	c.report.Whole = c.report.Fault == ""
	return c.report
}
