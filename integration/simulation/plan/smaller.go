package plan

import (
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Smaller returns plans that are a little simpler than this one, those with the largest steps first. The search for the
// smallest failing plan runs them and continues with the first one that fails.
func (p Plan) Smaller() []Plan {
	var all []Plan
	add := func(change func(*Plan)) {
		q := p
		q.Faults, q.Load.Left, q.Engine.Tiers = slices.Clone(p.Faults), slices.Clone(p.Load.Left), slices.Clone(p.Engine.Tiers)
		change(&q)
		if q.Text() != p.Text() {
			all = append(all, q)
		}
	}
	p.fewerFaults(add)
	p.fewerEvents(add)
	p.simplerEngine(add)
	p.shorterFaults(add)
	return all
}

// fewerFaults removes halves, quarters and so on of the faults, then single ones.
func (p Plan) fewerFaults(add func(func(*Plan))) {
	for _, cut := range cuts(len(p.Faults)) {
		add(func(q *Plan) { q.Faults = slices.Delete(q.Faults, cut.First, cut.End) })
	}
}

// fewerEvents removes halves, quarters and so on of the events.
func (p Plan) fewerEvents(add func(func(*Plan))) {
	var sent []int
	for n := range p.Load.Records {
		if p.Load.Sends(n) {
			sent = append(sent, n)
		}
	}
	for _, cut := range cuts(len(sent)) {
		add(func(q *Plan) { q.Load.Left = leave(q.Load.Left, sent[cut.First:cut.End]) })
	}
}

// leave adds ascending numbers to those that are left out.
func leave(left []Range, numbers []int) []Range {
	for _, n := range numbers {
		left = append(left, Range{n, n + 1})
	}
	slices.SortFunc(left, func(a, b Range) int { return a.First - b.First })
	joined := left[:0]
	for _, r := range left {
		if n := len(joined); n > 0 && joined[n-1].End >= r.First {
			joined[n-1].End = max(joined[n-1].End, r.End)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// mostCuts bounds the number of parts of a list.
const mostCuts = 32

// cuts returns parts of a list of n elements: the complete list, its halves, its quarters, and single elements of a
// short list.
func cuts(n int) (all []Range) {
	for parts := 1; parts <= min(max(2*n-1, 0), mostCuts); parts *= 2 {
		for i := range parts {
			if r := (Range{i * n / parts, (i + 1) * n / parts}); r.End > r.First && !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}

func (p Plan) simplerEngine(add func(func(*Plan))) {
	add(func(q *Plan) { q.Cluster.Brokers = 1 })
	add(func(q *Plan) { q.Cluster.Partitions = 1 })
	add(func(q *Plan) { q.Engine.Instances = 1 })
	add(func(q *Plan) { q.Engine.Instances = max(1, q.Engine.Instances-1) })
	add(func(q *Plan) { q.Engine.Sink = false })
	add(func(q *Plan) { q.Engine.Trail = false })
	add(func(q *Plan) { q.Engine.Static = false })
	add(func(q *Plan) { q.Engine.Versioned = false })
	add(func(q *Plan) { q.Engine.Window = time.Hour })
	add(func(q *Plan) { q.Engine.HeldRecords = 0 })
	add(func(q *Plan) { q.Engine.Concurrency = 1 })
	add(func(q *Plan) { q.Engine.OnDeadLetter = "" })
	add(func(q *Plan) { q.Engine.Tiers = q.Engine.Tiers[:1] })
	add(func(q *Plan) { q.Engine.Order = retrytopics.OrderNone })
	add(func(q *Plan) { q.Load.Keys = 1 })
	add(func(q *Plan) { q.Load.Gap = 0 })
}

func (p Plan) shorterFaults(add func(func(*Plan))) {
	for i, f := range p.Faults {
		add(func(q *Plan) { q.Faults[i].For = 0 })
		add(func(q *Plan) { q.Faults[i].For = (f.For / 2).Round(time.Millisecond) })
		add(func(q *Plan) { q.Faults[i].Count = min(1, f.Count) })
		add(func(q *Plan) { q.Faults[i].Instance = 0 })
	}
}
