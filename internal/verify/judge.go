package verify

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// judge judges every position of an account, for one cut.
type judge struct {
	*Account
	cut   Cut
	limit int
	out   *Report
	gone  map[goneKey]*Gone
	also  map[int32]map[int64]*extra
}

type goneKey struct {
	topic  string
	reason Reason
}

// extra is the evidence about a position besides its fact.
type extra struct {
	waits, moves     int // records in tiers that are open, or moved meanwhile
	replays          int
	unread, arriving int  // replays that are open, or moved meanwhile
	doubtful         int  // records that may be replays
	alias            bool // the record is a replay, and the engine trusted it
}

// Judge judges every position. It names at most limit findings of each kind. It changes nothing, so it can be called
// again for a later cut.
func (a *Account) Judge(cut Cut, limit int) *Report {
	j := &judge{Account: a, cut: cut, limit: limit, gone: map[goneKey]*Gone{}, also: map[int32]map[int64]*extra{}}
	j.out = &Report{
		Pipeline: a.pipeline, At: cut.At, Findings: []Finding{}, Found: map[Kind]int64{}, Unknowns: []Gone{}, Notes: []string{},
		All: Counts{Partition: -1},
	}
	for p, pt := range a.partitions {
		j.also[p] = map[int64]*extra{}
		for _, split := range pt.parts {
			split.reset()
		}
	}
	j.tiers()
	j.replays()
	for _, p := range slices.Sorted(maps.Keys(a.partitions)) {
		j.partition(p, a.partitions[p])
	}
	j.losses()
	j.finish()
	return j.out
}

func (j *judge) extra(p header.Position) *extra {
	of := j.also[p.Partition]
	if of[p.Offset] == nil {
		of[p.Offset] = &extra{}
	}
	return of[p.Offset]
}

// replays assigns each replay to the record that it repeats. A replay with results of its own was not trusted, and is
// a new record.
func (j *judge) replays() {
	for _, r := range j.repeats {
		root := r.claim.Root
		pt := j.partitions[root.Partition]
		here := j.partitions[r.at.Partition]
		if pt == nil || here == nil {
			continue
		}
		own := here.facts.known(r.at.Offset)
		x := j.extra(r.at)
		if own.outputs > 0 || own.deadLetters > 0 || own.closed > 0 || x.waits > 0 || x.moves > 0 || here.parts[r.at.Offset] != nil {
			continue
		}
		if r.claim.Doubtful {
			j.extra(root).doubtful++
			x.doubtful++
			j.found(Finding{Kind: UnprovenReplay, Source: r.at.String(), Detail: "a replay of " + root.String() + ", signed with an unknown replay key"})
			continue
		}
		x.alias = true
		if r.claim.Generation >= pt.generation.First && j.bounds.holds(root.Partition, root.Offset) {
			j.replay(pt, r)
		}
	}
}

func (j *judge) replay(pt *partition, r repeat) {
	at := j.cut.Marks[Spot{j.source, r.at.Partition}].stage(r.at.Offset)
	if !r.claim.Part.Whole() {
		part := pt.partsOf(r.claim.Root.Offset).of(r.claim.Part.Index)
		part.replays++
		part.note(at)
		return
	}
	x := j.extra(r.claim.Root)
	x.replays++
	switch at {
	case open:
		x.unread++
	case moving:
		x.arriving++
	case done:
	}
}

func (j *judge) partition(p int32, pt *partition) {
	mark := j.cut.Marks[Spot{j.source, p}]
	counts := Counts{Partition: p, From: mark.Start, To: mark.End, Committed: mark.After.Offset}
	for _, number := range slices.Sorted(maps.Keys(pt.facts.byNumber)) {
		facts := pt.facts.byNumber[number]
		for i := range facts {
			if at := number*pageSize + int64(i); facts[i] != (fact{}) || j.also[p][at] != nil {
				j.position(pt, header.Position{Topic: j.source, Partition: p, Offset: at}, facts[i], mark, &counts)
			}
		}
	}
	if mark.Start > 0 && (j.bounds.Partition < 0 || j.bounds.Partition == p) && j.bounds.From < mark.Start {
		j.cannot(j.source, Retention, header.Position{Topic: j.source, Partition: p, Offset: mark.Start}, -1)
	}
	j.out.Partitions = append(j.out.Partitions, counts)
	j.out.All.add(&counts)
}

// found adds a finding.
func (j *judge) found(f Finding) {
	j.out.Found[f.Kind]++
	if j.out.Found[f.Kind] <= int64(j.limit) {
		j.out.Findings = append(j.out.Findings, f)
	}
}

// cannot adds something that cannot be known of a number of records, or with -1 of an unknown number.
func (j *judge) cannot(topic string, why Reason, at header.Position, records int64) {
	key := goneKey{topic, why}
	if j.gone[key] == nil {
		j.gone[key] = &Gone{Topic: topic, Reason: why, First: at.String()}
	}
	if g := j.gone[key]; records < 0 || g.Records < 0 {
		g.Records = -1
	} else {
		if g.Records == 0 && records > 0 {
			g.First = at.String()
		}
		g.Records += records
	}
}

// never is the Since of a topic that may have lost records in the middle.
const never = math.MaxInt64

func (j *judge) finish() {
	for _, key := range slices.SortedFunc(maps.Keys(j.gone), func(a, b goneKey) int {
		return slices.Compare([]string{a.topic, string(a.reason)}, []string{b.topic, string(b.reason)})
	}) {
		j.out.Unknowns = append(j.out.Unknowns, *j.gone[key])
	}
	slices.SortStableFunc(j.out.Findings, func(a, b Finding) int { return slices.Index(Kinds(), a.Kind) - slices.Index(Kinds(), b.Kind) })
	for in, n := range j.Others {
		if n > 0 {
			j.out.Notes = append(j.out.Notes, fmt.Sprintf("%d records in the %s name no record of %s: other software wrote them, or their headers cannot be read", n, in, j.source))
		}
	}
	if j.broken > 0 {
		j.out.Notes = append(j.out.Notes, fmt.Sprintf("%d events of the audit trail cannot be read, the first at %s: they are damaged, or of a newer version", j.broken, j.firstBroken.String()))
	}
	slices.Sort(j.out.Notes)
	j.out.Verdict = j.verdict()
}

func (j *judge) verdict() Verdict {
	for kind, n := range j.out.Found {
		if kind.Violates() && n > 0 {
			return Violated
		}
	}
	if j.out.All.Unknown > 0 || j.cut.Foreign {
		return Unknown
	}
	return Proven
}

// Grace is how late a retry may be before it is named.
const Grace = time.Minute

// tiers judges every record that was read from a tier.
func (j *judge) tiers() {
	partitions := j.cut.partitions(j.source)
	for _, p := range slices.Sorted(maps.Keys(j.partitions)) {
		pt := j.partitions[p]
		for _, w := range pt.waits {
			at := j.cut.Marks[Spot{w.at.Topic, w.at.Partition}].stage(w.at.Offset)
			root := header.Position{Topic: j.source, Partition: p, Offset: w.root}
			if at == open {
				j.late(w, root, partitions)
			}
			if !w.part.Whole() {
				pt.partsOf(w.root).of(w.part.Index).note(at)
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

// late reports records that no instance consumes, and records that are overdue.
func (j *judge) late(w waiting, root header.Position, partitions int32) {
	named := Finding{Source: root.String(), Part: w.part.String()}
	switch {
	case w.at.Partition >= partitions:
		named.Kind = Stranded
		named.Detail = fmt.Sprintf("it waits at %s, a partition that the source does not have, so no instance consumes it", w.at)
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
				Detail: fmt.Sprintf("the log ends at %d, but offset %d is committed: brokers lost records, or the topic was re-created", m.End, m.Before.Offset)})
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
