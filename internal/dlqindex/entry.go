package dlqindex

import (
	"maps"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// entry is a letter to write. One goroutine makes entries while another writes the entries before them.
type entry struct {
	row          // pending, and without content
	values []any // of writtenColumns
}

// entries makes entries of the records of one DLQ.
type entries struct {
	engine  Engine
	dlq     int64
	columns []column
}

// of returns the entry of a letter and how many bytes it takes.
func (e *entries) of(l *deadletters.Letter) (made entry, bytes int) {
	made.Letter, made.dlq = *l, e.dlq
	made.ID, made.FirstAt = plain(l.ID), l.At
	made.raw, made.bytes = rawRecordOf(l)
	made.row.headers = headersJSON(l.Content)
	if box, err := deadletters.ParseBBox(l.Control.BBox); err == nil {
		made.box = &box
	}
	made.values = made.row.values(e.engine, e.columns)
	made.Content, made.Status, made.State = nil, deadletters.Pending, deadletters.State{}
	return made, len(made.raw) + len(made.bytes) + len(made.row.headers) + len(made.Key)
}

// after adds the records of the letter that came before, and the time when the first of them died.
func (e *entry) after(engine Engine, deaths int, first time.Time) {
	e.Deaths += deaths
	if first.Before(e.FirstAt) {
		e.FirstAt = first
	}
	for i, c := range writtenColumns() {
		switch c.name {
		case deathsColumn:
			e.values[i] = int64(e.Deaths)
		case firstColumn:
			e.values[i] = engine.time(e.FirstAt)
		}
	}
}

// A record of the DLQ, and not the status topic, reports that a replay failed in other software (see
// [deadletters.ExternalOutcome]). Either topic can be read last, so each is combined with the other.

// heard returns the states that new records make of letters that the table has.
func (t *tx) heard(dlq int64, letters []entry) (map[string]change, error) {
	reports := slices.DeleteFunc(slices.Clone(letters), func(l entry) bool { return !deadletters.ReportsOutcome(&l.Letter) })
	before, err := t.letters(dlq, t.session.topic, entryIDs(reports))
	out := map[string]change{}
	for i := range reports {
		l := &reports[i].Letter
		old, known := before[l.ID]
		if !known || old.Status == "" { // the state cannot be read
			continue
		}
		if state := deadletters.ExternalOutcome(l, old.State, t.session.maxReplays); state != old.State {
			out[l.ID] = change{id: l.ID, state: state}
		}
	}
	return out, err
}

func entryIDs(letters []entry) []string {
	ids := make([]string, len(letters))
	for i := range letters {
		ids[i] = letters[i].ID
	}
	return ids
}

// reports returns the letters in the table whose record reports that a replay failed in other software.
func (t *tx) reports(dlq int64, ids []string) (map[string]deadletters.Letter, error) {
	ofOthers := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !deadletters.OfOtherSoftware(id) })
	out, err := t.letters(dlq, t.session.topic, ofOthers)
	maps.DeleteFunc(out, func(_ string, l deadletters.Letter) bool { return !deadletters.ReportsOutcome(&l) })
	return out, err
}
