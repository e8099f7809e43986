package memory

import (
	"reflect"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

func id(n byte) statetopic.TopicID { return statetopic.TopicID{n} }

func sample() *statetopic.Checkpoint {
	return &statetopic.Checkpoint{
		Group: "g", Source: "features", Generation: 2, Same: 1, Ledger: id(9), LedgerFrom: 17, Scale: "1a2b3c4d", ScaleFrom: 5,
		Positions: map[string]statetopic.Position{
			"features":          {ID: id(1), Commit: offsets.Commit{Offset: 42, Metadata: offsets.EncodeFinished(42, []offsets.Span{{First: 44, Last: 50}})}},
			"features.retry-2s": {ID: id(2), Commit: offsets.Commit{Offset: 7, Metadata: ""}},
			"features.retry-8s": {ID: id(3), Commit: offsets.Commit{Offset: -1}},
		},
	}
}

func around() *Binding {
	return &Binding{
		Scale: "1a2b3c4d",
		Group: "g", Source: "features", State: "features.state", Ledger: "features.Ledger",
		IDs: map[string]statetopic.TopicID{"features": id(1), "features.retry-2s": id(2), "features.retry-8s": id(3), "features.Ledger": id(9)},
	}
}

func TestMismatches_S4_14(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known  Evidence
		change func(*Binding)
		want   []retrytopics.MismatchKind
	}{
		"nothing at all":                       {Evidence{}, nil, nil},
		"the memory fits":                      {Evidence{Checkpoint: sample()}, nil, nil},
		"it fits, the commits are there":       {Evidence{Checkpoint: sample(), Committed: true, Sealed: true, Remembers: true}, nil, nil},
		"no checkpoint, with commits":          {Evidence{Committed: true, Remembers: true}, nil, nil},
		"no checkpoint, commits gone":          {Evidence{Remembers: true}, nil, []retrytopics.MismatchKind{retrytopics.MismatchUnbound}},
		"a tier's commit alone binds nothing":  {Evidence{Remembers: true, Committed: false}, nil, []retrytopics.MismatchKind{retrytopics.MismatchUnbound}},
		"the state is gone":                    {Evidence{Sealed: true, Committed: true}, nil, []retrytopics.MismatchKind{retrytopics.MismatchState}},
		"the state is gone, the ledger is not": {Evidence{Sealed: true, Remembers: true}, nil, []retrytopics.MismatchKind{retrytopics.MismatchState}},
		"another source":                       {Evidence{Checkpoint: sample()}, func(s *Binding) { s.IDs["features"] = id(8) }, []retrytopics.MismatchKind{retrytopics.MismatchSource}},
		"another source, old commits there":    {Evidence{Checkpoint: sample(), Committed: true}, func(s *Binding) { s.IDs["features"] = id(8) }, []retrytopics.MismatchKind{retrytopics.MismatchSource}},
		"another tier":                         {Evidence{Checkpoint: sample()}, func(s *Binding) { s.IDs["features.retry-2s"] = id(8) }, []retrytopics.MismatchKind{retrytopics.MismatchTier}},
		"another ledger":                       {Evidence{Checkpoint: sample()}, func(s *Binding) { s.IDs["features.Ledger"] = id(8) }, []retrytopics.MismatchKind{retrytopics.MismatchLedger}},
		"another ledger, but no dedupe":        {Evidence{Checkpoint: sample()}, func(s *Binding) { s.IDs["features.Ledger"], s.Ledger = id(8), "" }, nil},
		"another group":                        {Evidence{Checkpoint: sample()}, func(s *Binding) { s.Group = "h" }, []retrytopics.MismatchKind{retrytopics.MismatchGroup}},
		"a tier that is not configured":        {Evidence{Checkpoint: sample()}, func(s *Binding) { delete(s.IDs, "features.retry-8s") }, nil},
		"brokers without topic ids":            {Evidence{Checkpoint: sample()}, func(s *Binding) { s.IDs["features"] = statetopic.TopicID{} }, nil},
		"another cluster": {Evidence{Checkpoint: sample()}, func(s *Binding) {
			s.IDs = map[string]statetopic.TopicID{"features": id(11), "features.retry-2s": id(12), "features.retry-8s": id(13), "features.Ledger": id(19)}
		}, []retrytopics.MismatchKind{retrytopics.MismatchSource, retrytopics.MismatchTier, retrytopics.MismatchTier, retrytopics.MismatchLedger}},
	} {
		t.Run(name, func(t *testing.T) {
			now := around()
			if c.change != nil {
				c.change(now)
			}
			var got []retrytopics.MismatchKind
			for _, m := range now.Mismatches(c.known) {
				got = append(got, m.Kind)
			}
			must.That(t, reflect.DeepEqual(got, c.want), "got %v, want %v", got, c.want)
		})
	}
}

// S0-6: the scale of the ledger's versions changes only when the ledger is written with another one.
func TestNext_S0_6_theScaleIsThatOfTheLedger(t *testing.T) {
	t.Parallel()
	now := around()
	now.Scale = "5e6f7a8b"
	next := now.Next(sample(), nil)
	expect.That(t, next.Scale == "5e6f7a8b" && next.ScaleFrom == 5, "with a ledger: %+v", next)
	now.Ledger = ""
	next = now.Next(sample(), nil)
	expect.That(t, next.Scale == "1a2b3c4d" && next.ScaleFrom == 5, "without one: %+v", next)
}

func TestNext_S4_14_carriesWhatDoesNotMove(t *testing.T) {
	t.Parallel()
	now := around()
	delete(now.IDs, "features.retry-8s") // not configured any more
	next := now.Next(sample(), map[string]offsets.Commit{"features": {Offset: 50, Metadata: ""}})
	want := sample()
	want.Positions["features"] = statetopic.Position{ID: id(1), Commit: offsets.Commit{Offset: 50, Metadata: ""}}
	expect.That(t, reflect.DeepEqual(next, want), "got %+v, want %+v", next, want)
	first := now.Next(nil, map[string]offsets.Commit{"features.retry-2s": {Offset: 3, Metadata: ""}})
	expect.That(t, first.Positions["features"] == (statetopic.Position{ID: id(1), Commit: offsets.Commit{Offset: -1}}) && first.Positions["features.retry-2s"] == (statetopic.Position{ID: id(2), Commit: offsets.Commit{Offset: 3, Metadata: ""}}),
		"the first one: %+v", first)
}

func TestAdopt_S4_14_whatBecomesOfTheCheckpoint(t *testing.T) {
	t.Parallel()
	now := around()
	now.IDs["features"] = id(8)
	source := now.Adopt(sample(), []retrytopics.Mismatch{{Kind: retrytopics.MismatchSource}}, nil, Committed{Generations: offsets.Generations{Now: 2}}, 100)
	expect.That(t, source.Generation == 3 && source.LedgerFrom == 100 && source.Positions["features"] == (statetopic.Position{ID: id(8), Commit: offsets.Commit{Offset: -1}}) && source.Positions["features.retry-2s"].Commit.Offset == 7,
		"source: %+v", source)
	now = around()
	now.IDs["features.retry-2s"] = id(8)
	tier := now.Adopt(sample(), []retrytopics.Mismatch{{Kind: retrytopics.MismatchTier}}, nil, Committed{Generations: offsets.Generations{Now: 2}}, 100)
	expect.That(t, tier.Generation == 2 && tier.LedgerFrom == 17 && tier.Positions["features.retry-2s"] == (statetopic.Position{ID: id(8), Commit: offsets.Commit{Offset: -1}}) && tier.Positions["features"] == sample().Positions["features"],
		"tier: %+v", tier)
	now = around()
	now.IDs["features.Ledger"] = id(8)
	ledger := now.Adopt(sample(), []retrytopics.Mismatch{{Kind: retrytopics.MismatchLedger}}, nil, Committed{Generations: offsets.Generations{Now: 2}}, 100)
	expect.That(t, ledger.Ledger == id(8) && ledger.LedgerFrom == 0 && ledger.Generation == 2, "ledger: %+v", ledger)
	now = around()
	now.Group = "h"
	group := now.Adopt(sample(), []retrytopics.Mismatch{{Kind: retrytopics.MismatchGroup}}, nil, Committed{Generations: offsets.Generations{Now: 2}}, 100)
	expect.That(t, group.Group == "h" && group.Generation == 2 && group.Positions["features"] == sample().Positions["features"], "group: %+v", group)
	state := around().Adopt(nil, []retrytopics.Mismatch{{Kind: retrytopics.MismatchState}}, map[string]offsets.Commit{"features": {Offset: 42, Metadata: ""}}, Committed{Generations: offsets.Generations{Now: 2}}, 100)
	expect.That(t, state.Generation == 3 && state.Positions["features"] == (statetopic.Position{ID: id(1), Commit: offsets.Commit{Offset: 42, Metadata: ""}}), "state: %+v", state)
	expect.That(t, state.Same == 0, "without a commit of the source it is not known to be the same: %+v", state)
	again := around().Adopt(nil, []retrytopics.Mismatch{{Kind: retrytopics.MismatchState}}, map[string]offsets.Commit{"features": {Offset: 42, Metadata: ""}}, Committed{offsets.Generations{Now: 2, Same: 1}, true}, 100)
	expect.That(t, again.Generation == 3 && again.Same == 2, "the source stayed: %+v", again)
	tier = now.Adopt(again, []retrytopics.Mismatch{{Kind: retrytopics.MismatchTier}}, nil, Committed{}, 100)
	expect.That(t, tier.Generation == 3 && tier.Same == 2, "a lost tier: %+v", tier)
	source = now.Adopt(again, []retrytopics.Mismatch{{Kind: retrytopics.MismatchSource}}, nil, Committed{offsets.Generations{Now: 3, Same: 2}, true}, 100)
	expect.That(t, source.Generation == 4 && source.Same == 0, "another source: %+v", source)
	unbound := around().Adopt(nil, []retrytopics.Mismatch{{Kind: retrytopics.MismatchUnbound}}, nil, Committed{Generations: offsets.Generations{Now: 0}}, 100)
	expect.That(t, unbound.Generation == 1 && unbound.LedgerFrom == 100 && unbound.Positions["features"].Commit.Offset == -1, "unbound: %+v", unbound)
}
