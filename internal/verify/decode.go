package verify

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func positionOf(r *kgo.Record) header.Position {
	return header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
}

// appearance parses a record of the source as the engine does: a replay counts if it is proven. Anybody may write there,
// so unreadable or unproven headers are those of a new record.
func appearance(r *kgo.Record, generation int, proven func(*kgo.Record) error) Appearance {
	a := Appearance{At: positionOf(r), Time: r.Timestamp}
	kept, doubt, err := retrytopics.Believed(r, generation, proven)
	if err != nil {
		return a
	}
	if doubt != nil && doubt.Doubt == retrytopics.DoubtUnknownKey {
		said, err := header.ParseControl(r.Headers)
		if err == nil && said.HasSource && said.ReplayID != "" {
			a.Claim = &Claim{Root: said.Source, Generation: said.Generation, Part: said.Part, Doubtful: true}
		}
		return a
	}
	if kept.HasSource && kept.ReplayID != "" {
		a.Claim = &Claim{Root: kept.Source, Generation: kept.Generation, Part: kept.Part}
	}
	return a
}

// placeOf parses a record of a topic after the source. Only the pipeline writes there; a record without a position
// belongs to other software.
func placeOf(in PlaceKind, r *kgo.Record) (p Place, ok bool) {
	said, err := header.ParseControl(r.Headers)
	if err != nil || !said.HasSource {
		return Place{In: in}, false
	}
	p = Place{
		In: in, At: positionOf(r), Root: said.Source, Generation: said.Generation, Pipeline: said.Pipeline,
		Part: said.Part, Rest: said.Remaining != nil, Due: said.Due,
	}
	for _, h := range r.Headers {
		p.Edited = p.Edited || h.Key == deadletters.HeaderEditOf
	}
	return p, true
}

// take adds a record of a topic after the source to the account.
func (a *Account) take(in PlaceKind, r *kgo.Record) {
	if p, ok := placeOf(in, r); ok {
		a.Place(p)
		return
	}
	a.Others[in]++
}

// takeEvent adds a record of the audit topic to the account. An unreadable one may have closed any record.
func (a *Account) takeEvent(r *kgo.Record) {
	e, err := audit.Parse(r.Value)
	if err != nil {
		a.unreadable(positionOf(r))
		return
	}
	a.Event(e)
}

// unreadable counts an unreadable event of the trail.
func (a *Account) unreadable(at header.Position) {
	if a.broken == 0 {
		a.firstBroken = at
	}
	a.broken++
}
