package dlqindex

import (
	"maps"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

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
