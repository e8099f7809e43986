package demo

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// tally adds up what a reader with read_committed finds in the topics. Source records come first,
// since everything else names one of them.
type tally struct {
	balance    Balance
	deadByCode map[string]int64
	tries      map[int]int64 // delivered records by the attempts that they took
	samples    samples

	first  map[header.Position]header.Position // a replayed letter's new place to its first
	places map[header.Position]int64           // by first place: appearances less the places found
}

func newTally() *tally {
	return &tally{
		deadByCode: map[string]int64{}, tries: map[int]int64{},
		first: map[header.Position]header.Position{}, places: map[header.Position]int64{},
	}
}

// position is where a record lies.
func position(r *kgo.Record) header.Position {
	return header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
}

// source counts a record of the source topic. open says that the group has not committed it.
func (t *tally) source(r *kgo.Record, open bool) error {
	control, err := header.ParseControl(r.Headers)
	if err != nil {
		return fmt.Errorf("record %s: %w", position(r), err)
	}
	t.balance.Consumed++
	root := position(r)
	if control.ReplayID != "" && control.HasSource {
		t.first[root] = control.Source
		root = control.Source
	}
	t.places[root]++
	if open {
		t.balance.Waiting++
		t.places[root]--
	}
	return nil
}

// waiting counts a record of a tier that the group has not committed.
func (t *tally) waiting(r *kgo.Record) error {
	_, err := t.found(r, &t.balance.Waiting)
	return err
}

// delivered counts a record of the output topic.
func (t *tally) delivered(r *kgo.Record) error {
	control, err := t.found(r, &t.balance.Delivered)
	if err != nil {
		return err
	}
	t.tries[max(control.Attempt, 1)]++
	t.samples.add(r, control)
	return nil
}

// dead counts a record of the DLQ.
func (t *tally) dead(r *kgo.Record) error {
	control, err := t.found(r, &t.balance.DeadLettered)
	if err != nil {
		return err
	}
	t.deadByCode[control.ErrorCode]++
	return nil
}

// closed counts an audit event that ends a record's journey without a trace elsewhere.
func (t *tally) closed(r *kgo.Record) error {
	e, err := audit.Parse(r.Value)
	if err != nil {
		return fmt.Errorf("audit record %s: %w", position(r), err)
	}
	var count *int64
	switch e.Decision {
	case audit.Duplicate:
		count = &t.balance.Duplicates
	case audit.Superseded:
		count = &t.balance.Superseded
	case audit.Filtered, audit.Skipped:
		count = &t.balance.Filtered
	default:
		return nil
	}
	from, err := header.ParsePosition(e.Source)
	if err != nil {
		return fmt.Errorf("audit record %s: %w", position(r), err)
	}
	*count++
	t.places[t.root(from)]--
	return nil
}

// found counts a record that names its source record.
func (t *tally) found(r *kgo.Record, count *int64) (header.Control, error) {
	control, err := header.ParseControl(r.Headers)
	if err != nil {
		return control, fmt.Errorf("record %s: %w", position(r), err)
	}
	if !control.HasSource {
		return control, fmt.Errorf("record %s does not say from which source record it came", position(r))
	}
	*count++
	t.places[t.root(control.Source)]--
	return control, nil
}

func (t *tally) root(p header.Position) header.Position {
	if first, ok := t.first[p]; ok {
		return first
	}
	return p
}

// close turns what is left over into lost and doubled.
func (t *tally) close() {
	for _, left := range t.places {
		if left > 0 {
			t.balance.Lost += left
		} else {
			t.balance.Doubled -= left
		}
	}
}
