package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Grace is how late a retry may be before it is named.
const Grace = time.Minute

// tiers judges every record that was read from a tier.
func (j *judge) tiers() {
	partitions := j.cut.partitions(j.source)
	for _, p := range slices.Sorted(maps.Keys(j.shards)) {
		sh := j.shards[p]
		for _, w := range sh.waits {
			at := j.cut.Marks[Spot{w.at.Topic, w.at.Partition}].stage(w.at.Offset)
			root := header.Position{Topic: j.source, Partition: p, Offset: w.root}
			if at == open {
				j.late(w, root, partitions)
			}
			if !w.part.Whole() {
				sh.partsOf(w.root).of(w.part.Index).note(at)
				continue
			}
			switch at {
			case open:
				j.extra(root).waits++
			case moving:
				j.extra(root).moves++
			case done:
			}
		}
	}
}

// late names records that nobody consumes, and records that are overdue.
func (j *judge) late(w waiting, root header.Position, partitions int32) {
	named := Finding{Source: root.String(), Part: w.part.String()}
	switch {
	case w.at.Partition >= partitions:
		named.Kind = Stranded
		named.Detail = fmt.Sprintf("it waits at %s, a partition that the source does not have, so nobody consumes it", w.at)
	case j.cut.Consumed != nil && !j.cut.Consumed[Spot{w.at.Topic, w.at.Partition}]:
		named.Kind = Stranded
		named.Detail = fmt.Sprintf("it waits at %s, and none of the %d running instances consumes that", w.at, j.cut.Members)
	case !w.due.IsZero() && j.cut.At.Sub(w.due) > Grace:
		named.Kind = Overdue
		named.Detail = fmt.Sprintf("it waits at %s and was due %s ago", w.at, j.cut.At.Sub(w.due).Round(time.Second))
	default:
		return
	}
	j.found(named)
}

// losses names records that were deleted before the group had finished them.
func (j *judge) losses() {
	all := slices.Clone(j.gaps)
	for _, spot := range slices.SortedFunc(maps.Keys(j.cut.Marks), compareSpots) {
		m := j.cut.Marks[spot]
		if m.Before.Offset > m.End && !j.cut.Foreign {
			j.found(Finding{Kind: CutShort, Source: header.Position{Topic: spot.Topic, Partition: spot.Partition, Offset: m.End}.String(), To: m.Before.Offset,
				Detail: fmt.Sprintf("the log ends at %d, and %d is committed: brokers lost records, or the topic was re-created", m.End, m.Before.Offset)})
		}
		for _, g := range m.gaps(spot) {
			if !slices.ContainsFunc(all, func(have gap) bool {
				return have.topic == g.topic && have.partition == g.partition && have.from == g.from
			}) {
				all = append(all, g)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b gap) int {
		return cmp.Or(compareSpots(Spot{a.topic, a.partition}, Spot{b.topic, b.partition}), cmp.Compare(a.from, b.from))
	})
	for _, g := range all {
		j.lost(g)
	}
}

// gaps returns the offsets before the log start that the group has not finished. For a partition without a commit there
// is no guarantee.
func (m Mark) gaps(spot Spot) (all []gap) {
	at := m.After.Offset
	if at < 0 {
		return nil
	}
	for _, r := range m.After.Ahead {
		if to := min(r.First, m.Start); at < to {
			all = append(all, gap{spot.Topic, spot.Partition, at, to})
		}
		at = r.Last + 1
	}
	if at < m.Start {
		all = append(all, gap{spot.Topic, spot.Partition, at, m.Start})
	}
	return all
}

func compareSpots(a, b Spot) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

func (j *judge) lost(g gap) {
	f := Finding{Kind: LostInTier, Source: header.Position{Topic: g.topic, Partition: g.partition, Offset: g.from}.String(), To: g.to}
	f.Detail = fmt.Sprintf("offsets %d to %d were deleted before the group had finished them: at most %d records", g.from, g.to-1, g.to-g.from)
	if g.topic == j.source {
		if !j.bounds.holds(g.partition, max(g.from, j.bounds.From)) || g.to <= j.bounds.From {
			return
		}
		f.Kind = Lost
	}
	j.found(f)
}
