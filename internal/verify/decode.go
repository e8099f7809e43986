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

// appearance reads a record of the source as the engine does: a replay counts when it is proven. Anybody may write there, so headers
// that cannot be read, or that prove nothing, are those of a new record.
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

// placeOf reads a record of a topic behind the source. Only the pipeline writes there; what names no position is of other software.
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

// take puts a record of a topic behind the source into the account.
func (a *Account) take(in PlaceKind, r *kgo.Record) {
	if p, ok := placeOf(in, r); ok {
		a.Place(p)
		return
	}
	a.Others[in]++
}

// takeEvent puts a record of the audit topic into the account. What cannot be read may have closed any record.
func (a *Account) takeEvent(r *kgo.Record) {
	e, err := audit.Parse(r.Value)
	if err != nil {
		a.unreadable(positionOf(r))
		return
	}
	a.Event(e)
}

// unreadable notes an event of the trail that cannot be read.
func (a *Account) unreadable(at header.Position) {
	if a.broken == 0 {
		a.firstBroken = at
	}
	a.broken++
}
