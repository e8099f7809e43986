package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
)

// AuditEvents calls fn for the selected audit events, partition by partition, in the order of each. It stops at an
// unreadable event with an error that contains its position.
func (s *Service) AuditEvents(ctx context.Context, f audit.Filter, fn func(audit.Event) error) error {
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
	return s.store.Log().Scan(ctx, s.cfg.Topics.Audit, spans, func(r *kgo.Record) error {
		e, err := audit.Parse(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		e.Key = r.Key
		if !f.Match(&e, s.cfg.Source.Topic) {
			return nil
		}
		return fn(e)
	}, func(l *recordbatch.Large) error { return errors.New(l.String()) })
}

// Actions groups the selected audit events of operators into one action for each command, the oldest first. It counts
// what was done from the events of the dead letters, which were committed with them, not from what the command
// intended to do.
func (s *Service) Actions(ctx context.Context, f audit.Filter) ([]audit.Action, error) {
	var all audit.Actions
	err := s.AuditEvents(ctx, f, func(e audit.Event) error {
		if e.By != "" {
			all.Add(&e)
		}
		return nil
	})
	return all.List(), err
}
