package dlqindex

import (
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
