package replay

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
)

// records gives what one transaction writes for one letter: the letter itself when it goes back,
// its state, and an audit event.
func (s *Service) records(d *staged, auditPartitions int32) ([]*kgo.Record, error) {
	partition := d.letter.DLQ.Partition
	var out []*kgo.Record
	if d.action == Reinject {
		out = append(out, reinjected(s.cfg.Source.Topic, d.next.ReplayID, d.letter))
	}
	event, err := s.event(d).Record(s.cfg.Topics.Audit, partition%max(auditPartitions, 1))
	if err != nil {
		return nil, err
	}
	return append(out, d.next.Record(s.cfg.Topics.DLQStatus, partition), event), nil
}

// event is the audit event of a letter: replayed when it goes back (which is its change to
// replaying as well), state_changed when only its state changes.
func (s *Service) event(d *staged) audit.Event {
	l, c := d.letter, d.letter.Control
	e := audit.Event{
		Time: d.next.At, Pipeline: s.cfg.Pipeline.ID, RunID: d.next.ReplayID,
		FeatureID: c.FeatureID, ContentHash: l.ContentHash, Decision: audit.StateChanged,
		Reason: d.next.Reason, Code: c.ErrorCode, Class: c.ErrorClass, Stage: c.ErrorStage,
		Attempt: c.Attempt, Key: l.Key,
		Message: fmt.Sprintf("dead letter %s: %s -> %s by %s", l.ID, d.prev.Status, d.next.Status, d.next.By),
	}
	if c.HasSource {
		e.Source = c.Source.String()
	}
	if d.action == Reinject {
		e.Decision, e.Destination = audit.Replayed, s.cfg.Source.Topic
		e.Message += fmt.Sprintf(", replay %d of this letter", l.Replays()+1)
	}
	return e
}
