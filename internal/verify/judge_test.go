package verify

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

const (
	source = "s"
	tier   = "s.retry-1s"
)

// history is the content of a pipeline's topics with one partition, built by hand.
type history struct {
	records    []Appearance
	places     []Place
	events     []audit.Event
	since      map[string]int64
	cut        Cut
	generation int
	first      int // generation of the source topic
	next       map[string]int64
}

func at(offset int64) header.Position { return header.Position{Topic: source, Offset: offset} }

// newHistory returns n records that are all finished.
func newHistory(n int64) *history {
	h := &history{since: map[string]int64{}, next: map[string]int64{}}
	h.cut = Cut{At: time.Unix(1e9, 0), Marks: map[Spot]Mark{}, Tiers: []string{tier}, Compacted: map[string]bool{}, Output: "s.out", DLQ: "s.dlq", Audit: "s.audit"}
	for i := range n {
		h.records = append(h.records, Appearance{At: at(i)})
	}
	h.finished(n, n)
	h.waited(0, 0)
	return h
}

// finished sets the source offsets up to which the group had finished, before and after the topics were read.
func (h *history) finished(before, after int64) *history {
	h.cut.Marks[Spot{source, 0}] = Mark{End: int64(len(h.records)), Before: retrytopics.Commit{Offset: before}, After: retrytopics.Commit{Offset: after}}
	return h
}

func (h *history) waited(before, after int64) *history {
	h.cut.Marks[Spot{tier, 0}] = Mark{End: 100, Before: retrytopics.Commit{Offset: before}, After: retrytopics.Commit{Offset: after}}
	return h
}

func (h *history) place(in PlaceKind, offset int64, change ...func(*Place)) *history {
	topic := map[PlaceKind]string{InOutput: "s.out", InDLQ: "s.dlq", InTier: tier}[in]
	p := Place{In: in, At: header.Position{Topic: topic, Offset: h.next[topic]}, Root: at(offset), Pipeline: "p", Generation: h.generation}
	h.next[topic]++
	for _, c := range change {
		c(&p)
	}
	h.places = append(h.places, p)
	return h
}

func (h *history) event(offset int64, d audit.Decision) *history { return h.eventOf("p", offset, d) }

func (h *history) eventOf(pipeline string, offset int64, d audit.Decision) *history {
	h.events = append(h.events, audit.Event{Pipeline: pipeline, Source: at(offset).String(), Decision: d})
	return h
}

// replayed adds a replay of a record.
func (h *history) replayed(offset int64) *history {
	r := Appearance{At: at(int64(len(h.records))), Claim: &Claim{Root: at(offset)}}
	h.records = append(h.records, r)
	return h.event(offset, audit.Replayed).finished(r.At.Offset+1, r.At.Offset+1)
}

func (h *history) judged() *Report {
	a := NewAccount(source, "p", Bounds{Partition: -1}, map[int32]Generation{0: {Now: h.generation, First: h.first}})
	for _, p := range h.places {
		a.Place(p)
	}
	for _, e := range h.events {
		a.Event(e)
	}
	for topic, offset := range h.since {
		a.Since(0, topic, offset)
	}
	for _, r := range h.records {
		a.Source(r)
	}
	return a.Judge(h.cut, 100)
}

func part(index, of int) func(*Place) {
	return func(p *Place) { p.Part = header.Part{Index: index, Of: of} }
}
func ofRest(p *Place) { p.Rest = true }

// S0-4: every verdict on a single record.
func TestJudge_S0_4_ofOneRecord(t *testing.T) {
	for name, c := range map[string]struct {
		h       *history
		verdict Verdict
		found   Kind   // the only kind, "" for none
		counted string // the only count that is 1, "" for none
	}{
		"delivered":                           {newHistory(1).place(InOutput, 0), Proven, "", "delivered"},
		"dead":                                {newHistory(1).place(InDLQ, 0).event(0, audit.DeadLettered), Proven, "", "dead"},
		"duplicate":                           {newHistory(1).event(0, audit.Duplicate), Proven, "", "duplicates"},
		"superseded":                          {newHistory(1).event(0, audit.Superseded), Proven, "", "superseded"},
		"filtered":                            {newHistory(1).event(0, audit.Filtered), Proven, "", "filtered"},
		"skipped":                             {newHistory(1).event(0, audit.Skipped), Proven, "", "filtered"},
		"not read":                            {newHistory(1).finished(0, 0), Proven, "", "unread"},
		"nothing is committed":                {newHistory(1).finished(-1, -1), Proven, "", "unread"},
		"waits":                               {newHistory(1).place(InTier, 0).event(0, audit.Retried), Proven, "", "waiting"},
		"read meanwhile":                      {newHistory(1).finished(0, 1), Proven, "", "in flight"},
		"read meanwhile, and seen":            {newHistory(1).finished(0, 1).place(InOutput, 0), Proven, "", "delivered"},
		"leaves a tier meanwhile":             {newHistory(1).place(InTier, 0).waited(0, 1).event(0, audit.Retried), Proven, "", "in flight"},
		"left a tier":                         {newHistory(1).place(InTier, 0).waited(1, 1).event(0, audit.Retried).place(InOutput, 0), Proven, "", "delivered"},
		"lost":                                {newHistory(1), Violated, Missing, "missing"},
		"lost from a tier":                    {newHistory(1).place(InTier, 0).waited(1, 1).event(0, audit.Retried), Violated, Missing, "missing"},
		"lost, but audited as delivered":      {newHistory(1).event(0, audit.Delivered), Violated, Missing, "missing"},
		"twice in the output":                 {newHistory(1).place(InOutput, 0).place(InOutput, 0), Violated, Duplicated, "delivered"},
		"delivered and dead":                  {newHistory(1).place(InOutput, 0).place(InDLQ, 0), Violated, DeliveredAndDead, ""},
		"dead twice":                          {newHistory(1).place(InDLQ, 0).place(InDLQ, 0), Violated, DeadTwice, "dead"},
		"delivered and waiting":               {newHistory(1).place(InOutput, 0).place(InTier, 0), Violated, StillWaiting, "waiting"},
		"closed twice":                        {newHistory(1).event(0, audit.Duplicate).event(0, audit.Duplicate), Proven, ReadAgain, "duplicates"},
		"delivered, and not read":             {newHistory(1).finished(0, 0).place(InOutput, 0), Proven, ReadAgain, "unread"},
		"edited":                              {newHistory(1).place(InDLQ, 0).place(InDLQ, 0, func(p *Place) { p.Edited = true }), Proven, "", "dead"},
		"another pipeline's output":           {newHistory(1).place(InOutput, 0).place(InOutput, 0, func(p *Place) { p.Pipeline = "q" }), Proven, "", "delivered"},
		"only another pipeline's duplicate":   {newHistory(1).eventOf("q", 0, audit.Duplicate), Unknown, "", "unknown"},
		"another pipeline's failed attempt":   {newHistory(1).eventOf("q", 0, audit.Retried), Violated, Missing, ""},
		"another pipeline's event as well":    {newHistory(1).eventOf("q", 0, audit.Filtered).place(InOutput, 0), Proven, "", "delivered"},
		"twice, and another pipeline's event": {newHistory(1).eventOf("q", 0, audit.Filtered).place(InOutput, 0).place(InOutput, 0), Violated, Duplicated, ""},
		"attempted, and another's duplicate":  {newHistory(1).event(0, audit.Retried).eventOf("q", 0, audit.Duplicate), Violated, Missing, ""},
		"recorded as delivered, and another's event": {newHistory(1).event(0, audit.Delivered).eventOf("q", 0, audit.Filtered), Violated, Missing, ""},
		"unfounded, and another's event":             {newHistory(1).place(InOutput, 0).place(InOutput, 7).eventOf("q", 7, audit.Filtered), Violated, Unfounded, ""},
		"only another pipeline's output":             {newHistory(1).place(InOutput, 0, func(p *Place) { p.Pipeline = "q" }), Unknown, "", "unknown"},
		"an output of a missing source record":       {newHistory(1).place(InOutput, 0).place(InOutput, 7), Violated, Unfounded, "delivered"},
		"a dead letter of a missing source record":   {newHistory(1).place(InOutput, 0).place(InDLQ, 1), Violated, Unfounded, "delivered"},
		"an output of nothing":                       {newHistory(1).place(InOutput, 0).place(InOutput, 0, func(p *Place) { p.Root.Topic = "x" }), Proven, "", "delivered"},

		"replayed and delivered":                      {newHistory(1).place(InDLQ, 0).replayed(0).place(InOutput, 0), Proven, "", "delivered"},
		"replayed and failed again":                   {newHistory(1).place(InDLQ, 0).replayed(0).place(InDLQ, 0), Proven, "", "dead"},
		"replayed and closed":                         {newHistory(1).place(InDLQ, 0).replayed(0).event(0, audit.Superseded), Proven, "", "superseded"},
		"replayed and waiting":                        {newHistory(1).place(InDLQ, 0).replayed(0).place(InTier, 0), Proven, "", "waiting"},
		"replayed and not read":                       {newHistory(1).place(InDLQ, 0).replayed(0).finished(1, 1), Proven, "", "unread"},
		"replayed and lost":                           {newHistory(1).place(InDLQ, 0).replayed(0), Violated, Missing, "missing"},
		"replayed and delivered twice":                {newHistory(1).place(InDLQ, 0).replayed(0).place(InOutput, 0).place(InOutput, 0), Violated, DeliveredAndDead, ""},
		"superseded, reopened, delivered":             {newHistory(1).place(InDLQ, 0).replayed(0).event(0, audit.Superseded).replayed(0).place(InOutput, 0), Proven, "", "delivered"},
		"a replay that was processed as a new record": {newHistory(1).place(InDLQ, 0).replayed(0).place(InOutput, 1), Proven, "", "dead"},
		"in parts":                                          {newHistory(1).place(InOutput, 0, part(0, 2)).place(InOutput, 0, part(1, 2)), Proven, "", "delivered"},
		"a part twice":                                      {newHistory(1).place(InOutput, 0, part(0, 2)).place(InOutput, 0, part(0, 2)), Violated, Duplicated, "delivered"},
		"one part is a dead letter":                         {newHistory(1).place(InOutput, 0, part(0, 2)).place(InDLQ, 0, part(1, 2)), Proven, "", "delivered"},
		"all parts are dead letters":                        {newHistory(1).place(InDLQ, 0, part(0, 2)).place(InDLQ, 0, part(1, 2)), Proven, "", "dead"},
		"a part is delivered and dead":                      {newHistory(1).place(InOutput, 0, part(0, 2)).place(InDLQ, 0, part(0, 2)), Violated, DeliveredAndDead, "delivered"},
		"parts in the output, the others wait":              {newHistory(1).place(InOutput, 0, part(0, 2)).place(InTier, 0, ofRest), Proven, "", "waiting"},
		"parts in the output, the others are a dead letter": {newHistory(1).place(InOutput, 0, part(0, 2)).place(InDLQ, 0, ofRest), Proven, "", "dead"},
		"parts in the output, but the whole record waits":   {newHistory(1).place(InOutput, 0, part(0, 2)).place(InTier, 0), Violated, StillWaiting, "waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.h.judged()
			counts := r.All.named()
			expect.That(t, r.Verdict == c.verdict && counts["records"] >= 1 && (c.counted == "" || counts[c.counted] == 1), "%s, %+v, %v", r.Verdict, r.All, r.Findings)
			want := map[Kind]int64{c.found: 1}
			expect.That(t, (c.found == "" || maps.Equal(r.Found, want)) && (c.found != "" || len(r.Found) == 0), "found %v, want %q", r.Found, c.found)
			r.wantBalanced(t)
		})
	}
}

func (c Counts) named() map[string]int64 {
	return map[string]int64{
		"records": c.Records, "delivered": c.Delivered, "dead": c.DeadLettered, "duplicates": c.Duplicates, "superseded": c.Superseded, "filtered": c.Filtered,
		"waiting": c.Waiting, "unread": c.Unread, "in flight": c.InFlight, "unknown": c.Unknown, "missing": c.Missing,
	}
}

// wantBalanced checks that the counts add up.
func (r *Report) wantBalanced(t *testing.T) {
	t.Helper()
	sum := int64(0)
	for name, n := range r.All.named() {
		if name != "records" {
			sum += n
		}
	}
	expect.That(t, sum == r.All.Records, "%d records are counted, and %d in places: %+v", r.All.Records, sum, r.All)
}

// S0-4: lost evidence is distinguished from missing records.
func TestJudge_S0_4_whatCannotBeKnown(t *testing.T) {
	gone := func(h *history, topic string, since int64) *history { h.since[topic] = since; return h }
	for name, c := range map[string]struct {
		h      *history
		topic  string // "" if it is known
		reason Reason
	}{
		"the output's front":        {gone(newHistory(1), "s.out", 1), "s.out", Retention},
		"the DLQ's front":           {gone(newHistory(1), "s.dlq", 1), "s.dlq", Retention},
		"the trail's front":         {gone(newHistory(1), "s.audit", 1), "s.audit", Retention},
		"newer than the lost front": {gone(newHistory(1), "s.out", 0), "", ""},
		"an attempted record":       {gone(newHistory(1).event(0, audit.Retried), "s.out", 1), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.h.judged()
			if c.topic == "" {
				expect.That(t, r.Verdict == Violated && r.Found[Missing] == 1, "%s %v", r.Verdict, r.Found)
				return
			}
			expect.That(t, r.Verdict == Unknown && len(r.Unknowns) == 1 && r.Unknowns[0].Topic == c.topic && r.Unknowns[0].Reason == c.reason && r.Unknowns[0].Records == 1, "%s %+v", r.Verdict, r.Unknowns)
		})
	}
	t.Run("the trail has a lost output", func(t *testing.T) {
		r := gone(newHistory(1).event(0, audit.Retried).event(0, audit.Delivered), "s.out", 1).judged()
		expect.That(t, r.Verdict == Proven && r.All.Delivered == 1, "%s %+v", r.Verdict, r.All)
	})
	t.Run("the trail has a pruned dead letter", func(t *testing.T) {
		r := gone(newHistory(1).event(0, audit.DeadLettered), "s.dlq", 1).judged()
		expect.That(t, r.Verdict == Proven && r.All.DeadLettered == 1, "%s %+v", r.Verdict, r.All)
	})
	t.Run("compaction", func(t *testing.T) {
		h := gone(newHistory(1), "s.out", never)
		h.cut.Compacted["s.out"] = true
		r := h.judged()
		expect.That(t, r.Verdict == Unknown && r.Unknowns[0].Reason == Compaction, "%s %+v", r.Verdict, r.Unknowns)
	})
	t.Run("the replay key is lost", func(t *testing.T) {
		h := newHistory(2).place(InOutput, 1).place(InDLQ, 0).replayed(0).place(InOutput, 0)
		h.records[2].Claim.Doubtful = true
		r := h.judged()
		expect.That(t, r.Verdict == Unknown && r.Found[UnprovenReplay] == 1 && r.Findings[0].String() == "s/0/2: a replay of s/0/0, signed with an unknown replay key" && len(r.Unknowns) == 1 &&
			strings.Contains(r.Unknowns[0].String(), "SWITCHBACK_REPLAY_KEY): 1 record, the first of them s/0/2"), "%s %+v %v", r.Verdict, r.Unknowns, r.Findings)
		r.wantBalanced(t)
	})
	t.Run("another topic with its name", func(t *testing.T) {
		h := newHistory(1).place(InOutput, 0).place(InOutput, 0)
		h.cut.Foreign = true
		r := h.judged()
		expect.That(t, r.Verdict == Unknown && r.Unknowns[0].Reason == Recreated && len(r.Findings) == 0, "%s %+v", r.Verdict, r)
	})
}

// S4-14: evidence about records of a previous source topic is not used for the current one.
func TestJudge_S4_14_generations(t *testing.T) {
	h := newHistory(2).place(InOutput, 0) // of the previous topic
	h.generation, h.first = 1, 1
	h.place(InOutput, 0).place(InOutput, 1)
	r := h.judged()
	expect.That(t, r.Verdict == Proven && r.All.Delivered == 2, "%s %+v %v", r.Verdict, r.All, r.Findings)
	h.places = h.places[:2]
	r = h.judged()
	expect.That(t, r.Verdict == Violated && r.Findings[0].Source == "s/0/1", "%s %v", r.Verdict, r.Findings)
	r = h.event(1, audit.Duplicate).judged()
	expect.That(t, r.Verdict != Violated, "%s %v", r.Verdict, r.Findings)
}

// S4-14: a lost memory was adopted while the source stayed, so earlier evidence still counts.
func TestJudge_S4_14_generationsOfOneSource(t *testing.T) {
	h := newHistory(4).place(InOutput, 0).place(InDLQ, 1).place(InTier, 2)
	h.generation = 2
	h.place(InOutput, 3)
	r := h.judged()
	expect.That(t, r.Verdict == Proven && r.All.Delivered == 2 && r.All.DeadLettered == 1 && r.All.Waiting == 1, "%s %+v %v", r.Verdict, r.All, r.Findings)
	h.places = h.places[1:]
	r = h.judged()
	expect.That(t, r.Verdict == Violated && r.Found[Missing] == 1, "%s %v", r.Verdict, r.Findings)
}

// S3-1: records that no instance consumes are named. While partitions move, or no instance runs, they are not.
func TestJudge_S3_1_stranded(t *testing.T) {
	h := newHistory(1).place(InTier, 0, func(p *Place) { p.Due = time.Unix(1e9, 0).Add(-time.Hour) })
	r := h.judged()
	expect.That(t, r.Verdict == Proven && r.Found[Overdue] == 1, "no instance runs: %s %v", r.Verdict, r.Found)
	h.cut.Consumed = map[Spot]bool{{source, 0}: true}
	r = h.judged()
	expect.That(t, r.Verdict == Violated && r.Found[Stranded] == 1, "%s %v", r.Verdict, r.Found)
	h.cut.Consumed[Spot{tier, 0}] = true
	r = h.judged()
	expect.That(t, r.Verdict == Proven, "%s %v", r.Verdict, r.Found)
	h.places[0].At.Partition = 7
	h.cut.Consumed = nil
	r = h.judged()
	expect.That(t, r.Found[Stranded] == 1, "a partition outside the account: %v", r.Found)
}

// S4-10: losses in the log and in the audit trail match.
func TestJudge_S4_10_losses(t *testing.T) {
	h := newHistory(0)
	h.cut.Marks[Spot{source, 0}] = Mark{Start: 9, End: 9, Before: retrytopics.Commit{Offset: 2}, After: retrytopics.Commit{Offset: 2, Ahead: []retrytopics.Run{{First: 4, Last: 5}}}}
	h.cut.Marks[Spot{tier, 0}] = Mark{Start: 3, End: 3, Before: retrytopics.Commit{Offset: 1}, After: retrytopics.Commit{Offset: 1}}
	last := int64(3)
	h.events = append(h.events, audit.Event{Pipeline: "p", Source: "s/0/2", Decision: audit.Lost, LastOffset: &last})
	r := h.judged()
	expect.That(t, r.Verdict == Violated && r.Found[Lost] == 2 && r.Found[LostInTier] == 1 && r.Findings[0].To == 4 && r.Findings[1].Source == "s/0/6", "%s %+v", r.Verdict, r.Findings)
	h = newHistory(3).finished(5, 5).place(InOutput, 0).place(InOutput, 1).place(InOutput, 2)
	r = h.judged()
	expect.That(t, r.Found[CutShort] == 1 && r.Findings[0].To == 5, "%+v", r.Findings)
}

// S0-4: healthy histories are proven, and each mutation of them is found and names the record.
func TestJudge_S0_4_mutations(t *testing.T) {
	mutations := map[string]func(h *history, i int) (*history, bool){
		"an end is removed": func(h *history, i int) (*history, bool) {
			h.places = slices.DeleteFunc(h.places, func(p Place) bool { return p.Root == at(int64(i)) && p.In != InTier })
			h.events = slices.DeleteFunc(h.events, func(e audit.Event) bool {
				return e.Source == at(int64(i)).String() && slices.Contains(closings(), e.Decision)
			})
			return h, true
		},
		"an output more": func(h *history, i int) (*history, bool) {
			return h.place(InOutput, int64(i)).place(InOutput, int64(i)), true
		},
		"a dead letter more": func(h *history, i int) (*history, bool) { return h.place(InDLQ, int64(i)).place(InDLQ, int64(i)), true },
		"it waits as well":   func(h *history, i int) (*history, bool) { return h.place(InTier, int64(i)).waited(0, 0), true },
		"a replay is lost":   func(h *history, i int) (*history, bool) { return h.replayed(int64(i)), true },
		"an unbelieved one":  func(h *history, i int) (*history, bool) { h.places = nil; h.events = nil; return h, len(h.records) > i },
	}
	for name, mutate := range mutations {
		for seed := range uint64(60) {
			rng := rand.New(rand.NewPCG(seed, 14))
			r := healthy(rng).judged()
			must.That(t, r.Verdict == Proven && len(r.Findings) == 0, "seed %d: %s %v", seed, r.Verdict, r.Findings)
			h, i := healthy(rand.New(rand.NewPCG(seed, 14))), rng.IntN(20)
			h, changed := mutate(h, i)
			r = h.judged()
			expect.That(t, !changed || r.Verdict == Violated && slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Source == at(int64(i)).String() }),
				"%s, seed %d, record %d: %s %v", name, seed, i, r.Verdict, r.Findings)
			r.wantBalanced(t)
		}
	}
}

// healthy returns a history of 20 records, some of which were retried, became dead letters and were replayed.
func healthy(rng *rand.Rand) *history {
	h := newHistory(20).waited(100, 100)
	for i := range int64(20) {
		for rng.IntN(3) == 0 {
			h.place(InTier, i).event(i, audit.Retried)
		}
		for rng.IntN(4) == 0 {
			h.place(InDLQ, i).event(i, audit.DeadLettered).replayed(i)
		}
		switch rng.IntN(4) {
		case 0:
			h.place(InDLQ, i).event(i, audit.DeadLettered)
		case 1:
			h.event(i, closings()[rng.IntN(4)])
		default:
			h.place(InOutput, i)
		}
	}
	return h
}
