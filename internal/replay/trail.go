package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// TrailFilter selects audit events. An event must match all its fields. The zero filter selects the events of
// operators.
type TrailFilter struct {
	Letter    string           // events about this dead letter, including the consumer's events about its record from the first attempt on
	Feature   string           // events about this feature ID, including the consumer's
	Source    string           // events about the record that first appeared at "topic/partition/offset", including the consumer's
	Key       []byte           // events about records with this Kafka key, including the consumer's; nil is any
	Operation string           // events of this replay or other operation
	By        string           // events of this operator
	Decisions []audit.Decision // events with one of these decisions
	Since     time.Time        // events at or after this time
	All       bool             // include the consumer's events
}

// match reports whether the filter selects an event. source is the position in the ID of the dead letter, see
// [firstPosition].
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

// firstPosition returns the position where the record of a dead letter first appeared, from its ID
// "<partition>-<offset>-<hash>"; "" for other IDs. Events from before the record died do not contain the ID.
func firstPosition(topic, letter string) string {
	partition, rest, _ := strings.Cut(letter, "-")
	offset, _, found := strings.Cut(rest, "-")
	p, notPartition := strconv.ParseInt(partition, 10, 32)
	o, notOffset := strconv.ParseInt(offset, 10, 64)
	if !found || notPartition != nil || notOffset != nil {
		return ""
	}
	return header.Position{Topic: topic, Partition: int32(p), Offset: o}.String()
}

// Trail calls fn for the selected audit events, partition by partition, in the order of each. It stops at an
// unreadable event with an error that contains its position.
func (s *Service) Trail(ctx context.Context, f TrailFilter, fn func(audit.Event) error) error {
	spans, err := s.store.Log().Spans(ctx, s.cfg.Topics.Audit)
	if s.store.Uncreated(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !f.Since.IsZero() && s.store.Dir() == nil {
		// A record is written after the event that it describes, so no event since then is lost.
		if err := kafka.StartAt(ctx, s.client, s.cfg.Topics.Audit, spans, f.Since); err != nil {
			return err
		}
	}
	source := firstPosition(s.cfg.Source.Topic, f.Letter)
	return s.store.Log().Scan(ctx, s.cfg.Topics.Audit, spans, func(r *kgo.Record) error {
		e, err := audit.Parse(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		e.Key = r.Key
		if !f.match(&e, source) {
			return nil
		}
		return fn(e)
	}, func(l *recordbatch.Large) error { return errors.New(l.String()) })
}
