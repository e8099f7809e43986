package dlqindex

import (
	"maps"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// entry is a letter as it is written. One goroutine makes entries while another writes the entries before them.
type entry struct {
	id      string  // as the table has it
	counted counted // as of the time before any state record
	deaths  int     // records of the letter
	replays int     // as its header says
	first   time.Time
	cause   cause               // of its group
	values  []any               // of writtenColumns
	tells   *deadletters.Letter // if its record reports that a replay failed in other software
}

// cause is what a group is named by.
type cause struct{ code, stage, featureID, message, causedBy string }

// entries makes entries of the records of one DLQ.
type entries struct {
	engine  Engine
	dlq     int64
	columns []column
}

// of returns the entry of a letter and how many bytes it takes.
func (e *entries) of(l *deadletters.Letter) (made entry, bytes int) {
	x := row{Letter: *l, dlq: e.dlq}
	x.raw, x.bytes = rawRecordOf(l)
	x.headers = headersJSON(x.Content)
	if box, err := deadletters.ParseBBox(x.Control.BBox); err == nil {
		x.box = &box
	}
	c := &x.Control
	made = entry{
		id: plain(x.ID), deaths: x.Deaths, replays: c.ReplayCount, first: x.At, values: x.values(e.engine, e.columns), tells: teller(&x.Letter),
		cause: cause{code: c.ErrorCode, stage: c.ErrorStage, featureID: c.FeatureID, message: c.ErrorMessage, causedBy: x.CausedBy},
	}
	x.Status, x.State = deadletters.Pending, deadletters.State{}
	made.counted = x.counted()
	return made, len(x.raw) + len(x.bytes) + len(x.headers) + len(x.Key)
}

// after takes over how many records of the letter came before, and when the first of them died.
func (e *entry) after(engine Engine, deaths int, first time.Time) {
	e.deaths += deaths
	if first.Before(e.first) {
		e.first = first
	}
	for i, c := range writtenColumns() {
		switch c.name {
		case deathsColumn:
			e.values[i] = int64(e.deaths)
		case firstColumn:
			e.values[i] = engine.time(e.first)
		}
	}
}

// in gives the letter a state.
func (e *entry) in(status deadletters.Status, reworked int) {
	e.counted.status, e.counted.replayed = status, isReplayed(status, e.replays, reworked)
}

// A record of the DLQ, and not the status topic, reports that a replay failed in other software (see
// [deadletters.ExternalOutcome]). Either topic can be read last, so each is combined with the other.

// teller returns a letter whose record reports an outcome, without its content; nil for all others.
func teller(l *deadletters.Letter) *deadletters.Letter {
	if !deadletters.ReportsOutcome(l) {
		return nil
	}
	kept := *l
	kept.Content = nil
	return &kept
}

// heard returns the states that new records make of letters that the table has.
func (t *tx) heard(dlq int64, letters []entry) (map[string]change, error) {
	var ids []string
	for i := range letters {
		if letters[i].tells != nil {
			ids = append(ids, letters[i].id)
		}
	}
	before, err := t.letters(dlq, t.session.topic, ids)
	out := map[string]change{}
	for i := range letters {
		l := &letters[i]
		old, known := before[l.id]
		if l.tells == nil || !known || old.Status == "" { // the state cannot be read
			continue
		}
		if state := deadletters.ExternalOutcome(l.tells, old.State, t.session.mostReplays); state != old.State {
			out[l.id] = change{id: l.id, state: state}
		}
	}
	return out, err
}

// told returns the letters in the table whose record reports that a replay failed in other software.
func (t *tx) told(dlq int64, ids []string) (map[string]deadletters.Letter, error) {
	ofOthers := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !deadletters.OfOtherSoftware(id) })
	out, err := t.letters(dlq, t.session.topic, ofOthers)
	maps.DeleteFunc(out, func(_ string, l deadletters.Letter) bool { return !deadletters.ReportsOutcome(&l) })
	return out, err
}
